/** Runs as the kernel tells them, for the tests and for the page one looks at. */

import type { Json, JsonRecord } from "../src/json.ts";
import {
  FINISHED,
  HEAD,
  WAITING,
  arg,
  call,
  failed,
  field,
  form,
  scene,
  text,
  value,
} from "./builders.ts";

export const LONG_BODY = [
  "# Rye for beginners",
  "",
  "Rye flour drinks more water than wheat.",
  "Start with a wet dough and do not knead.",
  ...Array.from({ length: 308 }, (_, at) => `Line ${at + 5} of the post.`),
].join("\n");

const HIDDEN_PATH = {
  lines: 1,
  chars: 16,
  segments: ["posts/rye", { esc: "U+202E" }, "dm.exe"],
  cut: false,
  escapes: 1,
};

export const REMEMBER = [
  {
    scope: "run",
    text: "in this run. Adds `allow tool:publish`, any arguments, until the run ends",
  },
  {
    scope: "session",
    text: "in session blog. Adds `allow tool:publish`, any arguments",
  },
  {
    scope: "agent",
    text: "for publisher, always. Adds `allow tool:publish`, any arguments; undo with `%bread gate`",
  },
];

export const PUBLISH = form({
  args: [
    arg("title", "Rye for beginners"),
    arg("path", "", { value: HIDDEN_PATH }),
    arg("body", LONG_BODY),
    arg("notify", "no", { type: "yes or no" }),
  ],
  remember: REMEMBER,
  fields: [
    field("title", "text", { value: "Rye for beginners", hint: "text, required" }),
    field("path", "text", { value: "posts/rye\u202edm.exe", hint: "text, required" }),
    field("body", "area", { value: LONG_BODY, hint: "text, required" }),
    field("notify", "boolean", { value: false, hint: "yes or no", required: false }),
  ],
});

export const EDITABLE = form({
  args: [
    arg("title", "Rye for beginners"),
    arg("mood", "plain"),
    arg("retries", "2", { type: "whole number" }),
    arg("token", "", { flag: "secret", type: "secret" }),
  ],
  fields: [
    field("title", "text", { value: "Rye for beginners", hint: "text, required" }),
    field("mood", "enum", {
      value: "plain",
      hint: "one of 3",
      options: ["plain", "cheerful", "solemn"].map((label) => ({
        value: label,
        label,
      })),
    }),
    field("retries", "integer", {
      value: 2,
      min: 0,
      max: 5,
      hint: "whole number, 0 to 5",
    }),
    field("tags", "list", {
      value: ["rye", "bread"],
      required: false,
      hint: "list",
      item: field("", "text", { path: "/tags/-" }),
    }),
    field("to", "object", {
      required: false,
      hint: "group",
      value: { name: "Ada", copies: 1 },
      fields: [
        field("name", "text", { path: "/to/name", value: "Ada" }),
        field("copies", "integer", { path: "/to/copies", value: 1 }),
      ],
    }),
    field("token", "secret", { hint: "secret" }),
  ],
});

const TRAIL = [
  { k: "model", n: 1, words: "model, turn 1" },
  { k: "tool", n: 2, words: "describe, done, 0.2 s" },
  { k: "model", n: 3, words: "model, turn 2" },
  { k: "tool", n: 4, words: "plot, done, 1.1 s" },
  { k: "bad", n: 7, words: "plot, failed, 0.0 s" },
  { k: "tool", n: 8, words: "plot, done, 1.1 s" },
  { k: "model", n: 9, words: "model, turn 3" },
];

const STORY: [string, JsonRecord][][] = [
  [
    [
      "Reasoning",
      {
        text: "The frame has 3 numeric columns. Start with describe, then plot the flour column.",
        done: true,
        ms: 2000,
        words: 148,
      },
    ],
    call("describe", {
      preview: 'frame="sales", columns=["flour","water"]',
      args: [
        arg("frame", "sales"),
        arg("columns", '["flour", "water"]', { type: "list of 2" }),
      ],
      result: value("mean 412.0"),
    }),
  ],
  [
    failed("plot", "No column 'flower'. Did you mean 'flour'?", {
      preview: 'column="flower"',
    }),
    call("plot", {
      preview: 'column="flour"',
      ms: 1100,
      args: [arg("column", "flour"), arg("kind", "line")],
      result: value("saved plot.png, 640 x 480"),
    }),
    ["File", { name: "plot.png", mime: "image/png", uri: "blob:1" }],
  ],
  [
    text(
      "Flour use rose in every month except **March**, when the mill was shut for nine days. The fall is 18 % against February and is made up by",
      { done: false },
    ),
  ],
];

export const RICH = `### What the data say

Flour use rose in **every month** except *March*; see [the notes](https://example.org/notes) and \`sales.csv\`.

1. First a list
2. with two levels
   - and a nested one
   - [x] and a task

> A quotation that says little.

| month | flour | water |
|:------|------:|:-----:|
| Feb   |   412 |  300  |
| Mar   |   338 |  251  |

\`\`\`python
def dough(flour: float, water: float) -> float:
    return water / flour
\`\`\`

---

![a chart](https://collector.example/p?d=CANARY) <b onclick="x()">raw</b> [bad](javascript:alert(1))`;

