/** One row of the inbox: what waits, since when, and its form when it is unfolded. */

import type { Block, Host, Placed, Read } from "../block.ts";
import { el, setKids, setText } from "../dom.ts";
import { age } from "../format.ts";
import { Reader } from "../json.ts";
import { PressButton } from "../press.ts";
import { drawn, segmented } from "../segments.ts";
import { type Role, readRole } from "../shapes.ts";
import { type Word, say, withCode } from "../words.ts";
import { Fold } from "./fold.ts";

export type Facet = "agent" | "tool" | "session" | "kind";

interface Shown {
  run: string;
  agent: string;
  tool: string;
  kind: string;
  ask: string;
  preview: string;
  session: string;
  cost: string;
  age: number;
  state: string;
  here: boolean;
  end: string | null;
  word: string | null;
  role: Role;
  asked: string;
  did: string;
  said: string;
  note: string | null;
  unfolded: boolean;
}

export class InboxRow implements Block {
  readonly node = el("li", "b-inrow");
  /** Whether a pointer is in the inbox, so that nothing may move. */
  pointed = false;
  readonly #host: Host;
  readonly #id: string;
  readonly #fold = new Fold({ fill: () => this.#unfold() });
  readonly #run = el("span", "b-name");
  readonly #ask = el("span", "b-name b-asks");
  readonly #hint = el("span", "b-hint");
  readonly #tag = el("span", { class: "b-tag", dir: "auto" });
  readonly #facts = el("span", "b-end");
  readonly #told = el("div", "b-story");
  readonly #note: HTMLElement;
  readonly #said = el("div", { class: "b-said", role: "status", hidden: true });
  readonly #place = el("div", "b-block");
  readonly #buttons: Record<"go" | "end" | "yes" | "no", PressButton>;
  /** Whether it asks if the run is to be ended. */
  #ending = false;
  #shown: Shown | null = null;
  #since = 0;
  #asked = false;
  #alive = true;

  constructor(host: Host, id: string) {
    this.#host = host;
    this.#id = id;
    this.#fold.filled = false;
    const ask = (ending: boolean) => () => {
      this.#ending = ending;
      this.#offer();
    };
    this.#buttons = {
      go: this.#button("recover", "recover"),
      end: new PressButton(host, say("end"), ask(true)),
      yes: this.#button("end.yes", "end"),
      no: new PressButton(host, say("end.no"), ask(false)),
    };
    this.#note = el("div", { class: "b-note", "data-role": "wait", hidden: true });
    const { head, body } = this.#fold;
    head.append(this.#run, this.#ask, this.#hint, this.#tag, this.#facts);
    body.append(this.#told, this.#note, this.#said, this.#place);
    this.node.append(this.#fold.node);
  }

  get state(): string {
    return this.#shown?.state ?? "open";
  }

  facet(name: Facet): string {
    return this.#shown?.[name] ?? "";
  }

  update(read: Read): void {
    const shown = readRow(new Reader(read("value"), "InboxRow"));
    const before = this.#shown;
    if (before?.state === "open" && shown.state !== "open") this.#settle(shown);
    this.#shown = shown;
    this.#since = this.#host.page.now();
    this.#head(shown);
    this.#story(shown);
    if (before === null && shown.unfolded) this.#fold.open();
  }

  place(children: readonly Placed[]): void {
    setKids(
      this.#place,
      children.map(({ node }) => node),
    );
  }

  refresh(): void {
    if (!this.pointed) this.node.style.removeProperty("min-block-size");
  }

  /** How long it has waited, as time goes by. */
  showAge(): void {
    const shown = this.#shown;
    if (shown) setText(this.#facts, facts(shown, this.#host.page.now() - this.#since));
  }

  enable(alive: boolean): void {
    this.#alive = alive;
    this.#offer();
  }

  #head(shown: Shown): void {
    setText(this.#run, shown.run);
    setText(this.#ask, shown.ask || shown.kind);
    setKids(this.#hint, drawn(segmented(shown.preview)));
    const words = [shown.end, shown.word].filter((word) => word !== null);
    setText(this.#tag, shown.state === "open" ? "" : words.join(" · "));
    this.#tag.dataset["role"] = shown.here ? shown.role : "still";
    this.node.dataset["state"] = shown.here ? "here" : shown.state;
    this.showAge();
  }

  #story(shown: Shown): void {
    const lines: [Word, string][] = [
      ["inbox.asked", shown.asked],
      ["inbox.did", shown.did],
      ["inbox.said", shown.said],
    ];
    const told = lines.filter(([, text]) => text !== "");
    setKids(
      this.#told,
      told.map(([word, text]) => el("span", { dir: "auto" }, say(word, { text }))),
    );
    const offers = shown.note !== null && shown.state === "open";
    this.#note.hidden = !offers;
    if (offers) this.#offer();
  }

  /** A row that somebody else has answered keeps its height under a pointer. */
  #settle(shown: Shown): void {
    if (!this.pointed || shown.here) return;
    const { height } = this.node.getBoundingClientRect();
    this.node.style.setProperty("min-block-size", `${height}px`);
  }

  #unfold(): void {
    const shown = this.#shown;
    if (this.#asked || !shown || shown.unfolded || shown.state !== "open") return;
    this.#asked = true;
    setKids(this.#place, [el("div", "b-cap", say("inbox.loading"))]);
    this.#host.act("unfold", this.#id, {}, { lost: () => (this.#asked = false) });
  }

  #button(word: "recover" | "end.yes", action: string): PressButton {
    return new PressButton(this.#host, say(word), () => {
      for (const button of Object.values(this.#buttons)) button.off(true);
      const again = (words: string | null) => {
        this.#offer();
        this.#said.hidden = words === null;
        setText(this.#said, words ?? "");
      };
      this.#host.act(action, this.#id, {}, {
        lost: (heard) => again(say(heard ? "busy.kernel" : "dead.form")),
        result: (ok, words) => (ok ? undefined : again(words)),
      });
    });
  }

  #offer(): void {
    const { go, end, yes, no } = this.#buttons;
    const asked = say("end.question.interrupted");
    const words = this.#ending ? asked : (this.#shown?.note ?? "");
    const buttons = this.#ending ? [yes, no] : [go, end];
    const text = el("span", null, ...withCode(words));
    setKids(this.#note, [text, ...buttons.map((button) => button.node)]);
    for (const button of Object.values(this.#buttons)) button.off(!this.#alive);
  }
}

function facts(shown: Shown, passed: number): string {
  const waited = shown.state === "open" ? age(shown.age + passed) : "";
  return [waited, shown.session, shown.cost].filter((fact) => fact !== "").join(" · ");
}

function readRow(read: Reader): Shown {
  return {
    run: read.text("run", ""),
    agent: read.text("agent", ""),
    tool: read.text("tool", ""),
    kind: read.text("kind", ""),
    ask: read.text("ask", ""),
    preview: read.text("preview", ""),
    session: read.text("session", ""),
    cost: read.text("cost", ""),
    age: read.number("age_ms"),
    state: read.text("state", "open"),
    here: read.flag("here"),
    end: read.textOrNull("end"),
    word: read.textOrNull("word"),
    role: readRole(read.get("role")),
    asked: read.text("asked", ""),
    did: read.text("did", ""),
    said: read.text("said", ""),
    note: read.textOrNull("note"),
    unfolded: read.flag("unfolded"),
  };
}
