/** The run card: header, trail, note, body and footer, and its keys. */

import type { Block, Host, Placed, Read } from "../block.ts";
import { el, set, setKids } from "../dom.ts";
import { isField } from "../keys.ts";
import { PressButton } from "../press.ts";
import { type Head, readFault, readHead, readNote, readTrail } from "../shapes.ts";
import { say, sayCode, withCode } from "../words.ts";
import type { Announcer } from "./announcer.ts";
import { Body } from "./body.ts";
import { errorView } from "./error.ts";
import { Evaluation } from "./evaluation.ts";
import { Foot } from "./foot.ts";
import { Header, isEnded } from "./header.ts";
import { Inbox } from "./inbox.ts";
import { Trail } from "./trail.ts";

export interface CardActions {
  stop(done: () => void): void;
  end(done: () => void): void;
  discard(done: () => void): void;
  recover(done: () => void): void;
  asof(n: number | null): void;
  again(): void;
  /** Focus goes back to the notebook. */
  leave(): void;
  /** Every component that stands in the card. */
  blocks(): Iterable<Placed>;
}

export class Card implements Block {
  readonly node: HTMLElement;
  readonly #host: Host;
  readonly #actions: CardActions;
  readonly #announcer: Announcer;
  readonly #header: Header;
  readonly #trail: Trail;
  readonly #body: Body;
  readonly #strips: HTMLElement;
  readonly #note = el("div", { class: "b-note", hidden: true });
  readonly #dead: HTMLElement;
  readonly #deadText = el("span", null, ...sayCode("dead.text"));
  /** The run has ended, and its kernel after it. */
  readonly #left: HTMLElement;
  readonly #again: PressButton;
  /** What a note may offer, by the name its button has. */
  readonly #offers: Record<string, PressButton[]>;
  readonly #stale: HTMLElement;
  readonly #asof = el("div", {
    class: "b-note b-asof",
    "data-role": "still",
    hidden: true,
  });
  readonly #back: PressButton;
  readonly #told = el("div", { class: "b-note", "data-role": "still", hidden: true });
  readonly #error = el("div");
  readonly #foot: Foot;
  readonly #keys: HTMLElement;
  #head: Head | null = null;
  #isDead = false;
  #sawWork = false;
  #unfolded = false;
  #crumb: number | null = null;
  #newest = 0;
  #faulted = "";
  #finished = false;
  /** Whether the inbox stands in it and no run. */
  #bare = false;
  #evaluates = false;

  constructor(host: Host, actions: CardActions, announcer: Announcer) {
    this.#host = host;
    this.#actions = actions;
    this.#announcer = announcer;
    this.#header = new Header(host, actions);
    this.#trail = new Trail(host, (n) => actions.asof(n));
    this.#body = new Body(host);
    this.#back = new PressButton(host, say("asof.back"), () => actions.asof(null));
    this.#again = new PressButton(host, say("dead.again"), () => actions.again());
    this.#offers = {
      discard: [this.#offer("discard", actions.discard)],
      recover: [
        this.#offer("recover", actions.recover),
        new PressButton(host, say("end"), () => this.#header.ask()),
      ],
    };
    this.#dead = this.#deadNote();
    const quiet = { class: "b-note", "data-role": "still", hidden: true };
    this.#left = el("div", quiet, ...sayCode("dead.ended"));
    this.#stale = el("div", { class: "b-note", "data-role": "still", hidden: true });
    const answer = () => this.#body.answer(actions.blocks());
    this.#foot = new Foot(host, answer, () => this.#unfold());
    this.#keys = keyList();
    const { node, question, detail } = this.#header;
    this.#strips = el(
      "div",
      "b-strips",
      this.#stale,
      this.#dead,
      this.#left,
      this.#asof,
      this.#note,
    );
    this.#strips.append(this.#told, this.#error);
    const { scroll } = this.#body;
    const parts = [node, question, detail, this.#trail.node, this.#strips, scroll.node];
    this.node = el("div", { class: "bread", role: "region" }, ...parts);
    this.node.append(this.#foot.node, this.#foot.crumbs, this.#keys, announcer.status, announcer.alert);
    this.#header.dead = false;
    this.#draw();
  }

  update(read: Read): void {
    const head = readHead(read("head"));
    this.#announce(head);
    if (this.#head?.state !== head.state) {
      this.tell(null);
      this.#offering(!this.#isDead);
    }
    this.#head = head;
    this.#header.update(head);
    if (!isEnded(head.state)) this.#sawWork = this.#crumb === null;
    this.#trail.update(readTrail(read("trail")));
    if (this.#crumb === null) this.#newest = this.#trail.last;
    this.#showNote(read);
    this.#draw();
  }

  place(children: readonly Placed[]): void {
    this.#bare = children.some(({ block }) => block instanceof Inbox);
    this.#evaluates = children.some(({ block }) => block instanceof Evaluation);
    this.#deadText.replaceChildren(...this.#deadWords());
    this.#body.place(children);
    this.#draw();
  }

  /** Whether it may give way soon, and is kept for a person who is at it. */
  get passing(): boolean {
    return this.#bare || this.#ended;
  }

  refresh(): void {
    this.#body.refresh(this.#actions.blocks());
  }

  /** Before and after everything else is painted. */
  before(): void {
    this.#body.scroll.look();
  }

  after(): void {
    this.#body.refresh(this.#actions.blocks());
    this.#drawFoot();
    this.#announceEnd();
    this.#body.scroll.settle();
  }

  get isAlive(): boolean {
    return !this.#isDead;
  }

  /** Whether a kernel stands behind the card. */
  alive(alive: boolean): void {
    this.#isDead = !alive;
    this.#offering(alive);
    if (alive) this.#deadText.replaceChildren(...this.#deadWords());
    const alarm = this.#lost ? `${say("dead.word")}. ${say("dead.title")}` : "";
    this.#announcer.alarm(alarm);
    this.#draw();
    for (const { block } of this.#actions.blocks()) block.enable?.(alive);
  }

  /** Show what the kernel says of a press, until the state changes; null is nothing. */
  tell(words: string | null): void {
    this.#told.hidden = words === null;
    this.#told.replaceChildren(...withCode(words ?? ""));
    if (words !== null) this.#announcer.say(words);
  }

  /** The kernel is being asked again. */
  asking(): void {
    this.#again.text = say("dead.trying");
  }

  /** It was asked, and nobody answered. */
  unanswered(): void {
    this.#again.text = say("dead.again");
    if (this.#evaluates) return;
    this.#deadText.replaceChildren(...sayCode("dead.none"));
    this.#announcer.say(say("dead.word"));
  }

  stale(run: string): void {
    this.#stale.replaceChildren(...withCode(say("stale", { run: run || "last" })));
    this.#stale.hidden = false;
  }

  /** Say at which crumb the card stands; null is now. */
  moment(n: number | null): void {
    this.#crumb = n;
    this.#draw();
  }

  key(event: KeyboardEvent, target: Element): void {
    if (event.key === "Escape" && !event.isComposing) this.#actions.leave();
    const { altKey, ctrlKey, metaKey, isComposing } = event;
    if (isField(target) || altKey || ctrlKey || metaKey || isComposing) return;
    if (this.#trail.node.contains(target) && this.#trail.key(event)) return;
    const bars = [this.#header.node, this.#trail.node, this.#foot.node];
    if (!bars.some((bar) => bar.contains(target))) return;
    if (event.key === "c") void this.#copyAnswer();
    if (event.key === "?") this.#keys.hidden = !this.#keys.hidden;
  }

  /** Where focus goes when what had it is gone. */
  refocus(): void {
    this.#header.word.focus({ preventScroll: true });
  }

  dispose(): void {
    this.#header.stop();
    this.#announcer.stop();
  }

  async #copyAnswer(): Promise<void> {
    const answer = this.#body.answer(this.#actions.blocks());
    if (answer === "") return;
    const copied = await this.#host.page.copy(answer, this.node);
    this.#announcer.say(say(copied ? "copied" : "copy.failed"));
  }

  /** A button of a note; once it is pressed it is off until the kernel refuses. */
  #offer(word: "discard" | "recover", act: (done: () => void) => void): PressButton {
    const button = new PressButton(this.#host, say(word), () => {
      button.off(true);
      act(() => button.off(this.#isDead));
    });
    return button;
  }

  #offering(on: boolean): void {
    for (const button of Object.values(this.#offers).flat()) button.off(!on);
  }

  #unfold(): void {
    this.#unfolded = !this.#unfolded;
    this.#draw();
  }

  #deadNote(): HTMLElement {
    const title = el("b", null, say("dead.title"));
    const attributes = { class: "b-note", "data-role": "bad", hidden: true };
    return el("div", attributes, title, " ", this.#deadText, " ", this.#again.node);
  }

  #deadWords(): Node[] {
    return sayCode(this.#evaluates ? "eval.dead" : "dead.text");
  }

  /** Whether a kernel is missed: by a run that has ended it is not. */
  get #lost(): boolean {
    return this.#isDead && !this.#ended;
  }

  #announce(head: Head): void {
    const before = this.#head;
    if (before?.state === head.state && before.word === head.word) return;
    if (head.state === "failed") this.#announcer.alarm(head.word);
    else if (head.state === "finished") this.#finished = true;
    else this.#announcer.say(head.word);
  }

  /** Once everything is drawn, how much there was is known. */
  #announceEnd(): void {
    if (!this.#finished) return;
    this.#finished = false;
    const { calls, words } = this.#body.counts(this.#actions.blocks());
    const places = {
      calls: say("say.calls", { n: calls }),
      words: say("say.words", { n: words }),
    };
    this.#announcer.say(say("say.finished", places));
  }

  #showNote(read: Read): void {
    const note = readNote(read("note"));
    this.#note.hidden = note === null;
    if (note === null) this.#note.replaceChildren();
    if (note) {
      this.#note.dataset["role"] = note.role;
      const title = el("b", { dir: "auto" }, ...withCode(note.title));
      const text = el("span", { dir: "auto" }, ...withCode(note.text));
      const named = note.button ?? "";
      const offers = Object.hasOwn(this.#offers, named) ? this.#offers[named] : [];
      const nodes = (offers ?? []).flatMap((button) => [" ", button.node]);
      this.#note.replaceChildren(title, " ", text, ...nodes);
    }
    const fault = readFault(read("error"));
    const told = JSON.stringify(fault);
    if (told === this.#faulted) return;
    this.#faulted = told;
    setKids(this.#error, fault ? [errorView(fault, this.#host)] : []);
  }

  /** Whether only the bar stands: an ended run whose picture stands below. */
  get #isBar(): boolean {
    return this.#ended && this.#sawWork && this.#crumb === null;
  }

  get #ended(): boolean {
    return this.#head !== null && isEnded(this.#head.state);
  }

  #draw(): void {
    const head = this.#head ?? readHead(undefined);
    const dead = this.#lost;
    this.#header.dead = dead;
    this.node.hidden = this.#head === null && !dead && this.#body.empty;
    const bare = this.#bare;
    this.node.dataset["role"] = dead ? "bad" : bare ? "wait" : head.role;
    this.#header.node.hidden = bare && !dead;
    this.node.classList.toggle("b-bare", bare && !dead);
    this.node.dataset["state"] = head.state;
    this.node.classList.toggle("b-dead", dead);
    const { agent } = head;
    const region = this.#evaluates ? "eval.region" : "region";
    const named = say(agent === "" ? "region.nameless" : region, { agent });
    set(this.node, "aria-label", bare ? say("inbox.region") : named);
    this.#trail.enable(!this.#isDead);
    this.#dead.hidden = !dead;
    this.#left.hidden = !this.#isDead || dead;
    this.#again.text = say("dead.again");
    this.#back.off(this.#isDead);
    this.#showMoment();
    const bar = this.#isBar;
    const { scroll } = this.#body;
    scroll.tall = bare || this.#ended || head.button === "end" || head.state === "waiting";
    scroll.node.hidden = this.#body.empty || (bar && !this.#unfolded);
    this.#drawFoot();
  }

  /** The foot of an ended run, with the buttons that there is a use for. */
  #drawFoot(): void {
    this.#foot.draw({
      ended: this.#ended,
      dead: this.#isDead,
      folds: this.#isBar && !this.#body.empty,
      unfolded: this.#unfolded,
    });
  }

  #showMoment(): void {
    const n = this.#crumb;
    this.#asof.hidden = n === null;
    if (n === null) return;
    const of = this.#newest;
    const words = el(
      "b",
      null,
      of > n ? say("asof.of", { n, of }) : say("asof", { n }),
    );
    this.#asof.replaceChildren(words, " ", this.#back.node);
  }
}

function keyList(): HTMLElement {
  const lines = (["keys.c", "keys.arrows", "keys.escape", "keys.help"] as const).map(
    (word) => el("li", null, ...sayCode(word)),
  );
  const list = el("ul", null, ...lines);
  return el("div", { class: "b-keys", hidden: true, role: "note" }, say("keys"), list);
}
