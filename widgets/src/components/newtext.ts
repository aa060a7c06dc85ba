/**
 * The body that scrolls inside itself while a run works.
 *
 * It follows the end only while it is at the end; else a button at its foot says that
 * there is more. The page itself is never scrolled.
 */

import type { Host } from "../block.ts";
import { el } from "../dom.ts";
import { PressButton } from "../press.ts";
import { say } from "../words.ts";

const NEAR = 8;

export class ScrollBody {
  readonly node: HTMLElement;
  readonly body: HTMLElement;
  readonly #below: PressButton;
  #follows = true;
  #height = 0;
  #width = -1;

  constructor(host: Host) {
    const attributes = { class: "b-body", role: "group", "aria-label": say("body") };
    this.body = el("div", attributes);
    const toEnd = () => {
      this.#toEnd();
      this.body.focus({ preventScroll: true });
    };
    this.#below = new PressButton(host, say("newtext"), toEnd);
    this.#below.node.classList.add("b-newtext");
    this.#below.node.hidden = true;
    this.node = el("div", "b-bodywrap", this.body, this.#below.node);
    this.body.addEventListener("scroll", () => this.#scrolled(), { passive: true });
  }

  /** Tall has no inner scroll: forms and ended runs stand whole. */
  set tall(tall: boolean) {
    this.body.classList.toggle("b-tall", tall);
    this.body.tabIndex = tall ? -1 : 0;
    if (tall) this.#below.node.hidden = true;
  }

  get #isTall(): boolean {
    return this.body.classList.contains("b-tall");
  }

  /** Whether what is newest is in sight. */
  get follows(): boolean {
    return this.#follows;
  }

  /** Before a paint: whether the end is in sight now. */
  look(): void {
    if (this.#isTall || this.body.clientWidth !== this.#width) return;
    this.#follows = this.#atEnd;
  }

  /** After a paint: go on following, or say that there is more. */
  settle(): void {
    if (this.#isTall) return;
    const { scrollHeight } = this.body;
    const grew = scrollHeight > this.#height;
    this.#height = scrollHeight;
    this.#width = this.body.clientWidth;
    if (this.#follows) this.body.scrollTop = scrollHeight;
    else if (grew) this.#below.node.hidden = false;
  }

  #toEnd(): void {
    this.#follows = true;
    this.#below.node.hidden = true;
    this.body.scrollTop = this.body.scrollHeight;
  }

  #scrolled(): void {
    if (this.#atEnd) this.#below.node.hidden = true;
  }

  get #atEnd(): boolean {
    const { scrollTop, clientHeight, scrollHeight } = this.body;
    return scrollTop + clientHeight >= scrollHeight - NEAR;
  }
}
