/** Our sentences, from the catalogue that Python reads too. */

import { view } from "../../bread_nb/a2ui/words.json";
import { el } from "./dom.ts";
import { count } from "./format.ts";

export type Word = keyof typeof view;
export type Places = Record<string, string | number>;
type Sentence = string | { one: string; other: string };

const PLACE = /\{(\w+)\}/g;
const plural = new Intl.PluralRules("en");

/** A whole sentence; `n` chooses the plural form, each place is filled once. */
export function say(word: Word, places: Places = {}): string {
  return form(word, places).replace(PLACE, (whole, name: string) => {
    const value = places[name];
    if (value === undefined) return whole;
    return typeof value === "number" ? count(value) : value;
  });
}

/** The same as nodes, its `code` and the named places set apart as code. */
export function sayCode(word: Word, places: Places = {}, code: string[] = []): Node[] {
  const nodes: Node[] = [];
  let from = 0;
  const sentence = form(word, places);
  for (const match of sentence.matchAll(PLACE)) {
    nodes.push(...withCode(sentence.slice(from, match.index)));
    const name = match[1] ?? "";
    const value = places[name] ?? match[0];
    const text = typeof value === "number" ? count(value) : value;
    nodes.push(code.includes(name) ? el("span", "b-rule", text) : new Text(text));
    from = match.index + match[0].length;
  }
  nodes.push(...withCode(sentence.slice(from)));
  return nodes;
}

/** Text in which backticks set code apart and double stars are bold. */
export function withCode(text: string): Node[] {
  return text
    .split(/(`[^`]+`|\*\*[^*]+\*\*)/)
    .filter((part) => part !== "")
    .map((part) => {
      if (/^`.+`$/s.test(part)) return el("span", "b-rule", part.slice(1, -1));
      if (/^\*\*.+\*\*$/s.test(part)) return el("b", null, part.slice(2, -2));
      return new Text(part);
    });
}

function form(word: Word, places: Places): string {
  const sentence: Sentence = view[word];
  if (typeof sentence === "string") return sentence;
  const n = places["n"];
  return typeof n === "number" && plural.select(n) === "one"
    ? sentence.one
    : sentence.other;
}
