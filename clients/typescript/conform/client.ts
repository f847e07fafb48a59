/**
 * The framed client of this package in the hands of `bridle conform oacp-client`: reads lines, says lines.
 *
 *     bridle conform oacp-client -- node clients/typescript/dist/conform/client.js
 *
 * `docs/conformance.md` says what the lines mean. A good start for a wrapper around another client.
 */

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

import { Client, type Question, Refused, write } from "../src/index.js";

const { OACP_ADDR = "", OACP_SESSION = "", OACP_CURSOR = "0", OACP_KEY_FILE = "", OACP_KEY_ID = "" } = process.env;
let open: Question | undefined;

function say(word: string, text: string): void {
  console.log(`${word} ${JSON.stringify(text)}`);
}

const client = new Client(OACP_ADDR, {
  session: OACP_SESSION,
  cursor: Number(OACP_CURSOR),
  shell: "node",
  ...(OACP_KEY_FILE === "" ? {} : { key: { id: OACP_KEY_ID, secret: readFileSync(OACP_KEY_FILE) } }),
  // A question is left open until a line answers it.
  onApproval: (question) => {
    if (open?.id !== question.id) say("question", `${question.text} ${write(question.wanted)}`);
    open = question;
    return undefined;
  },
});

async function ask(text: string): Promise<void> {
  try {
    say("answer", (await client.ask(text)).text ?? "");
  } catch (error) {
    if (error instanceof Refused) say("refused", error.code);
  }
}

createInterface({ input: process.stdin })
  .on("line", (line) => {
    if (line.startsWith("ask ")) {
      void ask(JSON.parse(line.slice(4)) as string);
    } else if (open) {
      const question = open;
      open = undefined;
      client.answer(question, line);
    }
  })
  .on("close", () => process.exit(0));
try {
  for await (const event of client.events()) say("event", String(event.seq));
} catch (error) {
  say("ended", error instanceof Refused ? error.code : String(error));
}
process.exit(0);
