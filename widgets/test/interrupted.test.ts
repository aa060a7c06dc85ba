/** A run whose kernel ended: what the card says, and how it goes on from there. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { HEAD, scene, text } from "./builders.ts";
import { type Rig, open, press, visible } from "./rig.ts";

const INTERRUPTED = scene({
  head: {
    ...HEAD,
    state: "interrupted",
    word: "Interrupted",
    role: "wait",
    mark: "bars",
    button: null,
    ticking: false,
  },
  note: {
    role: "wait",
    title: "Interrupted",
    text: "The kernel ended while this run worked. What finished is kept and is not repeated.",
    button: "recover",
  },
  turns: [[text("I knead.")]],
});

function offers(rig: Rig): (string | null)[] {
  return rig
    .all(".b-note button")
    .filter(visible)
    .map((node) => node.textContent);
}

test("an interrupted run offers to go on or to end", () => {
  const rig = open(INTERRUPTED);
  assert.deepEqual(offers(rig), ["Go on", "End run"]);
  assert.match(rig.words(), /What finished is kept and is not repeated\./);
  assert.equal(rig.all(".b-head button").filter(visible).length, 0);
});

test("a second press on Go on sends nothing", () => {
  const rig = open(INTERRUPTED);
  press(rig.button("Go on"));
  press(rig.button("Go on"));
  assert.equal(rig.kernel.actions("recover").length, 1);
  assert.equal(rig.button("Go on").getAttribute("aria-disabled"), "true");
});

test("Go on that was refused says why and can be pressed again", () => {
  const rig = open(INTERRUPTED);
  press(rig.button("Go on"));
  rig.kernel.ack();
  rig.kernel.result(false, "Somebody else goes on with it already.");
  assert.match(rig.words(), /Somebody else goes on with it already\./);
  press(rig.button("Go on"));
  assert.equal(rig.kernel.actions("recover").length, 2);
});

test("Go on without a kernel sends nothing that could be done later", () => {
  const rig = open(INTERRUPTED);
  press(rig.button("Go on"));
  rig.page.pass(2000);
  assert.match(rig.words(), /No kernel behind this card/);
  assert.equal(rig.button("Go on").getAttribute("aria-disabled"), "true");
  press(rig.button("Go on"));
  assert.equal(rig.kernel.actions("recover").length, 1);
});

test("ending an interrupted run asks once, in words that fit", () => {
  const rig = open(INTERRUPTED);
  press(rig.button("End run"));
  assert.match(rig.words(), /End it\? What finished is kept; nothing more is done\./);
  press(rig.button("End"));
  assert.equal(rig.kernel.actions("end").length, 1);
});
