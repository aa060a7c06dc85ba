import assert from "node:assert/strict";
import { test } from "node:test";
import { click, keyDown, keyUp, open, press, shown, visible } from "./rig.ts";
import { FINISHED, HEAD, SCENES, WAITING, call, data, failed, form, scene, text } from "./scenes.ts";

test("the header has agent, state, facts and one button", () => {
  const rig = open(SCENES["streaming"]);
  assert.equal(shown(rig.one(".b-agent")), "analyst");
  assert.equal(shown(rig.one(".b-word")), "Writing");
  const facts = rig.all(".b-facts span").map((fact) => fact.textContent);
  assert.deepEqual(facts, ["anthropic:claude-opus-4-8", "turn 3 of 20", "0:14", "$0.0121"]);
  assert.deepEqual(rig.all(".b-head button").filter(visible).map((node) => node.textContent), ["Stop"]);
});

test("working time goes on between messages, and stands while a person is waited for", () => {
  const rig = open(SCENES["streaming"]);
  rig.page.pass(61_000);
  assert.match(shown(rig.one(".b-facts")), /1:15/);
  rig.kernel.frame([data("/head", { ...WAITING, elapsed_ms: 75_000, since_ms: 0 })]);
  rig.page.paint();
  rig.page.pass(12 * 60_000);
  assert.match(shown(rig.one(".b-facts")), /1:15waiting 12 min/);
});

test("facts of a named session and of a replay stand last", () => {
  const rig = open(scene({ head: { session: "blog", replayed: true, recording: false } }));
  const facts = rig.all(".b-facts span").map((fact) => fact.textContent);
  assert.deepEqual(facts.slice(-2), ["session blog", "replayed"]);
});

test("a model that is silent for long is said to be slow", () => {
  const rig = open(scene({ head: { state: "asking", word: "Asking the model", since_ms: 0 } }));
  assert.equal(rig.one(".b-detail").hidden, true);
  rig.page.pass(10_000);
  assert.match(shown(rig.one(".b-detail")), /^10 s without a word from the model$/);
  rig.page.pass(20_000);
  assert.match(shown(rig.one(".b-detail")), /30 s .*slower than usual; Stop is safe/);
});

test("after three seconds a start says what it waits for", () => {
  const rig = open(scene({ head: { state: "starting", since_ms: 0, detail: "loading the local model" } }));
  assert.equal(rig.one(".b-detail").hidden, true);
  rig.page.pass(3000);
  assert.equal(shown(rig.one(".b-detail")), "loading the local model");
});

test("End run asks once, inline", () => {
  const rig = open(SCENES["waiting"]);
  press(rig.button("End run"));
  assert.match(rig.words(), /End it\? The question is withdrawn\./);
  press(rig.button("Keep waiting"));
  assert.deepEqual(rig.kernel.actions(), []);
  press(rig.button("End run"));
  press(rig.button("End"));
  assert.equal(rig.kernel.actions("end").length, 1);
});

test("the card is a region, and marks and marks alone are hidden from readers", () => {
  const rig = open(SCENES["streaming"]);
  assert.equal(rig.card.getAttribute("role"), "region");
  assert.equal(rig.card.getAttribute("aria-label"), "Run of analyst");
  assert.equal(rig.one(".b-mark").getAttribute("aria-hidden"), "true");
  assert.equal(rig.card.querySelector("[aria-live]"), null);
});

test("states are announced at most once in three seconds, the last of them", () => {
  const rig = open(SCENES["streaming"]);
  const status = rig.one("[role=status].b-sr");
  assert.equal(status.textContent, "Writing");
  for (const word of ["Running plot", "Asking the model", "Thinking"]) {
    rig.kernel.frame([data("/head", { ...HEAD, state: word, word })]);
    rig.page.pass(500);
  }
  assert.equal(status.textContent, "Writing");
  rig.page.pass(1500);
  assert.equal(status.textContent, "Thinking");
});

