/**
 * The frame of every form: its title, its buttons, and the one answer it sends.
 *
 * Once an answer is on its way all buttons are off, so a second press sends nothing.
 * The form opens again only when the answer was refused or nobody took it.
 */

import type { Host, Problem } from "../block.ts";
import { el, setKids, setText } from "../dom.ts";
import { needsExact, writeExact } from "../exact.ts";
import type { Form } from "../forms.ts";
import type { JsonRecord } from "../json.ts";
import { type ButtonOptions, PressButton } from "../press.ts";
import { say, withCode } from "../words.ts";

const SIGN_FOR = 4000;

export class FormShell {
  /** The frame, with room above and below it for what belongs to several forms. */
  readonly node: HTMLElement;
  readonly lead = el("div");
  readonly frame: HTMLElement;
  readonly tail = el("div");
  readonly body = el("div", "b-formbody");
  readonly acts = el("div", "b-acts");
  form: Form;
  /** Problems of a refused answer; what it gives back is shown as a list. */
  refused: (problems: Problem[]) => Problem[] = (problems) => problems;
  /** The state of the buttons has to be looked at again. */
  changed: () => void = () => undefined;
  readonly #host: Host;
  readonly #id: string;
  readonly #title: HTMLElement;
  readonly #reason: HTMLElement;
  readonly #said: HTMLElement;
  readonly #buttons: PressButton[] = [];
  readonly #words = new Map<PressButton, string>();
  #since: number;
  #seen: number | null = null;
  #sending: PressButton | null = null;
  #busy = false;
  #alive = true;

