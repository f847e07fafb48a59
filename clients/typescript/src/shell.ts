/**
 * An OpenHarness Shell without input or output: what to send, when to try again, what to show and do.
 *
 * A `Shell` is told what happens and says what follows, like the `Performance` inside it. `Engine` drives one over
 * HTTP. Times are milliseconds of a clock that never goes back; `unixMs` is the time of day.
 */

import { type Abilities, Performance, type Result, type Step } from "./perform.js";
import { type EngineError, InvalidResponse, type Json, NAMESPACE, type Response, parse, version } from "./response.js";
import { Broken, PROFILE, type Shown, Stream } from "./stream.js";

/** Times that one request is sent. */
export const MAX_TRIES = 5;
/** Milliseconds before a further try: they double from the first to the longest, less up to half at random. */
export const FIRST_WAIT = 500;
export const LONGEST_WAIT = 30_000;
/** Milliseconds that an Engine may ask to wait; longer, and the Shell gives up. */
export const LONGEST_RETRY_AFTER = 300_000;
/** Requests that follow a user's own by themselves, to report results. */
export const MAX_ROUNDS = 16;
/** Results that wait for the next request of a conversation. */
export const MAX_UNREPORTED = 256;

/** What a Shell says of itself in every request. */
export interface Profile {
  shell_kind?: string;
  shell_version?: string;
  locale?: string;
  timezone?: string;
  /** The versions of the protocol that it implements, highest first. */
  versions?: readonly [string, ...string[]];
  stream?: boolean;
}

/** What the user wants. Without a `session_id`, nothing is remembered. */
export interface Intent {
  user_intent?: string;
  session_id?: string;
  conversation_id?: string;
  environment_state?: Json;
  attachments?: Json[];
  task_hint?: Json;
  timeout_ms?: number;
}

/** What to do next. */
export type Action =
  /** Send this message; `last_event_id` takes a stream up again. */
  | Send
  /** Nothing to do until `wake`, unless the user gives up. */
  | { do: "wait"; ms: number }
  /** The request came to nothing. `message` is safe to show. */
  | Failed
  /** Something for a log, not for the user. */
  | { do: "log"; code: string }
  | Shown
  | Step;

export interface Send {
  do: "send";
  body: Json & { request_id: string; protocol_version: string };
  stream: boolean;
  last_event_id?: number;
}

export interface Failed {
  do: "failed";
  code: string;
  message: string;
  retryable: boolean;
}

/** Where ids and chance come from; tests bring their own. */
export interface Sources {
  newId: () => string;
  jitter: () => number;
}

/** One request, until its answer has been carried out. */
interface Exchange {
  readonly intent: Intent;
  body: Send["body"];
  stream: Stream;
  readonly rounds: number;
  tries: number;
  cuts: number;
  fellBack: boolean;
  ok: boolean;
  unixOffset: number;
  wakesAt?: number | undefined;
  performance?: Performance;
}

/** Talks to one Engine, one request at a time. */
export class Shell {
  private version: string;
  private readonly continuations = new Map<string, { token: Json; ends: number | undefined }>();
  private readonly unreported = new Map<string, Result[]>();
  private exchange: Exchange | undefined;

  constructor(
    readonly abilities: Abilities = {},
    readonly profile: Profile = {},
    private readonly sources: Sources = { newId, jitter: Math.random },
  ) {
    this.version = this.versions[0];
  }

  private get versions(): readonly [string, ...string[]] {
    return this.profile.versions ?? ["1.0.0"];
  }

  /** Whether a request is under way, or its answer being carried out. */
  get busy(): boolean {
    return this.exchange !== undefined;
  }

  /** Whether a request is out and has no answer yet. */
  get awaitsAnswer(): boolean {
    return this.open !== undefined;
  }

  /** The request that is out and has no answer yet. */
  private get open(): Exchange | undefined {
    const { exchange } = this;
    return exchange && !exchange.performance && exchange.wakesAt === undefined ? exchange : undefined;
  }

  /** When `wake` should be called, if nothing happens before. */
  get wakesAt(): number | undefined {
    return this.exchange?.performance ? this.exchange.performance.wakesAt : this.exchange?.wakesAt;
  }

  // --- what happens ---

  /** The user wants something. Throws while the shell is busy. */
  ask(intent: Intent, unixMs: number): Action[] {
    if (this.busy) throw new Error("one request at a time");
    return [this.begin(intent, unixMs, 0)];
  }

