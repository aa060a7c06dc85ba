import assert from "node:assert/strict";
import { test } from "node:test";
import type { Json, JsonRecord } from "../src/json.ts";
import { answers, isOff } from "./asking.ts";
import { type Rig, open, press, shown, type } from "./rig.ts";
import told from "./told.json";

interface Run {
  frames: JsonRecord[];
  snapshot: JsonRecord;
}

const RUNS: Record<string, Run> = told;

/** A card to which the kernel tells these messages, painted after each. */
function heard(messages: Json[]): Rig {
  const rig = open();
  for (const message of messages) {
    rig.kernel.tell(message);
    rig.page.paint();
  }
  return rig;
}

for (const [name, run] of Object.entries(RUNS)) {
  test(`${name}: the kernel's frames lead to the card of its snapshot`, () => {
    const grown = heard(run.frames);
    const whole = heard([run.snapshot]);
    const body = (rig: Rig) => shown(rig.one(".b-body"));
    for (const part of [".b-head", ".b-strips"]) {
      assert.equal(shown(grown.one(part)), shown(whole.one(part)));
    }
    assert.equal(body(grown).slice(-300), body(whole).slice(-300));
    assert.equal(body(grown), body(whole));
    assert.equal(grown.kernel.hellos().length, 1);
    assert.doesNotMatch(whole.words(), /unsupported: [A-Z]/);
  });
}

function waiting(name: string): Rig {
  const rig = heard(RUNS[name]?.frames ?? []);
  rig.page.pass(600);
  return rig;
}

test("an approval as the kernel asks it is edited and answered", () => {
  const rig = waiting("an approval");
  assert.match(rig.words(), /posts\/ryeU\+202Edm\.exe/);
  assert.doesNotMatch(rig.card.textContent, /secret-secret/);
  assert.equal(isOff(rig.button("Approve")), false);
  press(rig.button("Edit arguments"));
  rig.page.pass(600);
  type(rig.one(".b-field input"), "Rye for all");
  press(rig.button("Approve with changes"));
  assert.deepEqual(answers(rig), [
    {
      approved: true,
      args: {
        title: "Rye for all",
        path: "posts/rye\u202edm.exe",
        mood: "plain",
        copies: 2,
        to: ["a", "b"],
        who: "Ada",
      },
    },
  ]);
});
