/** One value as it is: plain text, its invisible characters boxed, long ones cut. */

import type { Host } from "../block.ts";
import { el, setKids } from "../dom.ts";
import { PressButton } from "../press.ts";
import { asText, cut, drawn } from "../segments.ts";
import type { Value } from "../shapes.ts";
import { say } from "../words.ts";
import { copyButton } from "./copy.ts";

const WHOLE_LINES = 20;
const WHOLE_CHARS = 1000;
const HEAD_LINES = 4;
const HEAD_CHARS = 320;
const BOX_LINES = 200;
const BOX_CHARS = 20_000;
const TOOL_CHARS = 2000;

/** How far a person has looked at a value that must be seen whole. */
export type Looked = "unopened" | "unread" | "seen";

/** A value in a tool card: twenty lines, then the rest on demand. */
export function toolValue(value: Value, host: Host): HTMLElement {
  const pre = el("pre", { class: "b-pre", dir: "ltr" });
  const box = el("div", "b-value", pre);
  const head = cut(value.segments, WHOLE_LINES, TOOL_CHARS);
  pre.append(...drawn(head.segments));
  if (!head.whole) {
    const all = new PressButton(host, say("value.all"), () => {
      setKids(pre, drawn(value.segments));
      pre.tabIndex = -1;
      pre.focus({ preventScroll: true });
      marker.remove();
    });
    const marker = el("div", "b-cut", el("span", null, hidden(value, head)), all.node);
    box.append(marker);
  }
  box.append(...remarks(value));
  return box;
}

/** A caption with a button that copies the value under it. */
export function captioned(title: string, value: Value, host: Host): HTMLElement {
  const button = copyButton(host, title, () => asText(value));
  return el("div", "b-cap", el("span", null, title), button.node);
}

/** A value a person is about to consent to. */
export class ConsentValue {
  readonly node: HTMLElement;
  readonly key: string;
  looked: Looked;
  readonly #host: Host;
  readonly #value: Value;
  readonly #changed: () => void;
  readonly #pre = el("pre", { class: "b-pre", dir: "ltr" });

  constructor(key: string, value: Value, host: Host, changed: () => void) {
    this.key = key;
    this.#value = value;
    this.#host = host;
    this.#changed = changed;
    const whole = cut(value.segments, WHOLE_LINES, WHOLE_CHARS).whole;
    this.looked = whole ? "seen" : "unopened";
    this.node = el("div", "b-value", this.#pre);
    if (whole) this.#pre.append(...drawn(value.segments));
    else this.#fold();
    this.node.append(...remarks(value));
  }

  #fold(): void {
    const head = cut(this.#value.segments, HEAD_LINES, HEAD_CHARS);
    this.#pre.append(...drawn(head.segments));
    const label = say("value.all.of", { key: this.key });
    const open = new PressButton(this.#host, label, () => {
      marker.remove();
      this.#open();
    });
    const words = el("span", null, hidden(this.#value, head));
    const marker = el("div", "b-cut", words, open.node);
    this.node.append(marker);
  }

  #open(): void {
    setKids(this.#pre, drawn(this.#value.segments));
    this.#pre.tabIndex = 0;
    this.#pre.setAttribute("role", "group");
    this.#pre.setAttribute("aria-label", say("value.box", { key: this.key }));
    const long = this.#value.lines > BOX_LINES || this.#value.chars > BOX_CHARS;
    this.looked = long ? "unread" : "seen";
    if (long) {
      this.#pre.classList.add("b-box");
      this.#pre.addEventListener("scroll", () => this.#scrolled());
      this.#host.page.frame(() => this.#scrolled());
    }
    this.#pre.focus({ preventScroll: true });
    this.#changed();
  }

  #scrolled(): void {
    const pre = this.#pre;
    if (this.looked === "seen" || pre.clientHeight === 0) return;
    if (pre.scrollTop + pre.clientHeight < pre.scrollHeight - 2) return;
    this.looked = "seen";
    this.#changed();
  }
}

function hidden(value: Value, head: { lines: number; chars: number }): string {
  const lines = value.lines - Math.max(1, head.lines + 1);
  if (lines > 0) return say("value.lines", { n: lines });
  return say("value.chars", { n: Math.max(1, value.chars - head.chars) });
}

function remarks(value: Value): HTMLElement[] {
  const words: string[] = [];
  if (value.escapes > 0) words.push(say("value.escapes", { n: value.escapes }));
  if (value.cut) words.push(say("value.cut", { n: value.chars }));
  return words.map((text) => el("div", "b-warn", text));
}
