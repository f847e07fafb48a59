// A whole conversation of an editor with the real `bridle acp` and a real daemon, over the official library of npm:
// prompts, edits with questions, cancels, sessions, and a daemon or an agent that is killed in the middle.
// usage: node conversation.mjs BRIDLE FOLDER [REPEATS]
import { pathToFileURL } from "node:url";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Agent, Home, check, pause, until } from "./harness.mjs";

const [bridle, folder, repeats = "1"] = process.argv.slice(2);
const numbers = { initialize: [], new: [], prompt: [], permission: [], rss: [] };
let judged = 0;

async function scene(name, work) {
  const home = new Home(join(folder, name), bridle);
  await home.up();
  try {
    await work(home);
  } catch (fault) {
    fault.message = `${name}: ${fault.message}`;
    throw fault;
  } finally {
    home.daemon.kill("SIGTERM");
  }
}

async function begun(home, options) {
  const agent = home.agent(options);
  const hello = await agent.initialize();
  agent.hello = hello;
  await agent.open(join(home.folder, "memex"));
  return agent;
}

async function end(agent) {
  await agent.end();
  judged += agent.judge.judged;
}

async function talk(home) {
  const agent = await begun(home);
  const { hello } = agent;
  check(hello.protocolVersion === 1, "version 1");
  check(hello.agentCapabilities.loadSession === true, "loadSession");
  check(hello.authMethods.length > 0, "a method of authentication");
  for (const part of ["list", "resume", "close"]) check(hello.agentCapabilities.sessionCapabilities[part], part);
  check((await agent.prompt("hello")).stopReason === "end_turn", "end_turn");
  check(agent.text() === "Hello, editor.", `one greeting, got ${agent.text()}`);
  check(agent.kinds("available_commands_update").length === 1, "commands");
  const from = agent.updates.length;
  await agent.prompt("stream");
  check(agent.text(from) === "one two three four five six seven eight nine ten", `ten words, got ${agent.text(from)}`);
  check(agent.kinds("agent_message_chunk", from).length > 2, "more than one piece");
  const failed = await agent.prompt("fail").then(() => null, (error) => error);
  check(failed && /away/.test(JSON.stringify(failed) + failed.message), `the reason of a failure, got ${failed}`);
  const both = await Promise.all([agent.prompt("hello"), agent.prompt("stream")]);
  check(both.every((it) => it.stopReason === "end_turn"), "two prompts in their order");
  for (let turn = 0; turn < 15; turn += 1) {
    const at = performance.now();
    await agent.prompt("hello");
    numbers.prompt.push(performance.now() - at);
  }
  await authenticate(agent);
  await refusals(agent);
  numbers.initialize.push(agent.startMs);
  numbers.new.push(agent.newMs);
  numbers.rss.push(agent.rss());
  await end(agent);
}

async function authenticate(agent) {
  const [method] = agent.hello.authMethods;
  await agent.request("authenticate", { methodId: method.id });
  const refused = await agent.request("authenticate", { methodId: "nothing" }).catch((error) => error);
  check(refused.code === -32602, `invalid params, got ${refused.code}`);
}

async function refusals(agent) {
  const cases = [
    ["session/prompt", { sessionId: "none", prompt: [{ type: "text", text: "x" }] }, -32002],
    ["session/prompt", { sessionId: agent.session, prompt: [] }, -32602],
    ["session/new", { cwd: "relative", mcpServers: [] }, -32602],
    ["session/load", { sessionId: "not-there", cwd: "/", mcpServers: [] }, -32002],
    ["session/set_mode", { sessionId: agent.session, modeId: "none" }, -32602],
    ["no/such_method", {}, -32601],
  ];
  for (const [method, params, code] of cases) {
    const refused = await agent.request(method, params).then(() => ({}), (error) => error);
    check(refused.code === code, `${code} for ${method}, got ${refused.code} ${refused.message}`);
  }
}

const mark = (line, state, file = "notes.org") => `mark line ${line} as ${state} in ${file}`;

