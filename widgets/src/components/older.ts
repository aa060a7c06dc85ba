/** Older turns of a long run, folded into one line, their failures still listed. */

import { el, setKids, setText } from "../dom.ts";
import { say } from "../words.ts";
import { Fold } from "./fold.ts";
import type { Turn } from "./turn.ts";

/** More blocks than this, and older turns are folded. */
export const MOST_BLOCKS = 30;
const MOST_FAILURES = 10;

export interface PlacedTurn {
  turn: Turn;
  node: HTMLElement;
}

export class OlderTurns {
  readonly node: HTMLElement;
  readonly #fold = new Fold({ fill: () => this.#fill() });
  readonly #title = el("span");
  readonly #failures = el("div", "b-failures");
  #turns: PlacedTurn[] = [];

  constructor() {
    this.#fold.head.append(this.#title);
    this.node = el("div", "b-older", this.#fold.node, this.#failures);
  }

  show(turns: PlacedTurn[]): void {
    this.#turns = turns;
    const calls = turns.flatMap(({ turn }) => turn.calls);
    const failed = calls.filter((call) => call.state === "failed");
    const words =
      failed.length === 0
        ? say("turns.calls", { n: calls.length })
        : say("turns.failed", { n: failed.length, calls: calls.length });
    const places = { from: 1, to: turns.length, calls: words };
    setText(this.#title, say(turns.length === 1 ? "turns.one" : "turns.range", places));
    const lines = failed.slice(0, MOST_FAILURES).map((call) => call.line());
    const more = failed.length - lines.length;
    if (more > 0) lines.push(el("div", "b-cap", say("failures.more", { n: more })));
    setKids(this.#failures, lines);
    this.#failures.hidden = lines.length === 0;
    if (this.#fold.filled) this.#fill();
  }

  #fill(): void {
    setKids(
      this.#fold.body,
      this.#turns.map(({ node }) => node),
    );
  }
}

/** How many of the oldest turns to fold, so that few enough blocks stand. */
export function foldedTurns(sizes: readonly number[]): number {
  let blocks = sizes.reduce((sum, size) => sum + size, 0);
  let folded = 0;
  while (blocks > MOST_BLOCKS && folded < sizes.length - 1) {
    blocks -= sizes[folded] ?? 0;
    folded += 1;
  }
  return folded;
}
