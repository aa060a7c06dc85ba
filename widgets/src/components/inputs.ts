/** The controls for single values. Each gives back exactly what it was given until touched. */

import type { Host } from "../block.ts";
import { el, set, setKids } from "../dom.ts";
import { figure, readExact, writeExact } from "../exact.ts";
import { type Field, givenIn } from "../forms.ts";
import { Exact, type Json, same } from "../json.ts";
import { drawn, hiddenIn, segmented } from "../segments.ts";
import { say } from "../words.ts";

/** More characters than a field of one line shows well. */
const LONG_LINE = 60;

/** A value, nothing (`value` undefined), or what is wrong. */
export type Reading = { value: Json | undefined } | { problem: string };

export interface Input {
  readonly node: HTMLElement;
  /** The element a label points at; null when the control names itself. */
  readonly main: HTMLElement | null;
  read(): Reading;
  /** Show or clear that the value is wrong, described by that element. */
  flag(wrong: boolean, describedBy: string): void;
}

export interface Watch {
  /** The value may have changed. */
  changed(): void;
  /** The person has left the control. */
  left(): void;
}

/** The control for a field that holds one value. */
export function makeInput(field: Field, host: Host, watch: Watch): Input {
  if (field.kind === "null") return new NullInput();
  if (field.kind === "secret") return new SecretInput(field, watch);
  if (field.kind === "boolean") return new ChoiceInput(field, yesNo(), host, watch);
  if (field.kind === "enum") {
    return field.options.length <= 5
      ? new ChoiceInput(field, field.options, host, watch)
      : new ListInput(field, watch);
  }
  return new TextInput(field, watch);
}

function yesNo(): Field["options"] {
  return [
    { value: true, label: say("field.yes") },
    { value: false, label: say("field.no") },
  ];
}

function listen(node: HTMLElement, watch: Watch): void {
  node.addEventListener("input", () => watch.changed());
  node.addEventListener("change", () => watch.changed());
  node.addEventListener("focusout", () => watch.left());
}

/** Text, numbers and JSON, as somebody types them. */
class TextInput implements Input {
  readonly node: HTMLElement;
  readonly main: HTMLInputElement | HTMLTextAreaElement;
  readonly #field: Field;
  readonly #given: Json | undefined;
  readonly #first: string;
  readonly #shown = el("div", "b-shown");

