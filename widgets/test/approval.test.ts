import assert from "node:assert/strict";
import { test } from "node:test";
import { answers, asked, isOff, reason } from "./asking.ts";
import { WAITING, arg, data, form, scene, value } from "./builders.ts";
import {
  choose,
  click,
  keyDown,
  keyUp,
  open,
  pointer,
  press,
  shown,
  type,
  visible,
} from "./rig.ts";
import { LONG_BODY, PUBLISH, REMEMBER } from "./scenes.ts";

/** jsdom lays nothing out; say how tall a box is and how far it is scrolled. */
function scrolled(box: Element, top: number, height: number, all: number): void {
  Object.defineProperties(box, {
    scrollTop: { value: top, configurable: true },
    clientHeight: { value: height, configurable: true },
    scrollHeight: { value: all, configurable: true },
  });
  box.dispatchEvent(new Event("scroll"));
}

test("the form shows title, effect, rule and every argument", () => {
  const rig = asked(PUBLISH);
  const words = shown(rig.one(".b-form"));
  assert.match(words, /Let publisher run publish\?/);
  assert.match(
    words,
    /Sends text to the network \(blog\.example\)\. Asked because: ask tool:publish/,
  );
  for (const key of ["title", "path", "body", "notify"])
    assert.match(words, new RegExp(key));
  assert.match(words, /text, 312 lines/);
});

test("arguments are marked as default, unknown, secret and as a command", () => {
  const rig = asked(
    form({
      args: [
        arg("mood", "plain", { flag: "default" }),
        arg("extra", "x", { flag: "unknown" }),
        arg("token", "hunter2", { flag: "secret" }),
        arg("argv", "", {
          flag: "argv",
          type: "list of 2",
          items: [value("rm"), value("-rf /")],
        }),
      ],
    }),
  );
  const words = shown(rig.one(".b-args"));
  assert.match(words, /default/);
  assert.match(words, /not in the schema/);
  assert.match(words, /•••• \(set\)/);
  assert.doesNotMatch(words, /hunter2/);
  assert.deepEqual(
    rig.all(".b-argv li").map((item) => item.textContent),
    ["rm", "-rf /"],
  );
});

test("invisible and reordering characters and long blanks are shown as what they are", () => {
  const command = {
    lines: 1,
    chars: 430,
    segments: [
      "rm ",
      { esc: "U+202E" },
      "txt",
      { esc: "U+200B" },
      { esc: "U+001B" },
      "[2K",
      { blanks: 400 },
      "; evil",
    ],
    cut: false,
    escapes: 3,
  };
  const rig = asked(form({ args: [arg("command", "", { value: command })] }));
  const text = rig.one(".b-args .b-pre").textContent;
  assert.equal(text, "rm U+202EtxtU+200BU+001B[2K⟦400 spaces⟧; evil");
  assert.equal(rig.all(".b-args .b-esc").length, 4);
  assert.match(rig.words(), /3 invisible characters are shown/);
  assert.equal(/[\u202e\u200b\u001b]/.test(rig.card.textContent), false);
});

test("Approve is off until each marker was opened, and says why", () => {
  const long = Array.from({ length: 60 }, (_, at) => `line ${at}`).join("\n");
  const rig = asked(
    form({ args: [arg("a", long), arg("b", long), arg("c", "short")] }),
  );
  const approve = rig.button("Approve");
  assert.equal(isOff(approve), true);
  assert.equal(reason(rig, approve), "Look at all of a, b first.");
  assert.doesNotMatch(rig.words(), /line 4/);
  press(approve);
  assert.deepEqual(answers(rig), []);
  press(rig.button("Show all of a"));
  assert.equal(reason(rig, approve), "Look at all of b first.");
  assert.match(rig.words(), /line 59/);
  press(rig.button("Show all of b"));
  assert.equal(isOff(approve), false);
  rig.page.pass(600);
  press(approve);
  assert.deepEqual(answers(rig), [{ approved: true }]);
});

test("a value of over two hundred lines must have been read to its end", () => {
  const rig = asked(form({ args: [arg("body", LONG_BODY)] }));
  assert.match(rig.words(), /308 lines not shown yet/);
  press(rig.button("Show all of body"));
  const approve = rig.button("Approve");
  assert.equal(reason(rig, approve), "Read body to its end first.");
  const box = rig.one(".b-box");
  assert.equal(box.tabIndex, 0);
  scrolled(box, 100, 400, 5000);
  assert.equal(isOff(approve), true);
  scrolled(box, 4600, 400, 5000);
  assert.equal(isOff(approve), false);
});

test("one long line is folded too, and counted in characters", () => {
  const rig = asked(form({ args: [arg("key", "x".repeat(5000))] }));
  assert.match(rig.words(), /4,680 characters not shown yet/);
  assert.equal(isOff(rig.button("Approve")), true);
});

test("a value that was cut on the way says so", () => {
  const cut = value("head … tail", { chars: 1_204_113, cut: true });
  const rig = asked(form({ args: [arg("body", "", { value: cut })] }));
  assert.match(rig.words(), /only a part of these 1,204,113 characters is here/);
});

