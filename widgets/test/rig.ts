/** A page without a browser: jsdom, a clock that tests turn, and a kernel that tests are. */

import { JSDOM } from "jsdom";
import type { Wire } from "../src/channel.ts";
import { type Json, type JsonRecord, isRecord } from "../src/json.ts";
import { guard, installGuard } from "../src/keys.ts";
import type { Page } from "../src/page.ts";
import { View } from "../src/view.ts";

const dom = new JSDOM("<!doctype html><body></body>", { pretendToBeVisual: true });
const GLOBALS = [
  "document",
  "Node",
  "Text",
  "Element",
  "HTMLElement",
  "HTMLTextAreaElement",
  "Document",
  "HTMLInputElement",
  "HTMLSelectElement",
  "HTMLOListElement",
  "ShadowRoot",
  "MutationObserver",
  "getComputedStyle",
  "Event",
  "KeyboardEvent",
  "MouseEvent",
] as const;
Object.assign(globalThis, { window: dom.window });
for (const name of GLOBALS) Object.assign(globalThis, { [name]: dom.window[name] });
installGuard(window);

interface Timer {
  at: number;
  call: () => void;
}

export class FakePage implements Page {
  readonly copied: string[] = [];
  /** Whether events come from a person. */
  person = true;
  /** How often the page was painted. */
  paints = 0;
  #time = 1000;
  #timers: Timer[] = [];
  #frames: (() => void)[] = [];
  #names = 0;

  now(): number {
    return this.#time;
  }

  stamp(): string {
    return "2026-01-02T03:04:05.000Z";
  }

  later(ms: number, call: () => void): () => void {
    const timer = { at: this.#time + ms, call };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((held) => held !== timer);
    };
  }

  frame(call: () => void): () => void {
    this.#frames.push(call);
    return () => {
      this.#frames = this.#frames.filter((held) => held !== call);
    };
  }

  trusted(): boolean {
    return this.person;
  }

  sizes(): () => void {
    return () => undefined;
  }

  copy(text: string): Promise<boolean> {
    this.copied.push(text);
    return Promise.resolve(true);
  }

  readonly saved: string[][] = [];

  save(...file: string[]): void {
    this.saved.push(file);
  }

  fresh(): string {
    return `name-${(this.#names += 1)}`;
  }

  /** Let time pass; what is due is called in its order. */
  pass(ms: number): void {
    const end = this.#time + ms;
    for (;;) {
      const due = this.#timers.filter((timer) => timer.at <= end);
      const next = due.sort((one, other) => one.at - other.at)[0];
      if (!next) break;
      this.#timers = this.#timers.filter((timer) => timer !== next);
      this.#time = next.at;
      next.call();
    }
    this.#time = end;
    this.paint();
  }

  paint(): void {
    const frames = this.#frames;
    this.#frames = [];
    if (frames.length > 0) this.paints += 1;
    for (const frame of frames) frame();
  }
}

export class Kernel implements Wire {
  readonly sent: JsonRecord[] = [];
  interrupted = 0;
  broken = false;
  #hear: ((message: Json) => void) | null = null;
  #seq = 0;

  send(message: JsonRecord): void {
    if (this.broken) throw new Error("Kernel is dead");
    this.sent.push(message);
  }

