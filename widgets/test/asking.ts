/** What the tests of forms share: a card that asks, and what was answered. */

import type { JsonRecord } from "../src/json.ts";
import { type Rig, open } from "./rig.ts";
import { WAITING, scene } from "./builders.ts";

export function asked(given: JsonRecord, wait = 600): Rig {
  const rig = open(scene({ head: WAITING, turns: [[["Approval", given]]] }));
  rig.page.pass(wait);
  return rig;
}

export function answers(rig: Rig): unknown[] {
  return rig.kernel.actions("answer").map((action) => action.context["answer"]);
}

export function isOff(button: Element): boolean {
  return button.getAttribute("aria-disabled") === "true";
}

export function reason(rig: Rig, button: Element): string {
  const id = button.getAttribute("aria-describedby");
  return id === null ? "" : (rig.one(`#${id}`).textContent ?? "");
}
