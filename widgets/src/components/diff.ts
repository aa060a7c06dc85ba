/** Lines that went and came, told apart by sign and word as well as by colour. */

import { el } from "../dom.ts";
import { drawn, segmented } from "../segments.ts";
import type { DiffLine } from "../shapes.ts";

const TAGS = { "-": "del", "+": "ins", " ": "span" } as const;

export function diffView(lines: readonly DiffLine[]): HTMLElement {
  const rows = lines.map(({ op, text }) =>
    el(TAGS[op], "b-line", ...drawn(segmented(text))),
  );
  return el("pre", { class: "b-pre b-diff", dir: "ltr" }, ...rows);
}
