/*!
 * Contains the lexer of marked.
 * Copyright (c) 2018-2026, MarkedJS.
 * Copyright (c) 2011-2018, Christopher Jeffrey.
 * Permission is hereby granted, free of charge, to any person obtaining a copy of this
 * software and associated documentation files (the "Software"), to deal in the Software
 * without restriction, including without limitation the rights to use, copy, modify,
 * merge, publish, distribute, sublicense, and/or sell copies of the Software, and to
 * permit persons to whom the Software is furnished to do so, subject to the following
 * conditions: The above copyright notice and this permission notice shall be included in
 * all copies or substantial portions of the Software. THE SOFTWARE IS PROVIDED "AS IS",
 * WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
 * WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN
 * NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR
 * OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT
 * OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
 */

/** Markdown as tokens: GitHub's kind, lexed only, never turned into markup. */

import { Lexer, type Token } from "marked";

const DEEPEST_QUOTE = /^(?:[ \t]*>){20}/m;
const LONGEST_RUN = /[[\]*_`~<>\\]{500}/;

/** The blocks of a text; a text made to choke a lexer is one block of plain text. */
export function lex(text: string): Token[] {
  if (DEEPEST_QUOTE.test(text) || LONGEST_RUN.test(text)) return [plain(text)];
  try {
    return new Lexer({ gfm: true }).lex(text);
  } catch (error) {
    console.warn("bread_nb:", error);
    return [plain(text)];
  }
}

function plain(text: string): Token {
  return { type: "plain", raw: text, text };
}

/**
 * The leading blocks that no later text can change.
 *
 * A block is closed when a later block has begun and its first line is whole.
 */
export function closedOf(tokens: Token[]): Token[] {
  let open = tokens.length - 1;
  while (open > 0 && tokens[open]?.type === "space") open -= 1;
  if (open > 0 && !tokens[open]?.raw.includes("\n")) {
    open -= 1;
    while (open > 0 && tokens[open]?.type === "space") open -= 1;
  }
  return tokens.slice(0, Math.max(0, open));
}

const SAFE = new Set(["http:", "https:", "mailto:"]);

/** The address of a link that may be followed, else null. */
export function safeAddress(href: string): string | null {
  if (!/^(https?:\/\/|mailto:)/i.test(href)) return null;
  try {
    const url = new URL(href);
    return SAFE.has(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}

const NAMED: Record<string, string> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: "\u00a0",
  copy: "©",
  reg: "®",
  trade: "™",
  hellip: "…",
  mdash: "—",
  ndash: "–",
  bull: "•",
  middot: "·",
  times: "×",
  deg: "°",
  euro: "€",
  larr: "←",
  rarr: "→",
  laquo: "«",
  raquo: "»",
  lsquo: "‘",
  rsquo: "’",
  ldquo: "“",
  rdquo: "”",
};

/** Character references as the characters they stand for. */
export function decoded(text: string): string {
  if (!text.includes("&")) return text;
  return text.replace(
    /&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|([a-zA-Z]+));/g,
    (whole, decimal?: string, hex?: string, name?: string) => {
      if (name !== undefined)
        return Object.hasOwn(NAMED, name) ? (NAMED[name] ?? whole) : whole;
      const code =
        decimal === undefined ? Number.parseInt(hex ?? "0", 16) : Number(decimal);
      const fit = code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
      return fit ? String.fromCodePoint(code) : "\ufffd";
    },
  );
}
