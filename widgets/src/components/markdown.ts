/**
 * The text of an answer while it is written and after.
 *
 * Closed blocks are drawn once and stay; only what may still change is lexed again.
 * Of a very long text the middle is left out until it is asked for.
 */

import type { Token } from "marked";
import type { Block, Host, Read } from "../block.ts";
import { el, setKids } from "../dom.ts";
import { Reader } from "../json.ts";
import { closedOf, lex } from "../lexed.ts";
import { PressButton } from "../press.ts";
import { unturned } from "../segments.ts";
import { blockNode } from "../tokens.ts";
import { say } from "../words.ts";

export const LONG = 200_000;
const END = 20_000;
const SKIM = 20_000;

export class Markdown implements Block {
  readonly node = el("div", "b-text");
  readonly #head = new Flow();
  readonly #rule = el("div", "b-cut");
  readonly #hidden = el("span");
  #tail: Flow | null = null;
  #tailFrom = 0;
  /** How much of a long text is shown from its beginning. */
  #shown = END;
  #limit = LONG;
  #text = "";
  #done = false;
  withdrawn = false;
  /** How often this text was drawn. */
  paints = 0;

  constructor(host: Host) {
    const more = () => this.#more(this.#shown + LONG);
    const all = () => this.#more(Number.POSITIVE_INFINITY);
    const buttons = [
      new PressButton(host, say("text.more"), more),
      new PressButton(host, say("text.all"), all),
    ];
    this.#rule.append(this.#hidden, ...buttons.map((button) => button.node));
    this.node.append(this.#head.node);
  }

  /** The text as it is kept, all of it. */
  get text(): string {
    return this.#text;
  }

  update(read: Read): void {
    const entry = new Reader(read("value"), "Markdown");
    this.#text = entry.text("text", "");
    this.#done = entry.flag("done");
    this.withdrawn = entry.flag("withdrawn");
    this.node.classList.toggle("b-withdrawn", this.withdrawn);
    this.#draw();
  }

  #more(shown: number): void {
    this.#shown = shown;
    this.#limit = Math.max(LONG, shown);
    this.#draw();
    this.node.tabIndex = -1;
    this.node.focus({ preventScroll: true });
  }

  #draw(): void {
    this.paints += 1;
    const text = unturned(this.#text);
    this.node.classList.toggle("b-long", text.length > SKIM);
    this.node.classList.toggle("b-caret", !this.#done && text !== "");
    if (text.length <= Math.max(this.#limit, this.#shown + END)) {
      this.#tail = null;
      setKids(this.node, [this.#head.node]);
      this.#head.show(text, this.#done);
      return;
    }
    this.#head.show(text.slice(0, lineEnd(text, this.#shown)), true);
    if (this.#tail === null || text.length - this.#tailFrom > 2 * END) {
      this.#tail = new Flow();
      this.#tailFrom = lineEnd(text, text.length - END);
    }
    this.#tail.show(text.slice(this.#tailFrom), this.#done);
    const n = this.#tailFrom - lineEnd(text, this.#shown);
    this.#hidden.textContent = say("text.hidden", { n });
    setKids(this.node, [this.#head.node, this.#rule, this.#tail.node]);
  }
}

/** The end of the line at that place, or the place itself in a very long line. */
function lineEnd(text: string, at: number): number {
  const end = text.indexOf("\n", at);
  return end === -1 || end - at > 2000 ? at : end + 1;
}

interface Drawn {
  raw: string;
  node: HTMLElement | null;
}

/** Blocks one after another, drawn anew only from the first that differs. */
class Flow {
  readonly node = el("div", "b-flow");
  #closed: Drawn[] = [];
  #tail: Drawn[] = [];
  #closedEnd = 0;
  #text = "";
  #done = false;

  show(given: string, done: boolean): void {
    const text = given.includes("\r") ? given.replace(/\r\n?/g, "\n") : given;
    if (text === this.#text && done === this.#done) return;
    if (this.#done || !text.startsWith(this.#text)) this.#restart();
    this.#text = text;
    this.#done = done;
    if (done) {
      this.#finish(lex(text));
      return;
    }
    const tokens = lex(text.slice(this.#closedEnd));
    const closed = closedOf(tokens);
    const length = closed.reduce((sum, token) => sum + token.raw.length, 0);
    const raw = closed.map((token) => token.raw).join("");
    const faithful = text.startsWith(raw, this.#closedEnd);
    if (faithful) this.#closedEnd += length;
    this.#draw(tokens, faithful ? closed.length : 0);
  }

  #restart(): void {
    this.#closed = [];
    this.#tail = [];
    this.#closedEnd = 0;
    this.node.replaceChildren();
  }

  /** At the end the whole is lexed once; what stands already stays. */
  #finish(tokens: Token[]): void {
    // A definition of a link may change any block before it.
    if (tokens.some((token) => token.type === "def")) this.#restart();
    const drawn = [...this.#closed, ...this.#tail];
    let at = 0;
    while (at < tokens.length && tokens[at]?.raw === drawn[at]?.raw) at += 1;
    this.#closed = drawn.slice(0, at);
    this.#tail = drawn.slice(at);
    this.#draw(tokens.slice(at), 0);
  }

  #draw(tokens: readonly Token[], closed: number): void {
    const before = this.#tail;
    const drawn = tokens.map((token, at): Drawn => {
      const held = before[at];
      if (held?.raw === token.raw) return held;
      return { raw: token.raw, node: blockNode(token) };
    });
    const kept = new Set(drawn);
    for (const old of before) if (!kept.has(old)) old.node?.remove();
    this.#order(drawn);
    this.#closed.push(...drawn.slice(0, closed));
    this.#tail = drawn.slice(closed);
  }

  #order(drawn: readonly Drawn[]): void {
    let after: Element | null = null;
    for (const { node } of [...drawn].reverse()) {
      if (!node) continue;
      if (node.parentNode !== this.node || node.nextElementSibling !== after) {
        this.node.insertBefore(node, after);
      }
      after = node;
    }
  }
}
