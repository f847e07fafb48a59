/**
 * Hears a session from where it was left, through restarts of either side: node tail.js ADDRESS SESSION FILE [SECONDS].
 *
 * The number of the last event is kept in FILE, written after the event was printed: at worst, after a crash, the
 * last line comes once more. Ends when nothing happened for so many SECONDS; without them, with Ctrl-C.
 */

import { existsSync, readFileSync, writeFileSync } from "node:fs";

import { Client, write } from "bridle-client";

const [address, session, file, seconds] = process.argv.slice(2);
if (!address || !session || !file) throw new Error("usage: tail.js ADDRESS SESSION FILE [SECONDS]");
const cursor = existsSync(file) ? Number(readFileSync(file, "utf8")) : 0;
const client = new Client(address, { session, cursor, role: "observer", shell: "tail" });
for await (const event of client.events(seconds === undefined ? undefined : Number(seconds) * 1_000)) {
  console.log(event.seq, event.type, write(event.payload));
  writeFileSync(file, String(event.seq));
}
client.close();
