// Numbers of agents of ACP in one run: from the start to the answer to `initialize`, `session/new`, a warm prompt, a tool
// with a permission, and memory. All ask the same model, a server of this script, which answers at once: `bridle acp` with
// a daemon that runs, and codex-acp of npm where it is installed beside this script.
// usage: node bench.mjs BRIDLE FOLDER [TURNS]
import { execFileSync, spawn } from "node:child_process";
import { createServer } from "node:http";
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { client, methods, ndJsonStream } from "@agentclientprotocol/sdk";

const [bridle, folder, turns = "30"] = process.argv.slice(2);
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true, mode: 0o700 });

// Starts of each agent; the middle one counts.
const ROUNDS = 5;

// A model that answers at once; a prompt with `use a tool` gets one call of a tool first.
function model(request) {
  const body = JSON.parse(request);
  const items = Array.isArray(body.input) ? body.input : [];
  const last = items.at(-1) ?? {};
  const isTool = last.type !== "function_call_output" && JSON.stringify(last).includes("use a tool");
  if (!isTool) return { type: "message", id: "m", role: "assistant", status: "completed", content: [{ type: "output_text", text: "Hello.", annotations: [] }] };
  const tools = (body.tools ?? []).map((it) => it.name).filter(Boolean);
  const pick = (...names) => names.find((it) => tools.includes(it));
  const shell = pick("shell", "shell_command", "exec_command");
  const id = `call_${Math.random().toString(36).slice(2)}`;
  if (shell === "shell") return call(id, shell, { command: ["touch", `${folder}/touched`] });
  if (shell === "shell_command") return call(id, shell, { command: `touch ${folder}/touched` });
  if (shell === "exec_command") return call(id, shell, { cmd: `touch ${folder}/touched` });
  return call(id, "memory_edit", { action: "append-subtree", path: "notes.org", text: "* A note" });
}

const call = (id, tool, value) => ({ type: "function_call", id: `f_${id}`, call_id: id, name: tool, arguments: JSON.stringify(value), status: "completed" });

function events(item) {
  const response = { id: "r", object: "response", status: "completed", model: "m", output: [item], usage: { input_tokens: 10, input_tokens_details: { cached_tokens: 0 }, output_tokens: 2, output_tokens_details: { reasoning_tokens: 0 }, total_tokens: 12 } };
  const list = [{ type: "response.created", response: { ...response, status: "in_progress", output: [] } }];
  list.push({ type: "response.output_item.added", output_index: 0, item: { ...item, status: "in_progress", ...(item.content ? { content: [] } : { arguments: "" }) } });
  if (item.content) list.push({ type: "response.output_text.delta", item_id: item.id, output_index: 0, content_index: 0, delta: "Hello." });
  else list.push({ type: "response.function_call_arguments.delta", item_id: item.id, output_index: 0, delta: item.arguments }, { type: "response.function_call_arguments.done", item_id: item.id, output_index: 0, arguments: item.arguments });
  list.push({ type: "response.output_item.done", output_index: 0, item });
  list.push({ type: "response.completed", response });
  return list.map((it, at) => `event: ${it.type}\ndata: ${JSON.stringify({ ...it, sequence_number: at })}\n\n`).join("");
}

