/** The form that asks whether a tool may run, with exactly what it would get. */

import type { Host, Problem } from "../block.ts";
import { el, setKids } from "../dom.ts";
import { type Form } from "../forms.ts";
import type { JsonRecord } from "../json.ts";
import type { PressButton } from "../press.ts";
import { say } from "../words.ts";
import { ConsentArgs } from "./args.ts";
import { diffView } from "./diff.ts";
import { EditPanel, mend } from "./edit.ts";
import { Fold } from "./fold.ts";
import { RememberChoice } from "./remember.ts";
import { FormBlock, type OpenForm } from "./form.ts";
import { FormShell, ReasonLine, named } from "./shell.ts";

export class Approval extends FormBlock<OpenApproval> {
  constructor(host: Host, id: string) {
    super(host, (form) => new OpenApproval(host, id, form));
  }
}

export class OpenApproval implements OpenForm {
  readonly shell: FormShell;
  readonly #host: Host;
  readonly #args: ConsentArgs;
  readonly #remember: RememberChoice;
  readonly #deny: ReasonLine;
  readonly #buttons: { deny: PressButton; edit: PressButton; go: PressButton };
  readonly #editing: { back: PressButton; undo: PressButton };
  #edit: EditPanel | null = null;
  #isEditing = false;

  constructor(host: Host, id: string, form: Form) {
    this.#host = host;
    const shell = new FormShell(host, id, form);
    this.shell = shell;
    this.#args = new ConsentArgs(form.args, host, () => {
      this.shell.moved();
      this.#refresh();
    });
    this.#remember = new RememberChoice(form, host);
    const ask = say("deny.why", { agent: form.agent });
    this.#deny = new ReasonLine(
      shell,
      { ask, yes: say("deny.now"), id: host.id() },
      {
        yes: (reason) => shell.send(refusal(reason)),
        no: () => this.#denying(false),
      },
    );
    this.#buttons = {
      deny: shell.button(say("deny"), () => this.#denying(true)),
      edit: shell.button(say("edit"), () => this.#editMode(true)),
      go: shell.button(say("approve"), () => this.#approve(), { go: true }),
    };
    this.#editing = {
      back: shell.button(say("back"), () => this.#editMode(false)),
      undo: shell.button(say("edit.undo"), () => this.#undo(), { link: true }),
    };
    shell.changed = () => this.#refresh();
    shell.refused = (problems) => this.#refused(problems);
    this.#draw();
  }

  /** Why this one may not be approved together with others; null when it may. */
  get alone(): string | null {
    if (this.#edited) return say("bulk.edited");
    return this.#args.missing === null ? null : say("bulk.look");
  }

  approvePlainly(): void {
    this.shell.send({ approved: true });
  }

  deny(reason: string): void {
    this.shell.send(refusal(reason));
  }

  get #edited(): boolean {
    return this.#edit !== null && this.#edit.read().changed.length > 0;
  }

  #approve(): void {
    const answer: JsonRecord = { approved: true };
    const edited = this.#isEditing ? this.#edit?.read() : null;
    if (edited && edited.changed.length > 0) answer["args"] = edited.args;
    const scope = this.#remember.scope;
    if (scope !== null) answer["remember"] = scope;
    this.shell.send(answer);
  }

  #denying(open: boolean): void {
    this.#deny.node.hidden = !open;
    this.shell.acts.hidden = open;
    this.shell.moved();
    const next = open ? this.#deny.input : this.#buttons.deny.node;
    next.focus({ preventScroll: true });
  }

  #editMode(on: boolean): void {
    const { fields } = this.shell.form;
    if (on) {
      this.#edit ??= new EditPanel(fields, this.#host, () => this.#refresh());
      this.#edit.leavesOut(strangers(this.shell.form));
    }
    this.#isEditing = on;
    this.shell.say(null);
    this.shell.moved();
    this.#draw();
    const next = on ? this.#editing.back : this.#buttons.edit;
    next.node.focus({ preventScroll: true });
  }

  #undo(): void {
    this.#edit?.reset();
    this.shell.moved();
    this.#refresh();
  }

  #refused(problems: Problem[]): Problem[] {
    if (problems.length === 0 || !this.#edit) return problems;
    this.#isEditing = true;
    this.#draw();
    return this.#edit.problems(problems);
  }

  #draw(): void {
    const { shell } = this;
    const { form } = shell;
    if (this.#isEditing && this.#edit) {
      shell.title(say("edit.title", { tool: form.tool }));
      setKids(shell.body, [this.#edit.node, this.#remember.node, this.#deny.node]);
      const { back, undo } = this.#editing;
      shell.row(back.node, undo.node, this.#edit.json.node, this.#buttons.go.node);
    } else {
      shell.title(form.title);
      const above = reasons(form);
      const parts = [...above, this.#args.node, this.#remember.node, this.#deny.node];
      setKids(shell.body, parts);
      const { deny, edit, go } = this.#buttons;
      const editable = form.fields.length > 0 ? [edit.node] : [];
      shell.row(deny.node, ...editable, go.node);
    }
    this.#refresh();
  }

  #refresh(): void {
    const { go } = this.#buttons;
    const edited = this.#isEditing ? this.#edit?.read() : null;
    if (!edited) {
      this.shell.label(go, say("approve"));
      this.shell.refuse(go, this.#args.missing, say("need.ready"));
      return;
    }
    const { wrong, changed } = edited;
    this.shell.label(go, say(changed.length > 0 ? "approve.changes" : "approve"));
    const words = wrong.length > 0 ? mend(wrong) : null;
    this.shell.refuse(go, words ?? this.#args.missing, say("need.ready"));
  }
}

/** Arguments that no field stands for. */
function strangers(form: Form): string[] {
  return form.args.filter((arg) => arg.flag === "unknown").map((arg) => arg.key);
}

function refusal(reason: string): JsonRecord {
  return reason === "" ? { approved: false } : { approved: false, reason };
}

/** What stands between the title and the arguments. */
export function reasons(form: Form): HTMLElement[] {
  const parts: HTMLElement[] = [];
  const why = el("div", { class: "b-why", dir: "auto" }, form.why);
  if (form.rule !== null) {
    const words = say("form.why", { rule: form.rule });
    why.append(" ", el("span", null, ...ruled(words, form.rule)));
  }
  if (why.textContent.trim() !== "") parts.push(why);
  if (form.quote !== null)
    parts.push(quoted(say("form.quote", { agent: form.agent }), form.quote));
  if (form.prompt !== null)
    parts.push(el("div", { class: "b-why", dir: "auto" }, form.prompt));
  if (form.changed) {
    const { diff } = form.changed;
    const fold = new Fold({ fill: (body) => body.append(diffView(diff)) });
    fold.head.append(el("span", null, say("form.changed")));
    const text = el("div", { class: "b-why", dir: "auto" }, form.changed.text);
    parts.push(text);
    if (diff.length > 0) parts.push(el("div", "b-changed", fold.node));
  }
  return parts;
}

function ruled(words: string, rule: string): Node[] {
  return named(words, rule).map((node) => {
    if (node instanceof HTMLElement) node.className = "b-rule";
    return node;
  });
}

/** The agent's own words, as a quotation and as plain text. */
export function quoted(title: string | null, text: string): HTMLElement {
  const quote = el("blockquote", { class: "b-quote", dir: "auto" }, text);
  const caption = title === null ? null : el("figcaption", "b-cap", title);
  return el("figure", "b-said-by", caption, quote);
}
