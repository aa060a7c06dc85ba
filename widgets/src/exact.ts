/**
 * JSON read and written with each number as it was: a page knows numbers to 53 bits,
 * and no difference between 1 and 1.0, but a tool does.
 */

import { Exact, type Json, isRecord } from "./json.ts";

const LITERAL = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[-+]?\d+)?$/i;
const WHOLE = /^-?\d+$/;

/** A number of JSON: one of the page's where that is the same, else as it is written. */
export function figure(text: string): number | Exact {
  const n = Number(text);
  if (!NUMBER.test(text)) return n;
  const same = WHOLE.test(text)
    ? Number.isSafeInteger(n)
    : Number.isFinite(n) && !Number.isInteger(n);
  return same ? n : new Exact(text);
}

/** Read JSON; what is none raises what `JSON.parse` raises. */
export function readExact(text: string): Json {
  JSON.parse(text);
  const numbers: string[] = [];
  const counted = replaced(text, (number) => String(numbers.push(number) - 1));
  return JSON.parse(counted, (_, value: Json) =>
    typeof value === "number" ? figure(numbers[value] ?? "") : value,
  ) as Json;
}

/** Write JSON, each number as it was read. */
export function writeExact(value: Json, indent?: number): string {
  const numbers: string[] = [];
  const count = (_: string, part: unknown) => {
    if (part instanceof Exact) return numbers.push(part.text) - 1;
    return typeof part === "number" ? numbers.push(JSON.stringify(part)) - 1 : part;
  };
  const counted = JSON.stringify(value, count, indent);
  return replaced(counted, (at) => numbers[Number(at)] ?? at);
}

/** Whether there is a number in it that the page would change. */
export function needsExact(value: Json): boolean {
  if (Array.isArray(value)) return value.some(needsExact);
  if (isRecord(value)) return Object.values(value).some(needsExact);
  return value instanceof Exact;
}

function replaced(text: string, change: (number: string) => string): string {
  return text.replace(LITERAL, (part) => (part.startsWith('"') ? part : change(part)));
}
