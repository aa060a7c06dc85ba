/** Whether to ask next time: always, unless a person unfolds the rest and chooses. */

import type { Host } from "../block.ts";
import { el } from "../dom.ts";
import type { Form } from "../forms.ts";
import { say, withCode } from "../words.ts";
import { Fold } from "./fold.ts";

export class RememberChoice {
  readonly node: HTMLElement;
  readonly #radios = new Map<HTMLInputElement, string>();

  constructor(form: Form, host: Host) {
    const label = say("form.remember.label");
    this.node = el("div", { class: "b-next", role: "radiogroup", "aria-label": label });
    if (form.remember.length > 0) this.#choices(form, host.id());
    if (form.rememberNote !== null) {
      this.node.append(el("div", "b-cap", ...withCode(form.rememberNote)));
    }
    this.node.hidden = this.node.childElementCount === 0;
  }

  /** The scope of the rule to add; null is to ask again. */
  get scope(): string | null {
    for (const [radio, scope] of this.#radios) if (radio.checked) return scope;
    return null;
  }

  #choices(form: Form, name: string): void {
    const again = el("input", { type: "radio", name });
    again.checked = true;
    const words = el("span", null, say("form.remember.not"));
    const fold = new Fold();
    fold.filled = true;
    fold.head.append(el("span", null, say("form.remember")));
    for (const choice of form.remember) {
      const radio = el("input", { type: "radio", name });
      this.#radios.set(radio, choice.scope);
      const text = el("span", null, ...withCode(choice.text));
      fold.body.append(el("label", null, radio, text));
    }
    // A rule that will be added is never out of sight.
    fold.node.addEventListener("toggle", () => {
      if (this.scope !== null) fold.node.open = true;
    });
    this.node.append(el("label", null, again, words), fold.node);
  }
}
