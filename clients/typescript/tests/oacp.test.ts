/** What a shell remembers and makes of messages: the vectors of `vectors/message`, and the ledger. */

import assert from "node:assert/strict";
import { test } from "node:test";

import type { OfferedAction } from "../src/offer.js";
import { Ledger, Message, Parts, ProtocolError, inParts, plist } from "../src/oacp.js";
import { Pieces, pieceOf, voidedBy } from "../src/piece.js";
import { SexpError, Sym, get, read, write } from "../src/sexp.js";
import { octets, vectors } from "./vectors.js";

test("every message and every answer is read", () => {
  let ran = 0;
  for (const vector of vectors("message")) {
    // A client asks for Lisp, so nobody sends it the other dialect.
    if (vector["dialect"] === "emacs") continue;
    ran++;
    const text = new TextDecoder().decode(octets(vector));
    if (vector["verdict"] === "accept") {
      const message = Message.parse(text);
      assert.equal(message.type, vector["type"].toLowerCase(), vector.id);
      assert.deepEqual(Message.parse(write(message.form)), message, vector.id);
    } else if (vector["verdict"] === "syntax") {
      const isFault = (error: unknown): boolean => error instanceof SexpError && error.category === vector["category"];
      assert.throws(() => Message.parse(text), isFault, vector.id);
    } else if (vector["verdict"] === "not-a-plist" && vector["path"].length === 0) {
      assert.throws(() => Message.parse(text), ProtocolError, vector.id);
    }
    if (vector["reply"]) {
      assert.equal(Message.parse(vector["reply"]).refusal()?.code ?? "accept", vector["verdict"], vector.id);
    }
  }
  assert.ok(ran > 250, `${ran}`);
});

test("the hello is one that the daemon knows", () => {
  const ledger = new Ledger({ session: "work", client: "6f1c", actuators: ["bell"], role: "observer" }, 12);
  assert.equal(
    write(ledger.attachment()),
    '(:type :EVENT :payload (:action :handshake :version "0.3.0" :capabilities (:parts) :length :bytes' +
      ' :client "6f1c" :session "work" :cursor 12 :role :observer :shell :node :max-frame 16777215' +
      " :receipts t :actuators (:bell)))",
  );
});

test("actions are described in the hello", () => {
  const open: OfferedAction = {
    name: "open-file",
    about: "Open a file.",
    arguments: [
      { name: "path", about: "Absolute path", required: true },
      { name: "where", choices: ["here", "aside"] },
      { name: "count", shape: "integer" },
    ],
  };
  const ledger = new Ledger({ actuators: ["bell", { name: "editor", actions: ["eval", open] }, { name: "bare" }] });
  const said =
    ':actuators (:bell (:name :editor :actions (:eval (:name :open-file :about "Open a file.' +
    '" :arguments ((:name :path :required t :about "Absolute path") (:name :where :shape :choice :choices' +
    " (:here :aside)) (:name :count :shape :integer))))) :bare)";
  assert.ok(write(ledger.attachment()).includes(said), write(ledger.attachment()));
});

function delta(more: string): Message {
  return Message.parse(`(:type :EVENT :meta (:session "s") :payload (:action :delta :turn 3 ${more}))`);
}

test("what is streamed again is given once", () => {
  const known = new Pieces();
  const made = [
    ':thought 12 :channel :text :offset 0 :text "übér "',
    ':thought 12 :channel :reasoning :offset 0 :text "hm"',
    ':thought 12 :channel :text :offset 0 :text "übér zw"',
    ':thought 12 :channel :text :offset 9 :text "ölf"',
    ':thought 12 :channel :text :offset 0 :text "üb"',
    ':thought 13 :channel :output :offset 900 :text "late"',
    ':text "a"',
    ':text "a"',
  ].flatMap((more) => known.take(pieceOf(delta(more))!) ?? []);
  assert.deepEqual(
    made.map((it) => [it.thought, it.channel, it.text, it.isGap]),
    [
      ["12", "text", "übér ", false], ["12", "reasoning", "hm", false], ["12", "text", "zw", false],
      ["12", "text", "ölf", false], ["13", "output", "late", true],
      ["turn-3", "text", "a", false], ["turn-3", "text", "a", false],
    ],
  );
});

test("what is taken back begins anew, and other messages are no pieces", () => {
  const known = new Pieces();
  const piece = pieceOf(delta(':thought 1 :channel :text :offset 0 :text "no"'))!;
  assert.deepEqual(known.take(piece), piece);
  assert.equal(known.take(piece), undefined);
  const taken = voidedBy(Message.parse("(:type :EVENT :payload (:action :voided :turn 3 :thought 1))"));
  assert.equal(taken, "1");
  known.void(taken!);
  assert.deepEqual(known.take(piece), piece);
  assert.deepEqual([pieceOf(event(3)), voidedBy(event(3))], [undefined, undefined]);
});

const saying = plist({ type: new Sym(":EVENT") });

function event(seq: number, more = ""): Message {
  return Message.parse(`(:type :EVENT :meta (:session "s" :seq ${seq}${more}) :payload (:action :message :text "x"))`);
}

