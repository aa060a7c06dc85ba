import assert from "node:assert/strict";
import { test } from "node:test";
import { A2uiClientMessageSchema, A2uiMessageSchema } from "@a2ui/web_core/v0_9";
import { HEAD, data, form, scene, text } from "./builders.ts";
import { open, press } from "./rig.ts";
import { SCENES } from "./scenes.ts";

const WORKING = scene({ turns: [[text("Rye", { done: false })]] });

test("a view says hello with nothing, and shows nothing until it is answered", () => {
  const rig = open();
  assert.deepEqual(
    rig.kernel.hellos().map((hello) => hello["last"]),
    [-1],
  );
  assert.equal(rig.card.hidden, true);
  rig.kernel.snapshot(WORKING);
  rig.page.paint();
  assert.equal(rig.card.hidden, false);
});

test("a hello without an answer for two seconds shows a card without a kernel", () => {
  const rig = open();
  rig.page.pass(1999);
  assert.equal(rig.card.hidden, true);
  rig.page.pass(1);
  assert.match(rig.words(), /No kernel behind this card/);
  assert.match(
    rig.words(),
    /In a new cell, %load_ext bread_nb, then %bread pending shows what waits\./,
  );
  assert.match(rig.one("[role=alert]").textContent ?? "", /No kernel/);
});

test("a first hello is said again, in case it went out before there was a way in", () => {
  const rig = open();
  rig.page.pass(300);
  assert.equal(rig.kernel.hellos().length, 2);
  const views = new Set(rig.kernel.hellos().map((hello) => hello["view"]));
  assert.equal(views.size, 1);
  rig.kernel.snapshot(WORKING);
  rig.page.pass(5000);
  assert.equal(rig.kernel.hellos().length, 2);
});

test("a slow way to a kernel is tried after the card was given up, until it answers", () => {
  const rig = open();
  rig.page.pass(3000);
  assert.match(rig.words(), /No kernel behind this card/);
  assert.equal(rig.kernel.hellos().length, 4);
  rig.kernel.snapshot(WORKING);
  rig.page.paint();
  assert.doesNotMatch(rig.words(), /No kernel/);
  rig.page.pass(10_000);
  assert.equal(rig.kernel.hellos().length, 4);
});

test("a hello says how long its page has been there", () => {
  const rig = open();
  const [first] = rig.kernel.hellos();
  assert.equal(first?.["age"], Math.round(rig.page.now()));
});

test("Try again asks again, and any answer brings the card back", () => {
  const rig = open();
  rig.page.pass(2000);
  const before = rig.kernel.hellos().length;
  press(rig.button("Try again"));
  assert.equal(rig.kernel.hellos().length, before + 1);
  rig.kernel.snapshot(WORKING);
  rig.page.paint();
  assert.doesNotMatch(rig.words(), /No kernel/);
  assert.match(rig.words(), /Rye/);
});

test("Try again that nobody answers says so, and can be pressed again", () => {
  const rig = open();
  rig.page.pass(2000);
  press(rig.button("Try again"));
  assert.match(rig.words(), /Asking the kernel/);
  rig.page.pass(2000);
  assert.doesNotMatch(rig.words(), /Asking the kernel/);
  assert.match(rig.words(), /No kernel has answered: .*%load_ext bread_nb/);
  const before = rig.kernel.hellos().length;
  press(rig.button("Try again"));
  assert.equal(rig.kernel.hellos().length, before + 1);
});

test("Try again on a card that the kernel has closed is answered at once", () => {
  const rig = open(WORKING);
  rig.kernel.tell({ t: "close" });
  rig.view.gone();
  rig.page.paint();
  press(rig.button("Try again"));
  assert.match(rig.words(), /No kernel has answered/);
  assert.ok(rig.button("Try again"));
});