test("the end is announced with its counts, a form with its question", () => {
  const rig = open(SCENES["streaming"]);
  rig.page.pass(3000);
  rig.kernel.frame([data("/head", FINISHED)]);
  rig.page.paint();
  assert.match(rig.one("[role=status].b-sr").textContent ?? "", /^Finished, 3 tool calls, 28 words$/);
  const asks = open(SCENES["waiting"]);
  asks.page.pass(3000);
  assert.equal(asks.one("[role=status].b-sr").textContent, "publisher waits for you: publish?");
});

test("a failure is an alert, with the error unfolded in its fixed shape", () => {
  const rig = open(SCENES["failed"]);
  assert.equal(rig.one("[role=alert]").textContent, "Failed");
  assert.match(shown(rig.one(".b-error b")), /did not answer\. \[MODEL_UNREACHABLE\]/);
  assert.deepEqual(rig.all(".b-error dt").map((node) => node.textContent), ["why", "do"]);
});

test("tools and reasoning are folded, with the first line of a failure in sight", () => {
  const rig = open(SCENES["streaming"]);
  assert.equal(rig.all("details[open]").length, 0);
  assert.match(rig.words(), /failed0\.0 s|failed 0\.0 s/);
  assert.match(shown(rig.all(".b-call")[1] as Element), /No column 'flower'\./);
});

test("what a person unfolded stays unfolded through frames and snapshots", () => {
  const rig = open(SCENES["streaming"]);
  click(rig.all("summary")[1] as Element);
  const open1 = rig.one("details[open]");
  assert.match(shown(open1), /frame.*sales/s);
  rig.kernel.frame([data("/b/t1b2/ms", 500)]);
  rig.page.paint();
  rig.kernel.snapshot(SCENES["streaming"] ?? []);
  rig.page.paint();
  assert.equal(rig.one("details[open]"), open1);
});

test("Copy copies what is shown", async () => {
  const rig = open(SCENES["streaming"]);
  click(rig.all("summary")[3] as Element);
  press(rig.all(".b-call button").filter((node) => node.textContent === "Copy")[1] as Element);
  await Promise.resolve();
  assert.deepEqual(rig.page.copied, ["saved plot.png, 640 x 480"]);
});

test("a long result shows twenty lines and the rest on demand", () => {
  const rig = open(SCENES["blocks"]);
  click(rig.all(".b-call summary")[1] as Element);
  assert.match(rig.words(), /40 lines not shown yet/);
  press(rig.button("Show all"));
  assert.match(rig.words(), /row 59/);
});

test("decisions are told: who refused, what was approved, what was changed", () => {
  const rig = open(SCENES["blocks"]);
  assert.match(rig.words(), /denied by rule: deny tool:rm_\*/);
  assert.match(rig.words(), /approved with changes/);
  click(rig.all(".b-call summary")[1] as Element);
  assert.deepEqual(rig.all(".b-call .b-line").map((line) => line.textContent), ["title: Rye", "title: Rye for all"]);
  assert.match(rig.words(), /•••• \(set\)/);
});

test("a running call counts its seconds", () => {
  const rig = open(SCENES["blocks"]);
  rig.page.pass(4000);
  assert.match(shown(rig.all(".b-call")[2] as Element), /running 4\.0 s/);
});

test("progress has a meter only where there are figures", () => {
  const rig = open(SCENES["blocks"]);
  const [figures, words] = rig.all(".b-progress");
  assert.equal(figures?.querySelector("progress")?.value, 3);
  assert.equal(words?.querySelector("progress"), null);
});

test("many calls of one tool are one fold, the failed ones in sight", () => {
  const calls = Array.from({ length: 40 }, (_, at) => (at < 2 ? failed("search", "No index.") : call("search")));
  const rig = open(scene({ turns: [calls] }));
  assert.match(rig.words(), /search × 4038 done, 2 failed/);
  assert.equal(rig.all(".b-call").length, 2);
  click(rig.one("summary"));
  assert.equal(rig.all(".b-call").length, 40);
});

test("with two hundred calls older turns are folded and failures still listed", () => {
  const rig = open(SCENES["crowd"]);
  assert.match(rig.words(), /Turns 1 to 6: 60 calls, 1 failed/);
  assert.match(shown(rig.one(".b-failures")), /No such index\./);
  assert.ok(rig.all("*").length < 600);
  click(rig.one(".b-older summary"));
  assert.match(rig.words(), /Turn 1\./);
});

