/** What a screen reader is told: politely at most once in three seconds, or at once. */

import { el } from "../dom.ts";
import type { Page } from "../page.ts";

const EVERY = 3000;

export class Announcer {
  readonly status = el("span", { class: "b-sr", role: "status" });
  readonly alert = el("span", { class: "b-sr", role: "alert" });
  readonly #page: Page;
  #last = Number.NEGATIVE_INFINITY;
  #next: string | null = null;
  #cancel: (() => void) | null = null;

  constructor(page: Page) {
    this.#page = page;
  }

  /** Say this when it is polite to; of several that wait the last is said. */
  say(words: string): void {
    this.#next = words;
    if (this.#cancel) return;
    const wait = this.#last + EVERY - this.#page.now();
    if (wait <= 0) this.#speak();
    else this.#cancel = this.#page.later(wait, () => this.#speak());
  }

  alarm(words: string): void {
    this.alert.textContent = words;
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = null;
  }

  #speak(): void {
    this.#cancel = null;
    if (this.#next === null) return;
    this.status.textContent = this.#next;
    this.#next = null;
    this.#last = this.#page.now();
  }
}