async function edits(home) {
  let decide = () => "allow_once";
  const agent = await begun(home, { answer: (params) => decide(params) });
  const path = home.notes;
  const at = performance.now();
  check((await agent.prompt(mark(1, "DONE", path))).stopReason === "end_turn", "end_turn");
  numbers.permission.push(performance.now() - at);
  check(home.read().startsWith("* DONE One\n* TODO Two"), `a marked line, got ${home.read()}`);
  const [question] = agent.permissions;
  const diffs = question.toolCall.content.filter((it) => it.type === "diff");
  check(diffs.length === 1 && diffs[0].path === path, `a diff of the file, got ${JSON.stringify(question.toolCall.content)}`);
  check(diffs[0].oldText.includes("* TODO One") && diffs[0].newText.includes("* DONE One"), "the lines before and after");
  check(question.toolCall.locations[0].path === path && question.toolCall.locations[0].line === 1, "the place");
  check(question.options.some((it) => it.kind === "reject_once"), "a no");
  const always = question.options.filter((it) => it.kind === "allow_always").map((it) => it.optionId);
  check(always.includes("allow-heading") && always.includes("allow-file"), `our scopes, got ${always}`);
  const [call] = agent.calls();
  check(call.status === "completed" && call.kind === "edit", `a completed edit, got ${JSON.stringify(call)}`);
  check(agent.text() === "I will mark it. Marked as DONE.", `parts in their order, got ${agent.text()}`);

  decide = () => "reject_once";
  const from = agent.updates.length;
  await agent.prompt(mark(2, "DONE", path));
  check(home.read().includes("* TODO Two"), "nothing marked after a no");
  check(agent.calls(from).at(-1).status === "failed", "a failed call");
  check(agent.text(from).endsWith("It was not marked."), `what became of it, got ${agent.text(from)}`);

  // A thinker that says nothing about the no: the daemon does, and the turn has an end all the same.
  const dropped = agent.updates.length;
  check((await agent.prompt(`drop line 1 in ${path}`)).stopReason === "end_turn", "end_turn after a no");
  check(agent.text(dropped).includes("denied"), `who said no, got ${agent.text(dropped)}`);

  // A scope that is chosen holds: no question for the same heading, one for another.
  decide = () => "allow-heading";
  await agent.prompt(mark(2, "DONE", path));
  check(home.read().includes("* DONE Two"), "a marked line");
  const asked = agent.permissions.length;
  await agent.prompt(mark(2, "TODO", path));
  check(home.read().includes("* TODO Two"), "marked again without a question");
  check(agent.permissions.length === asked, "no question within the scope");
  decide = () => "reject_once";
  await agent.prompt(mark(3, "DONE", path));
  check(agent.permissions.length === asked + 1, "a question outside of the scope");
  const listed = home.run("grants", "--addr", `unix:${home.socket}`, "--json");
  check(JSON.parse(listed.split("\n")[0]).sentence.includes("heading"), `a grant, got ${listed}`);

  // Answered elsewhere: the editor's question goes away, and the turn goes on.
  decide = () => new Promise(() => {});
  const turn = agent.prompt(mark(1, "TODO", path));
  await until(() => agent.permissions.length === asked + 2, "a question");
  home.run("approve", agent.permissions.at(-1).toolCall.toolCallId, "--no-wait", "--addr", `unix:${home.socket}`);
  check((await turn).stopReason === "end_turn", "end_turn");
  check(home.read().startsWith("* TODO One"), "marked by a yes from elsewhere");
  await end(agent);
}