test("frames are applied in order and their texts appended", () => {
  const rig = open(WORKING);
  rig.kernel.frame(
    [],
    [
      ["/b/t1b1/text", " and"],
      ["/b/t1b1/text", " wheat"],
    ],
  );
  rig.kernel.frame([data("/head/word", "Thinking")]);
  rig.page.paint();
  assert.match(rig.words(), /Rye and wheat/);
  assert.match(rig.words(), /Thinking/);
});

test("a frame that came twice counts once", () => {
  const rig = open(WORKING);
  const frame = { t: "frame", seq: 1, messages: [], append: [["/b/t1b1/text", "!"]] };
  rig.kernel.tell(frame);
  rig.kernel.tell(frame);
  rig.page.paint();
  assert.match(rig.words(), /Rye!(?!!)/);
});

test("a gap in the numbers asks for what is missing", () => {
  const rig = open(WORKING);
  rig.kernel.skip();
  rig.kernel.frame([], [["/b/t1b1/text", " lost"]]);
  assert.deepEqual(
    rig.kernel.hellos().map((hello) => hello["last"]),
    [-1, 0],
  );
  rig.kernel.snapshot(scene({ turns: [[text("Rye whole")]] }));
  rig.page.paint();
  assert.match(rig.words(), /Rye whole/);
  rig.kernel.frame([], [["/b/t1b1/text", " again"]]);
  rig.page.paint();
  assert.match(rig.words(), /Rye whole again/);
});

test("a burst of frames after a gap asks once", () => {
  const rig = open(WORKING);
  rig.kernel.skip();
  for (let at = 0; at < 20; at += 1) rig.kernel.frame([]);
  assert.equal(rig.kernel.hellos().length, 2);
  rig.page.pass(1000);
  rig.kernel.frame([]);
  assert.equal(rig.kernel.hellos().length, 3);
});

test("messages for another view are none of ours", () => {
  const rig = open(WORKING);
  rig.kernel.snapshot(SCENES["finished"] ?? [], { view: "somebody else" });
  rig.page.paint();
  assert.match(rig.words(), /Writing/);
});

test("two views of one model hear the same frames and keep apart", () => {
  const one = open(WORKING);
  const words = () => one.words();
  const frame = [data("/b/t1b1/text", "shared")];
  one.kernel.frame(frame);
  one.page.paint();
  const other = open(WORKING);
  other.kernel.frame(frame, [["/b/t1b1/text", " twice"]]);
  other.page.paint();
  assert.match(other.words(), /shared twice/);
  assert.match(words(), /shared(?! twice)/);
});

test("an action is a protocol message, of the component that it came from", () => {
  const rig = open(scene({ head: { button: "end" }, turns: [[["Approval", form()]]] }));
  rig.page.pass(600);
  press(rig.button("Approve"));
  const [sent] = rig.kernel.actions("answer");
  assert.equal(
    A2uiClientMessageSchema.safeParse(sent?.message["message"]).success,
    true,
  );
  assert.deepEqual(sent?.message["message"], {
    version: "v0.9",
    action: {
      name: "answer",
      surfaceId: "run_019f",
      sourceComponentId: "t1b1",
      timestamp: "2026-01-02T03:04:05.000Z",
      context: {
        checkpoint: "cp-1",
        nonce: "once",
        shown: "hash-1",
        answer: { approved: true },
      },
    },
  });
});

test("the scenes speak the protocol", () => {
  for (const message of Object.values(SCENES).flat()) {
    assert.equal(A2uiMessageSchema.safeParse(message).success, true);
  }
});

test("Stop that is acknowledged interrupts nothing", () => {
  const rig = open(WORKING);
  press(rig.button("Stop"));
  rig.kernel.ack();
  rig.page.pass(5000);
  assert.equal(rig.kernel.interrupted, 0);
  assert.doesNotMatch(rig.words(), /No kernel/);
});