let asked = 0;
const server = createServer((request, response) => {
  let body = "";
  request.on("data", (piece) => (body += piece));
  request.on("end", () => {
    if (!request.url.includes("/responses") || request.method !== "POST") return response.writeHead(404).end("{}");
    asked += 1;
    if (process.env.BENCH_SHOW) console.error(body.slice(0, 4000));
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(events(model(body)));
  });
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const address = `http://127.0.0.1:${server.address().port}/v1`;

function memory(pid) {
  const of = (id) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${id}/status`, "utf8"))?.[1] ?? 0) / 1024;
  const parent = (id) => Number(/PPid:\s+(\d+)/.exec(readFileSync(`/proc/${id}/status`, "utf8"))?.[1] ?? 0);
  let sum = 0;
  const tree = [pid];
  for (const id of tree) {
    sum += of(id);
    for (const other of readdirSync("/proc").filter((it) => /^\d+$/.test(it))) {
      try {
        if (parent(other) === id) tree.push(Number(other));
      } catch {
        // It has ended meanwhile.
      }
    }
  }
  return sum;
}

const middle = (list) => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)].toFixed(1);

async function timed(list, work) {
  const from = performance.now();
  const value = await work();
  list.push(performance.now() - from);
  return value;
}

async function measure(name, command, env, cwd) {
  const numbers = { initialize: [], new: [], prompt: [], tool: [], memory: [] };
  for (let round = 0; round < ROUNDS; round += 1) {
    const begun = performance.now();
    const child = spawn(command[0], command.slice(1), { stdio: ["pipe", "pipe", "ignore"], env });
    let permissions = 0;
    const app = client({ name: "bench" })
      .onNotification(methods.client.session.update, () => {})
      .onRequest(methods.client.session.requestPermission, ({ params }) => {
        permissions += 1;
        const option = params.options.find((it) => it.kind === "allow_once") ?? params.options[0];
        return { outcome: { outcome: "selected", optionId: option.optionId } };
      });
    const { agent } = app.connect(ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)));
    const fs = { readTextFile: false, writeTextFile: false };
    const hello = await agent.request(methods.agent.initialize, { protocolVersion: 1, clientCapabilities: { fs } });
    numbers.initialize.push(performance.now() - begun);
    const key = hello.authMethods.find((it) => /api-?key/i.test(it.id));
    if (key) await agent.request(methods.agent.authenticate, { methodId: key.id });
    const begin = () => agent.request(methods.agent.session.new, { cwd, mcpServers: [] });
    const { sessionId } = await timed(numbers.new, begin);
    const prompt = (text) => agent.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: "text", text }] });
    await prompt("hello");
    for (let turn = 0; turn < Number(turns); turn += 1) await timed(numbers.prompt, () => prompt("hello"));
    for (let turn = 0; turn < 5; turn += 1) await timed(numbers.tool, () => prompt(`use a tool ${round}-${turn}`));
    if (permissions !== 5) console.error(`${name}: ${permissions} permissions for 5 tools`);
    numbers.memory.push(memory(child.pid));
    child.kill("SIGKILL");
  }
  return (
    `${name}: initialize ${middle(numbers.initialize)} ms, session/new ${middle(numbers.new)} ms, warm prompt ` +
    `${middle(numbers.prompt)} ms, tool with permission ${middle(numbers.tool)} ms, ${middle(numbers.memory)} MiB`
  );
}

async function ofBridle() {
  const home = join(folder, "bridle");
  for (const part of ["home", "state", "memex"]) mkdirSync(join(home, part), { recursive: true, mode: 0o700 });
  writeFileSync(join(home, "memex", "notes.org"), "* TODO One\n");
  const socket = join(home, "b.sock");
  const off = { BRIDLE_TCP: "off", BRIDLE_HTTP: "off", BRIDLE_HTTP_UNIX: "off" };
  const set = { BRIDLE_UNIX: socket, BRIDLE_STATE: join(home, "state"), BRIDLE_MEMEX: join(home, "memex") };
  const env = { PATH: process.env.PATH, HOME: join(home, "home"), ...off, ...set };
  const add = ["model", "add", address, "--name", "lab", "--codec", "openai-responses", "--model", "m", "--no-check"];
  execFileSync(bridle, add, { env });
  const daemon = spawn(bridle, ["up"], { env, stdio: ["ignore", "pipe", "ignore"] });
  await new Promise((resolve) => daemon.stdout.on("data", (piece) => `${piece}`.includes("ready ") && resolve()));
  try {
    return await measure("bridle acp", [bridle, "acp"], env, join(home, "memex"));
  } finally {
    daemon.kill("SIGTERM");
  }
}

async function ofCodex(start) {
  const home = join(folder, "codex");
  mkdirSync(join(home, "work"), { recursive: true });
  const provider = ['[model_providers.lab]', 'name = "lab"', `base_url = "${address}"`, 'wire_api = "responses"', 'env_key = "LAB_KEY"'];
  const head = ['model = "gpt-5"', 'model_provider = "lab"', 'approval_policy = "untrusted"', 'sandbox_mode = "read-only"'];
  writeFileSync(join(home, "config.toml"), [...head, ...provider, ""].join("\n"));
  const env = { PATH: process.env.PATH, HOME: home, CODEX_HOME: home, LAB_KEY: "none", OPENAI_API_KEY: "none", CODEX_API_KEY: "none" };
  return measure("codex-acp", [start], env, join(home, "work"));
}

const lines = [await ofBridle()];
const codex = (() => {
  try {
    const found = createRequire(import.meta.url).resolve("@zed-industries/codex-acp-linux-x64/package.json");
    return join(found, "../bin/codex-acp");
  } catch {
    return "";
  }
})();
if (existsSync(codex)) lines.push(await ofCodex(codex));
for (const line of lines) console.log(line);
console.log(`${asked} requests to the model`);
process.exit(0);
