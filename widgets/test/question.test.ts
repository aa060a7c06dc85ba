import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonRecord } from "../src/json.ts";
import { WAITING, arg, field, form, scene } from "./builders.ts";
import { type Rig, choose, open, press, shown, type } from "./rig.ts";
import { SCENES } from "./scenes.ts";

function asked(kind: string, given: JsonRecord): Rig {
  const rig = open(scene({ head: WAITING, turns: [[[kind, given]]] }));
  rig.page.pass(600);
  return rig;
}

function question(fields: JsonRecord[], more: JsonRecord = {}): Rig {
  const rest = {
    ask: "input",
    title: "publisher asks",
    quote: "How many?",
    why: "",
    rule: null,
  };
  return asked("Question", form({ ...rest, args: [], fields, ...more }));
}

function answers(rig: Rig): unknown[] {
  return rig.kernel.actions("answer").map((action) => action.context["answer"]);
}

function control(rig: Rig, key: string): Element {
  const label = rig
    .all("label.b-key")
    .find((node) => node.textContent.startsWith(`${key} `));
  return rig.one(`#${label?.getAttribute("for")}`);
}

test("a question presets nothing, approves nothing and waits for all its answers", () => {
  const rig = open(SCENES["question"]);
  rig.page.pass(600);
  assert.match(rig.words(), /publisher asks/);
  assert.doesNotMatch(rig.words(), /Approve/);
  assert.equal(
    rig.all("input").filter((node) => (node as HTMLInputElement).checked).length,
    0,
  );
  const send = rig.button("Send answer");
  assert.equal(send.getAttribute("aria-disabled"), "true");
  assert.match(
    rig.words(),
    /3 answers are missing or need mending: title, copies, urgent/,
  );
  type(control(rig, "title"), "Rye");
  type(control(rig, "copies"), "3");
  choose(rig.all("input[type=radio]")[1] as Element);
  press(send);
  assert.deepEqual(answers(rig), [
    { answer: { title: "Rye", copies: 3, urgent: false } },
  ]);
});

test("a question without a record is answered with the bare value", () => {
  const rig = question([field("", "integer", { path: "", label: "answer" })]);
  type(rig.one(".b-field input"), "12");
  press(rig.button("Send answer"));
  assert.deepEqual(answers(rig), [{ answer: 12 }]);
});

test("declining asks why, and sends it", () => {
  const rig = question([field("n", "integer")]);
  press(rig.button("Decline…"));
  rig.page.pass(600);
  type(rig.one(".b-reason-line input"), "no idea");
  press(rig.button("Decline"));
  assert.deepEqual(answers(rig), [{ declined: true, reason: "no idea" }]);
});

test("what else the tool was given stands above the fields", () => {
  const rig = question([field("n", "integer")], { args: [arg("about", "rye")] });
  assert.match(rig.words(), /about textrye/);
});

const KINDS: [string, JsonRecord, (rig: Rig) => void, unknown][] = [
  ["text", field("v", "text"), (rig) => type(control(rig, "v"), "rye"), "rye"],
  ["area", field("v", "area"), (rig) => type(control(rig, "v"), "a\nb"), "a\nb"],
  ["number", field("v", "number"), (rig) => type(control(rig, "v"), "-2.5e3"), -2500],
  [
    "json",
    field("v", "json"),
    (rig) => type(control(rig, "v"), '{"a": [1]}'),
    { a: [1] },
  ],
  ["null", field("v", "null"), () => undefined, null],
  ["secret", field("v", "secret"), (rig) => type(control(rig, "v"), "s"), "s"],
  [
    "few choices",
    field("v", "enum", {
      options: [
        { value: 1, label: "one" },
        { value: 2, label: "two" },
      ],
    }),
    (rig) => choose(rig.all("input[type=radio]")[1] as Element),
    2,
  ],
  [
    "an object",
    field("v", "object", {
      fields: [
        field("a", "text", { path: "/v/a" }),
        field("b", "integer", { path: "/v/b", required: false }),
      ],
    }),
    (rig) => type(control(rig, "a"), "x"),
    { a: "x" },
  ],
  [
    "one of several kinds",
    field("v", "union", {
      variants: [
        { label: "number", field: field("", "number", { path: "/v" }) },
        { label: "words", field: field("", "text", { path: "/v" }) },
      ],
    }),
    (rig) => {
      choose(rig.all("input[type=radio]")[1] as Element);
      type(rig.one(".b-set .b-input"), "many");
    },
    "many",
  ],
];

