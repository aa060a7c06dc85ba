/** A page with one card for each scene, and a stand-in for the kernel behind them. */

import widget from "../src/index.ts";
import type { Json, JsonRecord } from "../src/json.ts";
import { inbox } from "./inboxes.ts";
import { SCENES as RUNS } from "./scenes.ts";

type Hear = (message: Json) => void;

const SCENES: Record<string, Json[]> = { ...RUNS, inbox: inbox() };

class Kernel {
  readonly sent: JsonRecord[] = [];
  #hear: Hear[] = [];
  #seq = 0;
  silent = false;

  constructor(readonly messages: Json[]) {}

  send(message: JsonRecord): void {
    this.sent.push(message);
    if (this.silent) return;
    if (message["t"] === "hello")
      this.tell({ t: "snapshot", seq: this.#seq, messages: this.messages });
    if (message["t"] === "action") this.tell({ t: "ack", id: message["id"] ?? "" });
  }

  tell(message: JsonRecord): void {
    setTimeout(() => {
      for (const hear of this.#hear) hear(message);
    });
  }

  frame(messages: Json[], append: Json[] = []): void {
    this.#seq += 1;
    this.tell({ t: "frame", seq: this.#seq, messages, append });
  }

  on(name: string, hear: Hear): void {
    if (name === "msg:custom") this.#hear.push(hear);
  }

  off(): void {
    this.#hear = [];
  }
}

const wanted = new URLSearchParams(location.search);
if (wanted.get("theme") === "dark") document.body.dataset["jpThemeLight"] = "false";
if (wanted.get("theme") === "none") delete document.body.dataset["jpThemeLight"];
if (wanted.get("dir")) document.documentElement.dir = wanted.get("dir") ?? "";
const names = wanted.get("scene")?.split(",") ?? Object.keys(SCENES);
const kernels: Record<string, Kernel> = {};
for (const name of names) {
  const label = document.createElement("p");
  label.className = "shot";
  label.textContent = name;
  const el = document.createElement("div");
  el.id = name;
  document.body.append(label, el);
  const kernel = new Kernel(SCENES[name] ?? []);
  kernel.silent = wanted.get("dead") === "1";
  kernels[name] = kernel;
  widget.render({ model: kernel, el });
}
Object.assign(window, { kernels });