  hear(call: (message: Json) => void): () => void {
    this.#hear = call;
    return () => (this.#hear = null);
  }

  tell(message: Json): void {
    this.#hear?.(structuredClone(message));
  }

  snapshot(messages: Json[], more: JsonRecord = {}): void {
    this.tell({ t: "snapshot", seq: this.#seq, messages, ...more });
  }

  frame(messages: Json[], append: Json[] = []): void {
    this.#seq += 1;
    this.tell({ t: "frame", seq: this.#seq, messages, append });
  }

  /** Lose a frame on the way. */
  skip(): void {
    this.#seq += 1;
  }

  actions(name?: string): Action[] {
    return this.sent.flatMap((message) => {
      const inner = message["message"];
      const action = isRecord(inner) ? inner["action"] : undefined;
      if (!isRecord(action) || (name !== undefined && action["name"] !== name))
        return [];
      const context = isRecord(action["context"]) ? action["context"] : {};
      return {
        id: String(message["id"]),
        name: String(action["name"]),
        context,
        message,
      };
    });
  }

  hellos(): JsonRecord[] {
    return this.sent.filter((message) => message["t"] === "hello");
  }

  ack(): void {
    for (const { id } of this.actions().slice(-1)) this.tell({ t: "ack", id });
  }

  result(
    ok: boolean,
    say: string | null = null,
    problems: Json[] = [],
    data: Json = null,
  ): void {
    for (const { id } of this.actions().slice(-1)) {
      this.tell({ t: "result", id, ok, say, problems, data });
    }
  }
}

export interface Action {
  id: string;
  name: string;
  context: JsonRecord;
  message: JsonRecord;
}

export interface Rig {
  page: FakePage;
  kernel: Kernel;
  view: View;
  root: ShadowRoot;
  card: HTMLElement;
  left: () => number;
  /** The first element that matches, which must be there. */
  one(selector: string, within?: ParentNode): HTMLElement;
  all(selector: string): HTMLElement[];
  /** A visible button by the words on it. */
  button(words: string, within?: ParentNode): HTMLButtonElement;
  words(): string;
}

/** Open a card and, with messages, answer its hello with them. */
export function open(messages?: Json[]): Rig {
  document.body.replaceChildren();
  const host = document.createElement("div");
  document.body.append(host);
  const root = host.attachShadow({ mode: "open" });
  const page = new FakePage();
  const kernel = new Kernel();
  let left = 0;
  const interrupt = () => (kernel.interrupted += 1) > 0;
  const view = new View({ page, wire: kernel, interrupt, leave: () => (left += 1) });
  root.append(view.card.node);
  guard(host, view);
  if (messages) {
    kernel.snapshot(messages);
    page.paint();
  }
  const card = view.card.node;
  const all = (selector: string) => [...card.querySelectorAll<HTMLElement>(selector)];
  const one = (selector: string, within: ParentNode = card) => {
    const found = within.querySelector<HTMLElement>(selector);
    if (!found) throw new Error(`nothing matches ${selector}`);
    return found;
  };
  const button = (words: string, within: ParentNode = card) => {
    const buttons = [...within.querySelectorAll("button")];
    const found = buttons.find((node) => node.textContent === words && visible(node));
    if (!found)
      throw new Error(`no button ${words}: ${buttons.map((b) => b.textContent)}`);
    return found;
  };
  return {
    page,
    kernel,
    view,
    root,
    card,
    left: () => left,
    one,
    all,
    button,
    words: () => shown(card),
  };
}

export function visible(node: Element): boolean {
  return node.closest("[hidden]") === null && node.isConnected;
}

/** The text of a card without what is hidden or only for screen readers. */
export function shown(node: Node): string {
  if (node instanceof HTMLElement && (node.hidden || node.classList.contains("b-sr")))
    return "";
  if (node instanceof Text) return node.data;
  return [...node.childNodes].map(shown).join("");
}

/** Press with the pointer: down and up on the same button. */
export function press(node: Element): void {
  pointer(node, "pointerdown");
  pointer(node, "pointerup");
  click(node);
}

export function pointer(node: Element, type: string): void {
  node.dispatchEvent(
    new MouseEvent(type, { bubbles: true, composed: true, cancelable: true }),
  );
}

export function click(node: Element, detail = 1): void {
  const event = { bubbles: true, composed: true, cancelable: true, detail };
  node.dispatchEvent(new MouseEvent("click", event));
}

export function keyDown(
  node: Element,
  key: string,
  more: KeyboardEventInit = {},
): KeyboardEvent {
  const init = { key, bubbles: true, composed: true, cancelable: true, ...more };
  const event = new KeyboardEvent("keydown", init);
  node.dispatchEvent(event);
  return event;
}

export function keyUp(node: Element, key: string): void {
  node.dispatchEvent(
    new KeyboardEvent("keyup", {
      key,
      bubbles: true,
      composed: true,
      cancelable: true,
    }),
  );
}

export function type(node: Element, text: string): void {
  if (!(node instanceof HTMLInputElement || node instanceof HTMLTextAreaElement)) {
    throw new Error("nothing to type into");
  }
  node.value = text;
  node.dispatchEvent(new Event("input", { bubbles: true }));
}

export function leave(node: Element): void {
  node.dispatchEvent(new Event("focusout", { bubbles: true }));
}

export function choose(radio: Element): void {
  if (!(radio instanceof HTMLInputElement)) throw new Error("no radio");
  radio.checked = true;
  radio.dispatchEvent(new Event("change", { bubbles: true }));
}
