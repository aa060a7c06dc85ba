/** Who runs, in which state, with which facts, and the one button. */

import type { Host } from "../block.ts";
import { el, set, setKids, setText } from "../dom.ts";
import { age, clock } from "../format.ts";
import { PressButton } from "../press.ts";
import type { Head } from "../shapes.ts";
import { say, sayCode } from "../words.ts";

/** Facts in the order in which they leave when there is no room. */
const LEAVING = ["recording", "replayed", "run", "model", "session", "turn"] as const;
const ORDER = [
  "model",
  "turn",
  "time",
  "waiting",
  "cost",
  "run",
  "session",
  "replayed",
  "recording",
];
const SLOW_AFTER = 10_000;
const SAFE_AFTER = 30_000;
const STARTING_AFTER = 3000;
const STOPPING_AFTER = 1000;
const MINUTE = 60_000;

export class Header {
  readonly node: HTMLElement;
  /** The question whether to end the run, under the header. */
  readonly question: HTMLElement;
  /** What the state waits for. */
  readonly detail = el("div", { class: "b-detail", dir: "auto" });
  readonly word = el("span", { class: "b-word", tabindex: "-1" });
  readonly #host: Host;
  readonly #agent = el("span", "b-agent");
  readonly #mark = el("span", { class: "b-mark", "aria-hidden": "true" });
  readonly #facts = el("div", "b-facts");
  readonly #spans = new Map<string, HTMLElement>();
  readonly #button: PressButton;
  readonly #yes: PressButton;
  readonly #words = el("span", null, say("end.question"));
  #head: Head | null = null;
  #since = 0;
  #dead = false;
  #sent = false;
  #ticks: (() => void) | null = null;
  #fitted = "";

