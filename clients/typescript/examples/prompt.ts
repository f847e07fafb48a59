/** Asks the daemon over the framed protocol: node prompt.js [ADDRESS] [TEXT]. Says yes or no to what needs it. */

import { createInterface } from "node:readline/promises";

import { Client, Refused, write } from "bridle-client";

const [address = "127.0.0.1:9105", ...words] = process.argv.slice(2);
const terminal = createInterface({ input: process.stdin, output: process.stdout });
const client = new Client(address, {
  session: "desk-node",
  onApproval: async (question) => {
    console.log(`${question.text}\n  ${write(question.wanted)}`);
    return (await terminal.question("allow? [y/N] ")) === "y" ? "allow" : "deny";
  },
});
try {
  console.log((await client.ask(words.join(" ") || "help", 600_000)).text);
} catch (error) {
  if (!(error instanceof Refused)) throw error;
  console.error(`refused: ${error.message}`);
  process.exitCode = 1;
} finally {
  client.close();
  terminal.close();
}
