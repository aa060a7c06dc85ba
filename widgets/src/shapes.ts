/** The entries of the data model, read from JSON and never trusted. */

import { type Json, Reader, Unreadable, isRecord, own } from "./json.ts";

export type Role = "work" | "wait" | "ok" | "bad" | "still";

export interface Head {
  agent: string;
  state: string;
  word: string;
  role: Role;
  mark: string;
  model: string;
  turn: number | null;
  steps: number | null;
  elapsed: number;
  ticking: boolean;
  since: number;
  cost: string;
  replayed: boolean;
  recording: boolean;
  run: string | null;
  session: string | null;
  button: "stop" | "end" | null;
  foreground: boolean;
  detail: string | null;
}

export type Segment = string | { esc: string } | { blanks: number };

export interface Value {
  lines: number;
  chars: number;
  segments: Segment[];
  cut: boolean;
  escapes: number;
}

export interface Arg {
  key: string;
  type: string;
  value: Value;
  flag: string | null;
  items: Value[] | null;
}

export interface DiffLine {
  op: " " | "-" | "+";
  text: string;
}

export interface Fault {
  what: string;
  why: string;
  next: string;
  code: string;
}

export interface Note {
  role: Role;
  title: string;
  text: string;
  button: string | null;
}

export interface Crumb {
  kind: string;
  n: number;
  words: string;
}

const ROLES: readonly string[] = ["work", "wait", "ok", "bad", "still"];

export function readRole(value: Json | undefined): Role {
  return typeof value === "string" && ROLES.includes(value) ? (value as Role) : "still";
}

/** The head; what is missing or wrong in it is left out, never raised. */
export function readHead(value: Json | undefined): Head {
  const head = isRecord(value) ? value : {};
  const words = (key: string) => {
    const word = own(head, key);
    return typeof word === "string" ? word : "";
  };
  const figure = (key: string) => {
    const n = own(head, key);
    return typeof n === "number" && Number.isFinite(n) ? n : null;
  };
  const button = words("button");
  return {
    agent: words("agent"),
    state: words("state"),
    word: words("word") || words("state"),
    role: readRole(own(head, "role")),
    mark: words("mark"),
    model: words("model"),
    turn: figure("turn"),
    steps: figure("steps"),
    elapsed: figure("elapsed_ms") ?? 0,
    ticking: own(head, "ticking") === true,
    since: figure("since_ms") ?? 0,
    cost: words("cost"),
    replayed: own(head, "replayed") === true,
    recording: own(head, "recording") === true,
    run: words("run") || null,
    session: words("session") || null,
    button: button === "stop" || button === "end" ? button : null,
    foreground: own(head, "foreground") === true,
    detail: words("detail") || null,
  };
}

export function readValue(json: Json | undefined): Value {
  const read = new Reader(json, "value");
  return {
    lines: read.number("lines", 1),
    chars: read.number("chars"),
    segments: read.list("segments").map(readSegment),
    cut: read.flag("cut"),
    escapes: read.number("escapes"),
  };
}

export function readValueOrNull(json: Json | undefined): Value | null {
  return json === undefined || json === null ? null : readValue(json);
}

function readSegment(json: Json): Segment {
  if (typeof json === "string") return json;
  const read = new Reader(json, "segment");
  const escape = read.textOrNull("esc");
  return escape === null ? { blanks: read.number("blanks") } : { esc: escape };
}

export function readArg(json: Json): Arg {
  const read = new Reader(json, "argument");
  const items = read.get("items");
  return {
    key: read.text("key"),
    type: read.text("type", ""),
    value: readValue(read.get("value")),
    flag: read.textOrNull("flag"),
    items: Array.isArray(items) ? items.map(readValue) : null,
  };
}

export function readDiff(json: Json | undefined): DiffLine[] | null {
  if (json === undefined || json === null) return null;
  if (!Array.isArray(json)) throw new Unreadable("diff");
  return json.map((line) => {
    const read = new Reader(line, "diff");
    const op = read.text("op", " ");
    return { op: op === "-" || op === "+" ? op : " ", text: read.text("text") };
  });
}

export function readFault(json: Json | undefined): Fault | null {
  if (!isRecord(json)) return null;
  const read = new Reader(json, "error");
  return {
    what: read.text("what", ""),
    why: read.text("why", ""),
    next: read.text("do", ""),
    code: read.text("code", ""),
  };
}

export function readNote(json: Json | undefined): Note | null {
  if (!isRecord(json)) return null;
  const read = new Reader(json, "note");
  return {
    role: readRole(read.get("role")),
    title: read.text("title", ""),
    text: read.text("text", ""),
    button: read.textOrNull("button"),
  };
}

export function readTrail(json: Json | undefined): Crumb[] {
  if (!Array.isArray(json)) return [];
  return json.filter(isRecord).map((crumb, at) => {
    const kind = own(crumb, "k");
    const n = own(crumb, "n");
    const words = own(crumb, "words");
    return {
      kind: typeof kind === "string" ? kind : "model",
      n: typeof n === "number" ? n : at + 1,
      words: typeof words === "string" ? words : "",
    };
  });
}
