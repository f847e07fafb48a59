/**
 * A shell of `cargo xtask chaos --clients`: says what it reads, and tells everything that it hears.
 *
 *     node chaos.js ADDRESS SESSION CLIENT SHELL [ACTUATOR]
 *
 * Each line of standard input is a message with its id. Standard output gets, in the order of their numbers,
 * `event NUMBER FORM` for what was heard and `receipt NUMBER FORM` for what was said, the form of the latter being
 * its id; `ring ID` for each request carried out, and `refused FORM` for what was refused for good. It ends with its
 * input.
 */

import { createInterface } from "node:readline";

import { Client, type Id, type Message, type Value, get, read, write } from "../src/index.js";

const [address = "", session = "", client = "", shell = "", ...actuators] = process.argv.slice(2);
const peer = new Client(address, {
  session,
  client,
  shell,
  actuators,
  cursor: 0,
  onRequest: (request) => {
    console.log("ring", request.id);
    return null;
  },
});
const told = new Set<string>();

/** Tells what is new: called whenever something was heard. */
function tell(events: Message[]): void {
  const lines: [number, string][] = events.map((event) => [event.seq ?? 0, `event ${event.seq} ${write(event.form)}`]);
  for (const [id, { seq, answer }] of peer.ledger.sayings) {
    const name = write(id);
    if (seq !== undefined && !told.has(`receipt ${name}`)) {
      told.add(`receipt ${name}`);
      lines.push([seq, `receipt ${seq} ${name}`]);
    }
    if (answer && answer.seq === undefined && !told.has(`refused ${name}`)) {
      told.add(`refused ${name}`);
      lines.push([0, `refused ${write(answer.form)}`]);
    }
  }
  for (const [, line] of lines.sort(([one], [other]) => one - other)) console.log(line);
}

createInterface({ input: process.stdin })
  .on("line", (line) => {
    const form = read(line) as Value[];
    // `send` puts the id where it stood: behind the type.
    peer.send([...form.slice(0, 2), ...form.slice(4)], get(form, "id") as Id);
  })
  .on("close", () => process.exit(0));
for (;;) {
  const events: Message[] = [];
  for await (const event of peer.events(5)) events.push(event);
  tell(events);
}