  constructor(field: Field, watch: Watch) {
    this.#field = field;
    this.#given = givenIn(field);
    const text = typed(field, this.#given);
    this.main = control(field, text);
    this.#first = this.main.value;
    this.node = el("div", null, this.main, this.#shown);
    listen(this.node, watch);
    this.main.addEventListener("input", () => this.#reveal());
    this.#reveal();
  }

  read(): Reading {
    const raw = this.main.value;
    const { kind, required } = this.#field;
    const given = this.#given;
    const wanted = kind === "number" || kind === "integer";
    const typed = wanted && typeof given !== "number" && !(given instanceof Exact);
    if (raw === this.#first && given !== undefined && !typed) return { value: given };
    const blank = raw.trim() === "";
    if (kind === "text" || kind === "area")
      return readText(raw, this.#field, given);
    if (blank)
      return required ? { problem: say("field.required") } : { value: undefined };
    return kind === "json" ? readJson(raw) : readNumber(raw, this.#field);
  }

  flag(wrong: boolean, describedBy: string): void {
    flagged(this.main, wrong, describedBy);
  }

  #reveal(): void {
    const text = this.main.value;
    const found = hiddenIn(text) > 0;
    const kids = [
      el("div", "b-warn", say("field.shown")),
      el("pre", { class: "b-pre", dir: "ltr" }, ...drawn(segmented(text))),
    ];
    setKids(this.#shown, found ? kids : []);
  }
}

function typed(field: Field, value: Json | undefined): string {
  if (value === undefined) return "";
  if (field.kind === "json") return writeExact(value, 2);
  return typeof value === "string" ? value : writeExact(value);
}

function control(field: Field, text: string): HTMLInputElement | HTMLTextAreaElement {
  const { kind } = field;
  const long = kind === "text" && text.length > LONG_LINE;
  const area = kind === "area" || kind === "json" || long || /[\r\n]/.test(text);
  const common = { class: "b-input", dir: "auto", spellcheck: "false" };
  if (!area) {
    const numeric = kind === "number" || kind === "integer";
    const mode = kind === "integer" ? "numeric" : "decimal";
    const more = { type: "text", autocomplete: "off", inputmode: numeric && mode };
    const input = el("input", { ...common, ...more });
    input.value = text;
    return input;
  }
  const lines = text.split("\n").map((line) => Math.ceil(line.length / LONG_LINE) || 1);
  const all = lines.reduce((sum, n) => sum + n, 0);
  const rows = Math.min(12, Math.max(3, all + 1));
  const input = el("textarea", {
    ...common,
    rows,
    dir: kind === "json" ? "ltr" : "auto",
  });
  input.value = text;
  return input;
}

function readText(raw: string, field: Field, given: Json | undefined): Reading {
  if (raw === "" && given !== "") {
    return field.required ? { problem: say("field.required") } : { value: undefined };
  }
  const length = [...raw].length;
  const { min, max } = field;
  if (min !== null && length < min)
    return { problem: say("field.min.length", { n: min }) };
  if (max !== null && length > max)
    return { problem: say("field.max.length", { n: max }) };
  return { value: raw };
}

function readNumber(raw: string, field: Field): Reading {
  const text = raw.trim();
  const whole = field.kind === "integer";
  const n = Number(text);
  if (!/^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(text) || !Number.isFinite(n)) {
    return { problem: say(whole ? "field.integer" : "field.number") };
  }
  const digits = /^[-+]?\d+$/.test(text);
  if (whole && !digits && !Number.isSafeInteger(n)) {
    return { problem: say("field.integer") };
  }
  if (field.min !== null && n < field.min) {
    return { problem: say("field.min", { n: String(field.min) }) };
  }
  if (field.max !== null && n > field.max) {
    return { problem: say("field.max", { n: String(field.max) }) };
  }
  return { value: digits ? figure(BigInt(text.replace("+", "")).toString()) : n };
}

/** Read JSON that a person typed. */
export function readJson(raw: string): Reading {
  try {
    return { value: readExact(raw) };
  } catch (error) {
    const why = error instanceof Error ? error.message : "";
    return { problem: say("field.json", { why }) };
  }
}

/** A few choices, all in sight; none is chosen that was not given. */
class ChoiceInput implements Input {
  readonly node: HTMLElement;
  readonly main = null;
  readonly #radios: HTMLInputElement[];
  readonly #field: Field;

  constructor(field: Field, options: Field["options"], host: Host, watch: Watch) {
    this.#field = field;
    const name = host.id();
    const given = givenIn(field);
    const choices = field.required ? options : [...options, NOTHING];
    this.#radios = choices.map((option) => {
      const chosen =
        given === undefined ? option === NOTHING : same(given, option.value);
      const radio = el("input", { type: "radio", name });
      radio.checked = chosen && option.label !== "";
      return radio;
    });
    const labels = choices.map((option, at) => {
      const text = el("span", { dir: "auto" }, option.label);
      return el("label", "b-choice", this.#radios[at], text);
    });
    const attributes = {
      class: "b-choices",
      role: "radiogroup",
      "aria-label": field.label,
    };
    this.node = el("div", attributes, ...labels);
    this.#options = choices;
    listen(this.node, watch);
  }

  readonly #options: Field["options"];

  read(): Reading {
    const at = this.#radios.findIndex((radio) => radio.checked);
    const option = this.#options[at];
    if (option && option !== NOTHING) return { value: option.value };
    if (option === undefined && this.#field.value !== undefined) {
      return { value: this.#field.value };
    }
    return this.#field.required
      ? { problem: say("field.choose") }
      : { value: undefined };
  }

  flag(wrong: boolean, describedBy: string): void {
    flagged(this.node, wrong, describedBy);
  }
}

const NOTHING: Field["options"][number] = { value: null, label: say("field.none") };

/** Many choices, in a list. */
class ListInput implements Input {
  readonly node: HTMLSelectElement;
  readonly main: HTMLElement;
  readonly #field: Field;
  readonly #given: Json | undefined;

  constructor(field: Field, watch: Watch) {
    this.#field = field;
    this.#given = givenIn(field);
    const first = el(
      "option",
      { value: "" },
      say(field.required ? "field.choose" : "field.none"),
    );
    const options = field.options.map((option, at) => {
      const node = el("option", { value: String(at) }, option.label);
      node.selected = same(option.value, this.#given);
      return node;
    });
    this.node = el("select", "b-input", first, ...options);
    this.main = this.node;
    listen(this.node, watch);
  }

  read(): Reading {
    const option = this.#field.options[Number(this.node.value || "-1")];
    if (option) return { value: option.value };
    return this.#field.required
      ? { problem: say("field.choose") }
      : { value: undefined };
  }

  flag(wrong: boolean, describedBy: string): void {
    flagged(this.node, wrong, describedBy);
  }
}

/** A secret is never sent to the page; it is kept until something is typed. */
class SecretInput implements Input {
  readonly node: HTMLInputElement;
  readonly main: HTMLElement;

  constructor(field: Field, watch: Watch) {
    const placeholder = say(field.required ? "field.secret" : "field.secret.new");
    const attributes = {
      class: "b-input",
      type: "password",
      autocomplete: "new-password",
    };
    this.node = el("input", { ...attributes, placeholder });
    this.main = this.node;
    listen(this.node, watch);
  }

  read(): Reading {
    return { value: this.node.value === "" ? undefined : this.node.value };
  }

  flag(wrong: boolean, describedBy: string): void {
    flagged(this.node, wrong, describedBy);
  }
}

class NullInput implements Input {
  readonly node = el("span", "b-cap", say("field.null"));
  readonly main = null;

  read(): Reading {
    return { value: null };
  }

  flag(): void {
    return;
  }
}

function flagged(node: HTMLElement, wrong: boolean, describedBy: string): void {
  set(node, "aria-invalid", wrong ? "true" : null);
  set(node, "aria-describedby", wrong ? describedBy : null);
}
