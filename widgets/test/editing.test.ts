import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonRecord } from "../src/json.ts";
import { answers, asked, isOff, reason } from "./asking.ts";
import { arg, field, form } from "./builders.ts";
import { type Rig, press, shown, type } from "./rig.ts";
import { EDITABLE, PUBLISH } from "./scenes.ts";

function editing(given = EDITABLE): Rig {
  const rig = asked(given);
  press(rig.button("Edit arguments"));
  rig.page.pass(600);
  return rig;
}

function control(rig: Rig, key: string): HTMLElement {
  const label = rig
    .all("label.b-key")
    .find((node) => node.textContent.startsWith(`${key} `));
  return rig.one(`#${label?.getAttribute("for")}`);
}

test("an edit shows its difference, and only then approves with changes", () => {
  const rig = editing();
  assert.match(rig.words(), /Nothing is changed yet\./);
  assert.ok(rig.button("Approve"));
  type(control(rig, "title"), "Rye for complete beginners");
  assert.match(rig.words(), /Changed from what the agent asked for \(1\)/);
  assert.deepEqual(
    rig.all(".b-diff .b-line").map((line) => `${line.tagName} ${line.textContent}`),
    ["DEL title: Rye for beginners", "INS title: Rye for complete beginners"],
  );
  press(rig.button("Approve with changes"));
  assert.deepEqual(answers(rig), [
    {
      approved: true,
      args: {
        title: "Rye for complete beginners",
        mood: "plain",
        retries: 2,
        tags: ["rye", "bread"],
        to: { name: "Ada", copies: 1 },
      },
    },
  ]);
});

test("a value that cannot be read is not called unchanged", () => {
  const rig = editing();
  type(control(rig, "retries"), "abc");
  assert.doesNotMatch(rig.words(), /Nothing is changed yet\./);
  assert.match(rig.words(), /1 value needs mending: retries/);
});

test("a long line is edited in an area that shows all of it", () => {
  const body = "Rye ".repeat(33).trim();
  const fields = [field("body", "text", { value: body, hint: "text" })];
  const rig = editing(form({ args: [arg("body", body)], fields }));
  const area = control(rig, "body") as HTMLTextAreaElement;
  assert.equal(area.tagName, "TEXTAREA");
  assert.ok(area.rows >= 3);
  assert.equal(area.value, body);
});

test("an edit that changes nothing approves as it was asked", () => {
  const rig = editing();
  type(control(rig, "title"), "x");
  type(control(rig, "title"), "Rye for beginners");
  press(rig.button("Approve"));
  assert.deepEqual(answers(rig), [{ approved: true }]);
});

test("Undo my changes brings back what the agent asked for", () => {
  const rig = editing();
  type(control(rig, "title"), "x");
  press(rig.button("Undo my changes"));
  assert.match(rig.words(), /Nothing is changed yet\./);
  assert.equal((control(rig, "title") as HTMLInputElement).value, "Rye for beginners");
});

test("a mode that changed is inert, so a double press on Edit approves nothing", () => {
  const rig = asked(EDITABLE);
  press(rig.button("Edit arguments"));
  press(rig.button("Approve"));
  assert.deepEqual(answers(rig), []);
});

test("a value that needs mending keeps Approve off and says where", () => {
  const rig = editing();
  const retries = control(rig, "retries");
  type(retries, "9");
  assert.doesNotMatch(rig.words(), /Must be 5 or less/);
  retries.dispatchEvent(new Event("focusout", { bubbles: true }));
  assert.match(rig.words(), /Must be 5 or less\./);
  assert.equal(retries.getAttribute("aria-invalid"), "true");
  const go = rig.button("Approve");
  assert.equal(isOff(go), true);
  assert.equal(reason(rig, go), "1 value needs mending: retries");
  type(retries, "four");
  assert.match(rig.words(), /This is not a whole number\./);
  type(retries, "4");
  assert.doesNotMatch(rig.words(), /not a whole number/);
  assert.equal(isOff(rig.button("Approve with changes")), false);
});

