/** A fold: closed until a person opens it, and then it stays as the person left it. */

import { el } from "../dom.ts";

export interface FoldOptions {
  open?: boolean;
  /** Fills the body when it is first opened, so that folded things cost nothing. */
  fill?: (body: HTMLElement) => void;
}

export class Fold {
  readonly node: HTMLDetailsElement;
  readonly head: HTMLElement;
  readonly body: HTMLElement;
  readonly #fill: ((body: HTMLElement) => void) | undefined;
  filled = false;
  /** Whether a person opened or closed it. */
  handled = false;

  constructor(options: FoldOptions = {}) {
    this.#fill = options.fill;
    this.head = el("summary");
    this.body = el("div", "b-in");
    this.node = el("details", "b-fold", this.head, this.body);
    this.head.addEventListener("click", () => {
      this.handled = true;
      this.#ready();
    });
    this.node.addEventListener("toggle", () => {
      if (this.node.open) this.#ready();
    });
    if (options.open) this.open();
  }

  open(): void {
    this.#ready();
    this.node.open = true;
  }

  #ready(): void {
    if (this.filled) return;
    this.filled = true;
    this.#fill?.(this.body);
  }
}
