/** How far an evaluation is: a bar, counts, time to go, and the first failures. */

import type { Block, Host, Read } from "../block.ts";
import { el, setKids, setText } from "../dom.ts";
import { clock } from "../format.ts";
import { type Json, Reader } from "../json.ts";
import { say } from "../words.ts";
import { Meter } from "./progress.ts";

const TICK = 1000;
const COUNTS = ["passed", "failed", "broken"] as const;
const ROLES = { passed: "ok", failed: "bad", broken: "wait" } as const;
const MARKS = { passed: "✓", failed: "✗", broken: "?" } as const;

export class Evaluation implements Block {
  readonly node: HTMLElement;
  readonly #host: Host;
  readonly #meter = new Meter();
  readonly #words = el("b");
  readonly #counts = new Map<string, HTMLElement>();
  readonly #rest = el("span", "b-cap");
  readonly #case = el("div", { class: "b-cap b-begun", dir: "auto" });
  readonly #missed = el("ul", { class: "b-missed", "aria-label": say("eval.missed") });
  readonly #more = el("div", "b-cap");
  #tenth = 0;
  #left: number | null = null;
  #since = 0;
  #alive = true;
  #ticks: (() => void) | null = null;

  constructor(host: Host) {
    this.#host = host;
    for (const key of COUNTS) {
      this.#counts.set(key, el("span", { class: "b-tag", "data-role": ROLES[key] }));
    }
    const line = el("div", "b-row", this.#words, ...this.#counts.values(), this.#rest);
    const { node } = this.#meter;
    this.node = el("div", "b-eval", node, line, this.#case, this.#missed, this.#more);
  }

  update(read: Read): void {
    const entry = new Reader(read("value"), "Evaluation");
    const done = entry.number("done");
    const of = entry.number("of");
    const words = entry.text("words", "");
    this.#meter.show(done, of);
    this.#meter.node.setAttribute("aria-label", words);
    setText(this.#words, words);
    for (const key of COUNTS) {
      const count = entry.text(key, "");
      const node = this.#counts.get(key);
      if (node) setText(node, count === "" ? "" : `${MARKS[key]} ${count}`);
    }
    const begun = entry.text("case", "");
    setText(this.#case, begun === "" ? "" : say("eval.case", { case: begun }));
    setKids(this.#missed, entry.list("missed").map(missed));
    this.#missed.hidden = this.#missed.childElementCount === 0;
    setText(this.#more, entry.text("more", ""));
    this.#left = entry.numberOrNull("rest_ms");
    this.#since = this.#host.page.now();
    this.#tick();
    this.#tell(words, entry, of > 0 ? Math.floor((10 * done) / of) : 0);
  }

  enable(alive: boolean): void {
    this.#alive = alive;
    this.#tick();
  }

  dispose(): void {
    this.#ticks?.();
  }

  /** Each whole tenth is said, once. */
  #tell(words: string, entry: Reader, tenth: number): void {
    if (tenth === this.#tenth) return;
    this.#tenth = tenth;
    const told = COUNTS.map((key) => entry.text(key, "")).filter((text) => text !== "");
    this.#host.announce(say("eval.say", { words, counts: told.join(", ") }));
  }

  /** The time to go, counted down until the kernel says another. */
  #tick(): void {
    this.#ticks?.();
    const left = this.#alive ? this.#left : null;
    const time = (left ?? 0) - (this.#host.page.now() - this.#since);
    // When it takes longer than anybody thought, nobody knows how long.
    const known = left !== null && time >= TICK;
    setText(this.#rest, known ? say("eval.rest", { time: clock(time) }) : "");
    if (known) {
      this.#ticks = this.#host.page.later(TICK, () => this.#tick());
    }
  }
}

function missed(json: Json): HTMLElement {
  const row = new Reader(json, "missed");
  const mark = el("span", { class: "b-tag", "data-role": "bad" }, row.text("mark", ""));
  const name = el("span", { class: "b-name", dir: "auto" }, row.text("case", ""));
  const why = el("span", { class: "b-why", dir: "auto" }, row.text("why", ""));
  return el("li", "b-row", mark, name, why);
}
