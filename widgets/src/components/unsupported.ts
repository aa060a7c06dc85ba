/** The placeholder for what cannot be drawn: its name, the raw value folded. */

import type { Block, Read } from "../block.ts";
import { el } from "../dom.ts";
import { type Json, Reader } from "../json.ts";
import { drawn } from "../segments.ts";
import { readValueOrNull } from "../shapes.ts";
import { say } from "../words.ts";
import { Fold } from "./fold.ts";

const MOST = 2000;

export class Unsupported implements Block {
  readonly node: HTMLElement;
  #raw: Json;
  readonly #fold: Fold;
  readonly #title = el("span", { class: "b-cap", dir: "auto" });

  /** `words` says why; without it the name is called unsupported. */
  constructor(name: string | null, raw: Json, words?: string) {
    this.#raw = raw;
    this.#fold = new Fold({ fill: (body) => body.append(this.#text()) });
    const title = words ?? say("unsupported", { name: name ?? "" });
    this.#title.textContent = title;
    this.#fold.head.append(this.#title);
    const bare = raw === null && words !== undefined;
    this.node = bare ? el("div", "b-cap b-fault", title) : this.#fold.node;
  }

  /** Unsupported is unsupported, whatever its values are. */
  update(): void {
    return;
  }

  show(raw: Json): void {
    this.#raw = raw;
    if (this.#fold.filled) this.#fold.body.replaceChildren(this.#text());
  }

  #text(): HTMLElement {
    const text = JSON.stringify(this.#raw, null, 2);
    return el("pre", "b-pre", text.length > MOST ? `${text.slice(0, MOST)} …` : text);
  }
}

/** Something of the run that this version has no block for. */
export class Stranger implements Block {
  readonly #fold = new Fold({ fill: (body) => body.append(this.#text) });
  readonly #title = el("span", { class: "b-cap", dir: "auto" });
  readonly #text = el("pre", { class: "b-pre", dir: "ltr" });
  readonly node = this.#fold.node;

  constructor() {
    this.#fold.head.append(this.#title);
  }

  update(read: Read): void {
    const entry = new Reader(read("value"), "Unsupported");
    this.#title.textContent = say("unsupported", { name: entry.text("kind", "") });
    const raw = readValueOrNull(entry.get("raw"));
    this.#text.replaceChildren(...drawn(raw?.segments ?? []));
  }
}
