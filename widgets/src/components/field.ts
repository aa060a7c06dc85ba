/** One field of a form: its label, its control or its parts, and what is wrong with it. */

import type { Host } from "../block.ts";
import { el } from "../dom.ts";
import { type Field, givenIn, put } from "../forms.ts";
import { type Json, type JsonRecord, isRecord, own } from "../json.ts";
import { token } from "../model.ts";
import { type Input, type Reading, type Watch, makeInput } from "./inputs.ts";
import { ListFields, UnionFields } from "./groups.ts";

const NESTED = 2;

/** What a field is made of: one control, or fields in it. */
export interface Parts {
  readonly node: HTMLElement;
  read(): Reading;
  /** The fields in it, for marking problems. */
  views(): FieldView[];
}

export class FieldView {
  readonly field: Field;
  readonly path: string;
  /** The label and the control, as two cells of a grid. */
  readonly cells: HTMLElement[];
  readonly #problem: HTMLElement;
  readonly #input: Input | null = null;
  readonly #parts: Parts | null = null;
  readonly #watch: Watch;
  #shown = "";

  constructor(field: Field, path: string, host: Host, changed: () => void, depth = 0) {
    this.field = plain(field, depth);
    this.path = path;
    this.#problem = el("div", { class: "b-tag", "data-role": "bad", id: host.id() });
    this.#watch = { changed: () => this.#touched(changed), left: () => this.check() };
    const kind = this.field.kind;
    if (kind === "object") this.#parts = new ObjectFields(this, host, changed, depth);
    else if (kind === "list") this.#parts = new ListFields(this, host, changed, depth);
    else if (kind === "union")
      this.#parts = new UnionFields(this, host, changed, depth);
    else this.#input = makeInput(this.field, host, this.#watch);
    const control = this.#parts?.node ?? this.#input?.node ?? null;
    this.cells = [this.#label(host), el("div", "b-field", control, this.#problem)];
  }

  read(): Reading {
    return this.#parts?.read() ?? this.#input?.read() ?? { value: undefined };
  }

  /** Look at the value, and say at the field what is wrong; the fields that are. */
  check(): FieldView[] {
    const reading = this.read();
    if (!("problem" in reading)) {
      this.clear();
      return [];
    }
    const nested = this.#parts?.views().flatMap((view) => view.check()) ?? [];
    this.show(nested.length > 0 ? "" : reading.problem);
    return nested.length > 0 ? nested : [this];
  }

  /** Say nothing at this field and at those in it. */
  clear(): void {
    this.show("");
    for (const view of this.#parts?.views() ?? []) view.clear();
  }

  /** Show what somebody else found wrong here. */
  show(problem: string): void {
    if (problem === this.#shown) return;
    this.#shown = problem;
    this.#problem.textContent = problem;
    this.#input?.flag(problem !== "", this.#problem.id);
  }

  /** The field at a path, here or below. */
  find(path: string): FieldView | null {
    if (path === this.path) return this;
    if (!path.startsWith(`${this.path}/`)) return null;
    for (const view of this.#parts?.views() ?? []) {
      const found = view.find(path);
      if (found) return found;
    }
    return this;
  }

  #touched(changed: () => void): void {
    if (this.#shown !== "") this.check();
    changed();
  }

  #label(host: Host): HTMLElement {
    const { label, hint, description } = this.field;
    const small = hint === "" ? null : el("small", null, hint);
    const about =
      description === null ? null : el("small", { dir: "auto" }, description);
    const main = this.#input?.main;
    if (!main) return el("div", "b-key", el("span", null, label), " ", small, about);
    main.id = host.id();
    return el("label", { class: "b-key", for: main.id }, label, " ", small, about);
  }
}

/** Fields in a frame of their own. */
class ObjectFields implements Parts {
  readonly node: HTMLElement;
  readonly #views: FieldView[];
  readonly #rest: JsonRecord = {};
  readonly #wanted: boolean;

  constructor(view: FieldView, host: Host, changed: () => void, depth: number) {
    const { field } = view;
    const value = givenIn(field);
    this.#wanted = field.required || value !== undefined;
    const held = isRecord(value) ? value : {};
    this.#views = field.fields.map((inner) => {
      const given = inner.value ?? own(held, inner.key);
      const path = `${view.path}/${token(inner.key)}`;
      return new FieldView({ ...inner, value: given }, path, host, changed, depth + 1);
    });
    const known = new Set(field.fields.map((inner) => inner.key));
    for (const [key, kept] of Object.entries(held)) {
      if (!known.has(key)) put(this.#rest, key, kept);
    }
    const cells = this.#views.flatMap((inner) => inner.cells);
    const attributes = {
      class: "b-args b-set",
      role: "group",
      "aria-label": field.label,
    };
    this.node = el("div", attributes, ...cells);
  }

  views(): FieldView[] {
    return this.#views;
  }

  read(): Reading {
    const value: JsonRecord = {};
    let problem = "";
    for (const view of this.#views) {
      const reading = view.read();
      if ("problem" in reading) problem ||= reading.problem;
      else if (reading.value !== undefined) put(value, view.field.key, reading.value);
    }
    const empty =
      Object.keys(value).length === 0 && Object.keys(this.#rest).length === 0;
    if (empty && !this.#wanted) return { value: undefined };
    if (problem !== "") return { problem };
    for (const [key, kept] of Object.entries(this.#rest)) put(value, key, kept);
    return { value };
  }
}

/** Deeper than two levels, and whatever has no parts, is written as JSON. */
function plain(field: Field, depth: number): Field {
  const composed = ["object", "list", "union"].includes(field.kind);
  const empty =
    (field.kind === "object" && field.fields.length === 0) ||
    (field.kind === "union" && field.variants.length === 0);
  if (!composed || (depth < NESTED && !empty)) return field;
  const value: Json | undefined = givenIn(field);
  return { ...field, kind: "json", value };
}
