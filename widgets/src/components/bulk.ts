/** What belongs to several open forms: how many wait, and answering them at once. */

import type { Host } from "../block.ts";
import { el, setKids, setText } from "../dom.ts";
import { PressButton } from "../press.ts";
import { say } from "../words.ts";
import type { OpenApproval } from "./approval.ts";
import { ReasonLine } from "./shell.ts";

export class Bulk {
  readonly head = el("div", { class: "b-bulk-head", role: "note" });
  readonly acts: HTMLElement;
  readonly #row: HTMLElement;
  readonly #approve: PressButton;
  readonly #denyAll: PressButton;
  readonly #line: ReasonLine;
  readonly #reason: HTMLElement;
  readonly #host: Host;
  #forms: readonly OpenApproval[] = [];
  #since = 0;

  constructor(host: Host) {
    this.#host = host;
    const since = () => this.#since;
    const button: ConstructorParameters<typeof PressButton>[2] = () =>
      this.#approveAll();
    this.#approve = new PressButton(host, "", button, { go: true, since });
    this.#denyAll = new PressButton(host, say("bulk.deny"), () => this.#denying(true), {
      since,
    });
    this.#reason = el("span", { class: "b-why", id: host.id() });
    const maker = {
      button: (text: string, pressed: () => void) =>
        new PressButton(host, text, pressed, { since }),
    };
    const words = { ask: say("bulk.why"), yes: say("deny.now"), id: host.id() };
    this.#line = new ReasonLine(maker, words, {
      yes: (reason) => this.#deny(reason),
      no: () => this.#denying(false),
    });
    this.#row = el(
      "div",
      "b-acts",
      this.#denyAll.node,
      this.#approve.node,
      this.#reason,
    );
    this.acts = el("div", "b-bulk", this.#line.node, this.#row);
  }

  /** Stand around these forms; with fewer than two there is nothing to say. */
  update(forms: readonly OpenApproval[]): void {
    const changed = forms.length !== this.#forms.length;
    for (const form of this.#forms) {
      if (!forms.includes(form)) this.#leave(form);
    }
    this.#forms = forms;
    if (changed) this.#since = this.#host.page.now();
    const first = forms[0];
    const last = forms.at(-1);
    if (!first || !last || forms.length < 2) {
      for (const form of forms) this.#leave(form);
      return;
    }
    setText(this.head, say("bulk.head", { n: forms.length }));
    for (const form of forms) {
      setKids(form.shell.lead, form === first ? [this.head] : []);
      setKids(form.shell.tail, form === last ? [this.acts] : []);
      form.shell.lead.hidden = form !== first;
      form.shell.tail.hidden = form !== last;
    }
    this.#refresh();
  }

  #leave(form: OpenApproval): void {
    form.shell.lead.hidden = true;
    form.shell.tail.hidden = true;
    setKids(form.shell.lead, []);
    setKids(form.shell.tail, []);
  }

  #refresh(): void {
    const forms = this.#forms;
    const open = forms.every((form) => form.shell.open);
    const offered = forms.every((form) => form.shell.form.bulk);
    this.#approve.node.hidden = !offered;
    this.#approve.text = say("bulk.approve", { n: forms.length });
    const refused = forms.map((form) => form.alone).find((why) => why !== null) ?? null;
    const words = offered ? (refused ?? "") : "";
    setText(this.#reason, words);
    this.#approve.off(!open || refused !== null, words === "" ? null : this.#reason.id);
    this.#denyAll.off(!open);
    this.#line.yes.off(!open);
  }

  #approveAll(): void {
    const forms = this.#forms;
    for (const form of forms) form.approvePlainly();
    this.#refresh();
  }

  #deny(reason: string): void {
    const forms = this.#forms;
    for (const form of forms) form.deny(reason);
    this.#refresh();
  }

  #denying(open: boolean): void {
    this.#line.node.hidden = !open;
    this.#row.hidden = open;
    this.#since = this.#host.page.now();
    const next = open ? this.#line.input : this.#denyAll.node;
    next.focus({ preventScroll: true });
  }
}