test("an ended run folds to a bar and unfolds again", () => {
  const rig = open(SCENES["streaming"]);
  rig.kernel.frame([data("/head", FINISHED), data("/b/t3b1/done", true)]);
  rig.page.paint();
  assert.equal(rig.one(".b-bodywrap").hidden, true);
  assert.ok(rig.button("Copy answer"));
  press(rig.button("Show what happened"));
  assert.equal(rig.one(".b-bodywrap").hidden, false);
});

test("a run that had ended before is shown whole, and not scrolled inside", () => {
  const rig = open(SCENES["finished"]);
  assert.equal(rig.one(".b-bodywrap").hidden, false);
  assert.ok(rig.one(".b-body").classList.contains("b-tall"));
  assert.throws(() => rig.button("Show what happened"));
});

test("only what works has a button in the foot", () => {
  const rig = open(SCENES["finished"]);
  assert.deepEqual(rig.all(".b-foot button").filter(visible).map((node) => node.textContent), ["Copy answer"]);
  const nothing = open(scene({ head: FINISHED, turns: [[call("plot")]] }));
  assert.equal(nothing.one(".b-foot").hidden, true);
});

test("a note of the kernel stands under the header, with its button", () => {
  const rig = open(scene({
    head: WAITING,
    note: { role: "wait", title: "This cell's run is still waiting.", text: "Answer it, or **Discard and run again**.", button: "discard" },
  }));
  assert.match(rig.words(), /Answer it, or Discard and run again\./);
  press(rig.button("Discard and run again"));
  assert.equal(rig.kernel.actions("discard").length, 1);
});

test("the body follows the end only from the end, else there is a button", () => {
  const rig = open(SCENES["streaming"]);
  const body = rig.one(".b-body");
  const box = { clientHeight: 400, clientWidth: 600, scrollHeight: 900 };
  for (const [name, value] of Object.entries(box)) {
    Object.defineProperty(body, name, { value, configurable: true });
  }
  rig.kernel.frame([], [["/b/t3b1/text", "more "]]);
  rig.page.paint();
  assert.equal(body.scrollTop, 900);
  body.scrollTop = 100;
  Object.defineProperty(body, "scrollHeight", { value: 1000, configurable: true });
  rig.kernel.frame([], [["/b/t3b1/text", "more "]]);
  rig.page.paint();
  assert.equal(body.scrollTop, 100);
  press(rig.button("New text below"));
  assert.equal(body.scrollTop, 1000);
  assert.throws(() => rig.button("New text below"));
});

test("a form has no inner scroll", () => {
  assert.ok(open(SCENES["waiting"]).one(".b-body").classList.contains("b-tall"));
});

test("focus is never taken, and never lost to the page", () => {
  const rig = open(SCENES["streaming"]);
  rig.kernel.frame([data("/head", WAITING), data("/b/t3b1", { text: "x", done: true })]);
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
  assert.deepEqual(rig.all(".b-crumb").filter((crumb) => crumb.tabIndex === 0), [crumbs[0]]);
});

test("a long trail keeps to its two lines, a mark for several crumbs says so", () => {
  const rig = open(SCENES["crowd"]);
  assert.ok(rig.all(".b-crumb").length <= 80);
  assert.match(rig.all(".b-crumb")[0]?.getAttribute("aria-label") ?? "", /^1 to 3 · model; search/);
});

test("c copies the answer and ? shows the keys, on the bar and never in a field", async () => {
  const rig = open(SCENES["finished"]);
  keyDown(rig.button("Copy answer"), "c");
  await Promise.resolve();
  assert.match(rig.page.copied[0] ?? "", /^### What the data say/);
  keyDown(rig.button("Copy answer"), "?", { shiftKey: true });
  assert.match(rig.words(), /c copies the answer/);
  const asks = open(scene({ head: WAITING, turns: [[text("x"), ["Approval", form()]]] }));
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
  for (const more of [{ shiftKey: true }, { ctrlKey: true }, { altKey: true }, { metaKey: true }]) {
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
