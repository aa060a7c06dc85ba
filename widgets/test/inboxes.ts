/** An inbox as the kernel tells it. */

import type { Json, JsonRecord } from "../src/json.ts";
import { arg, form } from "./builders.ts";

export const ROW: JsonRecord = {
  run: "publisher-2",
  agent: "publisher",
  tool: "publish",
  kind: "approval",
  ask: "publish",
  preview: 'title="Rye"',
  session: "",
  cost: "cost unknown",
  age_ms: 720_000,
  state: "open",
  here: false,
  end: null,
  word: null,
  role: "wait",
  asked: "Publish the rye post.",
  did: "model, draft, model",
  said: "The post is ready.",
  note: null,
  unfolded: false,
};

export const ROWS: Record<string, JsonRecord> = {
  q_1: { ...ROW, unfolded: true },
  q_2: { ...ROW, run: "cleaner-7", agent: "cleaner", tool: "delete", ask: "delete" },
  r_3: {
    ...ROW,
    run: "baker-1",
    agent: "baker",
    tool: "",
    ask: "",
    preview: "",
    kind: "interrupted",
    note: "The kernel ended while this run worked.",
    unfolded: true,
  },
};

export function inbox(rows: Record<string, JsonRecord> = ROWS): Json[] {
  const asked = form({ args: [arg("title", "Rye")] });
  const components: Json[] = [
    {
      id: "root",
      component: "Inbox",
      head: { path: "/head" },
      children: Object.keys(rows),
    },
    ...Object.keys(rows).map((id) => ({
      id,
      component: "InboxRow",
      value: { path: `/rows/${id}` },
      children: id === "q_1" ? ["f_q_1"] : [],
    })),
    { id: "f_q_1", component: "Approval", value: { path: "/b/f_q_1" } },
  ];
  const head = { title: "2 calls wait, 1 run was interrupted", more: "" };
  return [
    { version: "v0.9", createSurface: { surfaceId: "inbox_1", catalogId: "urn:x" } },
    { version: "v0.9", updateComponents: { surfaceId: "inbox_1", components } },
    {
      version: "v0.9",
      updateDataModel: {
        surfaceId: "inbox_1",
        value: { head, rows, b: { f_q_1: asked } },
      },
    },
  ];
}
