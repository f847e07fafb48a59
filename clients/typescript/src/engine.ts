/**
 * An OpenHarness Shell over HTTP, with `fetch`: for Node and for browsers.
 *
 *     const engine = new Engine("http://127.0.0.1:8788");
 *     console.log((await engine.ask("help", { session_id: "desk" })).text);
 *
 * What the Engine wants done is done by functions that are registered by their `action_type`; everything else it may
 * want is shown as a notice and never acts. The rules are in `Shell` and `Performance`.
 */

import { type Abilities, type Ask } from "./perform.js";
import { type Json, isObject } from "./response.js";
import { type Action, type Failed, type Intent, type Profile, type Send, Shell } from "./shell.js";
import { EventParser } from "./stream.js";

/** Where an Engine answers, unless its address says more. */
export const PATH = "/v1/openharness";
/** Bytes of an answer. */
export const MAX_BODY = 4 << 20;

/** Milliseconds for an answer, or for the next bytes of a stream. An Engine of bridle gives up after 600,000. */
export const ANSWER_WAIT = 660_000;

/** Carries out a payload and gives what is reported of it; a rejection is a failure. */
export type Handler = (payload: Json) => unknown;

/** What a person sees and is asked. */
export interface Ui {
  /** Shows a message. Even markdown must load and run nothing. */
  render?(text: string, format: "plain" | "markdown"): void;
  /** Shows a message as far as it has come; `render` follows with the whole. */
  display?(text: string): void;
  /** Shows what the Engine is doing. */
  progress?(label: string): void;
  /** Tells of something that was not done, or is done with caution. */
  notice?(code: string, text: string | undefined): void;
  /** `allow`, or the id of an option; anything else is a no. When the signal fires it is too late. Absent: nobody can be asked. */
  ask?(question: Ask, signal: AbortSignal): Promise<string | undefined>;
}

export interface EngineOptions {
  token?: string;
  ui?: Ui;
  /** Actions with effects, by their exact `action_type`. */
  acts?: Record<string, Handler>;
  /** Actions that only show, by their exact `action_type`. */
  renders?: Record<string, Handler>;
  parallel?: boolean;
  askFrom?: Abilities["askFrom"];
  profile?: Profile;
}

/** What became of something asked. */
export class Turn {
  readonly texts: string[] = [];
  readonly outcomes: string[] = [];
  error: Failed | undefined;

  /** All messages that were shown. */
  get text(): string {
    return this.texts.join("\n");
  }
}

/** An Engine at an address, and this Shell's side of it. One request at a time. */
export class Engine {
  readonly shell: Shell;
  private readonly url: URL;
  private readonly ui: Ui;
  private readonly handlers: ReadonlyMap<string, Handler>;
  private request: AbortController | undefined;
  private question: AbortController | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** Fires when nothing comes for too long. */
  private silence: ReturnType<typeof setTimeout> | undefined;
  /** What was wrong with the connection, last. */
  private trouble: string | undefined;
  private run: (actions: Action[]) => void = () => undefined;

  /** Throws a `TypeError` for a token that would travel in the clear. */
  constructor(
    url: string,
    private readonly options: EngineOptions = {},
  ) {
    this.url = new URL(url);
    if (this.url.pathname === "/") this.url.pathname = PATH;
    const isLocal = ["127.0.0.1", "localhost", "[::1]"].includes(this.url.hostname);
    if (options.token !== undefined && this.url.protocol !== "https:" && !isLocal) {
      throw new TypeError("a token is sent over https, or on this machine");
    }
    const { acts = {}, renders = {}, ui = {} } = options;
    this.ui = ui;
    this.handlers = new Map([...Object.entries(renders), ...Object.entries(acts)]);
    const abilities: Abilities = {
      acts: Object.keys(acts),
      renders: Object.keys(renders),
      approval: ui.ask !== undefined,
      parallel: options.parallel === true,
      ...(options.askFrom ? { askFrom: options.askFrom } : {}),
    };
    this.shell = new Shell(abilities, options.profile ?? { stream: true });
  }

  /** Asks for something, and carries out what comes back. */
  ask(user_intent: string, more: Omit<Intent, "user_intent"> = {}): Promise<Turn> {
    return this.follow(this.shell.ask({ user_intent, ...more }, Date.now()));
  }

  /** Carries out actions of the shell, and all that follows from them. Rejects with what the user interface throws. */
  follow(actions: Action[]): Promise<Turn> {
    const turn = new Turn();
    return new Promise((resolve, reject) => {
      const run = (next: Action[]): void => {
        try {
          for (const action of next) this.carryOut(action, turn, run);
          this.arm(run);
          if (!this.shell.busy) resolve(turn);
        } catch (error) {
          reject(error as Error);
        }
      };
      this.run = run;
      run(actions);
    });
  }

  /** Gives up what is under way; what has begun may end. */
  cancel(): void {
    this.run(this.shell.cancel(now()));
    this.request?.abort();
  }

  /** What the Engine offers. */
  async discover(): Promise<Json> {
    const answer = await fetch(this.url, { headers: this.headers({ Accept: "application/json" }), redirect: "error" });
    const body = parsed(await answer.text());
    if (!answer.ok || !isObject(body)) throw new Error(`the Engine answered ${answer.status}`);
    return body;
  }

