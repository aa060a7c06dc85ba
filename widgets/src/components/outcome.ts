/** The form after a crash: whether a call happened. Nothing is preset. */

import type { Host } from "../block.ts";
import { el, set, setKids } from "../dom.ts";
import { type Field, type Form } from "../forms.ts";
import type { Json, JsonRecord } from "../json.ts";
import type { PressButton } from "../press.ts";
import { say } from "../words.ts";
import { ConsentArgs } from "./args.ts";
import { FieldView } from "./field.ts";
import { type Reading, readJson } from "./inputs.ts";
import { FormBlock, type OpenForm } from "./form.ts";
import { FormShell } from "./shell.ts";

type Choice = "happened" | "run" | "failed";
const CHOICES: readonly Choice[] = ["happened", "run", "failed"];

export class Outcome extends FormBlock<OpenOutcome> {
  constructor(host: Host, id: string) {
    super(host, (form) => new OpenOutcome(host, id, form));
  }
}

class OpenOutcome implements OpenForm {
  readonly shell: FormShell;
  readonly #go: PressButton;
  readonly #radios = new Map<Choice, HTMLInputElement>();
  readonly #result: ResultInput;
  readonly #args: ConsentArgs;

  constructor(host: Host, id: string, form: Form) {
    const shell = new FormShell(host, id, form);
    this.shell = shell;
    this.#result = resultInput(form.fields, host, () => {
      const happened = this.#radios.get("happened");
      if (happened) happened.checked = true;
      this.#refresh();
    });
    this.#go = shell.button(say("outcome.go"), () => this.#answer(), { go: true });
    this.#args = new ConsentArgs(form.args, host, () => {
      shell.moved();
      this.#refresh();
    });
    shell.title(form.title);
    setKids(shell.body, [...about(form), this.#args.node, this.#choices(host.id())]);
    shell.row(this.#go.node);
    shell.changed = () => this.#refresh();
    this.#refresh();
  }

  #choices(name: string): HTMLElement {
    const attributes = { class: "b-next", role: "radiogroup" };
    const group = el("div", { ...attributes, "aria-label": say("outcome.what") });
    for (const choice of CHOICES) {
      const radio = el("input", { type: "radio", name, value: choice });
      radio.addEventListener("change", () => this.#refresh());
      this.#radios.set(choice, radio);
      group.append(
        el("label", null, radio, el("span", null, say(`outcome.${choice}`))),
      );
      if (choice === "happened") group.append(this.#result.node);
    }
    return group;
  }

  get #choice(): Choice | null {
    return CHOICES.find((choice) => this.#radios.get(choice)?.checked) ?? null;
  }

  #answer(): void {
    const choice = this.#choice;
    if (choice === "happened") {
      const reading = this.#result.read();
      if ("problem" in reading) return;
      this.shell.send({ happened: true, result: reading.value ?? null });
    } else if (choice !== null) {
      const answer: JsonRecord = choice === "run" ? { run: true } : { failed: true };
      this.shell.send(answer);
    }
  }

  #refresh(): void {
    const choice = this.#choice;
    let need = choice === null ? say("outcome.choose") : null;
    if (choice === "run") need = this.#args.missing;
    if (choice === "happened") {
      const reading = this.#result.read();
      if ("problem" in reading) need = reading.problem;
    }
    this.shell.refuse(this.#go, need);
  }
}

function about(form: Form): HTMLElement[] {
  const lines = [form.why === "" ? say("outcome.why") : form.why];
  if (form.started !== null) lines.push(say("outcome.started", { when: form.started }));
  if (form.hint !== null) lines.push(form.hint);
  return lines.map((text) => el("div", { class: "b-why", dir: "auto" }, text));
}

interface ResultInput {
  node: HTMLElement;
  read(): Reading;
}

/** The field the tool's output schema gives, else JSON or plain text. */
function resultInput(
  fields: readonly Field[],
  host: Host,
  changed: () => void,
): ResultInput {
  const [field] = fields;
  if (!field) return freeInput(host, changed);
  const label = field.label || say("outcome.result");
  if (fields.length === 1) {
    const view = new FieldView({ ...field, label }, field.path, host, changed);
    return { node: el("div", "b-args b-set", ...view.cells), read: () => view.read() };
  }
  const whole: Field = {
    ...field,
    kind: "object",
    key: "",
    label: say("outcome.result"),
    hint: "",
    description: null,
    value: undefined,
    required: true,
    fields: [...fields],
  };
  const view = new FieldView(whole, "", host, changed);
  return {
    node: el("div", "b-result", ...view.cells.slice(1)),
    read: () => view.read(),
  };
}

function freeInput(host: Host, changed: () => void): ResultInput {
  const attributes = { class: "b-input", rows: 2, dir: "auto", spellcheck: "false" };
  const placeholder = say("outcome.example");
  const label = say("outcome.result");
  const area = el("textarea", { ...attributes, placeholder, "aria-label": label });
  const note = el("div", { class: "b-cap", id: host.id() });
  const read = () => readFree(area.value);
  area.addEventListener("input", () => {
    const reading = read();
    const text = "problem" in reading ? "" : reading.value;
    const plain = typeof text === "string" && area.value.trim() === text;
    note.textContent = plain && text !== "" ? say("outcome.astext") : "";
    set(area, "aria-describedby", note.textContent === "" ? null : note.id);
    changed();
  });
  return { node: el("div", "b-result", area, note), read };
}

/** JSON; what looks like none is text; what looks like JSON must be whole. */
function readFree(raw: string): Reading {
  const text = raw.trim();
  if (text === "") return { problem: say("field.required") };
  const reading = readJson(text);
  if (!("problem" in reading) || /^[[{"]/.test(text)) return reading;
  const value: Json = text;
  return { value };
}