  constructor(host: Host, id: string, form: Form) {
    this.#host = host;
    this.#id = id;
    this.form = form;
    this.#since = host.page.now();
    this.#title = el("div", { class: "b-ask", id: host.id(), dir: "auto" });
    this.#reason = el("span", { class: "b-why", id: host.id() });
    this.#said = el("div", { class: "b-said", role: "status", hidden: true });
    const attributes = { class: "b-form", role: "group", tabindex: "-1" };
    this.frame = el("div", { ...attributes, "aria-labelledby": this.#title.id });
    this.frame.append(this.#title, this.body, this.#said, this.acts);
    this.node = el("div", "b-formslot", this.lead, this.frame, this.tail);
    this.lead.hidden = true;
    this.tail.hidden = true;
    this.#watchPlace();
  }

  /** Whether it can be answered: a form of an earlier moment has no nonce. */
  get open(): boolean {
    return !this.#busy && this.#alive && this.form.nonce !== "";
  }

  /** Take the same form as it is now: with a new nonce, or with none any more. */
  renew(form: Form): void {
    this.form = form;
    this.#draw();
  }

  /** The title, the tool's name in it set apart. */
  title(text: string): void {
    setKids(this.#title, named(text, this.form.tool));
  }

  button(text: string, pressed: () => void, more: ButtonOptions = {}): PressButton {
    const act = () => {
      this.#sending = button;
      pressed();
    };
    const since = () => this.#since;
    const early = () => this.#tooEarly();
    const button = new PressButton(this.#host, text, act, { since, early, ...more });
    this.#buttons.push(button);
    this.#words.set(button, text);
    return button;
  }

  /** What a button reads when it is not sending. */
  label(button: PressButton, text: string): void {
    this.#words.set(button, text);
    if (!this.#busy || button !== this.#sending) button.text = text;
  }

  /** Put these in the row of buttons, the reason last. */
  row(...nodes: Node[]): void {
    setKids(this.acts, [...nodes, this.#reason]);
  }

  /** Say why a button is off, beside it and in its description. */
  refuse(button: PressButton, reason: string | null, otherwise = ""): void {
    const past = this.form.nonce === "" ? say("form.past") : null;
    const words = this.#alive ? (past ?? reason ?? otherwise) : say("dead.off");
    setText(this.#reason, words);
    const off = reason !== null || !this.open;
    button.off(off, words === "" ? null : this.#reason.id);
  }

  /** The form looks otherwise now, so a press meant for what was there is none. */
  moved(): void {
    this.#since = this.#host.page.now();
    this.#seen = null;
  }

  /** Beside the buttons, so that nothing moves. */
  #tooEarly(): void {
    const words = say("press.early");
    setText(this.#reason, words);
    this.#host.announce(words);
    this.#host.page.later(SIGN_FOR, () => {
      if (this.#reason.textContent === words) setText(this.#reason, "");
      this.changed();
    });
  }

  say(words: string | null, role: "bad" | "still" = "still"): void {
    this.#said.hidden = words === null;
    this.#said.dataset["role"] = role;
    setKids(this.#said, words === null ? [] : withCode(words));
  }

  enable(alive: boolean): void {
    if (alive && !this.#alive) this.say(null);
    this.#alive = alive;
    this.#draw();
  }

  /** Send the answer; whatever happens to it shows here. */
  send(answer: JsonRecord): void {
    if (!this.open) return;
    this.#busy = true;
    this.say(null);
    this.#draw();
    const { checkpoint, nonce, shown } = this.form;
    const told = needsExact(answer) ? { exact: writeExact(answer) } : { answer };
    this.#host.act(
      "answer",
      this.#id,
      { checkpoint, nonce, shown, ...told },
      {
        slow: () => this.say(say("sent.wait")),
        lost: (heard) => this.#reopen(say(heard ? "busy.kernel" : "dead.form")),
        result: (ok, words, problems) => {
          if (ok) this.say(words);
          else this.#reopen(words ?? say("sent.refused"), problems);
        },
      },
    );
  }

  #reopen(words: string, problems: Problem[] = []): void {
    this.#busy = false;
    const rest = this.refused(problems);
    const lines = [words, ...rest.map(({ path, text }) => `${path.slice(1)}: ${text}`)];
    this.say(lines.join("\n"), "bad");
    this.#draw();
    this.#host.repaint();
  }

  #draw(): void {
    const sending = this.#busy ? this.#sending : null;
    for (const button of this.#buttons) {
      const words = this.#words.get(button) ?? "";
      button.text = button === sending ? say("sending") : words;
      button.off(!this.open);
    }
    this.changed();
  }

  /** A press on a button that moved without the person scrolling is none. */
  #watchPlace(): void {
    const see = () => (this.#seen = this.#top());
    this.node.addEventListener("pointermove", see);
    const check = () => {
      const top = this.#top();
      if (this.#seen !== null && Math.abs(top - this.#seen) > 2) this.moved();
      this.#seen = top;
    };
    this.acts.addEventListener("pointerdown", check, { capture: true });
    const view = this.node.ownerDocument.defaultView;
    view?.addEventListener("scroll", see, { capture: true, passive: true });
    this.#unwatch = () => view?.removeEventListener("scroll", see, { capture: true });
  }

  #unwatch: () => void = () => undefined;

  #top(): number {
    return this.acts.getBoundingClientRect().top;
  }

  dispose(): void {
    this.#unwatch();
  }
}

/** Text with one name in it set apart as a name. */
export function named(text: string, name: string): Node[] {
  const at = name === "" ? -1 : text.lastIndexOf(name);
  if (at === -1) return [new Text(text)];
  const before = new Text(text.slice(0, at));
  return [before, el("span", "b-name", name), new Text(text.slice(at + name.length))];
}

/** The one line that is left of a form that was answered. */
export function settledLine(form: Form): HTMLElement {
  const name = el("span", "b-name", form.tool);
  const end = el("span", { class: "b-tag", "data-role": "still", dir: "auto" });
  end.textContent = form.end ?? "";
  return el("div", "b-row b-settled", name, end);
}

/** Opens a line that asks why, with a way back. */
export class ReasonLine {
  readonly node: HTMLElement;
  readonly input: HTMLInputElement;
  readonly yes: PressButton;
  readonly no: PressButton;

  constructor(
    shell: Pick<FormShell, "button">,
    words: { ask: string; yes: string; id: string },
    pressed: { yes: (reason: string) => void; no: () => void },
  ) {
    const attributes = { id: words.id, class: "b-input", type: "text", dir: "auto" };
    this.input = el("input", { ...attributes, autocomplete: "off" });
    this.yes = shell.button(words.yes, () => pressed.yes(this.input.value.trim()));
    this.no = shell.button(say("back"), pressed.no, { link: true });
    const label = el("label", { for: words.id, dir: "auto" }, words.ask);
    this.node = el("div", { class: "b-reason-line" }, label, this.input);
    this.node.append(this.yes.node, this.no.node);
    this.node.hidden = true;
  }
}
