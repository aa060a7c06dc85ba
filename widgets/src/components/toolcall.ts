/** One call of a tool: folded to a line, its arguments and its result inside. */

import type { Block, Host, Read } from "../block.ts";
import { el, setKids, setText } from "../dom.ts";
import { took } from "../format.ts";
import { Reader } from "../json.ts";
import { asText, drawn, segmented } from "../segments.ts";
import {
  type Arg,
  type DiffLine,
  type Fault,
  type Role,
  type Value,
  readArg,
  readDiff,
  readFault,
  readValueOrNull,
} from "../shapes.ts";
import { say } from "../words.ts";
import { keyCell } from "./args.ts";
import { copyButton } from "./copy.ts";
import { diffView } from "./diff.ts";
import { errorView } from "./error.ts";
import { Fold } from "./fold.ts";
import { Meter } from "./progress.ts";
import { captioned, toolValue } from "./value.ts";

interface Call {
  tool: string;
  preview: string;
  state: string;
  word: string;
  ms: number | null;
  args: Arg[];
  result: Value | null;
  progress: string | null;
  meter: { done: number | null; of: number | null } | null;
  error: Fault | null;
  decision: string | null;
  changes: DiffLine[] | null;
}

const ROLES: Record<string, Role> = {
  running: "work",
  done: "ok",
  failed: "bad",
  denied: "still",
  waiting: "wait",
  cut: "still",
};

export class ToolCall implements Block {
  readonly node: HTMLElement;
  tool = "";
  state = "";
  readonly #host: Host;
  readonly #fold: Fold;
  readonly #name = el("span", "b-name");
  readonly #hint = el("span", "b-hint");
  readonly #tag = el("span", "b-tag");
  readonly #time = el("span");
  readonly #decision = el("span", "b-decision");
  readonly #first = el("span", { class: "b-first", dir: "auto" });
  readonly #meter = new Meter();
  #call: Call | null = null;
  #since = 0;
  #ticks: (() => void) | null = null;
  readonly #parts = new Map<string, { of: string; nodes: Node[] }>();

