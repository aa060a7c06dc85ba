/** A model call that is tried again, and the text that was withdrawn with it. */

import type { Block, Read } from "../block.ts";
import { el, setKids, setText } from "../dom.ts";
import { Reader } from "../json.ts";
import { say } from "../words.ts";
import { Fold } from "./fold.ts";

export class Retry implements Block {
  readonly node = el("div", "b-retry");
  readonly #words = el("div", { class: "b-warn", dir: "auto" });
  readonly #text = el("s", { class: "b-reason", dir: "auto" });
  readonly #fold = new Fold({ fill: (body) => body.append(this.#text) });

  constructor() {
    this.#fold.head.append(el("span", null, say("withdrawn")));
  }

  update(read: Read): void {
    const entry = new Reader(read("value"), "Retry");
    const withdrawn = entry.text("withdrawn", "");
    setText(this.#words, entry.text("words", ""));
    setText(this.#text, withdrawn);
    const kids = withdrawn === "" ? [this.#words] : [this.#words, this.#fold.node];
    setKids(this.node, kids);
  }
}
