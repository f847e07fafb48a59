/** Both clients against the real daemon, which is killed on the way: `npm run e2e`, with BRIDLE_BIN if it is elsewhere. */

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { type TestContext, test } from "node:test";

import {
  Client, type ClientOptions, Engine, type Message, type Piece, type Question, Refused, Shell, get, keyword, plist,
} from "../src/index.js";
import { Daemon } from "./daemon.js";

/** Milliseconds after which something that should happen has not: generous, for busy machines. */
const WAIT = 60_000;

const RULES = `
(rule :when "echo *" :say "echo: $1")
(rule :when "slow *" :delay 20 :pace 5 :stream ("slow: " "one, " "two, " "$1"))
(rule :when "ring *" :propose ((:target :bell :action :message :text "$1" :then-think t)))
(rule :when "* *" :result t :say "rung: $2")
(rule :when "risky *" :propose ((:target :bell :action :eval :code "$1")))
(default :say "nothing fits")
`;

async function daemonFor(context: TestContext): Promise<Daemon> {
  const daemon = await Daemon.start();
  context.after(() => daemon.close());
  return daemon;
}

/** Starts the daemon again with a thinker that follows the rules above. */
async function withRules(daemon: Daemon): Promise<void> {
  writeFileSync(`${daemon.folder}/rules`, RULES);
  await daemon.restart("--thinker", `script:${daemon.folder}/rules`);
}

async function using<T>(address: string, options: ClientOptions, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client(address, options);
  try {
    return await work(client);
  } finally {
    client.close();
  }
}

async function collected(client: Client, until: number): Promise<Message[]> {
  const events: Message[] = [];
  while ((client.cursor ?? 0) < until) await new Promise((resolve) => setTimeout(resolve, 10));
  for await (const event of client.events(200)) events.push(event);
  return events;
}

test("over every road", async (context) => {
  const daemon = await daemonFor(context);
  for (const [session, address] of [["unix", daemon.unix], ["tcp", daemon.tcp]] as const) {
    await using(address, { session }, async (client) => assert.match((await client.ask("help", WAIT)).text ?? "", /bridle/));
  }
});

test("a cursor survives the death of the daemon", async (context) => {
  const daemon = await daemonFor(context);
  const own = { session: "work", client: "00000000-0000-4000-8000-000000000001", cursor: 0 };
  const heard = await using(daemon.unix, own, (client) =>
    using(daemon.unix, { session: "work", cursor: 0 }, async (other) => {
      const ids = [0, 1, 2].map((n) => client.prompt(`help ${n}`));
      await client.wait(ids[0]!, WAIT);
      await other.ask("status", WAIT);
      await daemon.kill();
      // Said while nobody is there.
      ids.push(client.prompt("help 3"));
      await daemon.start();
      for (const id of ids.slice(1)) await client.wait(id, WAIT);
      await other.ask("status", WAIT);
      return collected(client, other.cursor ?? 0);
    }),
  );
  const numbers = heard.map((event) => event.seq!);
  assert.deepEqual(numbers, [...new Set(numbers)].sort((a, b) => a - b), "in order, none twice");
  const everything = await using(daemon.unix, { session: "work", cursor: 0 }, async (fresh) => {
    await fresh.attach(WAIT);
    return collected(fresh, Math.max(...numbers));
  });
  assert.deepEqual(everything.map((event) => event.seq), everything.map((_, at) => at + 1));
  const said = everything.flatMap((event) => (event.text?.startsWith("help ") ? [event.text] : []));
  assert.deepEqual(said, [0, 1, 2, 3].map((n) => `help ${n}`), "each is in the record once");
  const missed = everything.filter((event) => !numbers.includes(event.seq!));
  assert.ok(missed.every((event) => said.includes(event.text ?? "")), "but for its own words, all was heard");
});

test("a saying that is repeated is done once", async (context) => {
  const daemon = await daemonFor(context);
  const own = { session: "work", client: "00000000-0000-4000-8000-000000000002", cursor: 0 };
  const form = plist({ type: keyword("EVENT"), payload: plist({ sensor: keyword("user-prompt"), text: "help" }) });
  for (let time = 0; time < 2; time++) {
    const seq = await using(daemon.unix, own, async (client) => (await client.wait(client.send(form, "once"), WAIT)).seq);
    assert.equal(seq, 2);
    await daemon.kill();
    await daemon.start();
  }
});

