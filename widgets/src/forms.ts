/** The forms of the data model: what is asked, and the fields that answer it. */

import { readExact } from "./exact.ts";
import { type Json, type JsonRecord, Reader, Unreadable, isRecord } from "./json.ts";
import { type Arg, type DiffLine, readArg, readDiff } from "./shapes.ts";

export interface Remember {
  scope: string;
  text: string;
}

export interface Form {
  checkpoint: string;
  nonce: string;
  shown: string;
  agent: string;
  tool: string;
  title: string;
  why: string;
  rule: string | null;
  quote: string | null;
  prompt: string | null;
  changed: { text: string; diff: DiffLine[] } | null;
  args: Arg[];
  fields: Field[];
  remember: Remember[];
  rememberNote: string | null;
  of: number;
  bulk: boolean;
  settled: boolean;
  end: string | null;
  started: string | null;
  hint: string | null;
}

export const KINDS = [
  "text",
  "area",
  "number",
  "integer",
  "boolean",
  "enum",
  "list",
  "object",
  "union",
  "json",
  "secret",
  "null",
] as const;
export type Kind = (typeof KINDS)[number];

export interface Option {
  value: Json;
  label: string;
}

export interface Variant {
  label: string;
  field: Field;
}

export interface Field {
  path: string;
  key: string;
  label: string;
  hint: string;
  kind: Kind;
  required: boolean;
  /** Absent when the agent gave none, and for a secret always. */
  value: Json | undefined;
  options: Option[];
  min: number | null;
  max: number | null;
  item: Field | null;
  fields: Field[];
  variants: Variant[];
  description: string | null;
}

const DEEPEST = 12;

export function readForm(json: Json | undefined): Form {
  const read = new Reader(json, "form");
  const remember = read.list("remember").map((choice) => {
    const one = new Reader(choice, "remember");
    return { scope: one.text("scope"), text: one.text("text") };
  });
  return {
    checkpoint: read.text("checkpoint"),
    nonce: read.text("nonce", ""),
    shown: read.text("shown", ""),
    agent: read.text("agent", ""),
    tool: read.text("tool", ""),
    title: read.text("title", ""),
    why: read.text("why", ""),
    rule: read.textOrNull("rule"),
    quote: read.textOrNull("quote"),
    prompt: read.textOrNull("prompt"),
    changed: readChanged(read.get("changed")),
    args: read.list("args").map(readArg),
    fields: read.list("fields").map((field) => readField(field)),
    remember,
    rememberNote: read.textOrNull("remember_note"),
    of: read.number("of", 1),
    bulk: read.flag("bulk"),
    settled: read.text("state", "open") === "settled",
    end: read.textOrNull("end"),
    started: read.textOrNull("started"),
    hint: read.textOrNull("hint"),
  };
}

function readChanged(json: Json | undefined): Form["changed"] {
  if (!isRecord(json)) return null;
  const read = new Reader(json, "changed");
  return { text: read.text("text", ""), diff: readDiff(read.get("diff")) ?? [] };
}

export function readField(json: Json | undefined, depth = 0): Field {
  if (depth > DEEPEST) throw new Unreadable("field");
  const read = new Reader(json, "field");
  const kind = read.text("kind", "json");
  const item = read.get("item");
  return {
    path: read.text("path", ""),
    key: read.text("key", ""),
    label: read.text("label", "") || read.text("key", ""),
    hint: read.text("hint", ""),
    kind: KINDS.find((known) => known === kind) ?? "json",
    required: read.flag("required"),
    value: readValue(read),
    options: read.list("options").map(readOption),
    min: read.numberOrNull("min"),
    max: read.numberOrNull("max"),
    item: isRecord(item) ? readField(item, depth + 1) : null,
    fields: read.list("fields").map((field) => readField(field, depth + 1)),
    variants: read.list("variants").map((variant) => {
      const one = new Reader(variant, "variant");
      return {
        label: one.text("label", ""),
        field: readField(one.get("field"), depth + 1),
      };
    }),
    description: read.textOrNull("description"),
  };
}

/** A value; one with numbers that the page would change comes as text. */
function readValue(read: Reader): Json | undefined {
  const exact = read.textOrNull("exact");
  return exact === null ? read.get("value") : readExact(exact);
}

function readOption(json: Json): Option {
  const read = new Reader(json, "option");
  const value = readValue(read) ?? null;
  return { value, label: read.text("label", JSON.stringify(value)) };
}

/** What the fields hold when nobody has touched them, by key. */
export function given(fields: readonly Field[]): JsonRecord {
  const values: JsonRecord = {};
  for (const field of fields) {
    const value = givenIn(field);
    if (value !== undefined) put(values, field.key, value);
  }
  return values;
}

/** The value one untouched field stands for. */
export function givenIn(field: Field): Json | undefined {
  if (field.kind === "secret") return undefined;
  if (field.value !== undefined) return field.value;
  if (field.kind === "object" && field.fields.length > 0) {
    const values = given(field.fields);
    return Object.keys(values).length > 0 ? values : undefined;
  }
  return undefined;
}

/** Set an own property, whatever its name. */
export function put(record: JsonRecord, key: string, value: Json): void {
  Object.defineProperty(record, key, {
    value,
    configurable: true,
    enumerable: true,
    writable: true,
  });
}
