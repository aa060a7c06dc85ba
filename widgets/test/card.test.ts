import assert from "node:assert/strict";
import { test } from "node:test";
import { FINISHED, HEAD, WAITING, call, data, failed, scene } from "./builders.ts";
import { click, open, press, shown, visible } from "./rig.ts";
import { SCENES } from "./scenes.ts";

test("the header has agent, state, facts and one button", () => {
  const rig = open(SCENES["streaming"]);
  assert.equal(shown(rig.one(".b-agent")), "analyst");
  assert.equal(shown(rig.one(".b-word")), "Writing");
  const facts = rig.all(".b-facts span").map((fact) => fact.textContent);
  assert.deepEqual(facts, [
    "anthropic:claude-opus-4-8",
    "turn 3 of 20",
    "0:14",
    "$0.0121",
    "analyst-3",
  ]);
  assert.deepEqual(
    rig
      .all(".b-head button")
      .filter(visible)
      .map((node) => node.textContent),
    ["Stop"],
  );
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
  const rig = open(
    scene({ head: { session: "blog", replayed: true, recording: false } }),
  );
  const facts = rig.all(".b-facts span").map((fact) => fact.textContent);
  assert.deepEqual(facts.slice(-2), ["session blog", "replayed"]);
});

test("a model that is silent for long is said to be slow", () => {
  const rig = open(
    scene({ head: { state: "asking", word: "Asking the model", since_ms: 0 } }),
  );
  assert.equal(rig.one(".b-detail").hidden, true);
  rig.page.pass(10_000);
  assert.match(shown(rig.one(".b-detail")), /^10 s without a word from the model$/);
  rig.page.pass(20_000);
  assert.match(shown(rig.one(".b-detail")), /30 s .*slower than usual; Stop is safe/);
});

test("after three seconds a start says what it waits for", () => {
  const rig = open(
    scene({
      head: { state: "starting", since_ms: 0, detail: "loading the local model" },
    }),
  );
  assert.equal(rig.one(".b-detail").hidden, true);
  rig.page.pass(3000);
  assert.equal(shown(rig.one(".b-detail")), "loading the local model");
});

test("a card that waits says that the notebook may be closed", () => {
  const rig = open(SCENES["waiting"]);
  assert.match(
    shown(rig.one(".b-detail")),
    /You can close this notebook\. %load_ext bread_nb, then %bread pending shows it/,
  );
  const dead = open(SCENES["waiting"]);
  dead.view.gone();
  assert.equal(dead.one(".b-detail").hidden, true);
});

test("without a kernel everything is off but copying, folds and Try again", () => {
  const rig = open(SCENES["several"]);
  rig.page.pass(600);
  rig.view.gone();
  rig.page.paint();
  const on = rig
    .all("button")
    .filter(
      (node) =>
        visible(node) &&
        node.ariaDisabled !== "true" &&
        node.getAttribute("aria-disabled") !== "true",
    );
  assert.deepEqual(
    on.map((node) => node.textContent),
    ["Try again"],
  );
  rig.kernel.snapshot(SCENES["several"] ?? []);
  rig.page.paint();
  assert.equal(rig.button("Approve these 3").getAttribute("aria-disabled"), null);
});

test("a run that has ended misses no kernel, and there is nothing to answer", () => {
  const rig = open(SCENES["finished"]);
  rig.view.gone();
  rig.page.paint();
  assert.doesNotMatch(rig.words(), /No kernel behind|to answer|what waits/);
  assert.match(rig.words(), /The run has ended and is kept/);
  assert.equal(rig.card.dataset["role"], "ok");
  assert.equal(shown(rig.one(".b-word")), "Finished");
  assert.equal(rig.one("[role=alert]").textContent, "");
});

test("the end of a run that nobody saw working is announced with its counts", () => {
  const rig = open();
  rig.kernel.snapshot(SCENES["finished"] ?? []);
  rig.page.paint();
  const said = rig.one("[role=status].b-sr").textContent ?? "";
  assert.match(said, /^Finished, /);
  assert.doesNotMatch(said, / 0 words/);
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
  assert.match(
    rig.one("[role=status].b-sr").textContent ?? "",
    /^Finished, 3 tool calls, 28 words$/,
  );
  const asks = open(SCENES["waiting"]);
  asks.page.pass(3000);
  assert.equal(
    asks.one("[role=status].b-sr").textContent,
    "publisher waits for you: publish?",
  );
});

test("a failure is an alert, with the error unfolded in its fixed shape", () => {
  const rig = open(SCENES["failed"]);
  assert.equal(rig.one("[role=alert]").textContent, "Failed");
  assert.match(shown(rig.one(".b-error b")), /did not answer\. \[MODEL_UNREACHABLE\]/);
  assert.deepEqual(
    rig.all(".b-error dt").map((node) => node.textContent),
    ["why", "do"],
  );
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
  press(
    rig
      .all(".b-call button")
      .filter((node) => node.textContent === "Copy")[1] as Element,
  );
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
  assert.deepEqual(
    rig.all(".b-call .b-line").map((line) => line.textContent),
    ["title: Rye", "title: Rye for all"],
  );
  assert.match(rig.words(), /•••• \(set\)/);
});

test("a running call counts its seconds", () => {
  const rig = open(SCENES["blocks"]);
  rig.page.pass(4000);
  assert.match(shown(rig.all(".b-call")[2] as Element), /running 4\.0 s/);
});

test("without a kernel the seconds of a call stand still", () => {
  const rig = open(SCENES["blocks"]);
  rig.page.pass(4000);
  rig.view.gone();
  rig.page.pass(9000);
  assert.match(shown(rig.all(".b-call")[2] as Element), /running 4\.0 s/);
});

test("progress has a meter only where there are figures", () => {
  const rig = open(SCENES["blocks"]);
  const [figures, words] = rig.all(".b-progress");
  assert.equal(figures?.querySelector("progress")?.value, 3);
  assert.equal(words?.querySelector("progress"), null);
});

test("many calls of one tool are one fold, the failed ones in sight", () => {
  const calls = Array.from({ length: 40 }, (_, at) =>
    at < 2 ? failed("search", "No index.") : call("search"),
  );
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
  assert.deepEqual(
    rig
      .all(".b-foot button")
      .filter(visible)
      .map((node) => node.textContent),
    ["Copy answer", "Open crumbs", "More…"],
  );
  const nothing = open(scene({ head: FINISHED, turns: [[call("plot")]] }));
  assert.equal(nothing.one(".b-foot button").hidden, true);
  assert.equal(open(SCENES["streaming"]).one(".b-foot").hidden, true);
});

test("a note of the kernel stands under the header, with its button", () => {
  const rig = open(
    scene({
      head: WAITING,
      note: {
        role: "wait",
        title: "This cell's run is still waiting.",
        text: "Answer it, or **Discard and run again**.",
        button: "discard",
      },
    }),
  );
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
