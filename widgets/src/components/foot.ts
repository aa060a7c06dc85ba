/** The foot of an ended run: its answer, its crumbs, and what else can be taken along. */

import type { Host } from "../block.ts";
import { el, set } from "../dom.ts";
import { PressButton } from "../press.ts";
import { type Word, say } from "../words.ts";
import { copyButton } from "./copy.ts";

const SHOWN_FOR = 2000;

export interface FootState {
  ended: boolean;
  dead: boolean;
  /** Whether what happened is folded away and can be shown. */
  folds: boolean;
  unfolded: boolean;
}

export class Foot {
  readonly node: HTMLElement;
  /** The crumbs, once somebody wanted to see them. */
  readonly crumbs = el("pre", {
    class: "b-pre b-box b-crumbs",
    dir: "ltr",
    tabindex: "0",
    role: "group",
    "aria-label": say("crumbs"),
    hidden: true,
  });
  readonly #host: Host;
  readonly #answer: () => string;
  readonly #copy: PressButton;
  readonly #show: PressButton;
  readonly #open: PressButton;
  readonly #more: PressButton;
  readonly #rest: PressButton[];
  #isMore = false;

  constructor(host: Host, answer: () => string, unfold: () => void) {
    this.#host = host;
    this.#answer = answer;
    const link = { link: true };
    this.#copy = copyButton(host, say("question.answer"), answer, say("copy.answer"));
    this.#show = new PressButton(host, "", unfold, link);
    this.#open = new PressButton(host, say("crumbs.open"), () => this.#toggle(), link);
    this.#more = new PressButton(host, say("more"), () => this.#unfold(), link);
    this.#rest = [
      this.#taken("copy.python", "python"),
      this.#taken("copy.show", "command"),
    ];
    const buttons = [this.#copy, this.#show, this.#open, this.#more, ...this.#rest];
    this.node = el("div", "b-foot", ...buttons.map((button) => button.node));
  }

  draw(state: FootState): void {
    const { ended, dead, folds, unfolded } = state;
    this.node.hidden = !ended;
    this.#copy.node.hidden = !ended || this.#answer() === "";
    this.#show.node.hidden = !folds;
    this.#show.text = say(unfolded ? "hide.body" : "show.body");
    for (const button of [this.#open, this.#more, ...this.#rest]) button.off(dead);
    for (const button of this.#rest) button.node.hidden = !this.#isMore;
    set(this.#more.node, "aria-expanded", String(this.#isMore));
    if (!ended) this.crumbs.hidden = true;
  }

  #unfold(): void {
    this.#isMore = !this.#isMore;
    for (const button of this.#rest) button.node.hidden = !this.#isMore;
    set(this.#more.node, "aria-expanded", String(this.#isMore));
  }

  #toggle(): void {
    if (!this.crumbs.hidden) {
      this.#opened(false);
      return;
    }
    this.#host.hand("crumbs", {}, (lines) => {
      if (typeof lines !== "string") return;
      this.crumbs.textContent = lines;
      this.#opened(true);
    });
  }

  #opened(open: boolean): void {
    this.crumbs.hidden = !open;
    this.#open.text = say(open ? "crumbs.close" : "crumbs.open");
  }

  /** A button that copies what the kernel hands out. */
  #taken(word: Word, name: string): PressButton {
    const button = new PressButton(
      this.#host,
      say(word),
      () =>
        this.#host.hand(name, {}, (text) => void this.#copied(button, word, text)),
      { link: true },
    );
    return button;
  }

  async #copied(button: PressButton, word: Word, text: unknown): Promise<void> {
    const { page } = this.#host;
    const copied = typeof text === "string" && (await page.copy(text, this.node));
    button.text = say(copied ? "copied" : "copy.failed");
    this.#host.announce(button.node.textContent);
    page.later(SHOWN_FOR, () => (button.text = say(word)));
  }
}
