/** What can be taken along from a card: crumbs, the call as Python, a file. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { FINISHED, scene, text } from "./builders.ts";
import { open, press } from "./rig.ts";

const ENDED = scene({
  head: FINISHED,
  turns: [
    [["File", { name: "plot.png", mime: "image/png", uri: "blob:1" }], text("Rye.")],
  ],
});

test("Open crumbs shows what the kernel tells, as plain text, and closes again", () => {
  const rig = open(ENDED);
  press(rig.button("Open crumbs"));
  rig.kernel.ack();
  rig.kernel.result(true, null, [], " 1  agent:run:start  <b>Rye</b>");
  const crumbs = rig.one(".b-crumbs");
  assert.equal(crumbs.hidden, false);
  assert.equal(crumbs.textContent, " 1  agent:run:start  <b>Rye</b>");
  press(rig.button("Close crumbs"));
  assert.equal(crumbs.hidden, true);
});

test("More… unfolds what is rarely wanted, and copies it", async () => {
  const rig = open(ENDED);
  assert.throws(() => rig.button("Copy as Python"));
  press(rig.button("More…"));
  assert.equal(rig.button("More…").getAttribute("aria-expanded"), "true");
  press(rig.button("Copy as Python"));
  rig.kernel.ack();
  rig.kernel.result(true, null, [], "await Bread.load().run('writer', 'Rye')");
  await Promise.resolve();
  assert.deepEqual(rig.page.copied, ["await Bread.load().run('writer', 'Rye')"]);
});

test("a file is saved as the kernel hands it out, under its own name", () => {
  const rig = open(ENDED);
  press(rig.button("Save a copy"));
  assert.deepEqual(rig.kernel.actions("file")[0]?.context, { uri: "blob:1" });
  rig.kernel.ack();
  const file = { name: "plot.png", mime: "image/png", base64: "cnll" };
  rig.kernel.result(true, null, [], file);
  assert.deepEqual(rig.page.saved, [["plot.png", "image/png", "cnll"]]);
});

test("a file that is gone saves nothing and says so", () => {
  const rig = open(ENDED);
  press(rig.button("Save a copy"));
  rig.kernel.ack();
  rig.kernel.result(false, "The file is not kept here.");
  assert.deepEqual(rig.page.saved, []);
  assert.match(rig.words(), /The file is not kept here\./);
});

test("without a kernel only what is in the page can be taken along", () => {
  const rig = open(ENDED);
  rig.view.gone();
  for (const words of ["Open crumbs", "More…", "Save a copy"]) {
    assert.equal(rig.button(words).getAttribute("aria-disabled"), "true", words);
  }
  assert.equal(rig.button("Copy answer").getAttribute("aria-disabled"), null);
});
