/**
 * Markdown tokens as elements, made one by one.
 *
 * Raw html is text, an image is its words and its address, and a link that is neither
 * http(s) nor mail is text: nothing loads and nothing leads into the notebook's server.
 */

import type { Token, Tokens } from "marked";
import { el } from "./dom.ts";
import { decoded, safeAddress } from "./lexed.ts";
import { say } from "./words.ts";

const DEEPEST = 24;
const HEADINGS = ["h4", "h5", "h6", "h6", "h6", "h6"] as const;

/** One block as an element; null for what draws nothing. */
export function blockNode(token: Token, depth = 0): HTMLElement | null {
  if (depth > DEEPEST) return paragraph(token.raw);
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "heading": {
      const { depth: level, tokens } = token as Tokens.Heading;
      const tag = HEADINGS[level - 1] ?? "h6";
      return el(tag, { dir: "auto" }, ...inline(tokens, depth));
    }
    case "code":
      return codeBlock(token as Tokens.Code);
    case "hr":
      return el("hr");
    case "blockquote": {
      const quote = el("blockquote", { dir: "auto" });
      quote.append(...blocks((token as Tokens.Blockquote).tokens, depth + 1));
      return quote;
    }
    case "list":
      return list(token as Tokens.List, depth);
    case "table":
      return table(token as Tokens.Table, depth);
    case "paragraph":
    case "text": {
      const { tokens } = token as Tokens.Paragraph;
      return el("p", { dir: "auto" }, ...inline(tokens, depth, token.raw));
    }
    default:
      return paragraph(token.raw);
  }
}

function blocks(tokens: readonly Token[], depth: number): HTMLElement[] {
  return tokens.flatMap((token) => blockNode(token, depth) ?? []);
}

function paragraph(text: string): HTMLElement {
  return el("p", { dir: "auto", class: "b-raw" }, text.replace(/\n+$/, ""));
}

function codeBlock(token: Tokens.Code): HTMLElement {
  const code = el("code", null, token.text);
  if (token.lang) code.dataset["lang"] = token.lang;
  return el("pre", { class: "b-pre b-code", dir: "ltr" }, code);
}

function list(token: Tokens.List, depth: number): HTMLElement {
  const node = el(token.ordered ? "ol" : "ul", { dir: "auto" });
  if (node instanceof HTMLOListElement && token.start !== "" && token.start !== 1) {
    node.start = token.start;
  }
  for (const item of token.items) node.append(listItem(item, depth));
  return node;
}

function listItem(item: Tokens.ListItem, depth: number): HTMLElement {
  const node = el("li", { dir: "auto" });
  for (const token of item.tokens) {
    if (token.type === "text" && !item.loose) {
      node.append(...inline((token as Tokens.Text).tokens, depth, token.raw));
    } else if (token.type === "checkbox") {
      node.append(box(token as Tokens.Checkbox));
    } else {
      const inner = blockNode(token, depth + 1);
      if (inner) node.append(inner);
    }
  }
  return node;
}

function box(token: Tokens.Checkbox): string {
  return token.checked ? "☑ " : "☐ ";
}

function table(token: Tokens.Table, depth: number): HTMLElement {
  const cell = (tag: "th" | "td", of: Tokens.TableCell) => {
    const node = el(tag, { dir: "auto" }, ...inline(of.tokens, depth, of.text));
    if (of.align) node.dataset["align"] = of.align;
    return node;
  };
  const head = el("tr", null, ...token.header.map((of) => cell("th", of)));
  const rows = token.rows.map((row) =>
    el("tr", null, ...row.map((of) => cell("td", of))),
  );
  const whole = el(
    "table",
    { dir: "auto" },
    el("thead", null, head),
    el("tbody", null, ...rows),
  );
  return el("div", "b-table", whole);
}

/** Inline tokens as nodes; without tokens, the text as it is. */
function inline(tokens: readonly Token[] | undefined, depth: number, raw = ""): Node[] {
  if (!tokens) return [new Text(decoded(raw.replace(/\n+$/, "")))];
  return tokens.flatMap((token) => inlineNode(token, depth + 1));
}

function inlineNode(token: Token, depth: number): Node | Node[] {
  if (depth > DEEPEST) return new Text(token.raw);
  switch (token.type) {
    case "strong":
    case "em":
    case "del": {
      const { tokens } = token as Tokens.Strong;
      return el(token.type, null, ...inline(tokens, depth));
    }
    case "codespan":
      return el("code", { dir: "ltr" }, (token as Tokens.Codespan).text);
    case "br":
      return el("br");
    case "link":
      return link(token as Tokens.Link, depth);
    case "image":
      return image(token as Tokens.Image);
    case "checkbox":
      return new Text(box(token as Tokens.Checkbox));
    case "escape":
      return new Text((token as Tokens.Escape).text);
    case "text": {
      const { tokens, text } = token as Tokens.Text;
      return tokens ? inline(tokens, depth) : new Text(decoded(text));
    }
    default:
      return new Text(token.raw);
  }
}

function link(token: Tokens.Link, depth: number): Node | Node[] {
  const href = safeAddress(decoded(token.href));
  const words = inline(token.tokens, depth);
  if (href === null) return [...words, ...unlinked(token)];
  const rel = "noopener noreferrer nofollow";
  return el("a", { href, target: "_blank", rel, title: href }, ...words);
}

/** Where an unsafe link would have led, unless its words say so already. */
function unlinked(token: Tokens.Link): Node[] {
  if (token.href === "" || token.text === token.href) return [];
  return [new Text(` (${token.href})`)];
}

function image(token: Tokens.Image): Node {
  const alt = token.text === "" ? token.href : token.text;
  return el("span", "b-image", say("link.image", { alt, url: token.href }));
}
