/**
 * The messages between one view and the kernel.
 *
 * Nothing is believed without an answer: a hello or an action that nobody answers in
 * two seconds means that no kernel stands behind the card, until one speaks again.
 */

import type { Outcome, Problem } from "./block.ts";
import { type Json, type JsonRecord, isRecord, own } from "./json.ts";
import type { Page } from "./page.ts";

export const ANSWER_WITHIN = 2000;
export const FALLBACK_AFTER = 1000;
/**
 * When a first hello is said again. JupyterLab opens the way past a running cell with
 * the widget, and a hello that is quicker waits for the end of the cell. A kernel waits
 * for ten seconds for a page.
 */
const SAID_AGAIN = [300, 1000, 3000, 6000] as const;
const SLOW_RESULT = 10_000;
const MISSED_EVERY = 1000;

/** What an anywidget model offers, as far as it is used here. */
export interface Wire {
  send(message: JsonRecord): void;
  /** Hear each message; the answer stops it. */
  hear(call: (message: Json) => void): () => void;
}

export interface Receiver {
  /** Everything anew, as of a crumb or of now; the answer is the crumb, null for now. */
  snapshot(messages: Json[], asof: number | null | undefined): number | null;
  frame(messages: Json[], append: Json[]): void;
  /** Whether a kernel answers. */
  alive(answers: boolean): void;
  /** The saved copy is older than the card; `run` is the handle of its run. */
  stale(run: string): void;
}

export interface Action {
  name: string;
  surface: string;
  source: string;
  context: JsonRecord;
}

interface Sent {
  outcome: Outcome;
  heard: boolean;
  cancel: (() => void)[];
  acked: boolean;
}

export class Channel {
  readonly #wire: Wire;
  readonly #page: Page;
  readonly #receiver: Receiver;
  readonly #view: string;
  readonly #deaf: () => void;
  readonly #sent = new Map<string, Sent>();
  #last = -1;
  /** What stands in the page is an earlier moment, so frames are left out. */
  #frozen = false;
  #asking: (() => void) | null = null;
  /** The kernel has said that it closes this channel; nothing is sent any more. */
  #closing = false;
  #missedAt = Number.NEGATIVE_INFINITY;

  constructor(wire: Wire, page: Page, receiver: Receiver) {
    this.#wire = wire;
    this.#page = page;
    this.#receiver = receiver;
    this.#view = page.fresh();
    this.#deaf = wire.hear((message) => this.#heard(message));
  }

  /** Whether the kernel has closed this channel, so that nobody answers any more. */
  get closed(): boolean {
    return this.#closing;
  }

