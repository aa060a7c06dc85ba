/** How far something is: words, and a meter only where there are figures. */

import type { Block, Read } from "../block.ts";
import { el, set, setKids, setText } from "../dom.ts";
import { Reader } from "../json.ts";

export class Progress implements Block {
  readonly node = el("div", "b-row b-progress");
  readonly #words = el("span", { dir: "auto" });
  readonly #meter = new Meter();

  update(read: Read): void {
    const entry = new Reader(read("value"), "Progress");
    setText(this.#words, entry.text("words", ""));
    this.#meter.show(entry.numberOrNull("done"), entry.numberOrNull("of"));
    this.#meter.node.setAttribute("aria-label", this.#words.textContent);
    const kids = this.#meter.node.hidden
      ? [this.#words]
      : [this.#words, this.#meter.node];
    setKids(this.node, kids);
  }
}

/** A native meter; without both figures there is none. */
export class Meter {
  readonly node = el("progress", "b-meter");

  show(done: number | null, of: number | null): void {
    const figures = done !== null && of !== null && of > 0;
    this.node.hidden = !figures;
    if (!figures) return;
    set(this.node, "max", of);
    set(this.node, "value", Math.min(of, Math.max(0, done)));
  }
}
