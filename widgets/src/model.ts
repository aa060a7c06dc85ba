/**
 * The data model of a surface: one JSON value, read and written by JSON Pointer.
 *
 * It remembers what was touched, so that a paint looks only at what changed. What is
 * set is copied: two views of one model get the same message object.
 */

import { type Json, isRecord, own } from "./json.ts";

const INDEX = /^(0|[1-9]\d*)$/;
const LONGEST_LIST = 100_000;

/** The tokens of a JSON Pointer; "" and "/" both mean the whole. */
export function tokens(pointer: string): string[] {
  const path = pointer.startsWith("/") ? pointer.slice(1) : pointer;
  if (path === "") return [];
  return path
    .split("/")
    .map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** One token as it stands in a JSON Pointer. */
export function token(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}

export class DataModel {
  #root: Json = {};
  #touched = new Set<string>();
  #everything = true;

  get(pointer: string): Json | undefined {
    let here: Json | undefined = this.#root;
    for (const name of tokens(pointer)) {
      here = step(here, name);
      if (here === undefined) return undefined;
    }
    return here;
  }

  /** Put a value at a path, making what is missing on the way; undefined deletes. */
  set(pointer: string, value: Json | undefined): void {
    const path = tokens(pointer);
    this.#touch(path);
    const last = path.pop();
    if (last === undefined) {
      this.#root = value === undefined ? {} : structuredClone(value);
      return;
    }
    const parent = value === undefined ? this.#find(path) : this.#reach(path, last);
    if (parent === undefined) return;
    write(parent, last, value === undefined ? undefined : structuredClone(value));
  }

  /** Add text at the end of a string; what is no string is left alone. */
  append(pointer: string, text: string): void {
    const path = tokens(pointer);
    const last = path.pop();
    if (last === undefined) return;
    const before = this.get(pointer);
    if (before !== undefined && typeof before !== "string") return;
    const parent = this.#reach(path, last);
    if (parent === undefined) return;
    this.#touch([...path, last]);
    write(parent, last, (before ?? "") + text);
  }

  clear(): void {
    this.#root = {};
    this.#everything = true;
  }

  /** Whether anything at, above or below this path changed since the last settle. */
  touched(pointer: string): boolean {
    if (this.#everything) return true;
    const [first, second] = tokens(pointer);
    if (first === undefined) return this.#touched.size > 0;
    if (this.#touched.has(first)) return true;
    if (second !== undefined) return this.#touched.has(`${first}/${second}`);
    return [...this.#touched].some((path) => path.startsWith(`${first}/`));
  }

  /** Forget what was touched. */
  settle(): void {
    this.#touched.clear();
    this.#everything = false;
  }

  #touch(path: string[]): void {
    if (path.length === 0) this.#everything = true;
    else this.#touched.add(path.slice(0, 2).join("/"));
  }

  #find(path: string[]): Json | undefined {
    let here: Json | undefined = this.#root;
    for (const name of path) here = step(here, name);
    return here;
  }

  /** The place at a path, made where it is missing; `last` is what goes into it. */
  #reach(path: string[], last: string): Json | undefined {
    if (!isRecord(this.#root) && !Array.isArray(this.#root)) this.#root = {};
    let here: Json = this.#root;
    for (const [at, name] of path.entries()) {
      let next = step(here, name);
      if (!isRecord(next) && !Array.isArray(next)) {
        next = INDEX.test(path[at + 1] ?? last) ? [] : {};
        if (!write(here, name, next)) return undefined;
      }
      here = next;
    }
    return here;
  }
}

function step(here: Json | undefined, name: string): Json | undefined {
  if (Array.isArray(here)) return INDEX.test(name) ? here[Number(name)] : undefined;
  return isRecord(here) ? own(here, name) : undefined;
}

function write(parent: Json, name: string, value: Json | undefined): boolean {
  if (Array.isArray(parent)) {
    const at = name === "-" ? parent.length : Number(name);
    if (name !== "-" && !INDEX.test(name)) return false;
    if (at > LONGEST_LIST) return false;
    while (parent.length < at) parent.push(null);
    parent[at] = value ?? null;
    return true;
  }
  if (!isRecord(parent) || name === "__proto__") return false;
  if (value === undefined) delete parent[name];
  else parent[name] = value;
  return true;
}