async function cancels(home) {
  const agent = await begun(home, { answer: () => new Promise(() => {}) });
  let turn = agent.prompt("long");
  await until(() => agent.text().includes("begin"), "the begin of a stream");
  await agent.cancel();
  check((await turn).stopReason === "cancelled", "cancelled in a stream");
  turn = agent.prompt(mark(1, "DONE", home.notes));
  await until(() => agent.permissions.length === 1, "a question");
  await agent.cancel();
  check((await turn).stopReason === "cancelled", "cancelled at a question");
  check(home.read().startsWith("* TODO One"), "nothing done");
  await agent.cancel();
  await agent.prompt("hello");
  const waits = [agent.prompt("long"), agent.prompt("hello")];
  await pause(50);
  await agent.cancel();
  check((await Promise.all(waits)).every((it) => it.stopReason === "cancelled"), "all prompts cancelled");
  check((await agent.prompt("hello")).stopReason === "end_turn", "the next one is answered");
  await end(agent);
}

async function buffers(home) {
  const texts = { [home.notes]: "* TODO One, not saved\n" };
  const agent = await begun(home, { buffers: texts, answer: () => "allow_once" });
  const link = { type: "resource_link", name: "notes.org", uri: pathToFileURL(home.notes).href };
  await agent.prompt("hello", [link]);
  check(agent.reads.length === 1 && agent.reads[0].path === home.notes, "the editor's text was asked for");
  const refused = await agent.prompt(mark(1, "DONE", home.notes)).catch((error) => error);
  check(JSON.stringify(refused.message ?? "").includes("unsaved"), `the reason, got ${refused.message}`);
  check(home.read().startsWith("* TODO One\n"), "nothing is written under an unsaved buffer");
  // Saved meanwhile: the next prompt that names the file looks again.
  writeFileSync(home.notes, texts[home.notes]);
  await agent.prompt("hello", [link]);
  await agent.prompt(mark(1, "DONE", home.notes));
  check(home.read().startsWith("* DONE One, not saved"), `written once it is saved, got ${home.read()}`);
  await agent.prompt("hello", [{ type: "resource", resource: { uri: "file:///x.txt", text: "embedded" } }]);
  await end(agent);
}

async function sessions(home) {
  const agent = await begun(home, { answer: () => "allow_once" });
  const first = agent.session;
  await agent.prompt("hello");
  await agent.prompt(mark(1, "DONE", home.notes));
  const second = await agent.open("/");
  check(second !== first, "a session of its own");
  await agent.prompt("hello");
  const listed = await agent.request("session/list", {});
  const names = listed.sessions.map((it) => it.sessionId);
  check(names.includes(first) && names.includes(second), `both sessions, got ${names}`);
  check(listed.sessions.find((it) => it.sessionId === first).title === "hello", "a title");
  const here = await agent.request("session/list", { cwd: join(home.folder, "memex") });
  check(here.sessions.every((it) => it.sessionId !== second), "sessions of one folder");
  await agent.request("session/close", { sessionId: first });
  const closed = await agent.request("session/prompt", { sessionId: first, prompt: [{ type: "text", text: "x" }] }).catch((it) => it);
  check(closed.code === -32002, "a closed session takes no prompt");
  await agent.request("session/resume", { sessionId: first, cwd: join(home.folder, "memex"), mcpServers: [] });
  agent.session = first;
  await agent.prompt("hello");
  await end(agent);

  const next = home.agent({});
  await next.initialize();
  await next.load(first, join(home.folder, "memex"));
  const users = next.kinds("user_message_chunk").map((it) => it.content.text);
  check(users.length === 3 && users[0] === "hello" && users[1].startsWith("mark"), `the prompts, got ${users}`);
  const said = ["Hello, editor.", "I will mark it. ", "Marked as DONE.", "Hello, editor."];
  check(next.text() === said.join(""), `the answers, got ${next.text()}`);
  check(next.calls().length === 1 && next.calls()[0].status === "completed", `the call, got ${JSON.stringify(next.calls())}`);
  check((await next.prompt("hello")).stopReason === "end_turn", "the conversation goes on");
  const mcp = await next.request("session/new", { cwd: "/", mcpServers: [{ name: "tools", command: "/bin/true", args: [], env: [] }] });
  check(mcp.sessionId !== first && mcp.sessionId !== second, "a name that was not used before");
  await until(() => next.updates.some((it) => JSON.stringify(it).includes("tools")), "a word about MCP servers");
  await end(next);
}

