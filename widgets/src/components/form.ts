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
    const known = this.#open?.shell.form.checkpoint === form.checkpoint;
    this.dispose();
    this.#open = this.#make(form);
    this.#open.shell.enable(this.#alive);
    setKids(this.node, [this.#open.shell.node]);
    if (!known)
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

/** Whether everything that is shown is the same; then only the nonce may be new. */
function sameAsk(one: Form, other: Form): boolean {
  return told(one) === told(other);
}

function told(form: Form): string {
  return JSON.stringify({ ...form, nonce: "", of: 0, bulk: false });
}