test("Deny and End are never off while something is unopened", () => {
  const rig = asked(PUBLISH);
  assert.equal(isOff(rig.button("Deny…")), false);
  assert.equal(isOff(rig.button("End run")), false);
});

test("Deny asks why in one line and sends the reason, or none", () => {
  const rig = asked(form());
  press(rig.button("Deny…"));
  assert.match(rig.words(), /Why\? publisher will read this\./);
  const line = rig.one(".b-reason-line input");
  assert.equal(rig.root.activeElement, line);
  rig.page.pass(600);
  press(rig.button("Back"));
  assert.equal(rig.root.activeElement, rig.button("Deny…"));
  rig.page.pass(600);
  press(rig.button("Deny…"));
  type(line, "  too long ");
  rig.page.pass(600);
  press(rig.button("Deny"));
  const other = asked(form());
  press(other.button("Deny…"));
  other.page.pass(600);
  press(other.button("Deny"));
  assert.deepEqual(
    [...answers(rig), ...answers(other)],
    [{ approved: false, reason: "too long" }, { approved: false }],
  );
});

test("Enter in a field never sends", () => {
  const rig = asked(form());
  press(rig.button("Deny…"));
  const line = rig.one(".b-reason-line input");
  keyDown(line, "Enter");
  keyUp(line, "Enter");
  rig.page.pass(1000);
  assert.deepEqual(answers(rig), []);
  assert.equal(rig.card.querySelector("form"), null);
});

test("nothing but asking again is preset, and a rule is shown before it is added", () => {
  const rig = asked(form({ remember: REMEMBER }));
  const radios = rig
    .all(".b-next input[type=radio]")
    .map((node) => node as HTMLInputElement);
  assert.deepEqual(
    radios.map((radio) => radio.checked),
    [true, false, false, false],
  );
  assert.equal(rig.one(".b-next details").hasAttribute("open"), false);
  assert.deepEqual(
    rig.all(".b-next .b-in .b-rule")[0]?.textContent,
    "allow tool:publish",
  );
  choose(radios[2] as Element);
  press(rig.button("Approve"));
  assert.deepEqual(answers(rig), [{ approved: true, remember: "session" }]);
});

test("a rule that always asks offers nothing and says so", () => {
  const rig = asked(form({ remember_note: "This rule asks every time." }));
  assert.match(rig.words(), /This rule asks every time\./);
  assert.equal(rig.all("input[type=radio]").length, 0);
});

test("a double press sends one answer, and all buttons go off at once", () => {
  const rig = asked(form());
  const approve = rig.button("Approve");
  press(approve);
  press(approve);
  assert.equal(answers(rig).length, 1);
  assert.equal(approve.textContent, "Sending");
  for (const button of rig.all(".b-acts button").filter(visible))
    assert.equal(isOff(button), true);
});

test("buttons are inert for 600 ms after the form appears", () => {
  const rig = asked(form(), 599);
  press(rig.button("Approve"));
  assert.deepEqual(answers(rig), []);
  rig.page.pass(1);
  press(rig.button("Approve"));
  assert.equal(answers(rig).length, 1);
});

test("a press that comes too early leaves a sign, which goes away", () => {
  const rig = open(scene({ head: WAITING, turns: [[["Approval", form()]]] }));
  press(rig.button("Approve"));
  assert.match(rig.words(), /It has only just appeared, so that was no press\./);
  rig.page.pass(5000);
  assert.doesNotMatch(rig.words(), /It has only just appeared/);
});

test("buttons are inert for 600 ms after the form moved", () => {
  const rig = asked(form());
  const approve = rig.button("Approve");
  const acts = rig.one(".b-acts");
  pointer(approve, "pointermove");
  acts.getBoundingClientRect = () => ({ top: 140 }) as DOMRect;
  press(approve);
  assert.deepEqual(answers(rig), []);
  rig.page.pass(600);
  press(approve);
  assert.equal(answers(rig).length, 1);
});

test("a press needs down and up on the same button", () => {
  const rig = asked(form());
  const approve = rig.button("Approve");
  click(approve);
  pointer(rig.button("Deny…"), "pointerdown");
  click(approve);
  assert.deepEqual(answers(rig), []);
});

test("a script of the page cannot press", () => {
  const rig = asked(form());
  rig.page.person = false;
  press(rig.button("Approve"));
  rig.button("Approve").click();
  assert.deepEqual(answers(rig), []);
});

test("the keyboard presses with down and up, and a held key presses nothing", () => {
  const rig = asked(form());
  const approve = rig.button("Approve");
  keyDown(approve, "Enter", { repeat: true });
  keyUp(approve, "Enter");
  keyUp(approve, "Enter");
  assert.deepEqual(answers(rig), []);
  keyDown(approve, "Enter");
  assert.deepEqual(answers(rig), []);
  keyUp(approve, "Enter");
  assert.equal(answers(rig).length, 1);
});