// Modes and options: a session that refuses what needs a yes, and one that asks again.
async function choices(home) {
  const agent = await begun(home, { answer: () => "allow_once" });
  const { modes, configOptions } = agent.opened;
  check(modes.currentModeId === "ask" && modes.availableModes.length === 2, `two modes, got ${JSON.stringify(modes)}`);
  check(configOptions.some((it) => it.id === "mode" && it.currentValue === "ask"), "an option for the mode");
  await agent.request("session/set_mode", { sessionId: agent.session, modeId: "refuse" });
  check(agent.kinds("config_option_update").at(-1).configOptions[0].currentValue === "refuse", "the option follows");
  await agent.prompt(mark(1, "DONE", home.notes));
  check(agent.permissions.length === 0, "nobody was asked");
  check(home.read().startsWith("* TODO One"), "nothing marked");
  check(agent.calls().at(-1).status === "failed", "a failed call");
  const told = await agent.request("session/set_config_option", { sessionId: agent.session, configId: "mode", value: "ask" });
  check(told.configOptions[0].currentValue === "ask", "all options are told");
  check(agent.kinds("current_mode_update").at(-1).currentModeId === "ask", "the mode follows");
  await agent.prompt(mark(1, "DONE", home.notes));
  check(agent.permissions.length === 1 && home.read().startsWith("* DONE One"), "asked, and marked");
  await end(agent);
}

// A buffer that is not saved, and that no prompt named: the question shows the conflict, and a yes writes nothing.
async function conflict(home) {
  const texts = { [home.notes]: "* TODO One, not saved\n" };
  const agent = await begun(home, { buffers: texts, answer: () => "allow_once" });
  const refused = await agent.prompt(mark(1, "DONE", home.notes)).catch((error) => error);
  const [question] = agent.permissions;
  const shown = JSON.stringify(question.toolCall.content);
  check(shown.includes("Conflict:") && shown.includes("not saved"), `the conflict, got ${shown}`);
  const diff = question.toolCall.content.find((it) => it.type === "diff");
  check(diff.path === home.notes && diff.newText === texts[home.notes], `what is not saved, got ${JSON.stringify(diff)}`);
  check(home.read().startsWith("* TODO One\n"), "nothing is written under an unsaved buffer");
  const calls = JSON.stringify(agent.calls()) + JSON.stringify(refused) + agent.text();
  check(/unsaved|not saved/.test(calls), `the reason, got ${calls}`);
  // Reverted meanwhile: the question has no conflict any more, and a yes counts.
  texts[home.notes] = home.read();
  await agent.prompt(mark(1, "DONE", home.notes));
  check(!JSON.stringify(agent.permissions.at(-1).toolCall.content).includes("Conflict:"), "no conflict any more");
  check(home.read().startsWith("* DONE One"), "written");
  await end(agent);
}

// The editor's terminals: off without the flag, asked for with it, and the outcome says what it was.
async function terminals(home) {
  const capabilities = { fs: { readTextFile: false, writeTextFile: false }, terminal: true };
  const none = await begun(home, { capabilities, answer: () => "allow_once" });
  await none.prompt("run hello").catch(() => {});
  check(none.permissions.length === 0 && none.terminals.length === 0, "nothing runs without the flag");
  await end(none);
  const agent = await begun(home, { capabilities, answer: () => "allow_once", flags: ["--terminal"] });
  await agent.prompt("run hello");
  check(agent.permissions.length === 1, `one question, got ${agent.permissions.length}: ${agent.text()}`);
  check(agent.terminals.join(" ") === "create echo hello wait output release", `one command, got ${agent.terminals}`);
  check(agent.text().endsWith("It ran."), `the end of the turn, got ${agent.text()}`);
  const call = JSON.stringify(agent.calls().at(-1));
  check(call.includes("run by the editor, not jailed, no undo") && call.includes("exit code 0"), `what it was, got ${call}`);
  await end(agent);
}

