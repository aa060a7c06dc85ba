/** The inbox: rows, filters, the form in a row, and that nothing moves under a pointer. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Json, JsonRecord } from "../src/json.ts";
import { INERT_FOR } from "../src/press.ts";
import { ROWS, inbox } from "./inboxes.ts";
import { type Rig, keyDown, open, press, visible } from "./rig.ts";

function update(path: string, value: Json): Json {
  const data = { surfaceId: "inbox_1", path, value };
  return { version: "v0.9", updateDataModel: data };
}

function rows(rig: Rig): string[] {
  return rig
    .all(".b-inrow")
    .filter(visible)
    .map((node) => rig.one(".b-name", node).textContent);
}

function folds(rig: Rig): boolean[] {
  return rig
    .all(".b-inrow > details")
    .map((node) => (node as HTMLDetailsElement).open);
}

function pointerAt(rig: Rig, type: "pointerenter" | "pointerleave"): void {
  rig.one(".b-inbox").dispatchEvent(new MouseEvent(type));
}

function tell(rig: Rig, id: string, more: JsonRecord): void {
  rig.kernel.frame([update(`/rows/${id}`, { ...ROWS[id], ...more })]);
  rig.page.paint();
}

test("the inbox shows how many wait and a row for each, and no run's header", () => {
  const rig = open(inbox());
  assert.match(rig.words(), /2 calls wait, 1 run was interrupted/);
  assert.deepEqual(rows(rig), ["publisher-2", "cleaner-7", "baker-1"]);
  assert.match(rig.one(".b-inrow").textContent, /publish.*title="Rye".*12 min/);
  assert.equal(rig.one(".b-head").hidden, true);
  assert.equal(rig.card.getAttribute("aria-label"), "What waits for you");
});

test("a row that the kernel unfolded stands open with its form and how it came", () => {
  const rig = open(inbox());
  assert.deepEqual(folds(rig), [true, false, true]);
  assert.match(rig.words(), /Asked to: Publish the rye post\./);
  assert.match(rig.words(), /Did: model, draft, model/);
  assert.match(rig.words(), /Said last: The post is ready\./);
  rig.page.pass(INERT_FOR);
  press(rig.button("Approve"));
  const [answer] = rig.kernel.actions("answer");
  const message = JSON.stringify(answer?.message);
  assert.match(message, /"surfaceId":"inbox_1"/);
  assert.match(message, /"sourceComponentId":"f_q_1"/);
});

test("unfolding a row asks for its form once", () => {
  const rig = open(inbox());
  const second = rig.all(".b-inrow summary")[1] as HTMLElement;
  for (const _ of "ab") {
    second.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true }));
  }
  assert.equal(rig.kernel.actions("unfold").length, 1);
  assert.equal(rig.kernel.actions("answer").length, 0);
});

test("several forms in the inbox are not one question", () => {
  const rig = open(inbox());
  assert.doesNotMatch(rig.words(), /The run goes on when all are answered/);
  assert.doesNotMatch(rig.words(), /Deny all/);
});

test("a filter leaves the rows that have its value, and says how many", () => {
  const rig = open(inbox());
  const [agent, tool, session, kind] = rig.all(".b-filter") as HTMLElement[];
  assert.equal(session?.hidden, true);
  for (const filter of [agent, tool, kind]) assert.equal(filter?.hidden, false);
  const select = rig.one("select", agent) as HTMLSelectElement;
  select.value = "cleaner";
  select.dispatchEvent(new Event("change", { bubbles: true }));
  assert.deepEqual(rows(rig), ["cleaner-7"]);
  assert.match(rig.words(), /1 of 3 shown/);
  select.value = "";
  select.dispatchEvent(new Event("change", { bubbles: true }));
  assert.equal(rows(rig).length, 3);
});

test("a row answered elsewhere is greyed in its place, then hidden", () => {
  const rig = open(inbox());
  tell(rig, "q_1", { state: "settled", end: "Denied: not now" });
  assert.deepEqual(rows(rig), ["publisher-2", "cleaner-7", "baker-1"]);
  assert.match(rig.one(".b-inrow").textContent, /Denied: not now/);
  tell(rig, "q_1", { state: "gone", end: "Denied: not now" });
  assert.deepEqual(rows(rig), ["cleaner-7", "baker-1"]);
});

test("nothing moves while the pointer is in the inbox", () => {
  const rig = open(inbox());
  const [row] = rig.all(".b-inrow") as [HTMLElement];
  row.getBoundingClientRect = () => ({ height: 240 }) as DOMRect;
  pointerAt(rig, "pointerenter");
  tell(rig, "q_1", { state: "settled", end: "Denied" });
  assert.equal(row.style.minBlockSize, "240px");
  tell(rig, "q_1", { state: "gone", end: "Denied" });
  assert.equal(rows(rig).length, 3);
  pointerAt(rig, "pointerleave");
  assert.deepEqual(rows(rig), ["cleaner-7", "baker-1"]);
  assert.equal(row.style.minBlockSize, "");
});

test("a row answered here stays and says what becomes of its run", () => {
  const rig = open(inbox());
  const end = { state: "settled", here: true, end: "Approved", role: "work" };
  tell(rig, "q_1", { ...end, word: "Running publish" });
  assert.match(rig.one(".b-inrow").textContent, /Approved · Running publish/);
  tell(rig, "q_1", { ...end, word: "Finished", role: "ok" });
  assert.match(rig.one(".b-inrow").textContent, /Approved · Finished/);
});

test("an interrupted run goes on, or is ended after it was asked once", () => {
  const rig = open(inbox());
  press(rig.button("Go on"));
  press(rig.button("Go on"));
  assert.equal(rig.kernel.actions("recover").length, 1);
  rig.kernel.ack();
  rig.kernel.result(false, "Somebody else goes on with it already.");
  assert.match(rig.words(), /Somebody else goes on with it already\./);
  press(rig.button("End run"));
  assert.match(rig.words(), /End it\?/);
  press(rig.button("Keep waiting"));
  press(rig.button("End run"));
  press(rig.button("End"));
  assert.equal(rig.kernel.actions("end").length, 1);
});

test("time that goes by shows in the rows without a message", () => {
  const rig = open(inbox());
  rig.page.pass(3_600_000);
  assert.match(rig.one(".b-inrow").textContent, /1 h/);
});

test("without a kernel the inbox says so and takes no press", () => {
  const rig = open(inbox());
  rig.view.gone();
  assert.match(rig.words(), /No kernel behind this card/);
  press(rig.button("Go on"));
  assert.equal(rig.kernel.actions().length, 0);
});

test("the kernel is told while a person is at the inbox", () => {
  const rig = open(inbox());
  const told = () => rig.kernel.sent.filter((message) => message["t"] === "stay");
  rig.card.dispatchEvent(new MouseEvent("pointerenter"));
  rig.card.dispatchEvent(new Event("focusin"));
  rig.card.dispatchEvent(new MouseEvent("pointerleave"));
  assert.deepEqual(
    told().map((message) => message["here"]),
    [true],
  );
  rig.card.dispatchEvent(new Event("focusout"));
  assert.equal(told().at(-1)?.["here"], false);
});

test("shortcuts of the notebook do nothing in the inbox", () => {
  const rig = open(inbox());
  const summary = rig.one(".b-inrow summary");
  assert.equal(keyDown(summary, "Enter", { shiftKey: true }).defaultPrevented, true);
});
