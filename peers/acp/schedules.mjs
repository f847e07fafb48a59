// Kills at random moments: a daemon, an agent or both die while an answer streams or while the editor is asked. The
// editor must see every word once, as the record has it; a question must be asked until it is answered, and what was
// allowed must be done once.
// usage: node schedules.mjs BRIDLE FOLDER [SCHEDULES] [SEED]
import { rmSync } from "node:fs";
import { join } from "node:path";
import { Home, check, pause, until } from "./harness.mjs";

const [bridle, folder, schedules = "12", given] = process.argv.slice(2);
const seed = Number(given ?? Date.now() % 1_000_000);
const words = "one two three four five six seven eight nine ten";

// Schedules that share a daemon's folder: each has a session of its own.
const perHome = 10;

// The generator mulberry32: the same numbers from the same seed everywhere.
function numbers(from) {
  let state = from >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

async function restart(home, victims, agent, random) {
  if (victims !== "daemon") await agent.kill();
  if (victims === "agent") return;
  await home.kill();
  await pause(random() * 80);
  await home.up();
}

async function opened(home, options) {
  const agent = home.agent(options);
  await agent.initialize();
  return agent;
}

// What another editor is shown of the session.
async function recorded(home, session) {
  const next = await opened(home, {});
  await next.load(session, home.folder);
  const text = next.text();
  await next.end();
  return text;
}

async function stream(home, victims, random) {
  const agent = await opened(home, {});
  await agent.open(home.folder);
  const turn = agent.prompt("stream").catch((error) => error);
  await pause(random() * 700);
  const session = agent.session;
  await restart(home, victims, agent, random);
  if (victims === "daemon") {
    const answer = await turn;
    check(answer.stopReason === "end_turn", `end_turn, got ${answer.message ?? JSON.stringify(answer)}`);
    check(agent.text() === words, `every word once, got ${agent.text()}`);
    await agent.end();
  } else {
    const next = await opened(home, {});
    await next.load(session, home.folder);
    // Killed before the daemon had the prompt, there is nothing to wait for.
    if (next.kinds("user_message_chunk").length > 0) await until(() => next.text() === words, `every word once, got ${next.text()}`);
    await next.end();
  }
  const text = await recorded(home, session);
  check(text === words || (text === "" && victims !== "daemon"), `the same in the record, got ${text}`);
}

async function question(home, victims, random) {
  home.write("* TODO One\n* TODO Two\n* TODO Three\n");
  const patience = random() * 150;
  const answer = async () => {
    await pause(patience);
    return "allow_once";
  };
  const agent = await opened(home, { answer });
  await agent.open(home.folder);
  const wish = `mark line 1 as DONE in ${home.notes}`;
  const turn = agent.prompt(wish).catch((error) => error);
  await pause(random() * 350);
  const session = agent.session;
  await restart(home, victims, agent, random);
  let isHeard = true;
  if (victims === "daemon") {
    const ended = await turn;
    check(ended.stopReason === "end_turn", `end_turn, got ${ended.message ?? JSON.stringify(ended)}`);
    await agent.end();
  } else {
    const next = await opened(home, { answer });
    await next.load(session, home.folder);
    isHeard = next.kinds("user_message_chunk").length > 0;
    if (isHeard) await until(() => next.text().endsWith("Marked as DONE."), `the end of the turn, got ${next.text()}`);
    await next.end();
  }
  const effects = home.run("effects", "--state", join(home.folder, "state"), "--session", session, "--json");
  const acts = effects.split("\n").filter((line) => line.includes("set-state"));
  const done = acts.filter((line) => line.includes('"done"'));
  check(done.length === (isHeard ? 1 : 0), `one execution, got ${effects}`);
  check(home.read().startsWith(isHeard ? "* DONE One\n" : "* TODO One\n"), `what was allowed and no more, got ${home.read()}`);
}

let home;
const counts = {};
for (let number = 0; number < Number(schedules); number += 1) {
  const random = numbers(seed * 1000 + number);
  if (number % perHome === 0) {
    if (home) await home.down();
    home = new Home(join(folder, `h${number}`), bridle);
    await home.up();
  }
  const work = random() < 0.5 ? stream : question;
  const victims = ["daemon", "daemon", "agent", "both"][Math.floor(random() * 4)];
  try {
    await work(home, victims, random);
  } catch (fault) {
    fault.message = `schedule ${number} of seed ${seed} (${work.name}, kills ${victims}): ${fault.message}`;
    throw fault;
  }
  const name = `${work.name}/${victims}`;
  counts[name] = (counts[name] ?? 0) + 1;
}
const said = home.run("log", "verify", "--state", join(home.folder, "state"));
check(!/broken/.test(said), `a record that verifies, got ${said}`);
await home.down();
rmSync(folder, { recursive: true, force: true });
const listed = Object.entries(counts).map(([name, count]) => `${name} ${count}`);
console.log(`${schedules} kills of seed ${seed}, nothing lost or doubled (${listed.join(", ")})`);
process.exit(0);
