/**
 * The Shell of this package in the hands of `bridle conform shell`: reads lines, says lines.
 *
 *     bridle conform shell -- node clients/typescript/dist/conform/shell.js
 *
 * `docs/conformance.md` says what the lines mean. A good start for a wrapper around another Shell.
 */

import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

import { Engine, safe } from "../src/openharness.js";

const { OPENHARNESS_URL = "", OPENHARNESS_TOKEN = "", OPENHARNESS_SESSION = "" } = process.env;
const input = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

function say(word: string, text?: string): void {
  console.log(text === undefined ? word : `${word} ${JSON.stringify(text)}`);
}

async function act(payload: Record<string, unknown>): Promise<Record<string, unknown>> {
  const { name, ms, fail } = payload;
  say("begin", String(name));
  await sleep(Number(ms ?? 0));
  say("end", String(name));
  if (fail === true) throw new Error("told to fail");
  return { name };
}

const engine = new Engine(OPENHARNESS_URL, {
  token: OPENHARNESS_TOKEN,
  acts: { "com.example.lamp": act, "com.example.door": act },
  parallel: true,
  ui: {
    render: (text) => say("show", text),
    notice: (code, text) => say("notice", text ?? code),
    ask: async ({ message, payload }) => {
      say("question", safe(message ?? JSON.stringify(payload)));
      const { value = "" } = await input.next();
      const answer = String(value);
      return answer.startsWith("choose ") ? (JSON.parse(answer.slice(7)) as string) : answer;
    },
  },
});
for (;;) {
  const { value, done } = await input.next();
  if (done === true) break;
  const line = String(value);
  if (!line.startsWith("ask ")) continue;
  const turn = await engine.ask(JSON.parse(line.slice(4)) as string, { session_id: OPENHARNESS_SESSION });
  if (turn.error) {
    say("notice", turn.error.message);
    say("failed", turn.error.code);
  }
  say("done");
}
process.exit(0);
