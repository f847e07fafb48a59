/** An OpenHarness Shell with one action of its own: node lamp.js [URL] [TEXT], the token in BRIDLE_TOKEN. */

import { createInterface } from "node:readline/promises";

import { Engine } from "bridle-client/openharness";

const [url = "http://127.0.0.1:8788", ...words] = process.argv.slice(2);
const token = process.env["BRIDLE_TOKEN"];
const terminal = createInterface({ input: process.stdin, output: process.stdout });
const engine = new Engine(url, {
  ...(token === undefined ? {} : { token }),
  acts: {
    "com.example.lamp": (payload) => {
      const on = payload["on"] === true;
      console.log("the lamp is", on ? "on" : "off");
      return { on };
    },
  },
  ui: {
    render: (text) => console.log(text),
    notice: (code, text) => console.log(`[${code}] ${text ?? ""}`),
    ask: async ({ message, action_type, risk_tier, payload, options }, signal) => {
      console.log(message ?? `${action_type} (${risk_tier}): ${JSON.stringify(payload)}`);
      for (const option of options ?? []) console.log(`  ${option.option_id}: ${option.label}`);
      const answer = await terminal.question(options ? "id of an option: " : "allow? [y/N] ", { signal });
      return options ? answer : answer === "y" ? "allow" : undefined;
    },
  },
});
const turn = await engine.ask(words.join(" ") || "help", { session_id: "desk" });
if (turn.error) console.error(`${turn.error.code}: ${turn.error.message}`);
process.exitCode = turn.error ? 1 : 0;
terminal.close();
