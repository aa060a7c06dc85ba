import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonRecord } from "../src/json.ts";
import { answers, isOff, reason } from "./asking.ts";
import { WAITING, arg, data, form, scene } from "./builders.ts";
import { type Rig, open, press, type } from "./rig.ts";
import { LONG_BODY } from "./scenes.ts";

function several(more: JsonRecord = {}): Rig {
  const forms = ["a", "b", "c"].map((name, index): [string, JsonRecord] => [
    "Approval",
    form({ checkpoint: `cp-${name}`, index, of: 3, bulk: true, ...more }),
  ]);
  const rig = open(scene({ head: WAITING, turns: [forms] }));
  rig.page.pass(600);
  return rig;
}

test("several alike may be approved at once, in call order", () => {
  const rig = several();
  assert.match(rig.words(), /3 calls wait\. The run goes on when all are answered\./);
  press(rig.button("Approve these 3"));
  assert.deepEqual(
    rig.kernel.actions("answer").map((action) => action.context["checkpoint"]),
    ["cp-a", "cp-b", "cp-c"],
  );
  press(rig.button("Approve these 3"));
  assert.equal(answers(rig).length, 3);
});

test("several that may not be approved at once are only denied at once", () => {
  const rig = several({ bulk: false });
  assert.throws(() => rig.button("Approve these 3"));
  press(rig.button("Deny all…"));
  rig.page.pass(600);
  type(rig.one(".b-bulk input"), "not today");
  press(rig.button("Deny", rig.one(".b-bulk")));
  assert.deepEqual(
    answers(rig),
    Array(3).fill({ approved: false, reason: "not today" }),
  );
});

test("a marker that is left keeps all of them from being approved at once", () => {
  const rig = several({ args: [arg("body", LONG_BODY)] });
  const all = rig.button("Approve these 3");
  assert.equal(isOff(all), true);
  assert.equal(reason(rig, all), "Look at everything first.");
});

test("answered ones shrink to a line and the others are counted anew", () => {
  const rig = several();
  rig.kernel.frame([
    data("/b/t1b1/state", "settled"),
    data("/b/t1b1/end", "Denied: too long"),
  ]);
  rig.page.paint();
  assert.match(rig.words(), /publishDenied: too long/);
  assert.match(rig.words(), /2 calls wait\./);
  assert.ok(rig.button("Approve these 2"));
});
