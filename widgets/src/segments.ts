/** Cutting a value without breaking a boxed character, and its text as it is shown. */

import { el } from "./dom.ts";
import type { Segment, Value } from "./shapes.ts";
import { say } from "./words.ts";

const HIDDEN = /[^\P{C}\n\t]|[\u2028\u2029\u115f\u1160\u3164\uffa0\u2800]/gu;

const TURNS = /[\u202a-\u202e\u2066-\u2069]/g;

export interface Cut {
  segments: Segment[];
  /** Whether this is all of it. */
  whole: boolean;
  lines: number;
  chars: number;
}

/** The first lines and characters of a value. */
export function cut(segments: readonly Segment[], lines: number, chars: number): Cut {
  const taken: Segment[] = [];
  let breaks = 0;
  let length = 0;
  for (const segment of segments) {
    if (typeof segment !== "string") {
      if (length >= chars)
        return { segments: taken, whole: false, lines: breaks, chars: length };
      taken.push(segment);
      length += "esc" in segment ? 1 : segment.blanks;
      continue;
    }
    const end = fitting(segment, lines - breaks, chars - length);
    if (end > 0) taken.push(segment.slice(0, end));
    breaks += occurrences(segment.slice(0, end));
    length += end;
    if (end < segment.length) {
      return { segments: taken, whole: false, lines: breaks, chars: length };
    }
  }
  return { segments: taken, whole: true, lines: breaks + 1, chars: length };
}

/** How much of a text fits; a line break that fills the last line is left out. */
function fitting(text: string, lines: number, chars: number): number {
  let end = Math.min(text.length, Math.max(0, chars));
  let at = -1;
  for (let line = 0; line < lines; line += 1) {
    at = text.indexOf("\n", at + 1);
    if (at === -1 || at >= end) return whole(text, end);
  }
  end = Math.max(0, at);
  return whole(text, end);
}

/** Never between the halves of one character. */
function whole(text: string, end: number): number {
  const code = text.charCodeAt(end - 1);
  const high = code >= 0xd800 && code <= 0xdbff;
  return high && end < text.length ? end - 1 : end;
}

function occurrences(text: string): number {
  let found = 0;
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) {
    found += 1;
  }
  return found;
}

/** Segments as nodes: text as text, everything else in a box. */
export function drawn(segments: readonly Segment[]): Node[] {
  return segments.map((segment) => {
    if (typeof segment === "string") return new Text(segment);
    return el("span", "b-esc", shownAs(segment));
  });
}

/** What a person reads, as one text. */
export function asText(value: Value): string {
  return value.segments
    .map((segment) => (typeof segment === "string" ? segment : bracketed(segment)))
    .join("");
}

function shownAs(segment: Exclude<Segment, string>): string {
  return "esc" in segment ? segment.esc : say("value.blanks", { n: segment.blanks });
}

function bracketed(segment: Exclude<Segment, string>): string {
  return "esc" in segment ? `⟦${segment.esc}⟧` : shownAs(segment);
}

function escaped(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
}

/** A text of the page itself in segments, what cannot be seen boxed. */
export function segmented(text: string): Segment[] {
  const segments: Segment[] = [];
  let from = 0;
  for (const match of text.matchAll(HIDDEN)) {
    if (match.index > from) segments.push(text.slice(from, match.index));
    segments.push({ esc: escaped(match[0]) });
    from = match.index + match[0].length;
  }
  if (from < text.length) segments.push(text.slice(from));
  return segments;
}

/** `text` with what turns the direction of the rest written out, as Python writes it. */
export function unturned(text: string): string {
  return text.replace(TURNS, (found) => bracketed({ esc: escaped(found) }));
}

/** How many characters of a text cannot be seen. */
export function hiddenIn(text: string): number {
  return text.match(HIDDEN)?.length ?? 0;
}
