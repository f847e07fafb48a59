/** A real daemon for the tests of this folder: started, killed, started again at the same addresses. */

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/** The daemon's binary, from `BRIDLE_BIN` or as `cargo build` leaves it. */
function binary(): string {
  const built = fileURLToPath(new URL("../../../../target/debug/bridle", import.meta.url));
  const path = process.env["BRIDLE_BIN"] ?? built;
  if (!existsSync(path)) throw new Error(`no daemon at ${path}: \`cargo build\`, or set BRIDLE_BIN`);
  return path;
}

/** One state directory, and the daemon that holds it now. */
export class Daemon {
  readonly folder = mkdtempSync(join(tmpdir(), "bridle-"));
  readonly unix = join(this.folder, "s");
  readonly state = join(this.folder, "state");
  tcp = "127.0.0.1:0";
  http = "127.0.0.1:0";
  private options: string[] = [];
  private process: ChildProcess | undefined;

  static async start(...options: string[]): Promise<Daemon> {
    const daemon = new Daemon();
    await daemon.restart(...options);
    return daemon;
  }

  /** Kills it, if it runs, and starts it with these options. */
  async restart(...options: string[]): Promise<void> {
    await this.kill();
    this.options = options;
    await this.start();
  }

  /** Starts it and waits until it serves. */
  async start(): Promise<void> {
    const listen = ["--unix", this.unix, "--tcp", this.tcp, "--http", this.http];
    const state = ["--state", this.state, "--policy", "off", "--log", "warn"];
    const log = openSync(join(this.folder, "log"), "a");
    this.process = spawn(binary(), ["up", ...listen, ...state, ...this.options], { stdio: ["ignore", "pipe", log] });
    const lines = createInterface({ input: this.process.stdout! })[Symbol.asyncIterator]();
    const first = await lines.next();
    const line = first.done ? "" : String(first.value);
    if (!line.startsWith("ready")) throw new Error(readFileSync(join(this.folder, "log"), "utf8"));
    this.tcp = /tcp=(\S+)/.exec(line)?.[1] ?? this.tcp;
    this.http = /http=(?:http:\/\/)?(\S+)/.exec(line)?.[1] ?? this.http;
  }

  /** Ends it at once, without a word. */
  async kill(): Promise<void> {
    if (!this.process) return;
    const exited = once(this.process, "exit");
    this.process.kill("SIGKILL");
    await exited;
    this.process = undefined;
  }

  /** What another command of the same binary prints. */
  run(...args: string[]): string {
    return execFileSync(binary(), args, { encoding: "utf8" });
  }

  /** Ends it and removes its files. */
  async close(): Promise<void> {
    await this.kill();
    rmSync(this.folder, { recursive: true });
  }
}
