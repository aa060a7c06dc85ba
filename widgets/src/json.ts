/** JSON as it comes over the channel, and readers that take nothing for granted. */

export type Json = null | boolean | number | string | Exact | Json[] | JsonRecord;
export interface JsonRecord {
  [key: string]: Json;
}

/** A number that the page has no number for, as it is written. */
export class Exact {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** What a reader raises when an entry has another shape than the protocol says. */
export class Unreadable extends Error {}

export function isRecord(value: Json | undefined): value is JsonRecord {
  if (typeof value !== "object" || value === null) return false;
  return !Array.isArray(value) && !(value instanceof Exact);
}

/** The own property of that name; inherited ones do not exist for us. */
export function own(record: JsonRecord, key: string): Json | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

/** Whether two values are the same JSON, whatever the order of their keys. */
export function same(one: Json | undefined, other: Json | undefined): boolean {
  if (one === other) return true;
  if (one instanceof Exact) return other instanceof Exact && one.text === other.text;
  if (Array.isArray(one)) {
    return (
      Array.isArray(other) &&
      one.length === other.length &&
      one.every((item, at) => same(item, other[at]))
    );
  }
  if (!isRecord(one) || !isRecord(other)) return false;
  const keys = Object.keys(one);
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && same(one[key], other[key]))
  );
}

/** Reads the named entries of one record. */
export class Reader {
  readonly #record: JsonRecord;

  constructor(value: Json | undefined, what: string) {
    if (!isRecord(value)) throw new Unreadable(what);
    this.#record = value;
  }

  get(key: string): Json | undefined {
    return own(this.#record, key);
  }

  /** The text under key; absent and null are the fallback, else it must be text. */
  text(key: string, fallback?: string): string {
    const value = this.get(key);
    if (typeof value === "string") return value;
    if (fallback !== undefined && (value === undefined || value === null)) {
      return fallback;
    }
    throw new Unreadable(key);
  }

  textOrNull(key: string): string | null {
    const value = this.get(key);
    if (value === undefined || value === null) return null;
    if (typeof value !== "string") throw new Unreadable(key);
    return value;
  }

  numberOrNull(key: string): number | null {
    const value = this.get(key);
    if (value === undefined || value === null) return null;
    if (typeof value !== "number") throw new Unreadable(key);
    return value;
  }

  number(key: string, fallback = 0): number {
    return this.numberOrNull(key) ?? fallback;
  }

  flag(key: string): boolean {
    return this.get(key) === true;
  }

  list(key: string): Json[] {
    const value = this.get(key);
    if (value === undefined || value === null) return [];
    if (!Array.isArray(value)) throw new Unreadable(key);
    return value;
  }
}
