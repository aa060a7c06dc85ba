/** A file a run has made: its name, its kind, and a copy of it on request. */

import type { Block, Host, Read } from "../block.ts";
import { el, setKids } from "../dom.ts";
import { type Json, Reader, isRecord } from "../json.ts";
import { PressButton } from "../press.ts";
import { drawn, segmented } from "../segments.ts";
import { say } from "../words.ts";

export class FileRow implements Block {
  readonly node = el("div", "b-row");
  readonly #host: Host;
  readonly #save: PressButton;
  #uri = "";

  constructor(host: Host) {
    this.#host = host;
    this.#save = new PressButton(host, say("file.save"), () => this.#fetch(), {
      link: true,
    });
  }

  update(read: Read): void {
    const entry = new Reader(read("value"), "File");
    this.#uri = entry.text("uri", "");
    const name = el("span", "b-name", ...drawn(segmented(entry.text("name"))));
    const mime = el("span", "b-end", entry.text("mime", ""));
    const parts = [el("span", null, say("file")), name, mime, this.#save.node];
    setKids(this.node, parts);
  }

  enable(alive: boolean): void {
    this.#save.off(!alive);
  }

  #fetch(): void {
    this.#save.off(true);
    this.#host.hand("file", { uri: this.#uri }, (data) => {
      this.#save.off(false);
      this.#keep(data);
    });
  }

  #keep(data: Json): void {
    if (!isRecord(data)) return;
    const file = new Reader(data, "File");
    const { page } = this.#host;
    page.save(file.text("name", "file"), file.text("mime", ""), file.text("base64", ""));
  }
}