test("an error is an exception with its code", async (context) => {
  const daemon = await daemonFor(context);
  const refusal = (code: string) => (error: unknown): boolean => error instanceof Refused && error.code === code;
  await using(daemon.unix, { session: "mine" }, async (client) => {
    const payload = plist({ action: keyword("message"), text: "x" });
    await assert.rejects(client.request(payload, "nowhere", WAIT), refusal("unknown-target"));
  });
  await using(daemon.tcp, { session: "mine" }, (stranger) =>
    assert.rejects(stranger.ask("help", WAIT), refusal("unknown-session")),
  );
});

test("a declared action, a grant and a stream that is joined late", async (context) => {
  const daemon = await daemonFor(context);
  const rules = `
(rule :when "open *" :result nil :propose ((:target :editor :action :open-file :path "$1" :then-think t)))
(rule :when "open *" :result (:outcome :done :value (:result *)) :say "opened $2")
(rule :when "open *" :result t :say "not opened")
(rule :when "slow *" :delay 20 :pace 300 :stream ("zwölf " "Äpfel, " "$1"))
(default :say "nothing fits")
`;
  writeFileSync(`${daemon.folder}/rules`, rules);
  await daemon.restart("--thinker", `script:${daemon.folder}/rules`, "--policy", `${daemon.folder}/policy.org`);
  const asked: Question[] = [];
  const opened: string[] = [];
  const options: ClientOptions = {
    session: "work",
    actuators: [{ name: "editor", actions: [{ name: "open-file", arguments: [{ name: "path", required: true }] }] }],
    renderRate: 1000,
    onRequest: (request) => {
      opened.push(String(get(request.payload, "path")));
      return "it";
    },
    onApproval: (question) => {
      asked.push(question);
      return undefined;
    },
  };
  const until = async (done: () => boolean): Promise<void> => {
    for (const end = Date.now() + WAIT; !done() && Date.now() < end; ) await new Promise((go) => setTimeout(go, 10));
    assert.ok(done(), "it came");
  };
  await using(daemon.unix, options, async (client) => {
    const waits = client.prompt("open /a");
    await until(() => asked.length > 0);
    const question = asked[0]!;
    assert.match(question.scopes.find((scope) => scope.name === "action")?.allows ?? "", /editor/);
    const preview = await client.previewGrant(question, "action", "1h", WAIT);
    assert.equal(get(preview.payload, "written"), null);
    const granted = await client.grant(question, "action", "1h", WAIT);
    assert.match(String(get(granted.payload, "sentence")), /^Until/);
    assert.equal((await client.wait(waits, WAIT)).text, "opened it");
    // The same again is not asked for, until the grant is taken back.
    assert.equal((await client.ask("open /a", WAIT)).text, "opened it");
    const [grant] = await client.grants(WAIT);
    await client.revokeGrant(String(get(grant!, "grant")), WAIT);
    assert.deepEqual(await client.grants(WAIT), []);
    assert.deepEqual([asked.length, opened], [1, ["/a", "/a"]]);
    // Somebody who comes in the middle hears what was streamed, each byte once.
    const all = "zwölf Äpfel, down";
    const pieces: Piece[] = [];
    const late = client.prompt("slow down");
    await using(daemon.unix, { session: "work", onPiece: (piece) => pieces.push(piece) }, () =>
      until(() => pieces.map((it) => it.text).join("") === all),
    );
    assert.ok(pieces.every((it) => it.channel === "text" && !it.isGap));
    assert.equal((await client.wait(late, WAIT)).text, all);
  });
});

test("requests, deltas and approvals", async (context) => {
  const daemon = await daemonFor(context);
  await withRules(daemon);
  const rung: string[] = [];
  const deltas: string[] = [];
  let asked = 0;
  const options: ClientOptions = {
    session: "work",
    actuators: ["bell"],
    renderRate: 1000,
    onRequest: (request) => {
      rung.push(request.text ?? request.action ?? "");
      return "ding";
    },
    onApproval: async () => {
      asked++;
      return "allow";
    },
    onDelta: (text) => deltas.push(text),
  };
  await using(daemon.unix, options, async (client) => {
    assert.equal((await client.ask("echo hi", WAIT)).text, "echo: hi");
    assert.equal((await client.ask("ring 3", WAIT)).text, "rung: 3");
    await client.ask("risky (x)", WAIT);
    assert.equal((await client.ask("slow down", WAIT)).text, "slow: one, two, down");
  });
  assert.deepEqual([rung, asked], [["3", "eval"], 1]);
  assert.match(deltas.join(""), /^slow: /);
});

