/** What differs between two texts, line by line. */

import { writeExact } from "./exact.ts";
import { type Json, type JsonRecord, own, same } from "./json.ts";
import type { DiffLine } from "./shapes.ts";

const AROUND = 2;
const MOST_CELLS = 1_000_000;

/** The lines that went and came; long equal stretches are left out. */
export function diffLines(before: string, after: string): DiffLine[] {
  const one = before.split("\n");
  const other = after.split("\n");
  let head = 0;
  while (head < one.length && head < other.length && one[head] === other[head]) {
    head += 1;
  }
  let tail = 0;
  while (
    tail < one.length - head &&
    tail < other.length - head &&
    one[one.length - 1 - tail] === other[other.length - 1 - tail]
  ) {
    tail += 1;
  }
  const gone = one.slice(head, one.length - tail);
  const come = other.slice(head, other.length - tail);
  return [
    ...kept(one.slice(Math.max(0, head - AROUND), head)),
    ...between(gone, come),
    ...kept(one.slice(one.length - tail, one.length - tail + AROUND)),
  ];
}

function kept(lines: string[]): DiffLine[] {
  return lines.map((text) => ({ op: " ", text }));
}

function between(gone: string[], come: string[]): DiffLine[] {
  if (gone.length * come.length > MOST_CELLS) return [...minus(gone), ...plus(come)];
  const width = come.length + 1;
  const longest = new Uint32Array((gone.length + 1) * width);
  const at = (row: number, column: number) => longest[row * width + column] ?? 0;
  for (let row = gone.length - 1; row >= 0; row -= 1) {
    for (let column = come.length - 1; column >= 0; column -= 1) {
      longest[row * width + column] =
        gone[row] === come[column]
          ? at(row + 1, column + 1) + 1
          : Math.max(at(row + 1, column), at(row, column + 1));
    }
  }
  return walk(gone, come, at);
}

function walk(
  gone: string[],
  come: string[],
  at: (row: number, column: number) => number,
): DiffLine[] {
  const lines: DiffLine[] = [];
  let row = 0;
  let column = 0;
  while (row < gone.length && column < come.length) {
    if (gone[row] === come[column]) {
      lines.push({ op: " ", text: gone[row] ?? "" });
      row += 1;
      column += 1;
    } else if (at(row + 1, column) >= at(row, column + 1)) {
      lines.push({ op: "-", text: gone[row] ?? "" });
      row += 1;
    } else {
      lines.push({ op: "+", text: come[column] ?? "" });
      column += 1;
    }
  }
  return [...lines, ...minus(gone.slice(row)), ...plus(come.slice(column))];
}

function minus(lines: string[]): DiffLine[] {
  return lines.map((text) => ({ op: "-", text }));
}

function plus(lines: string[]): DiffLine[] {
  return lines.map((text) => ({ op: "+", text }));
}

/** The keys whose values differ, in the order of the first, then of the second. */
export function changedKeys(before: JsonRecord, after: JsonRecord): string[] {
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...keys].filter((key) => !same(own(before, key), own(after, key)));
}

/** What changed from one set of arguments to another. */
export function diffArguments(before: JsonRecord, after: JsonRecord): DiffLine[] {
  return changedKeys(before, after).flatMap((key) => {
    const one = shown(own(before, key));
    const other = shown(own(after, key));
    if (one === null || other === null || !(one + other).includes("\n")) {
      const gone = one === null ? [] : [`${key}: ${one}`];
      const come = other === null ? [] : [`${key}: ${other}`];
      return [...minus(gone), ...plus(come)];
    }
    return [{ op: " ", text: `${key}:` } as const, ...diffLines(one, other)];
  });
}

function shown(value: Json | undefined): string | null {
  if (value === undefined) return null;
  return typeof value === "string" ? value : writeExact(value, 2);
}