  /** A whole message came; the status of HTTP does not matter. Null stands for what is no JSON. */
  replied(body: unknown, now: number, unixMs: number, retryAfter?: string | null): Action[] {
    const exchange = this.open;
    if (!exchange) return [];
    let response: Response;
    try {
      response = parse(body, exchange.body.request_id);
    } catch (error) {
      if (!(error instanceof InvalidResponse)) throw error;
      return this.fail({ code: error.code, message: error.message, retryable: false });
    }
    if (!response.ok) {
      const trouble = response.error ?? UNKNOWN;
      const again = this.otherVersion(exchange, response, trouble) ?? this.again(exchange, trouble, now, retryAfter);
      if (again) return [again];
    }
    return this.perform(exchange, response, now, unixMs);
  }

  /** A stream begins to come instead of a message: nothing follows from that alone. */
  opened(): void {}

  /** An event of the stream came. */
  event(name: string, data: unknown, now: number, unixMs: number): Action[] {
    const exchange = this.open;
    if (!exchange) return [];
    const before = exchange.stream.lastSeq;
    let taken: ReturnType<Stream["take"]>;
    try {
      taken = exchange.stream.take(name, data);
    } catch (error) {
      if (error instanceof Broken) return this.cut(now);
      throw error;
    }
    if (exchange.stream.lastSeq !== before) exchange.cuts = 0;
    return "final" in taken ? this.replied(taken.final, now, unixMs) : taken.show;
  }

  /** The connection failed, or ended before its time. */
  cut(now: number): Action[] {
    const exchange = this.open;
    if (!exchange) return [];
    exchange.cuts++;
    if (exchange.stream.resumable && exchange.cuts < MAX_TRIES) return [this.pause(exchange, exchange.cuts, 0, now)];
    return this.fail({ code: "transport_error", message: "the Engine cannot be reached", retryable: false });
  }

  /** Time has passed. */
  wake(now: number): Action[] {
    const { exchange } = this;
    if (!exchange) return [];
    if (exchange.performance) return this.after(exchange.performance.tick(now), now);
    if (exchange.wakesAt === undefined || now < exchange.wakesAt) return [];
    exchange.wakesAt = undefined;
    return [this.sending(exchange)];
  }

  /** The user has answered a question: `allow`, the id of an option, or anything else, which is no. */
  answered(directive: number, answer: string | undefined, now: number): Action[] {
    return this.after(this.exchange?.performance?.answered(directive, answer, now) ?? [], now);
  }

  /** Something that was carried out has ended. */
  finished(directive: number, ok: boolean, now: number, output?: unknown, error?: Json): Action[] {
    return this.after(this.exchange?.performance?.finished(directive, ok, now, output, error) ?? [], now);
  }

  /** The user gives up. */
  cancel(now: number): Action[] {
    if (!this.exchange) return [];
    const { performance } = this.exchange;
    if (performance) return this.after(performance.cancel(now), now);
    return this.fail({ code: "cancelled", message: "", retryable: false });
  }

  // --- requests ---

  private begin(intent: Intent, unixMs: number, rounds: number): Send {
    const counts = { rounds, tries: 1, cuts: 0, fellBack: false, ok: false, unixOffset: 0 };
    const stream = new Stream(this.abilities);
    this.exchange = { intent, body: this.body(intent, unixMs), stream, ...counts };
    return this.sending(this.exchange);
  }

  private sending({ body, stream }: Exchange): Send {
    const last = stream.lastSeq === undefined ? {} : { last_event_id: stream.lastSeq };
    return { do: "send", body, stream: this.profile.stream === true, ...last };
  }

  private body(intent: Intent, unixMs: number): Send["body"] {
    const { timeout_ms, environment_state, ...asked } = intent;
    const { shell_kind = "command_shell", shell_version, locale, timezone } = this.profile;
    const key = keyOf(intent);
    const own = present({ directive_results: this.unreported.get(key), timeout_ms });
    this.unreported.delete(key);
    const context = present({
      ...asked,
      shell: present({ shell_kind, shell_version, locale, timezone }),
      // State that nobody has judged is not for everybody.
      environment_state: environment_state && { privacy_tier: "restricted", ...environment_state },
      continuation: this.takeContinuation(key, unixMs),
      extensions: Object.keys(own).length > 0 ? { [NAMESPACE]: own } : undefined,
    });
    return {
      protocol_version: this.version,
      request_id: this.sources.newId(),
      capabilities: this.capabilities(),
      request: { context },
    };
  }

  private capabilities(): Json {
    return present({
      [`${NAMESPACE}.feedback`]: { version: 1 },
      "openharness.ui.approval": this.abilities.approval || undefined,
      "openharness.actions.parallel": this.abilities.parallel || undefined,
      "openharness.streaming": this.profile.stream ? { profiles: [PROFILE] } : undefined,
    });
  }

  /** The step to go on with, once, unless it is over. */
  private takeContinuation(key: string, unixMs: number): Json | undefined {
    const kept = this.continuations.get(key);
    this.continuations.delete(key);
    return kept && (kept.ends === undefined || unixMs < kept.ends) ? kept.token : undefined;
  }

