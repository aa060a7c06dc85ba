/** An error in its fixed shape: what happened, why, and what to do next. */

import type { Host } from "../block.ts";
import { el } from "../dom.ts";
import type { Fault } from "../shapes.ts";
import { say, withCode } from "../words.ts";
import { copyButton } from "./copy.ts";

export function errorView(fault: Fault, host: Host): HTMLElement {
  const { what, why, next, code } = fault;
  const title = code === "" ? what : say("error.code", { what, code });
  const node = el("div", { class: "b-note b-error", "data-role": "bad" });
  node.append(el("b", { dir: "auto" }, title));
  const rows = el("dl", "b-lines");
  if (why !== "") {
    rows.append(
      el("dt", null, say("error.why")),
      el("dd", { dir: "auto" }, ...withCode(why)),
    );
  }
  if (next !== "") {
    const copy = copyButton(host, say("error.do"), () => next.replaceAll("`", ""));
    const text = el("span", { dir: "auto" }, ...withCode(next));
    rows.append(el("dt", null, say("error.do")), el("dd", null, text, " ", copy.node));
  }
  if (rows.childElementCount > 0) node.append(rows);
  return node;
}
