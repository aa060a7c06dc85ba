/**
 * Buttons that cannot be pressed by accident.
 *
 * A press is down and up on the same button, by a person: a held key, a script of the
 * page and a button that has just appeared or moved under the pointer press nothing.
 */

import type { Host, KeyPress } from "./block.ts";
import { el, set } from "./dom.ts";

export const INERT_FOR = 600;

export interface ButtonOptions {
  /** The one that goes on. */
  go?: boolean;
  /** Looks like a link. */
  link?: boolean;
  /** Since when it stands where it stands; it is inert for a while after that. */
  since?: () => number;
  label?: string;
  /** It was pressed while it was inert; somebody should be told. */
  early?: () => void;
}

export class PressButton implements KeyPress {
  readonly node: HTMLButtonElement;
  readonly #host: Host;
  readonly #pressed: () => void;
  readonly #since: () => number;
  readonly #early: () => void;
  #key: string | null = null;
  #pointer = false;
  #keyed = Number.NEGATIVE_INFINITY;
  #off = false;

  constructor(host: Host, text: string, pressed: () => void, more: ButtonOptions = {}) {
    this.#host = host;
    this.#pressed = pressed;
    this.#since = more.since ?? (() => Number.NEGATIVE_INFINITY);
    this.#early = more.early ?? (() => undefined);
    const look = `b-btn${more.go ? " b-go" : ""}${more.link ? " b-link" : ""}`;
    this.node = el("button", { type: "button", class: look }, text);
    if (more.label) this.node.setAttribute("aria-label", more.label);
    this.node.addEventListener("pointerdown", (event) => {
      this.#pointer = this.#takes(event);
      if (!this.#pointer) this.#tell(event);
    });
    this.node.addEventListener("pointercancel", () => (this.#pointer = false));
    this.node.addEventListener("click", (event) => this.#click(event));
    this.node.addEventListener("blur", () => (this.#key = null));
    host.presses.set(this.node, this);
  }

  /** Off, with the id of the element that says why. It stays in the tab order. */
  off(off: boolean, describedBy: string | null = null): void {
    this.#off = off;
    set(this.node, "aria-disabled", off ? "true" : null);
    set(this.node, "aria-describedby", describedBy);
  }

  get isOff(): boolean {
    return this.#off;
  }

  set text(text: string) {
    if (this.node.textContent !== text) this.node.textContent = text;
  }

  down(event: KeyboardEvent): void {
    event.preventDefault();
    if (event.repeat) return;
    this.#key = this.#takes(event) ? event.key : null;
    if (this.#key === null) this.#tell(event);
  }

  up(event: KeyboardEvent): void {
    event.preventDefault();
    const pressed = this.#key === event.key;
    this.#key = null;
    this.#keyed = this.#host.page.now();
    if (pressed && !this.isOff) this.#pressed();
  }

  #click(event: MouseEvent): void {
    // Zero clicks is a press by assistive technology, or the browser's own
    // translation of a key that was dealt with already.
    const assisted = event.detail === 0 && this.#key === null && !this.#justKeyed();
    const pointed = event.detail > 0 && this.#pointer;
    this.#pointer = false;
    if (this.isOff || !(assisted || pointed) || !this.#takes(event)) return;
    this.#pressed();
  }

  #justKeyed(): boolean {
    return this.#host.page.now() - this.#keyed < 100;
  }

  /** A press that came too early leaves a sign. */
  #tell(event: Event): void {
    if (!this.isOff && this.#host.page.trusted(event)) this.#early();
  }

  #takes(event: Event): boolean {
    const { page } = this.#host;
    if (this.isOff || !page.trusted(event)) return false;
    return page.now() - this.#since() >= INERT_FOR;
  }
}
