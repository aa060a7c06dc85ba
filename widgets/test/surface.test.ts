import assert from "node:assert/strict";
import { test } from "node:test";
import type { Json } from "../src/json.ts";
import { SURFACE, call, data, scene, text } from "./builders.ts";
import { open } from "./rig.ts";
import { SCENES } from "./scenes.ts";

function tree(components: Json[], value: Json = {}): Json[] {
  return [
    { version: "v0.9", createSurface: { surfaceId: SURFACE, catalogId: "x" } },
    { version: "v0.9", updateComponents: { surfaceId: SURFACE, components } },
    { version: "v0.9", updateDataModel: { surfaceId: SURFACE, value } },
  ];
}

const ROOT = { id: "root", component: "RunCard", head: { path: "/head" } };
const TOP = { head: { agent: "analyst", word: "Writing", state: "writing" } };

for (const [name, messages] of Object.entries(SCENES)) {
  test(`the scene ${name} is drawn`, () => {
    const rig = open(messages);
    assert.ok(rig.words().length > 20);
    assert.ok(rig.all("*").length < 3000);
  });
}

test("an avatar that is its own child is drawn as a placeholder", () => {
  const rig = open(
    tree(
      [
        { ...ROOT, children: ["avatar"] },
        { id: "avatar", component: "Turn", children: ["avatar"] },
      ],
      TOP,
    ),
  );
  assert.match(rig.words(), /go in a circle, at root \/ avatar \/ avatar\./);
});

test("two components that hold each other are drawn as a placeholder", () => {
  const rig = open(
    tree(
      [
        { ...ROOT, children: ["a"] },
        { id: "a", component: "Turn", children: ["b"] },
        { id: "b", component: "Turn", children: ["a"] },
      ],
      TOP,
    ),
  );
  assert.match(rig.words(), /circle, at root \/ a \/ b \/ a\./);
});

test("a missing child is named with its path, and what stands beside it is drawn", () => {
  const rig = open(
    tree(
      [
        { ...ROOT, children: ["nope", "t"] },
        { id: "t", component: "Markdown", value: { text: "Still here", done: true } },
      ],
      TOP,
    ),
  );
  assert.match(rig.words(), /no component called nope, at root \/ nope\./);
  assert.match(rig.words(), /Still here/);
});

test("a tree without a root says so, and a later root is drawn", () => {
  const rig = open(tree([{ id: "a", component: "Turn" }], TOP));
  assert.match(rig.words(), /sent no root component/);
  rig.kernel.frame([
    { version: "v0.9", updateComponents: { surfaceId: SURFACE, components: [ROOT] } },
  ]);
  rig.page.paint();
  assert.doesNotMatch(rig.words(), /no root/);
  assert.match(rig.words(), /analyst/);
});

test("five thousand levels end at fifty", () => {
  const deep = Array.from({ length: 900 }, (_, at) => ({
    id: `c${at}`,
    component: "Turn",
    children: [`c${at + 1}`],
  }));
  const rig = open(tree([{ ...ROOT, children: ["c0"] }, ...deep], TOP));
  for (let from = 900; from < 5000; from += 900) {
    const components = Array.from({ length: 900 }, (_, at) => ({
      id: `c${from + at}`,
      component: "Turn",
      children: [`c${from + at + 1}`],
    }));
    rig.kernel.frame([
      { version: "v0.9", updateComponents: { surfaceId: SURFACE, components } },
    ]);
  }
  rig.page.paint();
  assert.match(rig.words(), /nested over 50 levels deep, at root \/ c0/);
});

test("a child in two places is drawn once", () => {
  const rig = open(
    tree(
      [
        { ...ROOT, children: ["t", "t"] },
        { id: "t", component: "Markdown", value: { text: "once", done: true } },
      ],
      TOP,
    ),
  );
  assert.equal(rig.words().match(/once/g)?.length, 1);
  assert.match(rig.words(), /t stands in two places/);
});

test("more than a thousand components in one message are not drawn", () => {
  const many = Array.from({ length: 1200 }, (_, at) => ({
    id: `c${at}`,
    component: "Turn",
  }));
  const rig = open(tree([{ ...ROOT, children: ["c5"] }, ...many], TOP));
  assert.match(
    rig.words(),
    /One message held 1,201 components; at most 1,000 are drawn\./,
  );
});

test("an unknown component is called unsupported and later frames are drawn", () => {
  const rig = open(
    scene({ turns: [[["Sparkline9", { value: [1, 2] }], text("after")]] }),
  );
  assert.match(rig.words(), /unsupported: Sparkline9/);
  rig.kernel.frame([data("/b/t1b2/text", "later")]);
  rig.page.paint();
  assert.match(rig.words(), /later/);
});

test("a component list that holds a number shows it as unsupported", () => {
  const rig = open(tree([5, { ...ROOT, children: [7] }], TOP));
  assert.match(rig.words(), /unsupported: number/);
  assert.match(rig.words(), /A component name was expected, at root \/ number\./);
});

test("an entry of the wrong type shows its component as unsupported until it is right", () => {
  const rig = open(scene({ turns: [[text("fine"), call("plot")]] }));
  rig.kernel.frame([data("/b/t1b1", 5), data("/b/t1b2", { tool: 7 })]);
  rig.page.paint();
  assert.match(rig.words(), /unsupported: Markdown/);
  assert.match(rig.words(), /unsupported: ToolCall/);
  rig.kernel.frame([data("/b/t1b1", { text: "right again", done: true })]);
  rig.page.paint();
  assert.match(rig.words(), /right again/);
  assert.doesNotMatch(rig.words(), /unsupported: Markdown/);
});

test("junk in place of messages changes nothing", () => {
  const rig = open(SCENES["streaming"]);
  const before = rig.words();
  for (const junk of [
    5,
    null,
    "x",
    [],
    {},
    { t: "frame" },
    { t: "snapshot9" },
    { t: "ack", id: 5 },
  ]) {
    rig.kernel.tell(junk as Json);
  }
  rig.kernel.frame(
    [7, null, { updateComponents: 5 }, { updateDataModel: [] }],
    [5, ["/x"], [1, 2]],
  );
  rig.page.paint();
  assert.equal(rig.words(), before);
});

test("frames lead to the same card as a snapshot of the end", () => {
  const end = scene({
    turns: [[text("One."), call("plot", { word: "done" })], [text("Two.")]],
  });
  const grown = open(scene({ turns: [[text("One.", { done: false })]] }));
  grown.kernel.frame(end);
  grown.page.paint();
  assert.equal(grown.words(), open(end).words());
});
