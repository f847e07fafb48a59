// What the conversations with `bridle acp` have in common: a daemon that can be killed, an agent over the official
// library, and a validator that judges every line of the agent by the published schema.
import { spawn, execFileSync } from "node:child_process";
import { createRequire } from "node:module";
import { mkdirSync, readFileSync, writeFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { Readable, Writable } from "node:stream";
import { once } from "node:events";
import { client, methods, ndJsonStream } from "@agentclientprotocol/sdk";
import Ajv from "ajv/dist/2020.js";

const sdk = dirname(createRequire(import.meta.url).resolve("@agentclientprotocol/sdk"));
const schema = JSON.parse(readFileSync(join(sdk, "../../../schema/v1/schema.json"), "utf8"));

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export function check(condition, what) {
  if (!condition) throw new Error(`expected: ${what}`);
}

export async function until(found, what, ms = 15000) {
  const end = Date.now() + ms;
  for (;;) {
    const value = await found();
    if (value) return value;
    if (Date.now() > end) throw new Error(`waited in vain for: ${what}`);
    await pause(10);
  }
}

// Judges every line that an agent writes.
export class SchemaJudge {
  constructor() {
    const ajv = new Ajv({ strict: false, allErrors: false, validateFormats: false });
    ajv.addSchema({ ...schema, $id: "acp" });
    this.ajv = ajv;
    this.byMethod = { request: {}, response: {}, notification: {} };
    for (const [name, def] of Object.entries(schema.$defs)) {
      const method = def["x-method"];
      if (!method) continue;
      const kind = name.endsWith("Response") ? "response" : name.endsWith("Notification") ? "notification" : "request";
      this.byMethod[kind][`${def["x-side"]} ${method}`] = name;
    }
    this.judged = 0;
    this.asked = new Map();
  }

  judge(name, value, line) {
    const validate = this.ajv.getSchema(`acp#/$defs/${name}`);
    check(validate, `a definition for ${name}`);
    if (!validate(value)) throw new Error(`not a ${name}: ${this.ajv.errorsText(validate.errors)}\n${line}`);
    this.judged += 1;
  }

  // A line that the client sends: its method is needed to judge the answer.
  sent(line) {
    const message = JSON.parse(line);
    if (message.method && message.id !== undefined) this.asked.set(JSON.stringify(message.id), message.method);
  }

  // A line of the agent.
  heard(line) {
    const message = JSON.parse(line);
    check(message.jsonrpc === "2.0", `jsonrpc 2.0 in ${line}`);
    if (message.method) {
      const kind = message.id === undefined ? "notification" : "request";
      const side = message.method.startsWith("$/") ? "protocol" : "client";
      const name = this.byMethod[kind][`${side} ${message.method}`];
      check(name, `a ${kind} of the protocol, got ${line}`);
      return this.judge(name, message.params, line);
    }
    const method = this.asked.get(JSON.stringify(message.id));
    check(method, `a question for the answer ${line}`);
    this.asked.delete(JSON.stringify(message.id));
    check(("result" in message) !== ("error" in message), `one of result and error in ${line}`);
    if (message.error) return this.judge("Error", message.error, line);
    return this.judge(this.byMethod.response[`agent ${method}`], message.result, line);
  }
}

export class Home {
  constructor(folder, bridle) {
    this.folder = folder;
    this.bridle = bridle;
    rmSync(folder, { recursive: true, force: true });
    for (const name of ["home", "state", "memex", "run"]) mkdirSync(join(folder, name), { recursive: true, mode: 0o700 });
    this.env = { PATH: process.env.PATH, HOME: join(folder, "home"), XDG_RUNTIME_DIR: join(folder, "run") };
    this.socket = join(folder, "b.sock");
    this.notes = join(folder, "memex", "notes.org");
    this.judge = new SchemaJudge();
    this.write("* TODO One\n* TODO Two\n* TODO Three\n");
    writeFileSync(join(folder, "rules.script"), readFileSync(new URL("conversation.script", import.meta.url)));
  }

  write(text) {
    writeFileSync(this.notes, text);
  }

  read() {
    return readFileSync(this.notes, "utf8");
  }

  // Starts the daemon, and waits until it is ready.
  async up() {
    const args = ["up", "--tcp", "off", "--http", "off", "--http-unix", "off", "--unix", this.socket, "--state", join(this.folder, "state")];
    args.push("--thinker", `script:${join(this.folder, "rules.script")}`, "--memex", join(this.folder, "memex"));
    const daemon = spawn(this.bridle, args, { env: this.env, stdio: ["ignore", "pipe", "ignore"] });
    let text = "";
    daemon.stdout.setEncoding("utf8");
    daemon.stdout.on("data", (piece) => (text += piece));
    await until(() => text.includes("ready "), "a daemon that is ready");
    this.daemon = daemon;
  }

  async kill() {
    const ended = once(this.daemon, "exit");
    this.daemon.kill("SIGKILL");
    await ended;
  }

  async down() {
    const ended = once(this.daemon, "exit");
    this.daemon.kill("SIGTERM");
    await ended;
  }

  run(...args) {
    return execFileSync(this.bridle, [...args], { env: this.env, encoding: "utf8" });
  }

  // Starts an agent; `answer` decides about permissions.
  agent(options = {}) {
    return new Agent(this, options);
  }
}

export class Agent {
  constructor(home, { answer, buffers, capabilities, env, addr, flags } = {}) {
    this.terminals = [];
    this.updates = [];
    this.permissions = [];
    this.reads = [];
    this.faults = [];
    this.answer = answer ?? (() => "allow");
    const begun = performance.now();
    const args = ["acp", "--addr", addr ?? `unix:${home.socket}`, ...(flags ?? [])];
    this.child = spawn(home.bridle, args, { env: { ...home.env, ...env }, stdio: ["pipe", "pipe", "pipe"] });
    this.log = "";
    this.child.stderr.setEncoding("utf8");
    this.child.stderr.on("data", (piece) => (this.log += piece));
    let rest = "";
    const judge = new SchemaJudge();
    this.judge = judge;
    const seen = new TransformStream({
      transform: (bytes, out) => {
        rest += Buffer.from(bytes).toString("utf8");
        const lines = rest.split("\n");
        rest = lines.pop();
        for (const line of lines) {
          try {
            judge.heard(line);
          } catch (fault) {
            this.faults.push(fault);
          }
        }
        out.enqueue(bytes);
      },
    });
    const said = new TransformStream({
      transform: (bytes, out) => {
        for (const line of Buffer.from(bytes).toString("utf8").split("\n")) if (line) judge.sent(line);
        out.enqueue(bytes);
      },
    });
    said.readable.pipeTo(Writable.toWeb(this.child.stdin)).catch(() => {});
    const stream = ndJsonStream(said.writable, Readable.toWeb(this.child.stdout).pipeThrough(seen));
    const app = client({ name: "bridle-peer" })
      .onNotification(methods.client.session.update, ({ params }) => {
        this.updates.push(params);
      })
      .onRequest(methods.client.session.requestPermission, async ({ params, signal }) => {
        this.permissions.push(params);
        const gone = signal ? new Promise((resolve) => signal.addEventListener("abort", () => resolve(null))) : new Promise(() => {});
        const option = await Promise.race([this.answer(params, this.permissions.length), gone]);
        if (!option) return { outcome: { outcome: "cancelled" } };
        const chosen = params.options.find((it) => it.optionId === option || it.kind === option);
        check(chosen, `an option ${option} among ${JSON.stringify(params.options)}`);
        return { outcome: { outcome: "selected", optionId: chosen.optionId } };
      })
      .onRequest(methods.client.terminal.create, ({ params }) => {
        this.terminals.push("create", params.command, ...params.args);
        return { terminalId: `t${this.terminals.length}` };
      })
      .onRequest(methods.client.terminal.waitForExit, () => {
        this.terminals.push("wait");
        return { exitCode: 0 };
      })
      .onRequest(methods.client.terminal.output, () => {
        this.terminals.push("output");
        return { output: "hello\n", truncated: false };
      })
      .onRequest(methods.client.terminal.release, () => {
        this.terminals.push("release");
        return {};
      })
      .onRequest(methods.client.fs.readTextFile, ({ params }) => {
        this.reads.push(params);
        const text = buffers?.[params.path];
        if (text === undefined) throw new Error("no such buffer");
        return { content: text };
      });
    this.connection = app.connect(stream);
    this.begun = begun;
    this.capabilities = capabilities ?? { fs: { readTextFile: true, writeTextFile: true }, terminal: false };
  }

  request(method, params) {
    return this.connection.agent.request(method, params);
  }

  async initialize() {
    const answer = await this.request(methods.agent.initialize, { protocolVersion: 1, clientCapabilities: this.capabilities });
    this.startMs = performance.now() - this.begun;
    return answer;
  }

  async open(folder) {
    const begun = performance.now();
    this.opened = await this.request(methods.agent.session.new, { cwd: folder, mcpServers: [] });
    this.newMs = performance.now() - begun;
    this.session = this.opened.sessionId;
    return this.session;
  }

  load(session, folder) {
    this.session = session;
    return this.request(methods.agent.session.load, { sessionId: session, cwd: folder, mcpServers: [] });
  }

  prompt(text, more = []) {
    return this.request(methods.agent.session.prompt, { sessionId: this.session, prompt: [{ type: "text", text }, ...more] });
  }

  cancel() {
    return this.connection.agent.notify(methods.agent.session.cancel, { sessionId: this.session });
  }

  kinds(kind, from = 0) {
    return this.updates.slice(from).map((it) => it.update).filter((it) => it.sessionUpdate === kind);
  }

  // Text of the agent's messages since an update.
  text(from = 0) {
    return this.kinds("agent_message_chunk", from).map((it) => it.content.text).join("");
  }

  // Last state of each tool call.
  calls(from = 0) {
    const calls = new Map();
    for (const { update } of this.updates.slice(from)) {
      if (!update.sessionUpdate.startsWith("tool_call")) continue;
      if (update.sessionUpdate === "tool_call") check(!calls.has(update.toolCallId), `one tool_call for ${update.toolCallId}`);
      calls.set(update.toolCallId, { ...calls.get(update.toolCallId), ...update });
    }
    return [...calls.values()];
  }

  rss() {
    const status = readFileSync(`/proc/${this.child.pid}/status`, "utf8");
    return Number(/VmRSS:\s+(\d+)/.exec(status)[1]) / 1024;
  }

  // Ends the agent as an editor does: its input ends. It must end by itself.
  async end() {
    const ended = this.child.exitCode === null ? once(this.child, "exit") : Promise.resolve([this.child.exitCode]);
    this.child.stdin.end();
    const [code] = await ended;
    check(code === 0, `exit code 0, got ${code}: ${this.log}`);
    this.settle();
  }

  async kill() {
    const ended = once(this.child, "exit");
    this.child.kill("SIGKILL");
    await ended;
    this.settle();
  }

  settle() {
    if (this.faults.length) throw this.faults[0];
  }
}
