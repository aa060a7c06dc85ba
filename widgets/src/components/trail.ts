/**
 * One mark a crumb, in the order they fell: round, square, hollow, triangle.
 *
 * One stop in the tab order, the arrows go along it. It has two lines at most; then a
 * mark stands for several crumbs and says so.
 */

import type { Host } from "../block.ts";
import { el, set, setKids, setText } from "../dom.ts";
import { PressButton } from "../press.ts";
import type { Crumb } from "../shapes.ts";
import { say } from "../words.ts";

const WIDTH = 12;
const LINES = 2;
const UNMEASURED = 80;
const WORST = ["model", "tool", "wait", "bad"];
const TOLD = 12;

interface Mark {
  crumbs: Crumb[];
  button: PressButton;
}

export class Trail {
  readonly node = el("div", { class: "b-trail", role: "toolbar" });
  readonly #host: Host;
  readonly #chosen: (n: number) => void;
  readonly #tip = el("div", { class: "b-tip", "aria-hidden": "true", hidden: true });
  #marks: Mark[] = [];
  #crumbs: Crumb[] = [];
  #at = 0;

  constructor(host: Host, chosen: (n: number) => void) {
    this.#host = host;
    this.#chosen = chosen;
    this.node.hidden = true;
    host.page.sizes(this.node, () => this.#draw());
    this.node.addEventListener("focusin", (event) => this.#show(event.target));
    this.node.addEventListener("focusout", () => this.#show(null));
    this.node.addEventListener("pointerover", (event) => this.#show(event.target));
    this.node.addEventListener("pointerleave", () => this.#show(null));
  }

  /** The number of the newest crumb. */
  get last(): number {
    return this.#crumbs.at(-1)?.n ?? 0;
  }

  update(crumbs: Crumb[]): void {
    if (sameTrail(this.#crumbs, crumbs)) return;
    this.#crumbs = crumbs;
    this.#draw();
  }

  enable(alive: boolean): void {
    for (const mark of this.#marks) mark.button.off(!alive);
  }

  /** Move along the trail; whether the key was one of its own. */
  key(event: KeyboardEvent): boolean {
    const moves: Record<string, number> = {
      ArrowRight: this.#at + 1,
      ArrowDown: this.#at + 1,
      ArrowLeft: this.#at - 1,
      ArrowUp: this.#at - 1,
      Home: 0,
      End: this.#marks.length - 1,
    };
    let to = moves[event.key];
    if (to === undefined) return false;
    const mirrored = event.key === "ArrowLeft" || event.key === "ArrowRight";
    if (mirrored && rightToLeft(this.node)) to = 2 * this.#at - to;
    event.preventDefault();
    this.#go(Math.min(this.#marks.length - 1, Math.max(0, to)));
    return true;
  }

  #go(at: number): void {
    this.#at = at;
    this.#rove();
    this.#marks[at]?.button.node.focus({ preventScroll: true });
  }

  #rove(): void {
    this.#marks.forEach((mark, at) => {
      set(mark.button.node, "tabindex", at === this.#at ? "0" : "-1");
    });
  }

  #draw(): void {
    const crumbs = this.#crumbs;
    this.node.hidden = crumbs.length === 0;
    if (crumbs.length === 0) return;
    const width = this.node.clientWidth;
    const room =
      width > 0 ? Math.max(4, Math.floor(width / WIDTH) * LINES) : UNMEASURED;
    const each = Math.ceil(crumbs.length / room);
    const count = Math.ceil(crumbs.length / each);
    const atEnd = this.#at >= this.#marks.length - 1;
    while (this.#marks.length > count) this.#marks.pop();
    for (let at = 0; at < count; at += 1) {
      const part = crumbs.slice(at * each, (at + 1) * each);
      const mark = (this.#marks[at] ??= this.#mark());
      mark.crumbs = part;
      mark.button.node.dataset["k"] = worst(part);
      set(mark.button.node, "aria-label", label(part));
    }
    this.#at = atEnd ? count - 1 : Math.min(this.#at, count - 1);
    this.#rove();
    set(this.node, "aria-label", summary(crumbs));
    setKids(this.node, [...this.#marks.map((mark) => mark.button.node), this.#tip]);
  }

  #mark(): Mark {
    const button = new PressButton(this.#host, "", () => {
      const n = mark.crumbs.at(-1)?.n;
      if (n !== undefined) this.#chosen(n);
    });
    button.node.className = "b-crumb";
    const mark: Mark = { crumbs: [], button };
    return mark;
  }

  #show(target: EventTarget | null): void {
    const at = this.#marks.findIndex((mark) => mark.button.node === target);
    const mark = this.#marks[at];
    this.#tip.hidden = mark === undefined;
    if (!mark) return;
    const { node } = mark.button;
    if (node.matches(":focus")) {
      this.#at = at;
      this.#rove();
    }
    setText(this.#tip, label(mark.crumbs));
    const rtl = rightToLeft(this.node);
    const { offsetLeft, offsetTop, offsetWidth } = node;
    const start = rtl ? this.node.clientWidth - offsetLeft - offsetWidth : offsetLeft;
    const half = this.node.clientWidth / 2;
    const side = start > half ? "end" : "start";
    const far = this.node.clientWidth - start - offsetWidth;
    this.#tip.style.setProperty(
      "inset-block-start",
      `${offsetTop + node.offsetHeight}px`,
    );
    this.#tip.style.setProperty(
      "inset-inline-start",
      side === "start" ? `${start}px` : "auto",
    );
    this.#tip.style.setProperty(
      "inset-inline-end",
      side === "end" ? `${far}px` : "auto",
    );
  }
}

function rightToLeft(node: Element): boolean {
  return getComputedStyle(node).direction === "rtl";
}

function sameTrail(one: readonly Crumb[], other: readonly Crumb[]): boolean {
  return (
    one.length === other.length &&
    one.every((crumb, at) => {
      const now = other[at];
      return crumb.n === now?.n && crumb.kind === now.kind && crumb.words === now.words;
    })
  );
}

function worst(crumbs: readonly Crumb[]): string {
  const ranks = crumbs.map((crumb) => WORST.indexOf(crumb.kind));
  return WORST[Math.max(0, ...ranks)] ?? "model";
}

function label(crumbs: readonly Crumb[]): string {
  const [first] = crumbs;
  const last = crumbs.at(-1);
  if (!first || !last) return "";
  const places = { n: first.n, words: first.words.replaceAll(", ", " · ") };
  if (first === last) return say("trail.one", places);
  const words = crumbs.map((crumb) => crumb.words).join("; ");
  return say("trail.many", { from: first.n, to: last.n, words });
}

function summary(crumbs: readonly Crumb[]): string {
  if (crumbs.length > TOLD) return say("trail.long", { n: crumbs.length });
  const words = crumbs.map((crumb) => crumb.words.split(",", 1)[0] ?? "").join(", ");
  return say("trail", { words });
}
