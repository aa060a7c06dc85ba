/** What the run has done: its turns, older ones folded, and the forms that wait. */

import type { Host, Placed } from "../block.ts";
import { focusedIn, setKids } from "../dom.ts";
import { wordCount } from "../format.ts";
import { Approval, type OpenApproval } from "./approval.ts";
import { Bulk } from "./bulk.ts";
import { Markdown } from "./markdown.ts";
import { ScrollBody } from "./newtext.ts";
import { OlderTurns, foldedTurns } from "./older.ts";
import { Turn } from "./turn.ts";

export class Body {
  readonly scroll: ScrollBody;
  readonly #bulk: Bulk;
  readonly #older = new OlderTurns();
  #children: readonly Placed[] = [];
  #folded = 0;

  constructor(host: Host) {
    this.scroll = new ScrollBody(host);
    this.#bulk = new Bulk(host);
  }

  get empty(): boolean {
    return this.#children.every(
      ({ block }) => block instanceof Turn && block.blocks === 0,
    );
  }

  place(children: readonly Placed[]): void {
    this.#children = children;
    const turns = this.#turns().length;
    if (this.#folded >= turns) this.#folded = 0;
    this.#draw();
  }

  /** Fold older turns when there are many blocks, and look at the open forms. */
  refresh(all: Iterable<Placed>): void {
    const sizes = this.#turns().map(({ turn }) => turn.blocks);
    const folded = foldedTurns(sizes);
    if (folded !== this.#folded && (folded < this.#folded || this.#mayFold(folded))) {
      this.#folded = folded;
    }
    this.#draw();
    const forms: OpenApproval[] = [];
    for (const { block } of all) {
      if (!(block instanceof Approval) || !block.open) continue;
      if (block.node.closest(".b-inbox") === null) forms.push(block.open);
    }
    this.#bulk.update(inOrder(forms));
  }

  /** The text of the answer: the last that was not withdrawn. */
  answer(all: Iterable<Placed>): string {
    let answer = "";
    for (const { block } of all) {
      const stands =
        block instanceof Markdown && !block.withdrawn && block.text.trim() !== "";
      if (stands) answer = block.text;
    }
    return answer;
  }

  /** How many tool calls there were, and words in the answer. */
  counts(all: Iterable<Placed>): { calls: number; words: number } {
    const calls = this.#turns().reduce((sum, { turn }) => sum + turn.calls.length, 0);
    return { calls, words: wordCount(this.answer(all)) };
  }

  #turns(): { turn: Turn; node: HTMLElement }[] {
    return this.#children.flatMap(({ block, node }) =>
      block instanceof Turn ? { turn: block, node } : [],
    );
  }

  /** Nothing that a person is at is folded away. */
  #mayFold(folded: number): boolean {
    if (!this.scroll.follows) return false;
    const focused = focusedIn(this.scroll.body);
    const going = this.#turns().slice(0, folded);
    return !going.some(({ node }) => focused !== null && node.contains(focused));
  }

  #draw(): void {
    const turns = this.#turns();
    const gone = new Set(turns.slice(0, this.#folded).map(({ node }) => node));
    const rest = this.#children.filter(({ node }) => !gone.has(node));
    const nodes = rest.map(({ node }) => node);
    if (this.#folded > 0) {
      this.#older.show(turns.slice(0, this.#folded));
      nodes.unshift(this.#older.node);
    }
    setKids(this.scroll.body, nodes);
  }
}

/** In the order in which they stand in the page. */
function inOrder(forms: OpenApproval[]): OpenApproval[] {
  return forms.sort((one, other) => {
    const place = one.shell.node.compareDocumentPosition(other.shell.node);
    return place & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1;
  });
}