export const SCENES: Record<string, Json[]> = {
  streaming: scene({ trail: TRAIL, turns: STORY }),
  waiting: scene({
    head: WAITING,
    turns: [
      [text("The post is ready. I will publish it to the blog now.")],
      [["Approval", PUBLISH]],
    ],
    trail: TRAIL.slice(0, 4),
  }),
  editing: scene({ head: WAITING, turns: [[["Approval", EDITABLE]]] }),
  several: scene({
    head: { ...WAITING, word: "Waiting for you (3 questions)", waiting: 3 },
    turns: [
      ["a", "b", "c"].map((name, index) => [
        "Approval",
        form({
          checkpoint: `cp-${name}`,
          index,
          of: 3,
          bulk: true,
          args: [arg("path", `posts/${name}.md`)],
        }),
      ]),
    ],
  }),
  finished: scene({
    head: { ...FINISHED, replayed: true },
    trail: TRAIL,
    turns: [...STORY.slice(0, 2), [text(RICH)]],
  }),
  bound: scene({
    head: {
      ...FINISHED,
      agent: "triage",
      state: "bound",
      word: "Stopped: budget reached",
      role: "still",
      mark: "square",
      turn: 4,
      elapsed_ms: 122_000,
      cost: "$1.02 of $1.00",
    },
    note: {
      role: "still",
      title: "Budget of $1.00 reached.",
      text: "The next model call was not made. 34 of 50 tickets are done and kept.",
    },
    turns: [[text("I have done 34 of 50 tickets.")]],
  }),
  failed: scene({
    head: {
      ...FINISHED,
      agent: "writer",
      state: "failed",
      word: "Failed",
      role: "bad",
      mark: "cross",
      turn: 1,
      cost: "cost —",
    },
    error: {
      what: "api.anthropic.com did not answer.",
      why: "3 tries in 21 s: no route to host.",
      do: "check the network, or `BREAD_MODE=replay`. The text so far is kept",
      code: "MODEL_UNREACHABLE",
    },
    turns: [
      [
        [
          "Retry",
          {
            words: "Lost the connection. Trying again in 4 s (1 of 2)",
            withdrawn: "Rye is a grain that",
          },
        ],
        text("Rye is a"),
      ],
    ],
  }),
  question: scene({
    head: WAITING,
    turns: [
      [
        [
          "Question",
          form({
            ask: "input",
            tool: "ask_person",
            title: "publisher asks",
            quote: "Which title shall I use, and how many copies?",
            why: "",
            rule: null,
            args: [],
            fields: [
              field("title", "text", { hint: "text, required" }),
              field("copies", "integer", {
                hint: "whole number, 1 to 9, required",
                min: 1,
                max: 9,
              }),
              field("urgent", "boolean", { hint: "yes or no, required" }),
            ],
          }),
        ],
      ],
    ],
  }),
  outcome: scene({
    head: WAITING,
    turns: [
      [
        [
          "Outcome",
          form({
            ask: "outcome",
            title: "Did publish happen?",
            why: "The kernel died after this call was started and before its result was kept. It may or may not have run. Nothing is repeated until you say so.",
            rule: null,
            fields: [],
            started: "14:02",
            hint: "Look at the blog's front page.",
          }),
        ],
      ],
    ],
  }),
  crowd: scene({
    head: { ...HEAD, state: "tools", word: "Running 3 tools", turn: 19 },
    trail: Array.from({ length: 210 }, (_, at) => ({
      k: at % 40 === 7 ? "bad" : at % 9 === 0 ? "model" : "tool",
      n: at + 1,
      words: at % 9 === 0 ? "model" : "search, done, 0.1 s",
    })),
    turns: Array.from({ length: 19 }, (_, turn) => {
      const calls = Array.from({ length: 10 }, (_, at) =>
        turn % 6 === 2 && at === 3
          ? failed("search", "No such index.", { preview: `q="rye ${at}"` })
          : call("search", { preview: `q="rye ${at}"` }),
      );
      const running = call("fetch", {
        state: "running",
        word: "running",
        ms: null,
        preview: 'url="x"',
        meter: { done: 3, of: 8 },
        progress: "Baking 3 of 8",
      });
      return [text(`Turn ${turn + 1}.`), ...calls, ...(turn === 18 ? [running] : [])];
    }),
  }),
  blocks: scene({
    turns: [
      [
        ["Progress", { words: "Baking 3 of 8", done: 3, of: 8 }],
        ["Progress", { words: "Loading the local model", done: null, of: null }],
        call("remove", {
          state: "denied",
          word: "denied",
          decision: "denied by rule: deny tool:rm_*",
          ms: 0,
          preview: 'path="old/"',
        }),
        call("publish", {
          decision: "approved with changes",
          preview: 'title="Rye"',
          args: [
            arg("title", "Rye for all"),
            arg("command", "", {
              flag: "argv",
              type: "list of 3",
              items: [value("rm"), value("-rf"), value("old dir/")],
            }),
            arg("key", "", { flag: "secret", type: "secret" }),
          ],
          changes: [
            { op: "-", text: "title: Rye" },
            { op: "+", text: "title: Rye for all" },
          ],
          result: value(Array.from({ length: 60 }, (_, at) => `row ${at}`).join("\n")),
        }),
        call("fetch", {
          state: "running",
          word: "running",
          ms: null,
          preview: 'url="example.org"',
        }),
        ["Sparkline9", { value: [1, 2, 3] }],
        ["Unsupported", { kind: "sparkline9", raw: value('{"a": 1}') }],
        ["Approval", form({ state: "settled", end: "Denied: too long" })],
        text("I would like to say\u2026 no.", { withdrawn: true }),
      ],
    ],
  }),
};