  /** Ask for a snapshot or for the frames that are missing. */
  hello(): void {
    this.#asking?.();
    if (this.#closing) return;
    const repeats = this.#last === -1 ? SAID_AGAIN : [];
    const timers = repeats.map((ms) => this.#page.later(ms, () => this.#sayHello()));
    const silent = () => this.#receiver.alive(false);
    timers.push(this.#page.later(ANSWER_WITHIN, silent));
    this.#asking = () => timers.forEach((cancel) => cancel());
    this.#sayHello();
  }

  /** `age` tells the kernel what this page cannot have got: what it sent before. */
  #sayHello(): void {
    const age = Math.round(this.#page.now());
    this.#post({ t: "hello", view: this.#view, last: this.#last, age });
  }

  /** Send an action; `urgent` is tried when it is not acknowledged in one second. */
  act(action: Action, outcome: Outcome, urgent: (() => boolean) | null = null): void {
    const id = this.#page.fresh();
    const sent: Sent = { outcome, heard: false, cancel: [], acked: false };
    this.#sent.set(id, sent);
    const lost = () => this.#lost(id, sent);
    if (urgent) {
      const fallback = () => {
        const more = urgent() ? ANSWER_WITHIN : ANSWER_WITHIN - FALLBACK_AFTER;
        sent.cancel.push(this.#page.later(more, lost));
      };
      sent.cancel.push(this.#page.later(FALLBACK_AFTER, fallback));
    } else {
      sent.cancel.push(this.#page.later(ANSWER_WITHIN, lost));
    }
    const message = { version: "v0.9", action: this.#message(action) };
    this.#post({ t: "action", id, view: this.#view, message });
  }

  /** A person is at the card, or has left it. */
  stay(here: boolean): void {
    this.#post({ t: "stay", view: this.#view, here });
  }

  /** The kernel is known to be gone. */
  dead(): void {
    this.#asking?.();
    this.#asking = null;
    this.#receiver.alive(false);
  }

  close(): void {
    this.#post({ t: "bye", view: this.#view });
    this.#deaf();
    this.#asking?.();
    for (const sent of this.#sent.values()) settle(sent);
    this.#sent.clear();
  }

  #message(action: Action): JsonRecord {
    return {
      name: action.name,
      surfaceId: action.surface,
      sourceComponentId: action.source,
      timestamp: this.#page.stamp(),
      context: action.context,
    };
  }

  #post(message: JsonRecord): void {
    if (this.#closing) return;
    try {
      this.#wire.send(message);
    } catch (error) {
      // A closed comm throws; no answer will come, and the timers say so.
      console.warn("bread_nb:", error);
    }
  }

  #heard(message: Json): void {
    if (!isRecord(message)) return;
    const view = own(message, "view");
    if (typeof view === "string" && view !== this.#view) return;
    this.#asking?.();
    this.#asking = null;
    for (const sent of this.#sent.values()) sent.heard = true;
    this.#receiver.alive(true);
    const kind = own(message, "t");
    if (kind === "snapshot") this.#snapshot(message);
    else if (kind === "frame") this.#frame(message);
    else if (kind === "ack") this.#ack(message);
    else if (kind === "result") this.#result(message);
    else if (kind === "stale") this.#receiver.stale(String(own(message, "run") ?? ""));
    else if (kind === "close") this.#closing = true;
  }

  #snapshot(message: JsonRecord): void {
    const asof = own(message, "asof");
    const told = typeof asof === "number" || asof === null ? asof : undefined;
    const moment = this.#receiver.snapshot(listed(message, "messages"), told);
    this.#frozen = moment !== null;
    if (moment === null) this.#last = numbered(message) ?? this.#last;
  }

  #frame(message: JsonRecord): void {
    if (this.#frozen) return;
    const n = numbered(message);
    if (n === null || n <= this.#last) return;
    if (n !== this.#last + 1) {
      this.#missed();
      return;
    }
    this.#last = n;
    this.#receiver.frame(listed(message, "messages"), listed(message, "append"));
  }

  /** Ask for what is missing, once for all the frames that show it. */
  #missed(): void {
    const now = this.#page.now();
    if (now - this.#missedAt < MISSED_EVERY) return;
    this.#missedAt = now;
    this.hello();
  }

  #ack(message: JsonRecord): void {
    const sent = this.#find(message);
    if (!sent || sent.acked) return;
    sent.acked = true;
    settle(sent);
    sent.outcome.acked?.();
    sent.cancel = [this.#page.later(SLOW_RESULT, () => sent.outcome.slow?.())];
  }

  #result(message: JsonRecord): void {
    const sent = this.#find(message);
    if (!sent) return;
    settle(sent);
    this.#sent.delete(String(own(message, "id")));
    const words = own(message, "say");
    sent.outcome.result?.(
      own(message, "ok") === true,
      typeof words === "string" ? words : null,
      listed(message, "problems").flatMap(problem),
      own(message, "data") ?? null,
    );
  }

  #lost(id: string, sent: Sent): void {
    settle(sent);
    this.#sent.delete(id);
    sent.outcome.lost?.(sent.heard);
    if (!sent.heard) this.#receiver.alive(false);
  }

  #find(message: JsonRecord): Sent | undefined {
    const id = own(message, "id");
    return typeof id === "string" ? this.#sent.get(id) : undefined;
  }
}

function settle(sent: Sent): void {
  for (const cancel of sent.cancel) cancel();
  sent.cancel = [];
}

function numbered(message: JsonRecord): number | null {
  const n = own(message, "seq");
  return typeof n === "number" ? n : null;
}

function listed(message: JsonRecord, key: string): Json[] {
  const list = own(message, key);
  return Array.isArray(list) ? list : [];
}

function problem(json: Json): Problem[] {
  if (!isRecord(json)) return [];
  const path = own(json, "path");
  const text = own(json, "text");
  if (typeof text !== "string") return [];
  return [{ path: typeof path === "string" ? path : "", text }];
}