// The daemon dies in the middle of an answer.
async function killedInStream(home, after) {
  const agent = await begun(home);
  const turn = agent.prompt("stream");
  await until(() => agent.text().includes(after), `the words up to ${after}`);
  await home.kill();
  await pause(30);
  await home.up();
  check((await turn).stopReason === "end_turn", "end_turn after the restart");
  check(agent.text() === "one two three four five six seven eight nine ten", `every word once, got ${agent.text()}`);
  const next = home.agent({});
  await next.initialize();
  await next.load(agent.session, home.folder);
  check(next.text() === agent.text(), `the record has the same, got ${next.text()}`);
  await end(next);
  await end(agent);
}

// The daemon dies while the editor is asked.
async function killedAtQuestion(home) {
  let give;
  const given = new Promise((resolve) => (give = resolve));
  const agent = await begun(home, { answer: (_, times) => (times === 1 ? given : "allow_once") });
  const turn = agent.prompt(mark(1, "DONE", home.notes));
  await until(() => agent.permissions.length === 1, "a question");
  await home.kill();
  await home.up();
  await pause(100);
  give("allow_once");
  check((await turn).stopReason === "end_turn", "end_turn");
  check(home.read().startsWith("* DONE One\n* TODO Two"), `marked, got ${home.read()}`);
  check(agent.permissions.length <= 2, "asked at most twice");
  await executedOnce(home, agent);
  await end(agent);
}

// Agent and daemon die while the editor is asked; the next editor is asked again.
async function killedBoth(home) {
  const agent = await begun(home, { answer: () => new Promise(() => {}) });
  agent.prompt(mark(2, "DONE", home.notes)).catch(() => {});
  await until(() => agent.permissions.length === 1, "a question");
  await agent.kill();
  await home.kill();
  await home.up();
  const next = home.agent({ answer: () => "allow_once" });
  await next.initialize();
  await next.load(agent.session, home.folder);
  await until(() => next.permissions.length === 1, "the question again");
  check(next.permissions[0].toolCall.toolCallId === agent.permissions[0].toolCall.toolCallId, "the same question");
  await until(() => home.read().includes("* DONE Two"), "the edit");
  await until(() => next.calls().at(-1)?.status === "completed", "a completed call");
  await executedOnce(home, agent);
  await end(next);
}

async function executedOnce(home, agent) {
  const effects = home.run("effects", "--state", join(home.folder, "state"), "--session", agent.session, "--json");
  const done = effects.split("\n").filter((line) => line.includes("set-state") && line.includes('"done"'));
  check(done.length === 1, `one execution, got ${effects}`);
  const said = home.run("log", "verify", "--state", join(home.folder, "state"));
  check(!/broken/.test(said), `a record that verifies, got ${said}`);
}

const words = ["one", "three", "nine"];
const scenes = [["talk", talk], ["edits", edits], ["cancels", cancels], ["buffers", buffers], ["choices", choices], ["conflict", conflict], ["terminals", terminals], ["sessions", sessions]];
for (const word of words) scenes.push([`stream-${word}`, (home) => killedInStream(home, word)]);
scenes.push(["question", killedAtQuestion], ["both", killedBoth]);

const only = process.env.BRIDLE_ACP_ONLY;
for (let time = 0; time < Number(repeats); time += 1) {
  for (const [name, work] of scenes) if (!only || name.startsWith(only)) await scene(name, work);
}
const middle = (list) => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)]?.toFixed(1) ?? "-";
console.log(
  `${scenes.length} scenes, ${judged} messages valid by the schema; initialize ${middle(numbers.initialize)} ms, session/new ` +
    `${middle(numbers.new)} ms, warm prompt ${middle(numbers.prompt)} ms, edit with permission ${middle(numbers.permission)} ms, ` +
    `${middle(numbers.rss)} MiB`,
);
process.exit(0);