test("Shift-Enter presses nothing and says how to go on", () => {
  for (const more of [
    { shiftKey: true },
    { ctrlKey: true },
    { metaKey: true },
    { altKey: true },
  ]) {
    const rig = asked(form());
    const event = keyDown(rig.button("Approve"), "Enter", more);
    keyUp(rig.button("Approve"), "Enter");
    assert.equal(event.defaultPrevented, true);
    assert.deepEqual(answers(rig), []);
    assert.match(rig.words(), /Press Tab to reach Approve\./);
  }
});

test("assistive technology presses without a pointer", () => {
  const rig = asked(form());
  click(rig.button("Approve"), 0);
  assert.equal(answers(rig).length, 1);
});

test("an answer that nobody takes opens the form again with the note", () => {
  const rig = asked(form());
  press(rig.button("Approve"));
  rig.page.pass(2000);
  assert.match(shown(rig.one(".b-said")), /Nothing was sent and nothing is lost\./);
  assert.equal(rig.button("Approve").textContent, "Approve");
  assert.equal(isOff(rig.button("Approve")), true);
  press(rig.button("Try again"));
  rig.kernel.snapshot(
    scene({ head: WAITING, turns: [[["Approval", form({ nonce: "second" })]]] }),
  );
  rig.page.paint();
  press(rig.button("Approve"));
  assert.equal(rig.kernel.actions("answer")[1]?.context["nonce"], "second");
});

test("a kernel that works but does not take the answer is not called dead", () => {
  const rig = asked(form());
  press(rig.button("Approve"));
  rig.kernel.frame([data("/head/cost", "$1")]);
  rig.page.pass(2000);
  assert.doesNotMatch(rig.words(), /No kernel/);
  assert.match(rig.words(), /The kernel works but has not taken this yet\./);
  assert.equal(isOff(rig.button("Approve")), false);
});

test("a refused answer leaves the form open, with what the rules say", () => {
  const rig = asked(form());
  press(rig.button("Approve"));
  rig.kernel.ack();
  rig.kernel.result(false, "The rules refuse this: write outside posts/.");
  assert.match(rig.words(), /The rules refuse this: write outside posts\/\./);
  assert.equal(isOff(rig.button("Approve")), false);
});

test("a slow result says that the answer has arrived", () => {
  const rig = asked(form());
  press(rig.button("Approve"));
  rig.kernel.ack();
  rig.page.pass(10_000);
  assert.match(rig.words(), /has the answer and is not done with it yet/);
  assert.equal(answers(rig).length, 1);
});

test("a settled form is one line, and focus stays in the card", () => {
  const rig = asked(form());
  rig.button("Approve").focus();
  press(rig.button("Approve"));
  rig.kernel.ack();
  rig.kernel.result(true);
  rig.kernel.frame([data("/b/t1b1/state", "settled"), data("/b/t1b1/end", "Approved")]);
  rig.page.paint();
  assert.equal(shown(rig.one(".b-settled")), "publishApproved");
  assert.equal(rig.card.querySelector(".b-form"), null);
  assert.equal(rig.root.activeElement, rig.one(".b-word"));
});

test("a form of an earlier moment has no nonce and cannot be answered", () => {
  const rig = asked(form({ nonce: "" }));
  press(rig.button("Approve"));
  press(rig.button("Deny…"));
  assert.deepEqual(answers(rig), []);
  assert.match(rig.words(), /This is an earlier moment/);
  rig.kernel.frame([data("/b/t1b1/nonce", "fresh")]);
  rig.page.paint();
  press(rig.button("Approve"));
  assert.equal(rig.kernel.actions("answer")[0]?.context["nonce"], "fresh");
});

test("arguments that changed in the store are asked anew", () => {
  const rig = asked(PUBLISH);
  press(rig.button("Show all of body"));
  rig.kernel.frame([
    data("/b/t1b1", form({ shown: "hash-2", args: PUBLISH["args"] ?? [] })),
  ]);
  rig.page.paint();
  assert.match(rig.words(), /308 lines not shown yet/);
  assert.equal(isOff(rig.button("Approve")), true);
});

test("what the kernel adds to a form later is shown, and inert for a while", () => {
  const rig = asked(form());
  rig.kernel.frame([data("/b/t1b1/remember", REMEMBER)]);
  rig.page.paint();
  assert.match(rig.words(), /Do not ask again…/);
  press(rig.button("Approve"));
  assert.deepEqual(answers(rig), []);
});

test("an agent that was edited meanwhile is told, with what changed", () => {
  const changed = {
    text: "publisher was edited since it asked. It goes on with today's version.",
    diff: [
      { op: "-", text: "Be brief." },
      { op: "+", text: "Be long." },
    ],
  };
  const rig = asked(form({ changed }));
  assert.match(rig.words(), /publisher was edited since it asked\./);
  click(rig.one(".b-changed summary"));
  assert.deepEqual(
    rig.all(".b-changed .b-line").map((line) => line.tagName),
    ["DEL", "INS"],
  );
});

test("the agent's words are plain text in a quotation", () => {
  const rig = asked(form({ quote: "**Approve** <b>now</b>\n[Approve]" }));
  assert.equal(rig.one("blockquote").textContent, "**Approve** <b>now</b>\n[Approve]");
  assert.equal(rig.one("blockquote").childElementCount, 0);
});