function receipt(seq: number): Message {
  return Message.parse(`(:type :STATUS :id 7 :payload (:status :admitted :session "s" :seq ${seq}))`);
}

test("nothing is heard twice", () => {
  const ledger = new Ledger({ session: "s" }, 0);
  assert.deepEqual([1, 2, 2, 1, 3].map((seq) => ledger.numbered(seq, event(seq))), [true, true, false, false, true]);
  assert.equal(ledger.cursor, 3);
});

test("a number of our own is known by its receipt", () => {
  const ledger = new Ledger({ session: "s" }, 0);
  ledger.say(7, saying);
  assert.ok(ledger.numbered(2, event(2)));
  assert.equal(ledger.cursor, 0);
  ledger.receipt(receipt(1));
  assert.equal(ledger.cursor, 2);
  assert.deepEqual(ledger.due(), []);
});

test("our own saying in the tail is a receipt, and what somebody said with our client before is heard", () => {
  const ledger = new Ledger({ session: "s" }, 0);
  assert.ok(ledger.numbered(1, event(1, " :id 7 :own t")));
  ledger.say(7, saying);
  assert.equal(ledger.numbered(2, event(2, " :id 7 :own t")), false);
  assert.equal(ledger.cursor, 2);
});

test("an answer tells the number of what it answers", () => {
  const ledger = new Ledger({ session: "s" }, 0);
  const said = ledger.say(7, saying);
  const answer = '(:type :RESPONSE :id 7 :meta (:session "s" :seq 2 :answers 1) :payload (:status :success))';
  assert.ok(ledger.numbered(2, Message.parse(answer)));
  assert.ok(said.answer);
  assert.equal(ledger.cursor, 2);
});

test("what is not acknowledged is due on the next connection", () => {
  const ledger = new Ledger({ session: "s" }, 0);
  ledger.connection = 1;
  const said = ledger.say(7, saying);
  assert.deepEqual(ledger.due(), [said]);
  said.connection = 1;
  assert.deepEqual(ledger.due(), []);
  ledger.connection = 2;
  assert.deepEqual(ledger.due(), [said]);
});

test("a second receipt with another number is a fault", () => {
  const ledger = new Ledger({ session: "s" }, 0);
  ledger.say(7, saying);
  ledger.receipt(receipt(1));
  ledger.receipt(receipt(1));
  assert.throws(() => ledger.receipt(receipt(2)), ProtocolError);
});

test("in parts, there and back", () => {
  const text = write(plist({ type: new Sym(":LOG"), payload: plist({ text: 'é"\\😀'.repeat(2000) }) }));
  const payloads = inParts(text, "7f", 1024);
  assert.ok(payloads.length > 10 && payloads.every((payload) => Buffer.byteLength(payload) <= 1024));
  const parts = new Parts();
  const whole = payloads.map((payload) => parts.take(read(payload)));
  assert.deepEqual(whole, [...payloads.slice(1).map(() => undefined), text]);
  assert.deepEqual(inParts("(a)", "7f", 1024), ["(a)"]);
});

test("parts that contradict each other", () => {
  for (const second of [':n 3 :of 3) :data "b"', ':n 2 :of 4) :data "b"', ':n 1 :of 3) :data "b"', ":n 2 :of 3)"]) {
    const parts = new Parts();
    parts.take(read('(:type :EVENT :part (:id "7f" :n 1 :of 3) :data "a")'));
    assert.throws(() => parts.take(read(`(:type :EVENT :part (:id "7f" ${second})`)), ProtocolError, second);
  }
});

test("a message that is given up", () => {
  const parts = new Parts();
  const take = (part: string): unknown => parts.take(read(`(:type :EVENT :part (:id "7f" ${part})`));
  assert.equal(take(':n 1 :of 2) :data "a"'), undefined);
  assert.equal(take(":abort t)"), undefined);
  assert.equal(take(':n 1 :of 2) :data "(a"'), undefined);
  assert.equal(take(':n 2 :of 2) :data ")"'), "(a)");
});

test("what is nil is left out of a property list", () => {
  const form = plist({ maxFrame: 5, session: null });
  assert.deepEqual([write(form), get(form, "max-frame")], ["(:max-frame 5)", 5]);
});

test("a request that is over is known when it comes once more", () => {
  const ledger = new Ledger({ session: "s" }, 0);
  ledger.keepAnswer("s-5", saying);
  assert.equal(ledger.isOver("s-5"), false);
  const payload = '(:action :outcome :effect "s-5" :outcome :done)';
  ledger.outcome(Message.parse(`(:type :EVENT :meta (:session "s" :seq 9) :payload ${payload})`));
  assert.deepEqual([ledger.isOver("s-5"), ledger.answered.size], [true, 0]);
});

test("what was said and never asked for is not remembered forever", () => {
  const ledger = new Ledger({ session: "s" }, 0);
  const first = ledger.say(0, saying);
  for (let id = 1; id < 4096; id++) ledger.say(id, saying);
  assert.throws(() => ledger.say(4096, saying), RangeError);
  first.answer = event(1);
  ledger.say(4096, saying);
  assert.equal(ledger.sayings.has(0), false);
});
