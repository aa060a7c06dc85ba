/** One turn of the model: its blocks, many calls of one tool drawn as one fold. */

import type { Block, Placed, Read } from "../block.ts";
import { el, setKids, setText } from "../dom.ts";
import { say } from "../words.ts";
import { Fold } from "./fold.ts";
import { ToolCall } from "./toolcall.ts";

/** More calls of one tool than this are drawn as one fold. */
export const MANY = 5;

export class Turn implements Block {
  readonly node = el("div", "b-turn");
  #children: readonly Placed[] = [];
  readonly #groups = new Map<string, Group>();
  #blocks = 0;

  update(_read: Read): void {
    return;
  }

  place(children: readonly Placed[]): void {
    this.#children = children;
    this.refresh();
  }

  /** Draw the children in order; a group stands where its first call stood. */
  refresh(): void {
    const crowded = this.#crowded();
    for (const tool of this.#groups.keys()) {
      if (!crowded.has(tool)) this.#groups.delete(tool);
    }
    const nodes: Node[] = [];
    for (const child of this.#children) {
      const { block } = child;
      const calls = block instanceof ToolCall ? crowded.get(block.tool) : undefined;
      if (!calls) nodes.push(child.node);
      else if (calls[0] === child) nodes.push(...this.#group(calls));
    }
    this.#blocks = nodes.length;
    setKids(this.node, nodes);
  }

  /** How many blocks stand here. */
  get blocks(): number {
    return this.#blocks;
  }

  get calls(): ToolCall[] {
    return this.#children.flatMap(({ block }) =>
      block instanceof ToolCall ? block : [],
    );
  }

  #crowded(): Map<string, Placed[]> {
    const byTool = new Map<string, Placed[]>();
    for (const child of this.#children) {
      if (!(child.block instanceof ToolCall)) continue;
      const { tool } = child.block;
      byTool.set(tool, [...(byTool.get(tool) ?? []), child]);
    }
    for (const [tool, calls] of byTool) if (calls.length <= MANY) byTool.delete(tool);
    return byTool;
  }

  #group(calls: Placed[]): Node[] {
    const tool = calls[0]?.block instanceof ToolCall ? calls[0].block.tool : "";
    let group = this.#groups.get(tool);
    if (!group) {
      group = new Group(tool);
      this.#groups.set(tool, group);
    }
    return group.show(calls);
  }
}

const IN_SIGHT = ["failed", "waiting"];

/** `search × 40: 38 done, 2 failed`; what failed or waits stays in sight below it. */
class Group {
  readonly #tool: string;
  readonly #fold = new Fold({ fill: () => this.#fill() });
  readonly #title = el("span", "b-name");
  readonly #counts = el("span", "b-end");
  #calls: Placed[] = [];

  constructor(tool: string) {
    this.#tool = tool;
    this.#fold.head.append(this.#title, el("span", "b-hint"), this.#counts);
  }

  show(calls: Placed[]): Node[] {
    const stands = (call: Placed) => IN_SIGHT.includes(stateOf(call));
    this.#calls = calls.filter((call) => !stands(call));
    setText(this.#title, say("group", { tool: this.#tool, n: calls.length }));
    setText(this.#counts, counts(calls));
    if (this.#fold.filled) this.#fill();
    else for (const call of this.#calls) call.node.remove();
    return [this.#fold.node, ...calls.filter(stands).map((call) => call.node)];
  }

  #fill(): void {
    setKids(
      this.#fold.body,
      this.#calls.map((call) => call.node),
    );
  }
}

function stateOf(call: Placed): string {
  return call.block instanceof ToolCall ? call.block.state : "";
}

function counts(calls: readonly Placed[]): string {
  const of = (...states: string[]) =>
    calls.filter((call) => states.includes(stateOf(call))).length;
  const parts = [
    ["group.done", of("done")],
    ["group.failed", of("failed", "denied", "cut")],
    ["group.running", of("running")],
    ["group.waiting", of("waiting")],
  ] as const;
  return parts
    .filter(([, n]) => n > 0)
    .map(([word, n]) => say(word, { n }))
    .join(", ");
}
