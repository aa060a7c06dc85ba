/** An evaluation at work: a bar, counts, time to go, failures, Stop, a kernel that dies. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Json, JsonRecord } from "../src/json.ts";
import { ANSWER_WITHIN } from "../src/channel.ts";
import { HEAD, SURFACE, data } from "./builders.ts";
import { open, press, visible } from "./rig.ts";

const AT_WORK: JsonRecord = {
  ...HEAD,
  agent: "bakery",
  state: "evaluating",
  word: "Evaluating",
  model: "",
  turn: 0,
  steps: null,
  cost: "at least $0.0121",
  foreground: true,
};
const FIGURES: JsonRecord = {
  done: 412,
  of: 1000,
  words: "412 of 1,000",
  passed: "409 passed",
  failed: "3 failed",
  broken: "",
  rest_ms: 61_000,
  case: "rye",
  missed: [{ mark: "✗", case: "oats", why: "contains: it lacks 'bread'" }],
  more: "2 more did not pass",
};

function evaluation(figures: JsonRecord = {}, head: JsonRecord = {}): Json[] {
  const surface = { surfaceId: SURFACE };
  const paths = ["head", "trail", "note", "error"].map((key) => [
    key,
    { path: `/${key}` },
  ]);
  const components = [
    {
      id: "root",
      component: "RunCard",
      ...Object.fromEntries(paths),
      children: ["eval"],
    },
    { id: "eval", component: "Evaluation", value: { path: "/b/eval" } },
  ];
  const value = {
    head: { ...AT_WORK, ...head },
    trail: [],
    note: null,
    error: null,
    b: { eval: { ...FIGURES, ...figures } },
  };
  return [
    { version: "v0.9", createSurface: { ...surface, catalogId: "urn:x" } },
    { version: "v0.9", updateComponents: { ...surface, components } },
    { version: "v0.9", updateDataModel: { ...surface, value } },
  ];
}

test("the card shows a bar, counts with signs, cost, and the first failures", () => {
  const rig = open(evaluation());
  const bar = rig.one("progress");
  assert.equal(bar.getAttribute("aria-label"), "412 of 1,000");
  assert.deepEqual([bar.getAttribute("value"), bar.getAttribute("max")], ["412", "1000"]);
  assert.match(rig.words(), /412 of 1,000✓ 409 passed✗ 3 failedabout 1:01 to go/);
  assert.match(rig.words(), /Begun last: rye/);
  assert.match(rig.words(), /✗oatscontains: it lacks 'bread'2 more did not pass/);
  assert.match(rig.words(), /at least \$0\.0121/);
  assert.equal(rig.card.getAttribute("aria-label"), "Evaluation of bakery");
  const buttons = rig.all("button").filter(visible);
  assert.deepEqual(
    buttons.map((node) => node.textContent),
    ["Stop"],
  );
});

test("the bar moves and the time to go counts down between messages", () => {
  const rig = open(evaluation());
  rig.page.pass(30_000);
  assert.match(rig.words(), /about 0:31 to go/);
  rig.page.pass(60_000);
  assert.doesNotMatch(rig.words(), /to go/);
  rig.kernel.frame([data("/b/eval", { ...FIGURES, done: 500, rest_ms: 9000 })]);
  rig.page.paint();
  assert.equal(rig.one("progress").getAttribute("value"), "500");
  assert.match(rig.words(), /about 0:09 to go/);
});

test("Stop sends one stop, and without an answer the kernel is interrupted", () => {
  const rig = open(evaluation());
  const stop = rig.button("Stop");
  press(stop);
  press(stop);
  assert.equal(rig.kernel.actions("stop").length, 1);
  rig.page.pass(1000);
  assert.equal(rig.kernel.interrupted, 1);
});

test("each tenth is said to a screen reader, and nothing more often", () => {
  const rig = open(evaluation({ done: 0, words: "0 of 1,000" }));
  const status = () => rig.one('.b-sr[role="status"]').textContent;
  rig.page.pass(3000);
  const before = status();
  for (let done = 1; done < 100; done += 1) {
    rig.kernel.frame([data("/b/eval", { ...FIGURES, done })]);
    rig.page.paint();
  }
  rig.page.pass(3000);
  assert.equal(status(), before);
  rig.kernel.frame([data("/b/eval", { ...FIGURES, done: 100, words: "100 of 1,000" })]);
  rig.page.pass(3000);
  assert.equal(status(), "100 of 1,000: 409 passed, 3 failed");
});

test("a dead kernel is told, with what is kept and how to go on", () => {
  const rig = open(evaluation());
  rig.view.doubt();
  rig.page.pass(ANSWER_WITHIN);
  assert.match(rig.words(), /No kernel behind this card/);
  assert.match(rig.words(), /The rows that are done are kept\. Run the cell again/);
  assert.doesNotMatch(rig.words(), /to go(?! on)|%bread pending/);
  assert.equal(rig.button("Stop").getAttribute("aria-disabled"), "true");
});

test("one that is over has no button, no time to go and no foot", () => {
  const over = { state: "evaluated", word: "Finished", role: "ok", mark: "tick" };
  const head = { ...over, button: null, ticking: false };
  const rig = open(evaluation({ rest_ms: null, case: "" }, head));
  assert.deepEqual(rig.all("button").filter(visible), []);
  assert.doesNotMatch(rig.words(), /to go|Begun last/);
});

test("a value of another shape is shown as unsupported", () => {
  const rig = open(evaluation({ missed: "oats" }));
  assert.match(rig.words(), /unsupported: Evaluation/);
});
