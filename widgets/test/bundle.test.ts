import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import type { Json, JsonRecord } from "../src/json.ts";
import "./rig.ts";
import { SCENES } from "./scenes.ts";

const BUNDLE = join("build", "bundle", "widget.js");
const LARGEST = 170_000;
execFileSync(process.execPath, ["bundle.mjs", BUNDLE]);
const bundle = readFileSync(BUNDLE, "utf8");
const code = bundle.replace(/\/\*![\s\S]*?\*\//g, "");

test("the bundle knows no address", () => {
  assert.deepEqual(code.match(/https?:\/\/[\w.[]+/g) ?? [], []);
});

test("the bundle parses no markup, evaluates no text and asks nobody for anything", () => {
  const words = [
    "innerHTML",
    "outerHTML",
    "insertAdjacentHTML",
    "document.write",
    "DOMParser",
    "srcdoc",
    "eval(",
    "Function(",
    "fetch(",
    "XMLHttpRequest",
    "WebSocket",
    "EventSource",
    "sendBeacon",
    "importScripts",
    "new Image",
    "import(",
    "customElements",
    "localStorage",
    "sessionStorage",
    ".cookie",
    "postMessage",
  ];
  for (const word of words) assert.equal(code.includes(word), false, word);
});

test("the sources use none of it either, and no any", () => {
  for (const name of readdirSync("src", { recursive: true, encoding: "utf8" })) {
    if (!name.endsWith(".ts")) continue;
    const source = readFileSync(join("src", name), "utf8");
    assert.doesNotMatch(
      source,
      /innerHTML|outerHTML|insertAdjacentHTML|\beval\(|: any\b|as any\b|<any>/,
      name,
    );
    assert.ok(source.split("\n").length <= 400, `${name} is too long`);
  }
});

test("the bundle is small, and says whose lexer is in it", () => {
  assert.ok(bundle.length < LARGEST, `${bundle.length} bytes`);
  assert.match(bundle, /MarkedJS[\s\S]*Permission is hereby granted/);
});

test("evaluated twice it is one widget with one listener for keys", async () => {
  let listeners = 0;
  const add = window.addEventListener.bind(window);
  window.addEventListener = (...given: Parameters<typeof add>) => {
    if (given[0] === "keydown") listeners += 1;
    add(...given);
  };
  const frames = {
    requestAnimationFrame: queueMicrotask,
    cancelAnimationFrame: () => undefined,
  };
  Object.assign(globalThis, { ResizeObserver: Observer, ...frames });
  Object.assign(window, {
    matchMedia: () => ({
      matches: false,
      addEventListener: () => 0,
      removeEventListener: () => 0,
    }),
  });
  const url = pathToFileURL(BUNDLE).href;
  const [one, two] = [await import(url), await import(`${url}?again`)];
  assert.equal(one.default, two.default);
  assert.equal(listeners, 1);
  const model = new Model();
  const el = document.createElement("div");
  document.body.append(el);
  const dispose = one.default.render({ model, el });
  model.tell({ t: "snapshot", seq: 0, messages: SCENES["finished"] ?? [] });
  await Promise.resolve();
  assert.match(
    el.firstElementChild?.shadowRoot?.textContent ?? "",
    /What the data say/,
  );
  dispose();
  assert.equal(el.childElementCount, 0);
  assert.equal(model.sent.at(-1)?.["t"], "bye");
  assert.equal(model.heard.size, 0);
});

test("a last word of a kernel that was restarted is not taken for the new one", async () => {
  const { default: widget } = await import(pathToFileURL(BUNDLE).href);
  const told: ((sender: unknown, status: unknown) => void)[] = [];
  const status = (now: string) => told.forEach((call) => call(null, now));
  const signal = {
    connect: (call: (typeof told)[number]) => told.push(call),
    disconnect: () => told.pop(),
  };
  const kernel = { statusChanged: signal };
  const model = Object.assign(new Model(), { widget_manager: { kernel } });
  const el = document.createElement("div");
  document.body.append(el);
  const dispose = widget.render({ model, el });
  const messages = SCENES["finished"] ?? [];
  model.tell({ t: "snapshot", seq: 0, messages });
  const asked = () => model.sent.filter((message) => message["t"] === "hello").length;
  const before = asked();
  status("restarting");
  status("idle");
  assert.equal(asked(), before);
  status("restarting");
  model.tell({ t: "frame", seq: 1, messages: [], append: [] });
  status("starting");
  status("idle");
  assert.equal(asked(), before + 1);
  status("busy");
  status("idle");
  assert.equal(asked(), before + 1);
  dispose();
});

class Observer {
  observe(): void {
    return;
  }

  disconnect(): void {
    return;
  }
}

class Model {
  readonly sent: JsonRecord[] = [];
  readonly heard = new Map<string, (message: Json) => void>();

  send(message: JsonRecord): void {
    this.sent.push(message);
  }

  on(name: string, call: (message: Json) => void): void {
    this.heard.set(name, call);
  }

  off(name: string): void {
    this.heard.delete(name);
  }

  tell(message: JsonRecord): void {
    this.heard.get("msg:custom")?.(message);
  }
}
