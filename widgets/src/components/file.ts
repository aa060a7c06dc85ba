/** A file a run has made: its name and its kind. */

import type { Block, Read } from "../block.ts";
import { el, setKids } from "../dom.ts";
import { Reader } from "../json.ts";
import { drawn, segmented } from "../segments.ts";
import { say } from "../words.ts";

export class FileRow implements Block {
  readonly node = el("div", "b-row");

  update(read: Read): void {
    const entry = new Reader(read("value"), "File");
    const name = el("span", "b-name", ...drawn(segmented(entry.text("name"))));
    const mime = el("span", "b-end", entry.text("mime", ""));
    setKids(this.node, [el("span", null, say("file")), name, mime]);
  }
}
