/**
 * The anywidget module: a card for each view of a run.
 *
 * The notebook evaluates this file once a model. The first evaluation of a version
 * keeps what it made on the page, so there is one keydown guard and one of everything.
 */

import { version } from "../package.json";
import { guard, installGuard } from "./keys.ts";
import type { Wire } from "./channel.ts";
import { type Json, type JsonRecord } from "./json.ts";
import { browserPage } from "./page.ts";
import style from "./style.css";
import { followTheme } from "./theme.ts";
import { View } from "./view.ts";

interface Signal {
  connect(slot: (sender: unknown, status: unknown) => void): void;
  disconnect(slot: (sender: unknown, status: unknown) => void): void;
}

/** What some notebooks let a widget reach; none of it is promised. */
interface Kernel {
  interrupt?: () => unknown;
  statusChanged?: Signal;
}

interface Model {
  send(content: JsonRecord): void;
  on(name: string, call: (content: Json) => void): void;
  off(name: string, call: (content: Json) => void): void;
  widget_manager?: { kernel?: Kernel | null } | null;
}

interface Widget {
  render(context: { model: Model; el: HTMLElement }): () => void;
}

const GONE: readonly unknown[] = [
  "restarting",
  "autorestarting",
  "terminating",
  "dead",
];

function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  const host = document.createElement("div");
  el.append(host);
  const shadow = host.attachShadow({ mode: "open" });
  const sheet = document.createElement("style");
  sheet.textContent = style;
  const view = new View({
    page: browserPage(),
    wire: wireOf(model),
    interrupt: () => interrupt(model),
    leave: () => leave(host),
  });
  shadow.append(sheet, view.card.node);
  guard(host, view);
  const still = followTheme(view.card.node, window);
  const unwatch = watchKernel(model, view);
  return () => {
    still();
    unwatch();
    view.dispose();
    host.remove();
  };
}

function wireOf(model: Model): Wire {
  return {
    send: (message) => model.send(message),
    hear(call) {
      model.on("msg:custom", call);
      return () => model.off("msg:custom", call);
    },
  };
}

function interrupt(model: Model): boolean {
  const kernel = model.widget_manager?.kernel;
  if (typeof kernel?.interrupt !== "function") return false;
  void Promise.resolve(kernel.interrupt()).catch((error: unknown) => {
    console.warn("bread_nb:", error);
  });
  return true;
}

/** Notice that the kernel restarts or that the channel to it is cut. */
function watchKernel(model: Model, view: View): () => void {
  const doubt = () => view.doubt();
  let gone = false;
  const status = (_sender: unknown, now: unknown) => {
    if (GONE.includes(now)) view.gone();
    else if (gone && now === "idle") view.replaced();
    gone = GONE.includes(now) || (gone && now !== "idle");
  };
  const signal = model.widget_manager?.kernel?.statusChanged;
  model.on("comm_live_update", doubt);
  signal?.connect(status);
  return () => {
    model.off("comm_live_update", doubt);
    signal?.disconnect(status);
  };
}

/** Put focus on the cell around a card, or take it away where there are no cells. */
function leave(host: HTMLElement): void {
  const cell = host.closest<HTMLElement>(".jp-Cell, .cell");
  for (const node of [cell, cell?.closest<HTMLElement>(".jp-Notebook")]) {
    node?.focus({ preventScroll: true });
    if (node && document.activeElement === node) return;
  }
  if (document.activeElement === host)
    host.shadowRoot?.querySelector<HTMLElement>(":focus")?.blur();
}

function makeWidget(): Widget {
  installGuard(window);
  return { render };
}

const key = Symbol.for(`bread_nb.widget.${version}`);
const page = globalThis as typeof globalThis & { [key]?: Widget };
const widget = (page[key] ??= makeWidget());

export default widget;
