/** A form in the tree: open, or the one line that is left of it. */

import type { Block, Host, Read } from "../block.ts";
import { el, setKids } from "../dom.ts";
import { type Form, readForm } from "../forms.ts";
import { say } from "../words.ts";
import { type FormShell, settledLine } from "./shell.ts";

export interface OpenForm {
  readonly shell: FormShell;
}

export class FormBlock<T extends OpenForm> implements Block {
  readonly node = el("div", "b-block");
  readonly #host: Host;
  readonly #make: (form: Form) => T;
  #open: T | null = null;
  #alive = true;

  constructor(host: Host, make: (form: Form) => T) {
    this.#host = host;
    this.#make = make;
  }

  /** The form, while it is open. */
  get open(): T | null {
    return this.#open;
  }

  update(read: Read): void {
    const form = readForm(read("value"));
    if (form.settled) {
      this.dispose();
      setKids(this.node, [settledLine(form)]);
      return;
    }
    if (this.#open && sameAsk(this.#open.shell.form, form)) {
      this.#open.shell.renew(form);
      return;
    }
    this.dispose();
    this.#open = this.#make(form);
    this.#open.shell.enable(this.#alive);
    setKids(this.node, [this.#open.shell.node]);
    this.#host.announce(say("say.form", { agent: form.agent, tool: form.tool }));
  }

  enable(alive: boolean): void {
    this.#alive = alive;
    this.#open?.shell.enable(alive);
  }

  dispose(): void {
    this.#open?.shell.dispose();
    this.#open = null;
  }
}

/** Whether what is shown is still what is asked; then only the nonce is new. */
function sameAsk(one: Form, other: Form): boolean {
  return one.checkpoint === other.checkpoint && one.shown === other.shown;
}
