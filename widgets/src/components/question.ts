/** The form in which a tool asks a person something. */

import type { Host } from "../block.ts";
import { el, setKids } from "../dom.ts";
import { type Form, put } from "../forms.ts";
import type { Json, JsonRecord } from "../json.ts";
import { token } from "../model.ts";
import type { PressButton } from "../press.ts";
import { say } from "../words.ts";
import { quoted } from "./approval.ts";
import { ConsentArgs } from "./args.ts";
import { FieldView } from "./field.ts";
import { FormBlock, type OpenForm } from "./form.ts";
import { FormShell, ReasonLine } from "./shell.ts";

export class Question extends FormBlock<OpenQuestion> {
  constructor(host: Host, id: string) {
    super(host, (form) => new OpenQuestion(host, id, form));
  }
}

class OpenQuestion implements OpenForm {
  readonly shell: FormShell;
  readonly #views: FieldView[];
  readonly #send: PressButton;
  readonly #decline: PressButton;
  readonly #why: ReasonLine;

  constructor(host: Host, id: string, form: Form) {
    const shell = new FormShell(host, id, form);
    this.shell = shell;
    this.#views = form.fields.map((field) => {
      const path =
        field.path === "" && form.fields.length > 1
          ? `/${token(field.key)}`
          : field.path;
      return new FieldView(field, path, host, () => this.#refresh());
    });
    const ask = say("deny.why", { agent: form.agent });
    const words = { ask, yes: say("question.decline.now"), id: host.id() };
    this.#why = new ReasonLine(shell, words, {
      yes: (reason) => shell.send(declined(reason)),
      no: () => this.#declining(false),
    });
    const go = { go: true };
    this.#send = shell.button(say("question.send"), () => this.#answer(), go);
    this.#decline = shell.button(say("question.decline"), () => this.#declining(true));
    shell.title(
      form.title === "" ? say("form.asks", { agent: form.agent }) : form.title,
    );
    const cells = this.#views.flatMap((view) => view.cells);
    const args = new ConsentArgs(form.args, host, () => shell.moved());
    const shown = form.args.length > 0 ? [args.node] : [];
    const fields = el("div", "b-args", ...cells);
    setKids(shell.body, [...this.#words(form), ...shown, fields, this.#why.node]);
    shell.row(this.#decline.node, this.#send.node);
    shell.changed = () => this.#refresh();
    shell.refused = (problems) =>
      problems.filter(({ path, text }) => {
        const view = this.#find(path);
        view?.show(text);
        return view === null;
      });
    this.#refresh();
  }

  #words(form: Form): HTMLElement[] {
    const asks = say("form.asks", { agent: form.agent });
    const words = form.quote ?? form.prompt;
    const title = form.title === asks || form.title === "" ? null : asks;
    const parts = words === null ? [] : [quoted(title, words)];
    if (form.quote !== null && form.prompt !== null) {
      parts.push(el("div", { class: "b-why", dir: "auto" }, form.prompt));
    }
    if (form.hint !== null)
      parts.push(el("div", { class: "b-why", dir: "auto" }, form.hint));
    return parts;
  }

  #find(path: string): FieldView | null {
    for (const view of this.#views) {
      const found = view.find(path);
      if (found) return found;
    }
    return null;
  }

  /** The answer: what the fields hold, or the one value when there is no record. */
  #read(): { value: Json | undefined; wrong: string[] } {
    const wrong: string[] = [];
    const record: JsonRecord = {};
    let single: Json | undefined;
    for (const view of this.#views) {
      const reading = view.read();
      if ("problem" in reading) wrong.push(view.field.label || say("question.answer"));
      else if (reading.value !== undefined) {
        single = reading.value;
        put(record, view.field.key, reading.value);
      }
    }
    const bare = this.#views.length === 1 && this.#views[0]?.field.path === "";
    return { value: bare ? single : record, wrong };
  }

  #answer(): void {
    const { value, wrong } = this.#read();
    if (wrong.length === 0) this.shell.send({ answer: value ?? null });
  }

  #declining(open: boolean): void {
    this.#why.node.hidden = !open;
    this.shell.acts.hidden = open;
    this.shell.moved();
    const next = open ? this.#why.input : this.#decline.node;
    next.focus({ preventScroll: true });
  }

  #refresh(): void {
    const { wrong } = this.#read();
    const keys = wrong.join(", ");
    const need = say("question.need", { n: wrong.length, keys });
    this.shell.refuse(this.#send, wrong.length > 0 ? need : null);
  }
}

function declined(reason: string): JsonRecord {
  return reason === "" ? { declined: true } : { declined: true, reason };
}
