/**
 * One view of a run: what the kernel says becomes a surface, the surface a card.
 *
 * However many messages come, the page is drawn at most once a frame.
 */

import type { Block, Host, KeyPress, Outcome } from "./block.ts";
import { Channel, type Wire } from "./channel.ts";
import { Announcer } from "./components/announcer.ts";
import { Approval } from "./components/approval.ts";
import { Card } from "./components/card.ts";
import { Evaluation } from "./components/evaluation.ts";
import { FileRow } from "./components/file.ts";
import { Inbox } from "./components/inbox.ts";
import { InboxRow } from "./components/inboxrow.ts";
import { Markdown } from "./components/markdown.ts";
import { Outcome as OutcomeForm } from "./components/outcome.ts";
import { Progress } from "./components/progress.ts";
import { Question } from "./components/question.ts";
import { Reasoning } from "./components/reasoning.ts";
import { Retry } from "./components/retry.ts";
import { ToolCall } from "./components/toolcall.ts";
import { Turn } from "./components/turn.ts";
import { Stranger } from "./components/unsupported.ts";
import { focusedIn } from "./dom.ts";
import { type Json, type JsonRecord, isRecord, own } from "./json.ts";
import { isTextArea, modified } from "./keys.ts";
import type { Page } from "./page.ts";
import { Surface } from "./surface.ts";
import { Tree } from "./tree.ts";
import { say } from "./words.ts";

export interface Surroundings {
  page: Page;
  wire: Wire;
  /** Interrupt the kernel; false when there is no way to. */
  interrupt(): boolean;
  /** Put focus on the cell that holds the card. */
  leave(): void;
}

export class View {
  readonly card: Card;
  readonly #around: Surroundings;
  readonly #surface = new Surface();
  readonly #tree: Tree;
  readonly #channel: Channel;
  readonly #announcer: Announcer;
  readonly #presses = new WeakMap<Element, KeyPress>();
  #ids = 0;
  #frame: (() => void) | null = null;
  /** The crumb that was asked for and has not come yet. */
  #wanted: number | null = null;
  /** With what a person is at the card, and what the kernel was told of that. */
  readonly #at = new Set<string>();
  #stays = false;

  constructor(around: Surroundings) {
    this.#around = around;
    const { page, wire } = around;
    this.#announcer = new Announcer(page);
    const host = this.#host(page);
    this.card = new Card(host, this.#actions(), this.#announcer);
    const make = (kind: string, id: string) => makeBlock(kind, id, host);
    this.#tree = new Tree(this.#surface, this.card, make);
    this.#channel = new Channel(wire, page, {
      snapshot: (messages, asof) => this.#snapshot(messages, asof),
      frame: (messages, append) => {
        this.#surface.apply(messages, append);
        this.#repaint();
      },
      alive: (alive) => this.#alive(alive),
      stale: (run) => this.card.stale(run),
    });
    const { node } = this.card;
    node.addEventListener("keyup", (event) => this.#keyUp(event));
    for (const [type, at, here] of PRESENCE) {
      node.addEventListener(type, () => this.#present(at, here));
    }
    this.#channel.hello();
  }

  /** A key went down in the card; it reaches nobody else. */
  key(event: KeyboardEvent, target: Element): void {
    const button = target.closest("button");
    const press = button && this.#presses.get(button);
    const pressing = event.key === "Enter" || event.key === " ";
    if (pressing && event.key === "Enter" && modified(event)) this.#stray(target);
    else if (press && pressing) {
      if (modified(event)) event.preventDefault();
      else press.down(event);
      return;
    }
    this.card.key(event, target);
  }

  /** The kernel may have gone; ask whether it is there. */
  doubt(): void {
    this.#channel.hello();
  }

  /** The kernel is gone. */
  gone(): void {
    this.#channel.dead();
  }

  /** Another kernel is there; a card that its own brought back to life asks again. */
  replaced(): void {
    if (this.card.isAlive) this.#channel.hello();
  }

  dispose(): void {
    this.#frame?.();
    this.#channel.close();
    this.#tree.dispose();
    this.card.dispose();
  }

  #host(page: Page): Host {
    return {
      page,
      presses: this.#presses,
      act: (name, source, context, outcome) =>
        this.#act(name, source, context, outcome),
      hand: (name, context, given) => this.#hand(name, context, given),
      announce: (words) => this.#announcer.say(words),
      repaint: () => this.#repaint(),
      id: () => `b${(this.#ids += 1)}`,
    };
  }

  #actions(): ConstructorParameters<typeof Card>[1] {
    const told = (done: () => void): Outcome => ({
      lost: (heard) => {
        done();
        if (heard) this.card.tell(say("busy.kernel"));
      },
      result: (ok, words) => {
        if (!ok) done();
        this.card.tell(words);
      },
    });
    return {
      stop: (done) =>
        this.#act("stop", "root", {}, told(done), () => this.#interrupt()),
      end: (done) => this.#act("end", "root", {}, told(done)),
      discard: (done) => this.#act("discard", "root", {}, told(done)),
      recover: (done) => this.#act("recover", "root", {}, told(done)),
      asof: (n) => this.#asof(n),
      again: () => {
        this.card.asking();
        if (this.#channel.closed) this.card.unanswered();
        else this.#channel.hello();
      },
      leave: () => this.#around.leave(),
      blocks: () => this.#tree?.blocks() ?? [],
    };
  }

