/** The OpenHarness Shell runtime: plays every vector of `vectors/shell`. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { type Abilities, Performance } from "../src/perform.js";
import { InvalidResponse, parse } from "../src/response.js";
import { type Action, Shell } from "../src/shell.js";
import { EventParser, fold } from "../src/stream.js";
import { safe } from "../src/text.js";
import { type Vector, octets, repeated, vectors } from "./vectors.js";

/** An action as vectors have it. */
function written({ do: name, ...fields }: Action): unknown {
  return { [name]: fields };
}

function abilities(shell: Vector): Abilities {
  const { ask_from: askFrom, acts, renders, approval, parallel } = shell;
  return { acts, renders, approval, parallel, ...(askFrom === undefined ? {} : { askFrom }) };
}

/** Plays a vector with `do: perform`: the actions after each step. */
function perform(vector: Vector): Action[][] {
  const [first, ...rest] = vector["play"] as Vector[];
  const performance = new Performance(abilities(vector["shell"] ?? {}), parse(vector["response"]), first!["at"]);
  return [
    performance.start(first!["at"]),
    ...rest.map((step) => {
      const now: number = step["at"];
      if ("answered" in step) return performance.answered(step["answered"], step["answer"], now);
      if ("finished" in step) return performance.finished(step["finished"], step["ok"], now, step["output"], step["error"]);
      return "cancel" in step ? performance.cancel(now) : performance.tick(now);
    }),
  ];
}

/** Plays a vector with `do: converse`. */
function converse(vector: Vector): Action[][] {
  const options = vector["shell"] ?? {};
  const profile = { ...options.profile, stream: options.stream, ...(options.versions ? { versions: options.versions } : {}) };
  const jitter = [...(vector["jitter"] ?? [])] as number[];
  let ids = 0;
  const shell = new Shell(abilities(options), profile, { newId: () => `r${++ids}`, jitter: () => jitter.shift() ?? 1 });
  return (vector["play"] as Vector[]).map((step) => {
    const now: number = step["at"];
    const unix = (vector["unix_ms"] ?? 0) + now;
    if ("ask" in step) return shell.ask(step["ask"], unix);
    if ("reply" in step) return shell.replied(step["reply"], now, unix, step["retry_after"]);
    if ("event" in step) return shell.event(step["event"], step["data"], now, unix);
    if ("cut" in step) return shell.cut(now);
    if ("answered" in step) return shell.answered(step["answered"], step["answer"], now);
    if ("finished" in step) return shell.finished(step["finished"], step["ok"], now, step["output"], step["error"]);
    if ("cancel" in step) return shell.cancel(now);
    if (!("opened" in step)) return shell.wake(now);
    shell.opened();
    return [];
  });
}

test("every course of events", () => {
  let ran = 0;
  for (const vector of vectors("shell")) {
    ran++;
    if (vector["do"] === "text") {
      const text: string = vector["in"] ?? repeated(vector["in_repeat"]);
      assert.equal(safe(text, vector["limit"]), vector["out"] ?? repeated(vector["out_repeat"]), vector.id);
      continue;
    }
    const played = vector["do"] === "perform" ? perform(vector) : converse(vector);
    const expected = (vector["play"] as Vector[]).map((step) => step["then"]);
    // Through JSON, which has no undefined.
    assert.deepEqual(JSON.parse(JSON.stringify(played.map((actions) => actions.map(written)))), expected, vector.id);
  }
  assert.ok(ran >= 120, `${ran}`);
});

test("an answer is taken as the reader of messages takes it", () => {
  let ran = 0;
  for (const vector of vectors("openharness")) {
    if (vector["as"] !== "response" || vector["mode"] === "strict" || "reason" in vector) continue;
    ran++;
    let verdict = "accept";
    try {
      parse(JSON.parse(new TextDecoder().decode(octets(vector))));
    } catch (error) {
      assert.ok(error instanceof InvalidResponse, vector.id);
      verdict = error.code.replace("invalid_response", "invalid_request");
    }
    assert.equal(verdict, vector["verdict"], vector.id);
  }
  assert.ok(ran > 20, `${ran}`);
});

test("events come whole out of any pieces", () => {
  const bytes = new TextEncoder().encode(': ka\nid: 0\nevent: open\ndata: {"a":\r\ndata: "é"}\r\n\r\ndata:x\n\nevent: none\n\n');
  for (const piece of [1, 2, 3, bytes.length]) {
    const parser = new EventParser();
    const events = [];
    for (let at = 0; at < bytes.length; at += piece) events.push(...parser.feed(bytes.subarray(at, at + piece)));
    assert.deepEqual(events, [{ name: "open", data: '{"a":\n"é"}' }, { name: "message", data: "x" }]);
  }
});

test("a piece reaches no prototype", () => {
  const directive = { payload: {} };
  assert.equal(fold(directive, "/payload/__proto__/polluted", { value: 1 }), false);
  assert.equal(fold(directive, "/payload/constructor/prototype/polluted", { value: 1 }), true);
  assert.equal(({} as Record<string, unknown>)["polluted"], undefined);
});
