/** Makes messages as the kernel sends them. */

import type { Json, JsonRecord } from "../src/json.ts";

export const SURFACE = "run_019f";

export interface Parts {
  head?: JsonRecord;
  trail?: Json[];
  note?: Json;
  error?: Json;
  /** Turns, each a list of `[component, value]`. */
  turns?: [string, JsonRecord][][];
}

/** A snapshot's messages: a surface, its components, and its data. */
export function scene(parts: Parts): Json[] {
  const components: JsonRecord[] = [];
  const blocks: JsonRecord = {};
  const turns: JsonRecord = {};
  const names: string[] = [];
  (parts.turns ?? []).forEach((content, at) => {
    const turn = `t${at + 1}`;
    const children = content.map(([component, value], nth) => {
      const id = `${turn}b${nth + 1}`;
      components.push({ id, component, value: { path: `/b/${id}` } });
      blocks[id] = value;
      return id;
    });
    names.push(turn);
    turns[turn] = { calls: content.length, failed: 0 };
    components.push({
      id: turn,
      component: "Turn",
      value: { path: `/turns/${turn}` },
      children,
    });
  });
  const bound = {
    head: { path: "/head" },
    trail: { path: "/trail" },
    note: { path: "/note" },
  };
  const error = { path: "/error" };
  components.unshift({
    id: "root",
    component: "RunCard",
    ...bound,
    error,
    children: names,
  });
  const value = {
    head: { ...HEAD, ...parts.head },
    trail: parts.trail ?? [],
    note: parts.note ?? null,
    error: parts.error ?? null,
    b: blocks,
    turns,
  };
  return [
    {
      version: "v0.9",
      createSurface: { surfaceId: SURFACE, catalogId: "urn:bread-nb:a2ui:catalog:1" },
    },
    { version: "v0.9", updateComponents: { surfaceId: SURFACE, components } },
    { version: "v0.9", updateDataModel: { surfaceId: SURFACE, value } },
  ];
}

export function data(path: string, value: Json): Json {
  return { version: "v0.9", updateDataModel: { surfaceId: SURFACE, path, value } };
}

export const HEAD: JsonRecord = {
  agent: "analyst",
  state: "writing",
  word: "Writing",
  role: "work",
  mark: "ring",
  model: "anthropic:claude-opus-4-8",
  turn: 3,
  steps: 20,
  elapsed_ms: 14_000,
  ticking: true,
  since_ms: 400,
  tokens: 2310,
  cost: "$0.0121",
  replayed: false,
  recording: false,
  run: "analyst-3",
  session: null,
  button: "stop",
  foreground: true,
  waiting: 0,
  detail: null,
};

export const WAITING: JsonRecord = {
  ...HEAD,
  agent: "publisher",
  state: "waiting",
  word: "Waiting for you",
  role: "wait",
  mark: "bars",
  model: "local:smollm2-135m",
  turn: 2,
  elapsed_ms: 9000,
  ticking: false,
  cost: "cost unknown",
  button: "end",
  waiting: 1,
};

export const FINISHED: JsonRecord = {
  ...HEAD,
  state: "finished",
  word: "Finished",
  role: "ok",
  mark: "tick",
  elapsed_ms: 19_000,
  ticking: false,
  cost: "$0.0164",
  button: null,
};

export function value(text: string, more: JsonRecord = {}): JsonRecord {
  const lines = text === "" ? 0 : text.split("\n").length;
  const held = { lines, chars: text.length, segments: [text], cut: false, escapes: 0 };
  return { ...held, ...more };
}

export function arg(key: string, text: string, more: JsonRecord = {}): JsonRecord {
  return { key, type: "text", value: value(text), flag: null, items: null, ...more };
}

export function text(words: string, more: JsonRecord = {}): [string, JsonRecord] {
  return ["Markdown", { text: words, done: true, withdrawn: false, ...more }];
}

export function call(tool: string, more: JsonRecord = {}): [string, JsonRecord] {
  const rest = {
    preview: "",
    state: "done",
    word: "done",
    ms: 200,
    started_ms: 0,
    args: [],
    result: null,
    progress: null,
    meter: null,
    error: null,
    decision: null,
    changes: null,
  };
  return ["ToolCall", { tool, ...rest, ...more }];
}

export function failed(
  tool: string,
  what: string,
  more: JsonRecord = {},
): [string, JsonRecord] {
  const error = {
    what,
    why: "tools/plot.py line 8.",
    do: "`%bread show analyst-3`",
    code: "TOOL",
  };
  return call(tool, { state: "failed", word: "failed", ms: 20, error, ...more });
}

export function field(key: string, kind: string, more: JsonRecord = {}): JsonRecord {
  return {
    path: `/${key}`,
    key,
    label: key,
    hint: kind,
    kind,
    required: true,
    options: [],
    min: null,
    max: null,
    item: null,
    fields: [],
    variants: [],
    description: null,
    ...more,
  };
}

export function form(more: JsonRecord = {}): JsonRecord {
  return {
    checkpoint: "cp-1",
    nonce: "once",
    shown: "hash-1",
    handle: "publisher-2.a",
    agent: "publisher",
    tool: "publish",
    ask: "approval",
    title: "Let publisher run publish?",
    why: "Sends text to the network (blog.example).",
    rule: "ask tool:publish",
    quote: null,
    prompt: null,
    changed: null,
    args: [arg("title", "Rye for beginners")],
    schema: {},
    fields: [
      field("title", "text", { value: "Rye for beginners", hint: "text, required" }),
    ],
    remember: [],
    remember_note: null,
    index: 0,
    of: 1,
    bulk: false,
    state: "open",
    end: null,
    started: null,
    hint: null,
    ...more,
  };
}
