/** Numbers that a page would change are shown, kept and sent as they are written. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { figure, needsExact, readExact, writeExact } from "../src/exact.ts";
import { Exact, type JsonRecord, same } from "../src/json.ts";
import { asked } from "./asking.ts";
import { arg, field, form } from "./builders.ts";
import { type Rig, press, type } from "./rig.ts";

const BIG = "9007199254740993";
const MORE = `{"ids":[${BIG}],"f":1.0,"n":1,"text":"1.0 and ${BIG}"}`;
const FIELDS = [
  field("id", "integer", { value: Number(BIG), exact: BIG }),
  field("rate", "number", { value: 1, exact: "1.0" }),
  field("more", "json", { value: JSON.parse(MORE), exact: MORE }),
  field("why", "text", { value: "x" }),
];
const ASKED = form({ args: [arg("id", BIG), arg("why", "x")], fields: FIELDS });

function editing(given: JsonRecord = ASKED): Rig {
  const rig = asked(given);
  press(rig.button("Edit arguments"));
  rig.page.pass(600);
  return rig;
}

function control(rig: Rig, key: string): HTMLInputElement {
  const label = rig
    .all("label.b-key")
    .find((node) => node.textContent.startsWith(`${key} `));
  return rig.one(`#${label?.getAttribute("for")}`) as HTMLInputElement;
}

/** What was sent, as text; a plain answer is written by the channel. */
function sent(rig: Rig): string {
  const [action] = rig.kernel.actions("answer");
  const exact = action?.context["exact"];
  return typeof exact === "string" ? exact : JSON.stringify(action?.context["answer"]);
}

test("JSON comes back as it was read, to the last digit", () => {
  const texts = [MORE, BIG, "[1.0,-0.0,1e400,0.1,-5]", '{"__proto__":1.0,"\\"1.0":2}'];
  for (const text of texts) {
    assert.equal(writeExact(readExact(text)), text);
    assert.equal(needsExact(readExact(text)), true);
  }
  assert.deepEqual(readExact('{"a":[1,0.5,"1.0"]}'), { a: [1, 0.5, "1.0"] });
  assert.equal(needsExact(readExact('{"a":[1,0.5,"1.0"]}')), false);
  assert.equal(writeExact(readExact('{"a":1.0}'), 2), '{\n  "a": 1.0\n}');
  assert.throws(() => readExact("[01]"), SyntaxError);
  assert.ok(same(figure("1.0"), new Exact("1.0")));
  assert.ok(!same(figure("1.0"), 1));
});

test("an edit sends back as it was what nobody touched", () => {
  const rig = editing();
  assert.equal(control(rig, "id").value, BIG);
  assert.equal(control(rig, "rate").value, "1.0");
  assert.match(control(rig, "more").value, new RegExp(`${BIG}[^]*"f": 1\\.0`));
  type(control(rig, "why"), "EDITED");
  assert.match(rig.words(), /Changed from what the agent asked for \(1\)/);
  press(rig.button("Approve with changes"));
  const args = `{"id":${BIG},"rate":1.0,"more":${MORE},"why":"EDITED"}`;
  assert.equal(sent(rig), `{"approved":true,"args":${args}}`);
});

test("the same holds for all of it as JSON", () => {
  const rig = editing();
  press(rig.button("Edit as JSON"));
  const area = rig.one("textarea.b-json") as HTMLTextAreaElement;
  assert.match(area.value, new RegExp(`"id": ${BIG},\n  "rate": 1\\.0`));
  type(area, area.value.replace('"x"', '"y"'));
  press(rig.button("Edit as fields"));
  press(rig.button("Approve with changes"));
  const args = `{"id":${BIG},"rate":1.0,"more":${MORE},"why":"y"}`;
  assert.equal(sent(rig), `{"approved":true,"args":${args}}`);
});

test("a long whole number that somebody types is sent to its last digit", () => {
  const rig = editing();
  type(control(rig, "id"), "+9007199254740995");
  assert.match(rig.words(), /Changed from what the agent asked for \(1\)/);
  const lines = rig.all(".b-diff .b-line").map((line) => line.textContent);
  assert.deepEqual(lines, [`id: ${BIG}`, "id: 9007199254740995"]);
  press(rig.button("Approve with changes"));
  assert.match(sent(rig), /"id":9007199254740995,/);
});

test("the neighbour of a long number is another number", () => {
  const rig = editing();
  type(control(rig, "id"), "9007199254740992");
  assert.match(rig.words(), /Changed from what the agent asked for \(1\)/);
  type(control(rig, "id"), BIG);
  assert.match(rig.words(), /Nothing is changed yet\./);
  press(rig.button("Approve"));
  assert.equal(sent(rig), '{"approved":true}');
});

test("a list and a choice of long numbers keep them", () => {
  const item = field("", "integer");
  const other = "9007199254740992";
  const options = [BIG, other].map((exact) => ({
    value: Number(exact),
    exact,
    label: exact,
  }));
  const fields = [
    field("ids", "list", { value: [0], exact: `[${BIG},5]`, item }),
    field("one", "enum", { value: 0, exact: other, options }),
    field("why", "text", { value: "x" }),
  ];
  const rig = editing(form({ args: [arg("why", "x")], fields }));
  type(control(rig, "why"), "y");
  press(rig.button("Approve with changes"));
  const args = `{"ids":[${BIG},5],"one":${other},"why":"y"}`;
  assert.equal(sent(rig), `{"approved":true,"args":${args}}`);
});

test("an answer without such numbers is sent as it always was", () => {
  const fields = [field("n", "integer", { value: 1 })];
  const rig = editing(form({ args: [arg("n", "1")], fields }));
  type(control(rig, "n"), "2");
  press(rig.button("Approve with changes"));
  const [action] = rig.kernel.actions("answer");
  assert.deepEqual(action?.context["answer"], { approved: true, args: { n: 2 } });
});