  #alive(alive: boolean): void {
    if (!alive && !this.card.isAlive) this.card.unanswered();
    if (alive === this.card.isAlive) return;
    this.#keepFocus(() => this.card.alive(alive));
    this.#repaint();
  }

  #act(
    name: string,
    source: string,
    context: JsonRecord,
    outcome: Outcome = {},
    urgent: (() => boolean) | null = null,
  ): void {
    const surface = this.#surface.id;
    this.#channel.act({ name, surface, source, context }, outcome, urgent);
  }

  /** Stop without an answer: interrupt the kernel, if this run is what it executes. */
  #interrupt(): boolean {
    const head = this.#surface.data.get("/head");
    const foreground = isRecord(head) && own(head, "foreground") === true;
    return foreground && this.#around.interrupt();
  }

  #hand(name: string, context: JsonRecord, given: (data: Json) => void): void {
    const outcome: Outcome = {
      lost: () => given(null),
      result: (ok, words, _problems, data) => {
        if (!ok) this.card.tell(words);
        given(ok ? data : null);
      },
    };
    this.#act(name, "root", context, outcome);
  }

  #asof(n: number | null): void {
    this.#wanted = n;
    const forget = () => (this.#wanted = null);
    const result = (ok: boolean) => (ok ? undefined : forget());
    this.#act("asof", "root", { n }, { lost: forget, result });
  }

  #snapshot(messages: Json[], asof: number | null | undefined): number | null {
    const moment = asof === undefined ? this.#wanted : asof;
    this.#wanted = null;
    this.card.moment(moment);
    this.#surface.clear();
    this.#surface.apply(messages);
    this.#repaint();
    return moment;
  }

  #present(at: string, here: boolean): void {
    if (here) this.#at.add(at);
    else this.#at.delete(at);
    this.#tellPresence();
  }

  /** What would give way soon stays while a person is at it. */
  #tellPresence(): void {
    const stays = this.#at.size > 0 && this.card.passing;
    if (stays === this.#stays) return;
    this.#stays = stays;
    this.#channel.stay(stays);
  }

  #repaint(): void {
    this.#frame ??= this.#around.page.frame(() => {
      this.#frame = null;
      this.#paint();
    });
  }

  #paint(): void {
    this.#keepFocus(() => {
      this.card.before();
      this.#tree.paint();
      this.card.after();
    });
    this.#tellPresence();
  }

  /** Draw, and if what had focus is gone, leave it in the card. */
  #keepFocus(draw: () => void): void {
    const before = focusedIn(this.card.node);
    const inside = before !== null && this.card.node.contains(before);
    draw();
    if (!inside) return;
    const now = focusedIn(this.card.node);
    const lost = now === null || !this.card.node.contains(now) || !visible(before);
    if (lost) this.card.refocus();
  }

  /** Enter with a modifier presses nothing; say how to go on. */
  #stray(target: Element): void {
    if (isTextArea(target)) return;
    const button = target.closest(".b-form")?.querySelector(".b-go");
    const name = button?.textContent;
    const line = button?.closest(".b-form")?.querySelector<HTMLElement>(".b-said");
    if (!name || !line) return;
    line.hidden = false;
    line.textContent = say("press.tab", { button: name });
  }

  #keyUp(event: KeyboardEvent): void {
    const target = event.composedPath()[0];
    const button = target instanceof Element ? target.closest("button") : null;
    const press = button && this.#presses.get(button);
    if (press && (event.key === "Enter" || event.key === " ")) press.up(event);
  }
}

const PRESENCE = [
  ["pointerenter", "pointer", true],
  ["pointerleave", "pointer", false],
  ["focusin", "focus", true],
  ["focusout", "focus", false],
] as const;

function visible(node: Element): boolean {
  return node.isConnected && node.closest("[hidden]") === null;
}

const MAKERS: Record<string, (host: Host, id: string) => Block> = {
  Turn: () => new Turn(),
  Markdown: (host) => new Markdown(host),
  Reasoning: (host) => new Reasoning(host),
  ToolCall: (host) => new ToolCall(host),
  File: (host) => new FileRow(host),
  Progress: () => new Progress(),
  Retry: () => new Retry(),
  Approval: (host, id) => new Approval(host, id),
  Question: (host, id) => new Question(host, id),
  Outcome: (host, id) => new OutcomeForm(host, id),
  Inbox: (host) => new Inbox(host),
  InboxRow: (host, id) => new InboxRow(host, id),
  Evaluation: (host) => new Evaluation(host),
  Unsupported: () => new Stranger(),
};

/** The block of that kind; null for a kind that nobody knows. */
function makeBlock(kind: string, id: string, host: Host): Block | null {
  return Object.hasOwn(MAKERS, kind) ? (MAKERS[kind]?.(host, id) ?? null) : null;
}