test("what Python finds wrong stands at its field", () => {
  const rig = editing();
  type(control(rig, "title"), "x");
  press(rig.button("Approve with changes"));
  rig.kernel.ack();
  rig.kernel.result(false, "2 values need mending.", [
    { path: "/title", text: "Too short." },
    { path: "/nowhere", text: "Not known." },
  ]);
  assert.match(
    rig.one(`#${control(rig, "title").getAttribute("aria-describedby")}`).textContent ??
      "",
    /Too short\./,
  );
  assert.match(
    shown(rig.one(".b-said")),
    /2 values need mending\.\nnowhere: Not known\./,
  );
});

test("a secret is kept unless it is typed anew, and never shown", () => {
  const rig = editing();
  const token = control(rig, "token") as HTMLInputElement;
  assert.deepEqual(
    [token.type, token.value, token.placeholder],
    ["password", "", "kept as it is; type to replace"],
  );
  type(token, "fresh");
  press(rig.button("Approve with changes"));
  const [answer] = answers(rig) as { args: JsonRecord }[];
  assert.equal(answer?.args["token"], "fresh");
});

test("a list grows, shrinks and is reordered", () => {
  const rig = editing();
  const rows = () =>
    rig.all(".b-items input").map((node) => (node as HTMLInputElement).value);
  press(rig.button("Add"));
  assert.deepEqual(rows(), ["rye", "bread", ""]);
  type(rig.all(".b-items input")[2] as Element, "oven");
  press(
    rig
      .all("button")
      .find((node) => node.getAttribute("aria-label") === "Move tags 3 up") as Element,
  );
  assert.deepEqual(rows(), ["rye", "oven", "bread"]);
  press(
    rig
      .all("button")
      .find((node) => node.getAttribute("aria-label") === "Remove tags 1") as Element,
  );
  assert.deepEqual(rows(), ["oven", "bread"]);
  press(rig.button("Approve with changes"));
  const [answer] = answers(rig) as { args: JsonRecord }[];
  assert.deepEqual(answer?.args["tags"], ["oven", "bread"]);
});

test("everything can be edited as JSON, and back", () => {
  const rig = editing();
  press(rig.button("Edit as JSON"));
  const area = rig.one("textarea.b-json") as HTMLTextAreaElement;
  assert.deepEqual(JSON.parse(area.value)["tags"], ["rye", "bread"]);
  type(area, "{");
  assert.match(rig.words(), /This is not JSON:/);
  assert.equal(isOff(rig.button("Approve")), true);
  type(area, "[]");
  assert.match(rig.words(), /This must be a JSON object, in braces\./);
  type(area, '{"title": "New", "mood": "solemn", "retries": 1, "extra": 1}');
  assert.ok(rig.button("Approve with changes"));
  press(rig.button("Edit as fields"));
  assert.equal((control(rig, "title") as HTMLInputElement).value, "New");
  press(rig.button("Approve with changes"));
  const [answer] = answers(rig) as { args: JsonRecord }[];
  assert.deepEqual(answer?.args, {
    title: "New",
    mood: "solemn",
    retries: 1,
    extra: 1,
  });
});

test("an argument without a field is named before it is left out", () => {
  const rig = editing(
    form({ args: [arg("title", "x"), arg("loose", "y", { flag: "unknown" })] }),
  );
  assert.match(rig.words(), /left out of an edited call: loose/);
});

test("a text with invisible characters shows them while it is edited", () => {
  const rig = editing(PUBLISH);
  const shownNow = rig.all(".b-shown .b-esc").map((node) => node.textContent);
  assert.deepEqual(shownNow, ["U+202E"]);
});

test("text of several lines is never squeezed into one", () => {
  const rig = editing(PUBLISH);
  assert.equal(control(rig, "body").tagName, "TEXTAREA");
});

test("markers keep Approve off in edit mode too", () => {
  const rig = editing(PUBLISH);
  type(control(rig, "title"), "x");
  assert.equal(
    reason(rig, rig.button("Approve with changes")),
    "Look at all of body first.",
  );
});
