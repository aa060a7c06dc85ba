/**
 * The inbox: one row a call that waits, filters over them, and how many there are.
 *
 * Nothing moves under a pointer: while one is in here, a row that was settled somewhere
 * else keeps its height and one that is gone keeps its place.
 */

import type { Block, Host, Placed, Read } from "../block.ts";
import { el, setKids, setText } from "../dom.ts";
import { Reader } from "../json.ts";
import { say, withCode } from "../words.ts";
import { type Facet, InboxRow } from "./inboxrow.ts";

const FACETS: readonly Facet[] = ["agent", "tool", "session", "kind"];
const AGED_EVERY = 20_000;
const ALL = "";

export class Inbox implements Block {
  readonly node: HTMLElement;
  readonly #host: Host;
  readonly #title = el("span", "b-ask");
  readonly #shown = el("span", { class: "b-cap", role: "status" });
  readonly #filters = new Map<Facet, Filter>();
  readonly #rows = el("ul", { class: "b-rows", "aria-label": say("inbox.region") });
  readonly #more = el("div", "b-cap");
  #children: readonly Placed[] = [];
  #inside = false;
  #ticks: (() => void) | null = null;

  constructor(host: Host) {
    this.#host = host;
    for (const facet of FACETS) {
      this.#filters.set(facet, new Filter(facet, host, () => this.refresh()));
    }
    const filters = [...this.#filters.values()].map((filter) => filter.node);
    const head = el("div", "b-inbox-head", this.#title, this.#shown, ...filters);
    this.node = el("div", "b-inbox", head, this.#rows, this.#more);
    this.node.addEventListener("pointerenter", () => this.#pointed(true));
    this.node.addEventListener("pointerleave", () => this.#pointed(false));
    this.#tick();
  }

  update(read: Read): void {
    const head = new Reader(read("head"), "Inbox");
    setText(this.#title, head.text("title", ""));
    const more = head.text("more", "");
    this.#more.hidden = more === "";
    this.#more.replaceChildren(...withCode(more));
  }

  place(children: readonly Placed[]): void {
    this.#children = children;
    this.refresh();
  }

  /** Bring filters and rows in line with what the rows say now. */
  refresh(): void {
    const rows = this.#inboxRows();
    const there = rows.filter((row) => row.state !== "gone");
    for (const [facet, filter] of this.#filters) {
      filter.offer(there.map((row) => row.facet(facet)));
    }
    for (const row of rows) {
      row.pointed = this.#inside;
      row.refresh();
      const fits = FACETS.every((facet) => this.#fits(row, facet));
      row.node.hidden = !fits || (row.state === "gone" && !this.#inside);
    }
    const shown = there.filter((row) => !row.node.hidden).length;
    const some = shown < there.length;
    setText(this.#shown, some ? say("inbox.shown", { n: shown, of: there.length }) : "");
    setKids(
      this.#rows,
      this.#children.map(({ node }) => node),
    );
  }

  enable(alive: boolean): void {
    if (alive) this.#tick();
    else this.#ticks?.();
  }

  dispose(): void {
    this.#ticks?.();
  }

  #inboxRows(): InboxRow[] {
    return this.#children.flatMap(({ block }) =>
      block instanceof InboxRow ? block : [],
    );
  }

  #fits(row: InboxRow, facet: Facet): boolean {
    const wanted = this.#filters.get(facet)?.chosen ?? ALL;
    return wanted === ALL || row.facet(facet) === wanted;
  }

  #pointed(inside: boolean): void {
    this.#inside = inside;
    this.refresh();
  }

  #tick(): void {
    this.#ticks?.();
    this.#ticks = this.#host.page.later(AGED_EVERY, () => {
      for (const row of this.#inboxRows()) row.showAge();
      this.#tick();
    });
  }
}

/** One choice among the values that rows have; not shown where there is no choice. */
class Filter {
  readonly node: HTMLElement;
  readonly #select = el("select", "b-input");
  #offered = "";

  constructor(facet: Facet, host: Host, changed: () => void) {
    const id = host.id();
    this.#select.id = id;
    this.#select.addEventListener("change", changed);
    this.node = el("span", "b-filter");
    this.node.append(el("label", { for: id }, say(`inbox.${facet}`)), this.#select);
    this.node.hidden = true;
  }

  get chosen(): string {
    return this.node.hidden ? ALL : this.#select.value;
  }

  offer(values: readonly string[]): void {
    const known = [...new Set(values)].sort();
    this.node.hidden = known.length < 2 && this.#select.value === ALL;
    const offered = JSON.stringify(known);
    if (offered === this.#offered) return;
    this.#offered = offered;
    const kept = this.#select.value;
    const named = known.filter((value) => value !== "");
    if (kept !== ALL && !named.includes(kept)) named.push(kept);
    const all = el("option", { value: ALL }, say("inbox.all"));
    setKids(this.#select, [
      all,
      ...named.map((value) => el("option", { value }, value)),
    ]);
    this.#select.value = kept;
  }
}