for (const [name, given, fill, value] of KINDS) {
  test(`a field for ${name} gives that value`, () => {
    const rig = question([given]);
    fill(rig);
    press(rig.button("Send answer"));
    assert.deepEqual(answers(rig), [{ answer: { v: value } }]);
  });
}

test("many choices are a list in which nothing is chosen", () => {
  const options = Array.from({ length: 9 }, (_, at) => ({
    value: at,
    label: `no. ${at}`,
  }));
  const rig = question([field("v", "enum", { options })]);
  const list = control(rig, "v") as HTMLSelectElement;
  assert.equal(list.tagName, "SELECT");
  assert.equal(list.value, "");
  list.value = "7";
  list.dispatchEvent(new Event("change", { bubbles: true }));
  press(rig.button("Send answer"));
  assert.deepEqual(answers(rig), [{ answer: { v: 7 } }]);
});

test("what is optional may be left out", () => {
  const rig = question([
    field("a", "text", { required: false }),
    field("b", "boolean", { required: false }),
    field("c", "list", { required: false, item: field("", "text") }),
    field("d", "object", { required: false, fields: [field("e", "text")] }),
  ]);
  press(rig.button("Send answer"));
  assert.deepEqual(answers(rig), [{ answer: {} }]);
});

test("deeper than two levels is written as JSON", () => {
  const deep = (key: string, inner: JsonRecord) =>
    field(key, "object", { fields: [inner] });
  const rig = question([deep("a", deep("b", deep("c", field("d", "text"))))]);
  assert.equal(control(rig, "c").tagName, "TEXTAREA");
});

test("did it happen: nothing is preset and Go on is off", () => {
  const rig = open(SCENES["outcome"]);
  rig.page.pass(600);
  assert.match(rig.words(), /Nothing is repeated until you say so\./);
  assert.match(rig.words(), /Started 14:02/);
  assert.match(rig.words(), /Look at the blog's front page\./);
  assert.equal(
    rig.all("input").filter((node) => (node as HTMLInputElement).checked).length,
    0,
  );
  press(rig.button("Go on"));
  assert.deepEqual(answers(rig), []);
  assert.match(shown(rig.one(".b-acts")), /Choose one\./);
});

const OUTCOMES: [number, string | null, unknown][] = [
  [0, '{"url": "x"}', { happened: true, result: { url: "x" } }],
  [0, "it is done", { happened: true, result: "it is done" }],
  [1, null, { run: true }],
  [2, null, { failed: true }],
];

for (const [at, result, answer] of OUTCOMES) {
  test(`did it happen: ${JSON.stringify(answer)}`, () => {
    const rig = open(SCENES["outcome"]);
    rig.page.pass(600);
    choose(rig.all("input[type=radio]")[at] as Element);
    if (result !== null) type(rig.one("textarea"), result);
    press(rig.button("Go on"));
    assert.deepEqual(answers(rig), [answer]);
  });
}

test("a result that looks like JSON must be whole, other text is called text", () => {
  const rig = open(SCENES["outcome"]);
  rig.page.pass(600);
  type(rig.one("textarea"), '{"url": ');
  assert.match(rig.words(), /This is not JSON:/);
  assert.equal(rig.button("Go on").getAttribute("aria-disabled"), "true");
  type(rig.one("textarea"), "done");
  assert.match(rig.words(), /This is not JSON; it is sent as text\./);
});

test("the result of a tool with an output schema has its field", () => {
  const outcome = form({
    ask: "outcome",
    fields: [field("", "integer", { path: "", label: "answer" })],
  });
  const rig = asked("Outcome", outcome);
  type(rig.one(".b-set input"), "7");
  press(rig.button("Go on"));
  assert.deepEqual(answers(rig), [{ happened: true, result: 7 }]);
});