  /** Has the shell look at the clock when it wants to. */
  private arm(run: (actions: Action[]) => void): void {
    clearTimeout(this.timer);
    const { wakesAt } = this.shell;
    if (wakesAt !== undefined) {
      // Timers fire up to a millisecond early, and not at all beyond 31 bits.
      const ms = Math.min(Math.max(1, Math.ceil(wakesAt - now()) + 1), 2 ** 31 - 1);
      this.timer = setTimeout(() => run(this.shell.wake(now())), ms);
    }
  }

  private carryOut(action: Action, turn: Turn, run: (actions: Action[]) => void): void {
    switch (action.do) {
      case "send":
        void this.send(action, run);
        break;
      case "render":
        turn.texts.push(action.text);
        this.ui.render?.(action.text, action.format);
        break;
      case "display":
        this.ui.display?.(action.text);
        break;
      case "progress":
        this.ui.progress?.(action.label);
        break;
      case "notice":
        this.ui.notice?.(action.code, action.text);
        break;
      case "ask":
        void this.answer(action, run);
        break;
      case "withdraw":
        this.question?.abort();
        break;
      case "execute":
        void this.execute(action.directive, action.action_type, action.payload, run);
        break;
      case "done":
        turn.outcomes.push(...action.outcomes);
        break;
      case "failed":
        turn.error = this.explained(action);
        break;
      case "wait": // the timer does
      case "log":
        break;
    }
  }

  private async answer(question: Ask, run: (actions: Action[]) => void): Promise<void> {
    const controller = new AbortController();
    this.question = controller;
    let answer: string | undefined;
    try {
      answer = await this.ui.ask?.(question, controller.signal);
    } catch {
      // Whoever could not decide has not said yes.
    }
    run(this.shell.answered(question.directive, answer, now()));
  }

  private async execute(at: number, type: string, payload: Json, run: (actions: Action[]) => void): Promise<void> {
    let result: Action[];
    try {
      const output = await this.handlers.get(type)?.(payload);
      result = this.shell.finished(at, true, now(), output);
    } catch (error) {
      // Only the kind of trouble leaves the machine: texts of errors hold paths and values.
      const message = error instanceof Error ? error.name : "error";
      result = this.shell.finished(at, false, now(), undefined, { code: "failed", message });
    }
    run(result);
  }

  /** A failure of the transport with where it was, and what the system said. */
  private explained(failed: Failed): Failed {
    if (failed.code !== "transport_error" || this.trouble === undefined) return failed;
    return { ...failed, message: `cannot connect to \`${this.url.host}\`: ${this.trouble}` };
  }

  // --- HTTP ---

  private headers(more: Record<string, string>): Record<string, string> {
    const { token } = this.options;
    return token === undefined ? more : { ...more, Authorization: `Bearer ${token}` };
  }

  private async send(send: Send, run: (actions: Action[]) => void): Promise<void> {
    const accept = send.stream ? "text/event-stream, application/json" : "application/json";
    const last: Record<string, string> =
      send.last_event_id === undefined ? {} : { "Last-Event-ID": String(send.last_event_id) };
    const headers = this.headers({ "Content-Type": "application/json", Accept: accept, ...last });
    this.request = new AbortController();
    this.trouble = undefined;
    const { signal } = this.request;
    this.patience();
    try {
      // No redirects: a token is for one address.
      const body = JSON.stringify(send.body);
      const answer = await fetch(this.url, { method: "POST", headers, body, signal, redirect: "error" });
      if (/^text\/event-stream\b/.test(answer.headers.get("Content-Type") ?? "")) {
        await this.stream(answer, run);
      } else {
        const message = parsed(await whole(answer));
        run(this.shell.replied(message, now(), Date.now(), answer.headers.get("Retry-After")));
      }
    } catch (error) {
      this.trouble = reason(error);
      run(this.shell.cut(now()));
    } finally {
      // What follows may have sent the next request already.
      if (this.request?.signal === signal) clearTimeout(this.silence);
    }
  }

  /** Gives up on an Engine from which nothing comes for too long. Begins anew with everything that comes. */
  private patience(): void {
    clearTimeout(this.silence);
    const { request } = this;
    this.silence = setTimeout(() => request?.abort(new Error("no answer in time")), ANSWER_WAIT);
  }

  private async stream(answer: globalThis.Response, run: (actions: Action[]) => void): Promise<void> {
    this.shell.opened();
    const parser = new EventParser();
    const reader = answer.body?.getReader();
    while (reader && this.shell.awaitsAnswer) {
      const { value, done } = await reader.read();
      if (done) break;
      this.patience();
      for (const event of parser.feed(value)) {
        if (!this.shell.awaitsAnswer) break;
        run(this.shell.event(event.name, parsed(event.data), now(), Date.now()));
      }
    }
    if (this.shell.awaitsAnswer) run(this.shell.cut(now()));
    await reader?.cancel();
  }
}

/** What went wrong, in words; `fetch` hides it one level down. */
function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message || error.message : error.message;
}

/** The text of an answer, as far as it is not too large. */
async function whole(answer: globalThis.Response): Promise<string> {
  const reader = answer.body?.getReader();
  const decoder = new TextDecoder();
  let [text, size] = ["", 0];
  for (;;) {
    const { value, done } = (await reader?.read()) ?? { value: undefined, done: true };
    if (done || value === undefined) return text + decoder.decode();
    size += value.length;
    if (size > MAX_BODY) {
      await reader?.cancel();
      return "";
    }
    text += decoder.decode(value, { stream: true });
  }
}

/** The value of a JSON text; null for what is none. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function now(): number {
  return performance.now();
}
