/** Fields that hold other fields: a list of values, and a choice between kinds. */

import type { Host } from "../block.ts";
import { el, setKids } from "../dom.ts";
import { type Field, givenIn } from "../forms.ts";
import { Exact, type Json, isRecord, same } from "../json.ts";
import { PressButton } from "../press.ts";
import { say } from "../words.ts";
import { FieldView, type Parts } from "./field.ts";
import type { Reading } from "./inputs.ts";

const ITEM: Field = {
  path: "",
  key: "",
  label: "",
  hint: "",
  kind: "json",
  required: true,
  value: undefined,
  options: [],
  min: null,
  max: null,
  item: null,
  fields: [],
  variants: [],
  description: null,
};

/** One field an item, with Add, Remove and Move up. */
export class ListFields implements Parts {
  readonly node: HTMLElement;
  readonly #view: FieldView;
  readonly #host: Host;
  readonly #changed: () => void;
  readonly #depth: number;
  readonly #rows = el("div", "b-items");
  readonly #wanted: boolean;
  #items: FieldView[] = [];

  constructor(view: FieldView, host: Host, changed: () => void, depth: number) {
    this.#view = view;
    this.#host = host;
    this.#changed = changed;
    this.#depth = depth;
    const value = givenIn(view.field);
    this.#wanted = view.field.required || value !== undefined;
    const key = view.field.key;
    const label = say("field.add", { key });
    const add = new PressButton(host, say("field.add.short"), () => this.#add(), {
      label,
    });
    const attributes = { role: "group", "aria-label": view.field.label };
    this.node = el("div", attributes, this.#rows, add.node);
    this.#set(Array.isArray(value) ? value : []);
  }

  views(): FieldView[] {
    return this.#items;
  }

  read(): Reading {
    const values: Json[] = [];
    for (const item of this.#items) {
      const reading = item.read();
      if ("problem" in reading) return reading;
      values.push(reading.value ?? null);
    }
    const { min, max } = this.#view.field;
    if (values.length === 0 && !this.#wanted) return { value: undefined };
    if (min !== null && values.length < min) {
      return { problem: say("field.min.items", { n: min }) };
    }
    if (max !== null && values.length > max) {
      return { problem: say("field.max.items", { n: max }) };
    }
    return { value: values };
  }

  #set(values: readonly (Json | undefined)[]): void {
    this.#items = values.map((value, at) => this.#item(value, at));
    setKids(
      this.#rows,
      this.#items.map((item, at) => this.#row(item, at)),
    );
  }

  #item(value: Json | undefined, at: number): FieldView {
    const item = this.#view.field.item ?? ITEM;
    const label = `${this.#view.field.label} ${at + 1}`;
    const field = { ...item, value, label, key: String(at), hint: "", required: true };
    const path = `${this.#view.path}/${at}`;
    return new FieldView(field, path, this.#host, this.#changed, this.#depth + 1);
  }

  #row(item: FieldView, at: number): HTMLElement {
    const places = { key: this.#view.field.key, n: at + 1 };
    const remove = this.#button("field.remove", "field.remove.of", places, () => {
      this.#take((held) => held.filter((_, other) => other !== at));
    });
    const up = this.#button("field.up", "field.up.of", places, () => {
      this.#take((held) => {
        const before = held[at - 1];
        const moved = [...held];
        moved.splice(at - 1, 2, held[at], before);
        return moved;
      });
    });
    item.cells[0]?.classList.add("b-sr");
    return el("div", "b-item", ...item.cells, at > 0 && up.node, remove.node);
  }

  #button(
    word: "field.remove" | "field.up",
    label: "field.remove.of" | "field.up.of",
    places: { key: string; n: number },
    pressed: () => void,
  ): PressButton {
    const more = { link: true, label: say(label, places) };
    return new PressButton(this.#host, say(word), pressed, more);
  }

  #add(): void {
    this.#take((held) => [...held, undefined]);
    const last = this.#items.at(-1)?.cells[1];
    last?.querySelector<HTMLElement>("input,textarea,select")?.focus();
  }

  /** Rebuild the rows from what they hold; what cannot be read is kept as typed. */
  #take(change: (held: (Json | undefined)[]) => (Json | undefined)[]): void {
    const held = this.#items.map((item) => {
      const reading = item.read();
      if (!("problem" in reading)) return reading.value;
      const control = item.cells[1]?.querySelector("input,textarea");
      const typed = control instanceof HTMLTextAreaElement ? control.value : null;
      return (control instanceof HTMLInputElement ? control.value : typed) || undefined;
    });
    this.#set(change(held));
    this.#changed();
  }
}

/** First which kind it is, then its fields. */
export class UnionFields implements Parts {
  readonly node: HTMLElement;
  readonly #view: FieldView;
  readonly #variants: FieldView[];
  readonly #place = el("div", "b-args b-set");
  #chosen: number;

  constructor(view: FieldView, host: Host, changed: () => void, depth: number) {
    this.#view = view;
    const { field } = view;
    this.#chosen = fitting(field);
    this.#variants = field.variants.map((variant, at) => {
      const given =
        variant.field.value ?? (at === this.#chosen ? field.value : undefined);
      const inner = { ...variant.field, value: given, required: true };
      return new FieldView(inner, view.path, host, changed, depth + 1);
    });
    const name = host.id();
    const radios = field.variants.map((variant, at) => {
      const radio = el("input", { type: "radio", name });
      radio.checked = at === this.#chosen;
      radio.addEventListener("change", () => {
        this.#chosen = at;
        this.#draw();
        changed();
      });
      return el("label", "b-choice", radio, el("span", null, variant.label));
    });
    const attributes = {
      class: "b-choices",
      role: "radiogroup",
      "aria-label": field.label,
    };
    this.node = el("div", null, el("div", attributes, ...radios), this.#place);
    this.#draw();
  }

  views(): FieldView[] {
    const chosen = this.#variants[this.#chosen];
    return chosen ? [chosen] : [];
  }

  read(): Reading {
    const chosen = this.#variants[this.#chosen];
    if (chosen) return chosen.read();
    const { required } = this.#view.field;
    return required ? { problem: say("field.choose") } : { value: undefined };
  }

  #draw(): void {
    const chosen = this.#variants[this.#chosen];
    setKids(this.#place, chosen ? chosen.cells : []);
    this.#place.hidden = chosen === undefined;
  }
}

/** The variant that the given value is of; -1 when none can be told. */
function fitting(field: Field): number {
  const told = field.variants.findIndex((variant) => variant.field.value !== undefined);
  if (told !== -1 || field.value === undefined) return told;
  return field.variants.findIndex((variant) =>
    fits(variant.field, field.value ?? null),
  );
}

function fits(field: Field, value: Json): boolean {
  switch (field.kind) {
    case "null":
      return value === null;
    case "number":
      return typeof value === "number" || value instanceof Exact;
    case "integer":
      return value instanceof Exact
        ? /^-?\d+$/.test(value.text)
        : Number.isInteger(value);
    case "boolean":
      return typeof value === "boolean";
    case "list":
      return Array.isArray(value);
    case "object":
      return isRecord(value);
    case "enum":
      return field.options.some((option) => same(option.value, value));
    case "json":
      return true;
    default:
      return typeof value === "string";
  }
}