test("Stop without an answer for one second interrupts the kernel that runs it", () => {
  const rig = open(WORKING);
  press(rig.button("Stop"));
  rig.page.pass(999);
  assert.equal(rig.kernel.interrupted, 0);
  rig.page.pass(1);
  assert.equal(rig.kernel.interrupted, 1);
  rig.page.pass(2000);
  assert.match(rig.words(), /No kernel/);
});

test("Stop of a run in the background interrupts nobody else's cell", () => {
  const rig = open(scene({ head: { foreground: false } }));
  press(rig.button("Stop"));
  rig.page.pass(2000);
  assert.equal(rig.kernel.interrupted, 0);
  assert.match(rig.words(), /No kernel/);
});

test("Stop reads Sending until the state says more, and is pressed once", () => {
  const rig = open(WORKING);
  const stop = rig.button("Stop");
  press(stop);
  press(stop);
  assert.equal(stop.textContent, "Sending");
  assert.equal(rig.kernel.actions("stop").length, 1);
  rig.kernel.frame([data("/head", { ...HEAD, state: "stopping", button: null })]);
  rig.page.paint();
  assert.equal(stop.hidden, true);
});

test("a kernel that is busy is said to be busy, and Stop can be pressed again", () => {
  const rig = open(scene({ head: { foreground: false } }));
  press(rig.button("Stop"));
  rig.kernel.frame([]);
  rig.page.pass(2000);
  assert.match(rig.words(), /The kernel works but has not taken this yet\./);
  press(rig.button("Stop"));
  rig.kernel.ack();
  rig.kernel.result(false, "The run has ended already.");
  assert.match(rig.words(), /The run has ended already\./);
});

test("a closed channel is a kernel that does not answer", () => {
  const rig = open(WORKING);
  rig.kernel.broken = true;
  press(rig.button("Stop"));
  rig.page.pass(3000);
  assert.match(rig.words(), /No kernel behind this card/);
});

test("a card that outlived its page says that the copy below is older", () => {
  const rig = open(WORKING);
  rig.kernel.tell({ t: "stale", run: "analyst-3" });
  assert.match(rig.words(), /saved in this cell is older than this card/);
  assert.match(rig.words(), /%bread show analyst-3 in a new cell keeps the run/);
});

test("a view whose kernel closes the channel goes without a word", () => {
  const rig = open(WORKING);
  const said = rig.kernel.sent.length;
  rig.kernel.tell({ t: "close" });
  rig.view.doubt();
  rig.view.dispose();
  rig.page.pass(5000);
  assert.equal(rig.kernel.sent.length, said);
});

test("a view that goes says bye", () => {
  const rig = open(WORKING);
  rig.view.dispose();
  assert.equal(rig.kernel.sent.at(-1)?.["t"], "bye");
  rig.kernel.frame([data("/head/word", "Late")]);
  rig.page.pass(5000);
  assert.doesNotMatch(rig.words(), /Late/);
});

test("the trail leads to an earlier moment and back", () => {
  const rig = open(SCENES["streaming"]);
  press(rig.all(".b-crumb")[4] as Element);
  assert.deepEqual(rig.kernel.actions("asof")[0]?.context, { n: 7 });
  rig.kernel.ack();
  rig.kernel.snapshot(scene({ turns: [[text("As it was")]] }), { asof: 7 });
  rig.page.paint();
  assert.match(rig.words(), /As of crumb 7 of 9/);
  rig.kernel.frame([data("/b/t1b1/text", "Not yet")]);
  rig.page.paint();
  assert.match(rig.words(), /As it was/);
  press(rig.button("Back to now"));
  assert.deepEqual(rig.kernel.actions("asof")[1]?.context, { n: null });
  rig.kernel.snapshot(scene({ turns: [[text("Now")]] }), { asof: null });
  rig.page.paint();
  assert.doesNotMatch(rig.words(), /As of crumb/);
  rig.kernel.frame([data("/b/t1b1/text", "Going on")]);
  rig.page.paint();
  assert.match(rig.words(), /Going on/);
});