  constructor(
    host: Host,
    pressed: { stop: (done: () => void) => void; end: (done: () => void) => void },
  ) {
    this.#host = host;
    this.#button = new PressButton(host, "", () => {
      if (this.#head?.button === "end") this.ask();
      else this.#send(pressed.stop);
    });
    this.#yes = new PressButton(host, say("end.yes"), () => {
      this.#asking(false);
      this.#send(pressed.end);
    });
    const no = new PressButton(host, say("end.no"), () => this.#asking(false));
    this.question = el("div", "b-endask", this.#words, this.#yes.node, no.node);
    this.question.hidden = true;
    const state = el("span", "b-state", this.#mark, this.word);
    const id = el("div", "b-id", this.#agent, state);
    this.node = el("div", "b-head", id, this.#facts, this.#button.node);
    host.page.sizes(this.#facts, () => this.#fit());
  }

  update(head: Head): void {
    if (this.#head?.state !== head.state || this.#head.button !== head.button) {
      this.#sent = false;
      this.#asking(false);
    }
    this.#head = head;
    this.#since = this.#host.page.now();
    this.#draw(head);
  }

  /** Ask whether to end the run, or take the question back. */
  ask(): void {
    this.#asking(this.question.hidden === true);
  }

  /** Whether no kernel stands behind the card. */
  set dead(dead: boolean) {
    this.#dead = dead;
    this.#draw(this.#head);
  }

  #draw(head: Head | null): void {
    const dead = this.#dead;
    setText(this.#agent, head?.agent ?? "");
    setText(this.word, dead ? say("dead.word") : (head?.word ?? ""));
    this.#mark.dataset["mark"] = dead ? "dead" : head?.mark || "square";
    if (head) this.#showButton(head);
    else this.#button.node.hidden = true;
    this.#tick();
  }

  stop(): void {
    this.#ticks?.();
    this.#ticks = null;
  }

  #showButton(head: Head): void {
    const kind = head.button;
    this.#button.node.hidden = kind === null;
    this.#yes.off(this.#dead);
    if (kind === null) return;
    this.#button.text = say(this.#sent ? "sending" : kind);
    const expanded = kind === "end" ? String(!this.question.hidden) : null;
    set(this.#button.node, "aria-expanded", expanded);
    this.#button.off(this.#sent || this.#dead);
  }

  #asking(open: boolean): void {
    this.question.hidden = !open;
    if (!this.#head) return;
    const interrupted = this.#head.state === "interrupted";
    setText(
      this.#words,
      say(interrupted ? "end.question.interrupted" : "end.question"),
    );
    this.#showButton(this.#head);
  }

  #send(pressed: (done: () => void) => void): void {
    this.#sent = true;
    if (this.#head) this.#showButton(this.#head);
    pressed(() => {
      this.#sent = false;
      if (this.#head) this.#showButton(this.#head);
    });
  }

  /** Show what depends on the clock, and come back when it changes next. */
  #tick(): void {
    this.stop();
    const head = this.#head;
    if (!head) return;
    const passed = this.#host.page.now() - this.#since;
    this.#showFacts(head, passed);
    this.#showDetail(head, passed);
    if (this.#dead) return;
    const waits = head.state === "waiting" ? MINUTE : 0;
    const next = head.ticking ? 1000 - ((head.elapsed + passed) % 1000) : waits;
    const slow = LATER[head.state] === undefined ? 0 : 1000;
    if (next || slow)
      this.#ticks = this.#host.page.later(next || slow, () => this.#tick());
  }

  #showFacts(head: Head, passed: number): void {
    const facts = factsOf(head, this.#dead, passed);
    for (const name of ORDER) {
      const text = facts[name] ?? "";
      let span = this.#spans.get(name);
      if (!span) {
        span = el("span", { "data-fact": name });
        this.#spans.set(name, span);
      }
      setText(span, text);
    }
    const shown = ORDER.filter((name) => facts[name]);
    setKids(
      this.#facts,
      shown.flatMap((name) => this.#spans.get(name) ?? []),
    );
    const shape = shown.map((name) => `${name}${facts[name]?.length}`).join(" ");
    if (shape !== this.#fitted) {
      this.#fitted = shape;
      this.#fit();
    }
  }

  /** Let facts leave, in their order, until the rest stands in one line. */
  #fit(): void {
    const spans = [...this.#spans.values()];
    for (const span of spans) span.hidden = false;
    for (const name of LEAVING) {
      const shown = spans.filter((span) => span.isConnected && !span.hidden);
      const first = shown[0]?.offsetTop ?? 0;
      const cut = this.#facts.scrollWidth > this.#facts.clientWidth + 1;
      if (!cut && shown.every((span) => span.offsetTop <= first)) return;
      const leaving = this.#spans.get(name);
      if (leaving) leaving.hidden = true;
    }
  }

  #showDetail(head: Head, passed: number): void {
    const later = LATER[head.state];
    const since = head.since + passed;
    let words = this.#dead ? "" : (head.detail ?? "");
    if (later !== undefined && since < later && head.state !== "asking") words = "";
    if (head.state === "asking" && words === "" && !this.#dead) {
      const places = { age: age(since) };
      if (since >= SAFE_AFTER) words = say("slow.safe", places);
      else if (since >= SLOW_AFTER) words = say("slow.seconds", places);
    }
    const asks = head.state === "waiting" && head.button !== null && !this.#dead;
    if (words === "" && asks) setKids(this.detail, sayCode("waiting.close"));
    else setText(this.detail, words);
    this.detail.hidden = words === "" && !asks;
  }
}

/** States whose detail is worth a line only after a while. */
const LATER: Record<string, number> = {
  starting: STARTING_AFTER,
  stopping: STOPPING_AFTER,
  asking: SLOW_AFTER,
};

function factsOf(head: Head, dead: boolean, passed: number): Record<string, string> {
  const elapsed = head.elapsed + (head.ticking && !dead ? passed : 0);
  const waited = head.since + (dead ? 0 : passed);
  const waits = head.state === "waiting" && waited >= MINUTE;
  return {
    model: head.model,
    turn: turns(head),
    time: clock(elapsed),
    waiting: waits ? say("fact.waiting", { age: age(waited) }) : "",
    cost: head.cost,
    run: head.run ?? "",
    session:
      head.session === null ? "" : say("fact.session", { session: head.session }),
    replayed: head.replayed ? say("fact.replayed") : "",
    recording: head.recording ? say("fact.recording") : "",
  };
}

const ENDED = new Set(["finished", "bound", "stopped", "failed"]);

/** Whether a run in this state has come to its end. */
export function isEnded(state: string): boolean {
  return ENDED.has(state);
}

function turns(head: Head): string {
  const { turn: n, steps: of } = head;
  if (n === null || n <= 0) return "";
  if (isEnded(head.state)) return say("fact.turns", { n });
  return of === null ? say("fact.turn", { n }) : say("fact.turn.of", { n, of });
}
