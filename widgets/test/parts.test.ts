import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { diffArguments, diffLines } from "../src/diff.ts";
import { age, clock, count, took, wordCount } from "../src/format.ts";
import { asText, cut, hiddenIn, segmented } from "../src/segments.ts";
import { followTheme, isDark } from "../src/theme.ts";
import { say, sayCode, withCode } from "../src/words.ts";
import "./rig.ts";

test("durations are short and never jump back in their unit", () => {
  assert.deepEqual([0, 14_000, 725_000, 3_729_000].map(clock), [
    "0:00",
    "0:14",
    "12:05",
    "1:02:09",
  ]);
  assert.deepEqual([20, 200, 1100, 9960, 14_200, 123_000].map(took), [
    "0.0 s",
    "0.2 s",
    "1.1 s",
    "9 s",
    "14 s",
    "2:03",
  ]);
  assert.deepEqual([2000, 720_000, 10_800_000, 86_400_000, 172_800_000].map(age), [
    "2 s",
    "12 min",
    "3 h",
    "1 day",
    "2 days",
  ]);
});

test("numbers have their thousands marked, and words are counted", () => {
  assert.deepEqual([7, 960_000, 1_204_113].map(count), ["7", "960,000", "1,204,113"]);
  assert.equal(wordCount("  Rye drinks\nmore. "), 3);
});

test("a sentence takes its places once and its plural form by number", () => {
  assert.equal(say("value.lines", { n: 1 }), "1 line not shown yet");
  assert.equal(say("value.lines", { n: 1308 }), "1,308 lines not shown yet");
  assert.equal(say("region", { agent: "{agent} $& {n}" }), "Run of {agent} $& {n}");
});

test("code and bold in a sentence are set apart, and nothing else is", () => {
  const nodes = withCode("Run `%bread pending` or **stop** <b>now</b>");
  assert.deepEqual(
    nodes.map((node) => node.nodeName),
    ["#text", "SPAN", "#text", "B", "#text"],
  );
  assert.equal(
    sayCode("dead.text")
      .map((node) => node.textContent)
      .join(""),
    "In a new cell, %load_ext bread_nb, then %bread pending shows what waits. Or press Try again.",
  );
});

test("every place of a sentence is filled where it is said", () => {
  const { view } = JSON.parse(readFileSync("../bread_nb/a2ui/words.json", "utf8"));
  for (const sentence of Object.values<string | Record<string, string>>(view)) {
    const forms = typeof sentence === "string" ? [sentence] : Object.values(sentence);
    for (const form of forms)
      assert.doesNotMatch(form.replace(/\{\w+\}/g, ""), /\{\}|\{ | \}/);
  }
});

test("a value is cut at whole lines and never inside a character", () => {
  const text = cut(["one\ntwo\nthree\nfour"], 2, 100);
  assert.deepEqual(text, { segments: ["one\ntwo"], whole: false, lines: 1, chars: 7 });
  const pair = cut(["ab😀cd"], 9, 3);
  assert.deepEqual(pair.segments, ["ab"]);
  const boxed = cut(["ab", { esc: "U+202E" }, "cd"], 9, 3);
  assert.deepEqual(boxed.segments, ["ab", { esc: "U+202E" }]);
  assert.equal(cut(["a\nb"], 2, 10).whole, true);
});

test("invisible characters are counted and boxed, line breaks and tabs are not", () => {
  assert.equal(hiddenIn("a\u202eb\u200bc\u001b\n\t"), 3);
  assert.deepEqual(segmented("a\u202eb"), ["a", { esc: "U+202E" }, "b"]);
  const value = {
    lines: 1,
    chars: 3,
    segments: segmented("a\u202eb"),
    cut: false,
    escapes: 1,
  };
  assert.equal(asText(value), "a⟦U+202E⟧b");
});

test("a difference keeps two lines around it and leaves out the rest", () => {
  const before = Array.from({ length: 50 }, (_, at) => `line ${at}`);
  const after = [...before];
  after[25] = "new";
  assert.deepEqual(diffLines(before.join("\n"), after.join("\n")), [
    { op: " ", text: "line 23" },
    { op: " ", text: "line 24" },
    { op: "-", text: "line 25" },
    { op: "+", text: "new" },
    { op: " ", text: "line 26" },
    { op: " ", text: "line 27" },
  ]);
});

test("arguments that came, went and changed are told by name", () => {
  assert.deepEqual(
    diffArguments({ a: 1, b: "x", c: [1] }, { b: "y", c: [1], d: true }),
    [
      { op: "-", text: "a: 1" },
      { op: "-", text: "b: x" },
      { op: "+", text: "b: y" },
      { op: "+", text: "d: true" },
    ],
  );
});

test("the theme is the notebook's before it is the system's", () => {
  const page = document.implementation.createHTMLDocument();
  assert.deepEqual([isDark(page, true), isDark(page, false)], [true, false]);
  page.documentElement.setAttribute("theme", "dark");
  assert.equal(isDark(page, false), true);
  page.body.className = "vscode-light";
  assert.equal(isDark(page, true), false);
  page.body.className = "vscode-high-contrast";
  assert.equal(isDark(page, false), true);
  page.body.dataset["jpThemeLight"] = "true";
  assert.equal(isDark(page, true), false);
});

test("a theme that changes is followed until the view goes", async () => {
  const card = document.createElement("div");
  const query = {
    matches: false,
    addEventListener: () => undefined,
    removeEventListener: () => undefined,
  };
  Object.assign(window, { matchMedia: () => query });
  document.body.dataset["jpThemeLight"] = "true";
  const stop = followTheme(card, window);
  assert.equal(card.dataset["theme"], "light");
  document.body.dataset["jpThemeLight"] = "false";
  await Promise.resolve();
  assert.equal(card.dataset["theme"], "dark");
  stop();
  delete document.body.dataset["jpThemeLight"];
  await Promise.resolve();
  assert.equal(card.dataset["theme"], "dark");
  assert.equal(document.documentElement.style.colorScheme, "");
});

test("no sentence of the catalogue is left unsaid", () => {
  const { view } = JSON.parse(readFileSync("../bread_nb/a2ui/words.json", "utf8"));
  const names = readdirSync("src", { recursive: true, encoding: "utf8" });
  const sources = names.filter((name) => name.endsWith(".ts"));
  const code = sources.map((name) => readFileSync(join("src", name), "utf8")).join();
  const choices = ["happened", "run", "failed"].map((name) => `outcome.${name}`);
  const facets = ["agent", "tool", "session", "kind"].map((name) => `inbox.${name}`);
  const made = [...choices, ...facets];
  const unsaid = Object.keys(view).filter((word) => !code.includes(`"${word}"`));
  assert.deepEqual(unsaid, made);
});