  /** Tries once with a version that both know. */
  private otherVersion(exchange: Exchange, response: Response, error: EngineError): Action | undefined {
    if (error.code !== "protocol_version_unsupported" || exchange.fellBack) return undefined;
    const offered = response.supportedVersions.map(version);
    const common = this.versions.find((text) => offered.includes(version(text)));
    if (common === undefined || common === exchange.body.protocol_version) return undefined;
    exchange.fellBack = true;
    this.version = common;
    exchange.body = { ...exchange.body, protocol_version: common };
    return this.sending(exchange);
  }

  /** Tries again what the Engine calls retryable: the same request, later. */
  private again(exchange: Exchange, error: EngineError, now: number, retryAfter?: string | null): Action | undefined {
    if (!error.retryable || exchange.tries >= MAX_TRIES) return undefined;
    const seconds = /^[0-9]{1,9}$/.exec(retryAfter?.trim() ?? "")?.[0];
    const least = seconds === undefined ? 0 : Number(seconds) * 1000;
    if (least > LONGEST_RETRY_AFTER) return undefined;
    // A new run has a new stream; what the last one has shown needs not be shown again.
    exchange.stream = new Stream(this.abilities, exchange.stream.shown);
    exchange.tries++;
    return this.pause(exchange, exchange.tries - 1, least, now);
  }

  private pause(exchange: Exchange, count: number, least: number, now: number): Action {
    const step = Math.min(FIRST_WAIT * 2 ** (count - 1), LONGEST_WAIT);
    const ms = Math.max(least, Math.round(step * (0.5 + 0.5 * this.sources.jitter())));
    exchange.wakesAt = now + ms;
    return { do: "wait", ms };
  }

  // --- answers ---

  private fail(error: EngineError): Action[] {
    this.exchange = undefined;
    return [{ do: "failed", ...error }];
  }

  private perform(exchange: Exchange, response: Response, now: number, unixMs: number): Action[] {
    const { continuation } = response;
    if (continuation && Object.keys(continuation).length > 0) {
      const ends = unixTime(continuation["expires_at"]);
      this.continuations.set(keyOf(exchange.intent), { token: continuation, ends });
    }
    const actions: Action[] = [];
    if (!response.ok) actions.push({ do: "failed", ...(response.error ?? UNKNOWN) });
    else if (response.error) actions.push({ do: "log", code: "success_with_error" });
    const shown = response.ok ? exchange.stream.shown : undefined;
    exchange.performance = new Performance(this.abilities, response, now, shown);
    exchange.ok = response.ok;
    exchange.unixOffset = unixMs - now;
    return [...actions, ...this.after(exchange.performance.start(now), now)];
  }

  /** What follows the steps of a performance: at its end, results may have to go out at once. */
  private after(steps: Step[], now: number): Action[] {
    const { exchange } = this;
    const done = steps.find((step): step is Extract<Step, { do: "done" }> => step.do === "done");
    if (!done || !exchange?.performance) return steps;
    this.exchange = undefined;
    const { intent } = exchange;
    const key = keyOf(intent);
    if (done.results.length > 0) {
      this.unreported.set(key, [...(this.unreported.get(key) ?? []), ...done.results].slice(-MAX_UNREPORTED));
    }
    if (!exchange.ok || !exchange.performance.resultRequired) return steps;
    if (exchange.rounds >= MAX_ROUNDS) {
      const message = "the Engine asks for results again and again";
      return [...steps, { do: "failed", code: "too_many_rounds", message, retryable: false }];
    }
    const { session_id, conversation_id, timeout_ms } = intent;
    const followUp = present({ session_id, conversation_id, timeout_ms }) as Intent;
    return [...steps, this.begin(followUp, now + exchange.unixOffset, exchange.rounds + 1)];
  }
}

const UNKNOWN: EngineError = { code: "engine_error", message: "", retryable: false };

/** A new id. Where there is no `crypto` (Node 18, pages without TLS) chance will do: ids are no secrets. */
function newId(): string {
  const digits = (): string => Math.random().toString(16).slice(2, 10).padEnd(8, "0");
  return globalThis.crypto?.randomUUID?.() ?? [digits(), digits(), digits(), digits()].join("-");
}

function present(fields: Json): Json {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null));
}

function keyOf({ session_id, conversation_id }: Intent): string {
  return JSON.stringify([session_id ?? null, conversation_id ?? null]);
}

/** The time of an RFC 3339 text; undefined for anything else, which the Engine will judge. */
function unixTime(text: unknown): number | undefined {
  if (typeof text !== "string") return undefined;
  if (!/^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/.test(text)) return undefined;
  const time = Date.parse(text.replace(/\.\d+/, ""));
  return Number.isNaN(time) ? undefined : time;
}
