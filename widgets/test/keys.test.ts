import assert from "node:assert/strict";
import { test } from "node:test";
import { FINISHED, WAITING, data, form, scene, text } from "./builders.ts";
import { keyDown, keyUp, open, press, shown } from "./rig.ts";
import { SCENES } from "./scenes.ts";

test("focus is never taken, and never lost to the page", () => {
  const rig = open(SCENES["streaming"]);
  rig.kernel.frame([
    data("/head", WAITING),
    data("/b/t3b1", { text: "x", done: true }),
  ]);
  rig.page.paint();
  assert.equal(rig.root.activeElement, null);
  const other = open(SCENES["streaming"]);
  other.button("Stop").focus();
  other.kernel.frame([data("/head", FINISHED)]);
  other.page.paint();
  assert.equal(other.root.activeElement, other.one(".b-word"));
});

test("the trail is one stop, and the arrows go along it", () => {
  const rig = open(SCENES["streaming"]);
  const crumbs = rig.all(".b-crumb");
  assert.equal(crumbs.filter((crumb) => crumb.tabIndex === 0).length, 1);
  crumbs[6]?.focus();
  keyDown(crumbs[6] as Element, "ArrowLeft");
  keyDown(crumbs[5] as Element, "ArrowLeft");
  assert.equal(rig.root.activeElement, crumbs[4]);
  assert.equal(shown(rig.one(".b-tip")), "7 · plot · failed · 0.0 s");
  keyDown(crumbs[4] as Element, "Home");
  assert.equal(rig.root.activeElement, crumbs[0]);
  assert.deepEqual(
    rig.all(".b-crumb").filter((crumb) => crumb.tabIndex === 0),
    [crumbs[0]],
  );
});

test("a long trail keeps to its two lines, a mark for several crumbs says so", () => {
  const rig = open(SCENES["crowd"]);
  assert.ok(rig.all(".b-crumb").length <= 80);
  assert.match(
    rig.all(".b-crumb")[0]?.getAttribute("aria-label") ?? "",
    /^1 to 3 · model; search/,
  );
});

test("c copies the answer and ? shows the keys, on the bar and never in a field", async () => {
  const rig = open(SCENES["finished"]);
  keyDown(rig.button("Copy answer"), "c");
  await Promise.resolve();
  assert.match(rig.page.copied[0] ?? "", /^### What the data say/);
  keyDown(rig.button("Copy answer"), "?", { shiftKey: true });
  assert.match(rig.words(), /c copies the answer/);
  const asks = open(
    scene({ head: WAITING, turns: [[text("x"), ["Approval", form()]]] }),
  );
  asks.page.pass(600);
  press(asks.button("Deny…"));
  keyDown(asks.one("input"), "c");
  keyDown(asks.button("Back"), "c");
  assert.deepEqual(asks.page.copied, []);
});

test("Escape leaves the card", () => {
  const rig = open(SCENES["streaming"]);
  keyDown(rig.button("Stop"), "Escape");
  assert.equal(rig.left(), 1);
});

test("no key reaches the notebook from inside a card, but those of the browser", () => {
  const rig = open(SCENES["waiting"]);
  rig.page.pass(600);
  const heard: string[] = [];
  const listen = (event: Event) => heard.push((event as KeyboardEvent).key);
  document.addEventListener("keydown", listen, true);
  const target = rig.button("Deny…");
  for (const key of ["d", "a", "Enter", " ", "Escape", "ArrowUp"]) keyDown(target, key);
  for (const more of [
    { shiftKey: true },
    { ctrlKey: true },
    { altKey: true },
    { metaKey: true },
  ]) {
    const event = keyDown(target, "Enter", more);
    assert.equal(event.defaultPrevented, true);
  }
  assert.deepEqual(heard, []);
  keyDown(target, "s", { ctrlKey: true });
  keyDown(document.body, "d");
  document.removeEventListener("keydown", listen, true);
  assert.deepEqual(heard, ["s", "d"]);
});

test("Shift-Enter in a text area is a new line", () => {
  const rig = open(SCENES["outcome"]);
  const event = keyDown(rig.one("textarea"), "Enter", { shiftKey: true });
  assert.equal(event.defaultPrevented, false);
});

test("Space on a button presses it once, on its way up", () => {
  const rig = open(SCENES["streaming"]);
  keyDown(rig.button("Stop"), " ");
  assert.equal(rig.kernel.actions("stop").length, 0);
  keyUp(rig.button("Stop"), " ");
  assert.equal(rig.kernel.actions("stop").length, 1);
});