test("signed", async (context) => {
  const daemon = await daemonFor(context);
  const secret = Buffer.from("0123456789abcdef");
  writeFileSync(`${daemon.folder}/key`, secret, { mode: 0o600 });
  await daemon.restart("--hmac-enforce", "--hmac-key-file", `${daemon.folder}/key`, "--hmac-allow-v1=false");
  await using(daemon.tcp, { session: "work", key: { id: "default", secret } }, async (client) => {
    await client.ask("help", WAIT);
    await daemon.kill();
    await daemon.start();
    assert.match((await client.ask("help", WAIT)).text ?? "", /bridle/);
  });
});

test("OpenHarness: a prompt in one message and as a stream", async (context) => {
  const daemon = await daemonFor(context);
  for (const stream of [false, true]) {
    const turn = await new Engine(`http://${daemon.http}`, { profile: { stream } }).ask("help", { session_id: "desk" });
    assert.equal(turn.error, undefined);
    assert.match(turn.text, /bridle/);
    assert.deepEqual(turn.outcomes, ["completed"]);
  }
  assert.ok((await new Engine(`http://${daemon.http}`).discover())["protocol_versions"]);
});

test("OpenHarness: pieces are shown before the whole", async (context) => {
  const daemon = await daemonFor(context);
  await withRules(daemon);
  const displayed: string[] = [];
  const engine = new Engine(`http://${daemon.http}`, { ui: { display: (text) => displayed.push(text) } });
  const turn = await engine.ask("slow down", { session_id: "desk" });
  assert.deepEqual(turn.texts, ["slow: one, two, down"]);
  assert.ok(displayed.length > 0 && turn.text.startsWith(displayed[0]!), `${displayed}`);
});

test("OpenHarness: a stream is taken up after the daemon died", async (context) => {
  const daemon = await daemonFor(context);
  const engine = (newId: () => string): Engine => {
    const made = new Engine(`http://${daemon.http}`);
    const shell = new Shell(made.shell.abilities, made.shell.profile, { newId, jitter: () => 1 });
    return Object.assign(made, { shell });
  };
  // The same request by somebody else runs to its end; of its stream we heard the first event alone.
  const [first, second] = [engine(() => "r"), engine(() => "r")];
  first.shell.ask({ user_intent: "help", session_id: "desk" }, 0);
  const answer = await second.ask("help", { session_id: "desk" });
  first.shell.opened();
  first.shell.event("open", { seq: 0, protocol_version: "1.0.0", resume: { ttl_ms: 1000 } }, 0, 0);
  await daemon.kill();
  await daemon.start();
  const [wait] = first.shell.cut(0);
  assert.ok(wait?.do === "wait");
  const turn = await first.follow(first.shell.wake(wait.ms));
  assert.deepEqual([turn.text, turn.error], [answer.text, undefined]);
  assert.equal(daemon.run("log", "--session", "desk", "--state", daemon.state).split("user-prompt").length, 2);
});

test("OpenHarness: a token", async (context) => {
  const daemon = await daemonFor(context);
  const token = daemon.run("token", "create", "--name", "test", "--state", daemon.state).trim().split(/\s+/).pop()!;
  await daemon.restart();
  const good = await new Engine(`http://${daemon.http}`, { token }).ask("help", { session_id: "desk" });
  assert.equal(good.error, undefined);
  const bad = await new Engine(`http://${daemon.http}`, { token: "brt_wrong" }).ask("help", { session_id: "desk" });
  assert.deepEqual([bad.error?.code, bad.error?.retryable], ["unauthenticated", false]);
  assert.throws(() => new Engine("http://example.org", { token }), TypeError);
});

test("OpenHarness: trouble of the user interface is no trouble of the transport", async (context) => {
  const daemon = await daemonFor(context);
  const render = (): void => {
    throw new RangeError("the terminal is gone");
  };
  for (const stream of [false, true]) {
    const engine = new Engine(`http://${daemon.http}`, { ui: { render }, profile: { stream } });
    await assert.rejects(engine.ask("help", { session_id: "desk" }), RangeError);
  }
});

test("OpenHarness: nobody there", async (context) => {
  const daemon = await daemonFor(context);
  await daemon.kill();
  assert.equal((await new Engine(`http://${daemon.http}`).ask("help")).error?.code, "transport_error");
});
