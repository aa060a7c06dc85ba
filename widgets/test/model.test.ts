import assert from "node:assert/strict";
import { test } from "node:test";
import { DataModel as Official } from "@a2ui/web_core/v0_9";
import { type Json } from "../src/json.ts";
import { DataModel } from "../src/model.ts";

test("a value set at a pointer is read there and above it", () => {
  const model = new DataModel();
  model.set("/b/t1b1", { text: "Rye" });
  assert.equal(model.get("/b/t1b1/text"), "Rye");
  assert.deepEqual(model.get("/"), { b: { t1b1: { text: "Rye" } } });
});

test("escaped pointers reach keys with slashes and tildes", () => {
  const model = new DataModel();
  model.set("/a~1b/c~0d", 1);
  assert.deepEqual(model.get(""), { "a/b": { "c~d": 1 } });
});

test("setting without a value deletes, and deleting what is not there does nothing", () => {
  const model = new DataModel();
  model.set("/a", { b: 1, c: 2 });
  model.set("/a/b", undefined);
  model.set("/x/y", undefined);
  assert.deepEqual(model.get("/"), { a: { c: 2 } });
});

test("appended texts add up to the snapshot that holds them whole", () => {
  const grown = new DataModel();
  const whole = new DataModel();
  grown.set("/b/t1", { text: "", done: false });
  let text = "";
  for (let at = 0; at < 500; at += 1) {
    grown.append("/b/t1/text", `${at} `);
    text += `${at} `;
  }
  whole.set("/", { b: { t1: { text, done: false } } });
  assert.deepEqual(grown.get("/"), whole.get("/"));
});

test("text is appended to nothing but text", () => {
  const model = new DataModel();
  model.set("/n", 5);
  model.append("/n", "x");
  model.append("/fresh/text", "x");
  assert.deepEqual(model.get("/"), { n: 5, fresh: { text: "x" } });
});

test("a message stays as it was when the model changes", () => {
  const message = { text: "Rye" };
  const model = new DataModel();
  model.set("/b", message);
  model.append("/b/text", " bread");
  assert.deepEqual(message, { text: "Rye" });
});

test("prototypes are out of reach", () => {
  const model = new DataModel();
  model.set("/__proto__/polluted", true);
  model.set("/a/constructor/prototype/polluted", true);
  assert.equal(Object.hasOwn(Object.prototype, "polluted"), false);
  assert.equal(model.get("/a/toString"), undefined);
});

test("it agrees with the official data model", () => {
  const steps: [string, Json][] = [
    ["/a/0/b", 1],
    ["/a/2", 5],
    ["/a/1", { c: [] }],
    ["/a/1/c/0", "x"],
    ["/d", null],
    ["/d/e", { f: true }],
    ["/a/0/b", "again"],
  ];
  const ours = new DataModel();
  const theirs = new Official();
  for (const [path, value] of steps) {
    ours.set(path, value);
    theirs.set(path, structuredClone(value));
    assert.deepEqual(ours.get("/"), JSON.parse(JSON.stringify(theirs.get("/"))));
  }
});

test("only what lies on the path of a change is touched", () => {
  const model = new DataModel();
  model.settle();
  model.append("/b/t1/text", "x");
  assert.deepEqual(
    ["/b/t1", "/b/t1/text", "/b", "/", "/b/t2", "/head"].map((path) =>
      model.touched(path),
    ),
    [true, true, true, true, false, false],
  );
});