  constructor(host: Host) {
    this.#host = host;
    this.#fold = new Fold({ fill: () => this.#fill() });
    const end = el("span", "b-end", this.#decision, " ", this.#tag, " ", this.#time);
    const { head } = this.#fold;
    head.append(this.#name, this.#hint, end, this.#first, this.#meter.node);
    this.node = this.#fold.node;
    this.node.classList.add("b-call");
  }

  update(read: Read): void {
    const value = read("value");
    const call = readCall(new Reader(value, "ToolCall"));
    this.#call = call;
    if (call.state !== "running" || call.ms !== null || this.state !== "running") {
      this.#since = this.#host.page.now();
    }
    this.tool = call.tool;
    this.state = call.state;
    this.#head(call);
    if (this.#fold.filled) this.#fill();
    if (call.state === "running") this.#tick();
    else this.#ticks?.();
  }

  /** Without a kernel behind the card nobody knows whether the call still runs. */
  enable(alive: boolean): void {
    this.#ticks?.();
    if (alive && this.state === "running") this.#tick();
  }

  dispose(): void {
    this.#ticks?.();
  }

  /** One line about this call, for a list of what failed. */
  line(): HTMLElement {
    const name = el("span", "b-name", this.tool);
    const hint = el("span", "b-hint", this.#call?.preview ?? "");
    const words = this.#call?.error?.what ?? this.#call?.word ?? "";
    const end = el("span", { class: "b-tag", "data-role": "bad", dir: "auto" }, words);
    return el("div", "b-row", name, hint, end);
  }

  #head(call: Call): void {
    setText(this.#name, call.tool);
    setKids(this.#hint, drawn(segmented(call.preview)));
    const refused = call.state === "denied" && call.decision !== null;
    setText(this.#tag, refused ? (call.decision ?? "") : call.word || call.state);
    this.#tag.dataset["role"] = ROLES[call.state] ?? "still";
    const decided = !refused && call.decision !== null;
    setText(this.#decision, decided ? (call.decision ?? "") : "");
    this.#decision.hidden = !decided;
    const failed = call.state === "failed" ? firstLine(call.error?.what ?? "") : "";
    const told = call.state === "running" ? (call.progress ?? "") : "";
    setText(this.#first, failed || told);
    this.#first.dataset["role"] = failed ? "bad" : "still";
    this.#first.hidden = failed === "" && told === "";
    this.#meter.show(call.meter?.done ?? null, call.meter?.of ?? null);
    this.#meter.node.setAttribute("aria-label", told || call.tool);
    this.#showTime();
  }

  /** The time of a running call goes on here between two messages. */
  #tick(): void {
    this.#ticks?.();
    this.#ticks = this.#host.page.later(1000, () => {
      this.#showTime();
      if (this.node.isConnected) this.#tick();
    });
  }

  #showTime(): void {
    const running = this.state === "running";
    const ms = this.#call?.ms ?? (running ? 0 : null);
    const more = running ? this.#host.page.now() - this.#since : 0;
    const words = ms === null || (running && ms + more < 1000) ? "" : took(ms + more);
    setText(this.#time, words);
  }

  #fill(): void {
    const call = this.#call;
    if (!call) return;
    const host = this.#host;
    const { args, changes, result, error } = call;
    setKids(this.#fold.body, [
      ...this.#part("args", args, () => this.#arguments(call)),
      ...this.#part("changes", changes, () =>
        changes ? [el("div", "b-cap", say("changes")), diffView(changes)] : [],
      ),
      ...this.#part("result", result, () =>
        result ? [captioned(say("result"), result, host), toolValue(result, host)] : [],
      ),
      ...this.#part("error", error, () => (error ? [errorView(error, host)] : [])),
    ]);
  }

  /** A part is drawn anew only when it changed, so what a person opened stays open. */
  #part(name: string, value: unknown, draw: () => Node[]): Node[] {
    const of = JSON.stringify(value);
    const held = this.#parts.get(name);
    if (held?.of === of) return held.nodes;
    const nodes = draw();
    this.#parts.set(name, { of, nodes });
    return nodes;
  }

  #arguments(call: Call): Node[] {
    const title = say("arguments");
    if (call.args.length === 0) return [el("div", "b-cap", say("arguments.none"))];
    const text = () => call.args.map(argText).join("\n");
    const copy = copyButton(this.#host, title, text);
    const cells = call.args.flatMap((arg) => [keyCell(arg), this.#argument(arg)]);
    return [
      el("div", "b-cap", el("span", null, title), copy.node),
      el("div", "b-args b-plain", ...cells),
    ];
  }

  #argument(arg: Arg): HTMLElement {
    if (arg.flag === "secret") return el("pre", "b-pre", say("value.secret"));
    if (arg.items === null) return toolValue(arg.value, this.#host);
    const items = arg.items.map((item) => el("li", null, toolValue(item, this.#host)));
    return el("ol", "b-argv", ...items);
  }
}

function argText(arg: Arg): string {
  const value = arg.flag === "secret" ? say("value.secret") : asText(arg.value);
  return `${arg.key}: ${value}`;
}

function firstLine(text: string): string {
  return text.split("\n", 1)[0] ?? "";
}

function readCall(read: Reader): Call {
  const meter = read.get("meter");
  return {
    tool: read.text("tool"),
    preview: read.text("preview", ""),
    state: read.text("state", "running"),
    word: read.text("word", ""),
    ms: read.numberOrNull("ms"),
    args: read.list("args").map(readArg),
    result: readValueOrNull(read.get("result")),
    progress: read.textOrNull("progress"),
    meter:
      meter === null || meter === undefined
        ? null
        : readMeter(new Reader(meter, "meter")),
    error: readFault(read.get("error")),
    decision: read.textOrNull("decision"),
    changes: readDiff(read.get("changes")),
  };
}

function readMeter(read: Reader): Call["meter"] {
  return { done: read.numberOrNull("done"), of: read.numberOrNull("of") };
}
