/** Editing what a tool will get: fields or JSON, and what that changes. */

import type { Host, Problem } from "../block.ts";
import { changedKeys, diffArguments } from "../diff.ts";
import { el, setKids } from "../dom.ts";
import { writeExact } from "../exact.ts";
import { type Field, given, put } from "../forms.ts";
import { type JsonRecord, isRecord, own } from "../json.ts";
import { token } from "../model.ts";
import { PressButton } from "../press.ts";
import { say } from "../words.ts";
import { diffView } from "./diff.ts";
import { FieldView } from "./field.ts";
import { readJson } from "./inputs.ts";

export interface Edited {
  args: JsonRecord;
  /** Keys that differ from what the agent asked for. */
  changed: string[];
  /** Labels of the values that need mending. */
  wrong: string[];
}

export class EditPanel {
  readonly node = el("div", "b-edit");
  readonly json: PressButton;
  readonly #host: Host;
  readonly #fields: readonly Field[];
  readonly #first: JsonRecord;
  readonly #changed: () => void;
  readonly #diff = el("div", "b-next");
  readonly #place = el("div", "b-args");
  #views: FieldView[] = [];
  #rest: JsonRecord = {};
  #area: HTMLTextAreaElement | null = null;
  readonly #wrong: HTMLElement;

  constructor(fields: readonly Field[], host: Host, changed: () => void) {
    this.#fields = fields;
    this.#host = host;
    this.#changed = changed;
    this.#first = given(fields);
    this.#wrong = el("div", { class: "b-tag", "data-role": "bad", id: host.id() });
    const toggle = () => (this.#area ? this.#toFields() : this.#toJson());
    this.json = new PressButton(host, say("edit.json"), toggle, { link: true });
    setKids(this.node, [this.#place, this.#diff]);
    this.reset();
  }

  /** Say which arguments an edited call does not have. */
  leavesOut(keys: readonly string[]): void {
    const words = say("edit.unknown", { keys: keys.join(", ") });
    const warning = el("div", "b-warn", words);
    setKids(this.node, [
      this.#place,
      ...(keys.length > 0 ? [warning] : []),
      this.#diff,
    ]);
  }

  /** As the agent asked for it. */
  reset(): void {
    this.#area = null;
    this.#rest = {};
    this.#draw(this.#first);
  }

  read(): Edited {
    const wrong: string[] = [];
    let args: JsonRecord = {};
    if (this.#area) {
      const reading = this.#readArea(this.#area);
      if (reading === null) wrong.push("JSON");
      args = reading ?? this.#first;
    } else {
      for (const view of this.#views) {
        const { key, label } = view.field;
        const reading = view.read();
        const bad = "problem" in reading;
        if (bad) wrong.push(label);
        const value = bad ? own(this.#first, key) : reading.value;
        if (value !== undefined) put(args, key, value);
      }
      for (const [key, value] of Object.entries(this.#rest)) put(args, key, value);
    }
    return { args, changed: changedKeys(this.#first, args), wrong };
  }

  /** Show what Python found wrong; what stands at no field is given back. */
  problems(problems: readonly Problem[]): Problem[] {
    return problems.filter((problem) => {
      const view = this.#area ? null : this.#find(problem.path);
      view?.show(problem.text);
      return view === null;
    });
  }

  /** Check every field, and put the first one that is wrong in focus. */
  check(): void {
    const wrong = this.#views.flatMap((view) => view.check());
    wrong[0]?.cells[1]?.querySelector<HTMLElement>("input,textarea,select")?.focus();
  }

  #find(path: string): FieldView | null {
    for (const view of this.#views) {
      const found = view.find(path);
      if (found) return found;
    }
    return null;
  }

  #draw(values: JsonRecord): void {
    this.#views = this.#fields.map((field) => {
      const value = field.kind === "secret" ? undefined : own(values, field.key);
      const held = { ...field, value, fields: unfilled(field) };
      const path = field.path === "" ? `/${token(field.key)}` : field.path;
      return new FieldView(held, path, this.#host, () => this.#touched());
    });
    this.json.text = say("edit.json");
    setKids(
      this.#place,
      this.#views.flatMap((view) => view.cells),
    );
    this.#show();
  }

  #toJson(): void {
    const text = writeExact(this.read().args, 2);
    const rows = Math.min(20, Math.max(6, text.split("\n").length + 1));
    const label = say("edit.json.label");
    const attributes = { class: "b-input b-json", dir: "ltr", spellcheck: "false" };
    this.#area = el("textarea", { ...attributes, rows, "aria-label": label });
    this.#area.value = text;
    this.#area.addEventListener("input", () => this.#touched());
    this.json.text = say("edit.fields");
    this.#wrong.textContent = "";
    setKids(this.#place, [el("div", "b-wide", this.#area, this.#wrong)]);
    this.#touched();
  }

  #toFields(): void {
    if (!this.#area) return;
    const args = this.#readArea(this.#area);
    if (args === null) return;
    this.#area = null;
    const known = new Set(this.#fields.map((field) => field.key));
    this.#rest = {};
    for (const [key, value] of Object.entries(args)) {
      if (!known.has(key)) put(this.#rest, key, value);
    }
    this.#draw(args);
    this.#changed();
  }

  #readArea(area: HTMLTextAreaElement): JsonRecord | null {
    const reading = readJson(area.value);
    let problem = "problem" in reading ? reading.problem : "";
    const value = "problem" in reading ? undefined : reading.value;
    if (problem === "" && !isRecord(value)) problem = say("field.json.object");
    this.#wrong.textContent = problem;
    area.setAttribute("aria-invalid", String(problem !== ""));
    area.setAttribute("aria-describedby", this.#wrong.id);
    return isRecord(value) ? value : null;
  }

  #touched(): void {
    this.#show();
    this.#changed();
  }

  #show(): void {
    const { args, changed, wrong } = this.read();
    const n = changed.length;
    const none = wrong.length === 0 ? [say("edit.none")] : [];
    const told = n > 0 ? [say("edit.changed", { n })] : none;
    if (wrong.length > 0) told.push(mend(wrong));
    const lines = n > 0 ? [diffView(diffArguments(this.#first, args))] : [];
    setKids(this.#diff, [...told.map((words) => el("div", "b-cap", words)), ...lines]);
  }
}

/** Which values cannot be read as they stand. */
export function mend(wrong: readonly string[]): string {
  return say("edit.mend", { n: wrong.length, keys: wrong.join(", ") });
}

/** The fields of an object without their own values: the object's value holds them. */
function unfilled(field: Field): Field[] {
  return field.fields.map((inner) => ({
    ...inner,
    value: undefined,
    fields: unfilled(inner),
  }));
}
