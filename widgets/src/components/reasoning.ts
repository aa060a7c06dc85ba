/** What the model thought: plain text, folded, its head counts seconds and words. */

import type { Block, Host, Read } from "../block.ts";
import { el, setText } from "../dom.ts";
import { age, wordCount } from "../format.ts";
import { Reader } from "../json.ts";
import { unturned } from "../segments.ts";
import { say } from "../words.ts";
import { Fold } from "./fold.ts";

export class Reasoning implements Block {
  readonly node: HTMLElement;
  readonly #fold: Fold;
  readonly #end = el("span", "b-end");
  readonly #text = el("div", { class: "b-reason", dir: "auto" });
  readonly #host: Host;
  readonly #began: number;
  #words = "";

  constructor(host: Host) {
    this.#host = host;
    this.#began = host.page.now();
    this.#fold = new Fold({
      fill: (body) => {
        setText(this.#text, this.#words);
        body.append(this.#text);
      },
    });
    const title = el("span", null, say("reasoning"));
    this.#fold.head.append(title, el("span", "b-hint"), this.#end);
    this.node = this.#fold.node;
  }

  update(read: Read): void {
    const entry = new Reader(read("value"), "Reasoning");
    this.#words = unturned(entry.text("text", ""));
    const done = entry.flag("done");
    const so = done ? entry.numberOrNull("ms") : this.#host.page.now() - this.#began;
    const n = (done ? entry.numberOrNull("words") : null) ?? wordCount(this.#words);
    const both = say("reasoning.took", { n, took: age(so ?? 0) });
    setText(this.#end, so === null ? say("reasoning.words", { n }) : both);
    if (this.#fold.filled) setText(this.#text, this.#words);
  }
}
