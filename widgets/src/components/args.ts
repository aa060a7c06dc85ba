/** The arguments a person is asked about: all of them, none hidden without a marker. */

import type { Host } from "../block.ts";
import { el } from "../dom.ts";
import type { Arg } from "../shapes.ts";
import { say } from "../words.ts";
import { ConsentValue } from "./value.ts";

export class ConsentArgs {
  readonly node: HTMLElement;
  readonly #values: ConsentValue[] = [];

  constructor(args: readonly Arg[], host: Host, changed: () => void) {
    const cells = args.flatMap((arg) => [
      keyCell(arg),
      this.#value(arg, host, changed),
    ]);
    const none = el("div", "b-cap b-wide", say("arguments.none"));
    this.node = el("div", "b-args", ...(cells.length > 0 ? cells : [none]));
  }

  /** What is left to look at, as a sentence; null when everything was seen. */
  get missing(): string | null {
    const unopened = this.#keys("unopened");
    if (unopened !== "") return say("need.look", { keys: unopened });
    const unread = this.#keys("unread");
    return unread === "" ? null : say("need.end", { keys: unread });
  }

  #keys(looked: "unopened" | "unread"): string {
    const values = this.#values.filter((value) => value.looked === looked);
    return [...new Set(values.map((value) => value.key))].join(", ");
  }

  #value(arg: Arg, host: Host, changed: () => void): HTMLElement {
    if (arg.flag === "secret") return el("pre", "b-pre", say("value.secret"));
    const watched = arg.items ?? [arg.value];
    const values = watched.map((one) => new ConsentValue(arg.key, one, host, changed));
    this.#values.push(...values);
    if (arg.items === null) {
      const node = values[0]?.node ?? el("div");
      if (arg.flag === "default") node.classList.add("b-default");
      return node;
    }
    const items = values.map((value) => el("li", null, value.node));
    return el("ol", "b-argv", ...items);
  }
}

const FLAGS = {
  default: "arg.default",
  unknown: "arg.unknown",
  argv: "arg.command",
} as const;

/** The name of an argument, with its type and what is special about it. */
export function keyCell(arg: Arg): HTMLElement {
  const { key, type, flag, value } = arg;
  const long = value.lines > 1 && arg.items === null && flag !== "secret";
  const kind = long ? say("arg.lines", { type, n: value.lines }) : type;
  const special =
    flag === "default" || flag === "unknown" || flag === "argv" ? say(FLAGS[flag]) : "";
  const small = kind === "" ? null : el("small", null, kind);
  const more =
    special === "" ? null : el("small", flag === "unknown" ? "b-warn" : null, special);
  return el("div", "b-key", el("span", null, key), " ", small, more);
}
