/**
 * Carries out the directives of one answer: what, in which order, after whose yes, and what became of it.
 *
 * A `Performance` does nothing itself. It is told what happens (time passes, the user answers, an action has ended)
 * and says what to do next, so the same rules hold for every user interface, and the vectors of `vectors/shell` can
 * play any course of events. Times are milliseconds of a clock that never goes back.
 */

import { type Directive, type Json, type Response, TIERS, type Tier, isObject } from "./response.js";
import { MAX_NOTICE, MAX_TEXT, firstText } from "./text.js";

/** Directives of one answer that are looked at; the others are `not_attempted`. */
export const MAX_DIRECTIVES = 256;
/** Options of a question that are shown. */
export const MAX_OPTIONS = 16;
/** What an option of a question may stand for; another word counts as `reject_once`. */
export const KINDS: readonly unknown[] = ["allow_once", "allow_always", "reject_once", "reject_always"];

/** What a Shell can do. */
export interface Abilities {
  /** Types of actions with effects, matched exactly. */
  acts?: readonly string[];
  /** Types of actions that only show, matched exactly. */
  renders?: readonly string[];
  /** Whether a user can be asked. */
  approval?: boolean;
  /** Whether actions may run side by side. */
  parallel?: boolean;
  /** The lowest risk tier that asks by itself: a Shell may ask more often than the protocol wants, never less. */
  askFrom?: Tier;
}

/** An option of a question. */
export interface Option {
  option_id: string;
  label: string;
  kind: string;
}

/** What became of a directive, as it is reported. */
export type Result = Json & { directive_id: string; outcome: string };

/** What to do next. */
export type Step =
  /** Show this text. Even as markdown it loads and runs nothing. */
  | { do: "render"; directive: number; text: string; format: "plain" | "markdown" }
  /** Tell the user something about a directive. */
  | { do: "notice"; directive: number; code: string; text?: string }
  /** Ask the user. A yes is for exactly this payload. With options, the answer is one of their ids. */
  | Ask
  /** Take a question back: it is too late for an answer. */
  | { do: "withdraw"; directive: number }
  /** Carry this out, then say how it ended. */
  | { do: "execute"; directive: number; action_type: string; payload: Json }
  /** Everything has ended: the outcome of each directive, and the results that the Engine wants to know. */
  | { do: "done"; outcomes: string[]; results: Result[] };

export interface Ask {
  do: "ask";
  directive: number;
  action_type: string;
  risk_tier: Tier;
  payload: Json;
  message?: string;
  options?: Option[];
}

/** A directive and what has become of it. */
interface Item {
  readonly directive: Directive;
  readonly acts: boolean;
  readonly known: boolean;
  state: "waiting" | "queued" | "asked" | "running" | "settled";
  outcome: string;
  extra: Json;
}

/** One answer, from its receipt to its last outcome. */
export class Performance {
  private readonly items: Item[];
  private readonly groups: number[][];
  private group = -1;
  private prompts: number[] = [];
  private asked: number | undefined;
  private blocked = false;
  private isDone = false;
  private steps: Step[] = [];

  /** `shown` are messages that a stream has shown already, by directive id. */
  constructor(
    private readonly abilities: Abilities,
    private readonly response: Response,
    private readonly received: number,
    private readonly shown: ReadonlyMap<string, Json> = new Map(),
  ) {
    const acts = new Set(abilities.acts);
    const known = new Set([...acts, ...(abilities.renders ?? []), "render_message", "noop", "request_approval"]);
    this.items = response.directives.map((directive) => ({
      directive,
      acts: acts.has(directive.actionType),
      known: known.has(directive.actionType),
      state: "waiting",
      outcome: "",
      extra: {},
    }));
    this.groups = this.grouped();
  }

  /** When `tick` should be called, if nothing happens before. */
  get wakesAt(): number | undefined {
    const waiting = this.asked === undefined ? this.prompts : [...this.prompts, this.asked];
    const ends = waiting.flatMap((at) => this.items[at]!.directive.deadlineMs ?? []);
    return ends.length === 0 ? undefined : this.received + Math.min(...ends);
  }

  /** Whether the Engine waits for a result. */
  get resultRequired(): boolean {
    return this.items.some(({ directive }) => directive.result === "required" && directive.directiveId !== undefined);
  }

  // --- what happens ---

  /** Begins. */
  start(now: number): Step[] {
    for (const item of this.items.slice(MAX_DIRECTIVES)) this.settle(item, "not_attempted");
    if (this.items.length > MAX_DIRECTIVES) {
      this.steps.push({ do: "notice", directive: MAX_DIRECTIVES, code: "too_many_directives" });
    }
    return this.goOn(now);
  }

  /** Time has passed. */
  tick(now: number): Step[] {
    if (this.asked !== undefined && this.isLate(this.items[this.asked]!, now)) {
      this.steps.push({ do: "withdraw", directive: this.asked });
      this.settle(this.items[this.asked]!, "expired");
      this.asked = undefined;
    }
    return this.goOn(now);
  }

  /** The user has answered a question: `allow`, the id of an option, or anything else, which is no. */
  answered(at: number, answer: string | undefined, now: number): Step[] {
    const item = this.items[at];
    if (at !== this.asked || !item) return [];
    this.asked = undefined;
    if (this.isLate(item, now)) {
      this.settle(item, "expired");
    } else if (item.directive.actionType === "request_approval") {
      this.chosen(item, answer);
    } else if (answer === "allow") {
      item.extra["decision"] = { by: "user" };
      this.run(at, item);
    } else {
      this.settle(item, "rejected", { decision: { by: "user" } });
    }
    return this.goOn(now);
  }

  /** Something that was carried out has ended. */
  finished(at: number, ok: boolean, now: number, output?: unknown, error?: Json): Step[] {
    const item = this.items[at];
    if (item?.state !== "running") return [];
    if (ok) this.settle(item, "completed", output === undefined || output === null ? {} : { output });
    else this.settle(item, "failed", { error: error ?? { code: "failed", message: "" } });
    return this.goOn(now);
  }

  /** The user gives up: what has not begun does not begin. */
  cancel(now: number): Step[] {
    if (this.asked !== undefined) this.steps.push({ do: "withdraw", directive: this.asked });
    this.asked = undefined;
    this.prompts = [];
    for (const item of this.items) {
      if (item.state !== "running" && item.state !== "settled") this.settle(item, "cancelled");
    }
    return this.goOn(now);
  }

  // --- the course of things ---

  /** Neighbors that may run side by side. What depends on a neighbor comes after it. */
  private grouped(): number[][] {
    const groups: number[][] = [];
    let ids: (string | undefined)[] = [];
    let wasParallel = false;
    for (const [at, { directive }] of this.items.slice(0, MAX_DIRECTIVES).entries()) {
      const parallel = directive.parallel && this.abilities.parallel === true;
      const joins = parallel && wasParallel && !directive.dependsOn.some((id) => ids.includes(id));
      if (joins) groups[groups.length - 1]!.push(at);
      else [ids, groups[groups.length]] = [[], [at]];
      ids.push(directive.directiveId);
      wasParallel = parallel;
    }
    return groups;
  }

  private goOn(now: number): Step[] {
    while (!this.isDone) {
      this.nextPrompt(now);
      const current = this.groups[this.group] ?? [];
      if (current.some((at) => this.items[at]!.state !== "settled")) break;
      this.group++;
      const next = this.groups[this.group];
      if (!next) {
        this.finish();
        break;
      }
      for (const at of next) {
        const item = this.items[at]!;
        if (item.state === "waiting") this.begin(at, item, now);
      }
    }
    const { steps } = this;
    this.steps = [];
    return steps;
  }

  private begin(at: number, item: Item, now: number): void {
    const { directive } = item;
    const { directiveId } = directive;
    if (!directive.dependsOn.every((id) => this.completed(id, at))) {
      this.settle(item, "not_attempted");
    } else if (!item.known) {
      const text = firstText(directive.payload, ["fallback_message", "message"], MAX_NOTICE);
      const code = "unknown_action_type";
      this.steps.push({ do: "notice", directive: at, code, ...(text === undefined ? {} : { text }) });
      this.settle(item, "skipped_unknown");
    } else if (directiveId !== undefined && same(this.shown.get(directiveId), directive.raw)) {
      this.settle(item, "completed");
    } else if ((item.acts && this.blocked) || (!this.response.ok && !this.mayShow(directive))) {
      this.settle(item, "not_attempted");
    } else if (this.isLate(item, now, true)) {
      this.settle(item, "expired");
    } else {
      this.admit(at, item);
    }
  }

  private completed(id: string, before: number): boolean {
    return this.items.slice(0, before).some((it) => it.directive.directiveId === id && it.outcome === "completed");
  }

  /** After an error nothing is done and nobody is asked, but words may be shown. */
  private mayShow(directive: Directive): boolean {
    return directive.actionType === "render_message" && !asks(directive, this.abilities);
  }

  private admit(at: number, item: Item): void {
    const { directive } = item;
    const isQuestion = directive.actionType === "request_approval";
    if (!isQuestion && !asks(directive, this.abilities)) {
      if (directive.riskTier === "caution") this.steps.push({ do: "notice", directive: at, code: "caution" });
      this.run(at, item);
    } else if (isQuestion && !questionOptions(directive.payload)) {
      this.settle(item, "failed", { error: { code: "invalid_payload", message: "no question with options" } });
    } else if (!this.abilities.approval) {
      const error = { code: "approval_unavailable", message: "nobody can be asked here" };
      this.settle(item, "rejected", { error, decision: { by: "policy" } });
    } else if (directive.deadlineMs === 0) {
      this.settle(item, "expired");
    } else {
      item.state = "queued";
      this.prompts.push(at);
    }
  }

  /** Questions come one at a time, in order; those that are too late are not asked. */
  private nextPrompt(now: number): void {
    for (const at of this.prompts) if (this.isLate(this.items[at]!, now)) this.settle(this.items[at]!, "expired");
    this.prompts = this.prompts.filter((at) => this.items[at]!.state === "queued");
    if (this.asked !== undefined) return;
    const at = this.prompts.shift();
    if (at === undefined) return;
    this.asked = at;
    const item = this.items[at]!;
    item.state = "asked";
    const { actionType, riskTier, payload } = item.directive;
    const ask: Ask = { do: "ask", directive: at, action_type: actionType, risk_tier: riskTier, payload };
    if (actionType === "request_approval") {
      const message = firstText(payload, ["message", "title", "fallback_message"], MAX_NOTICE);
      const options = questionOptions(payload);
      if (message !== undefined) ask.message = message;
      if (options) ask.options = options;
    }
    this.steps.push(ask);
  }

  /** Whether the time to begin is over; a deadline of 0 lets begin what begins at once. */
  private isLate(item: Item, now: number, atOnce = false): boolean {
    const deadline = item.directive.deadlineMs;
    if (deadline === undefined) return false;
    const passed = now - this.received;
    return !(atOnce && deadline === 0 && passed === 0) && passed >= deadline;
  }

  private chosen(item: Item, answer: string | undefined): void {
    const option = questionOptions(item.directive.payload)?.find((it) => it.option_id === answer);
    const allowed = option !== undefined && option.kind.startsWith("allow");
    const decision = { by: "user", ...(option ? { option_id: option.option_id } : {}) };
    this.settle(item, allowed ? "completed" : "rejected", { decision });
  }

  private run(at: number, item: Item): void {
    const { actionType, payload } = item.directive;
    if (actionType === "render_message") {
      const step = render(at, payload);
      if (step) {
        this.steps.push(step);
        this.settle(item, "completed");
      } else {
        this.settle(item, "failed", { error: { code: "invalid_payload", message: "no text" } });
      }
    } else if (actionType === "noop") {
      this.settle(item, "completed");
    } else {
      item.state = "running";
      this.steps.push({ do: "execute", directive: at, action_type: actionType, payload });
    }
  }

  private settle(item: Item, outcome: string, extra: Json = {}): void {
    item.state = "settled";
    item.outcome = outcome;
    item.extra = { ...item.extra, ...extra };
    const isTrouble = outcome === "failed" || outcome === "rejected" || outcome === "expired";
    if (item.acts && !item.directive.parallel && isTrouble) this.blocked = true;
  }

  private finish(): void {
    this.isDone = true;
    const results = this.items.flatMap(({ directive, outcome, extra }) => {
      if (directive.directiveId === undefined || directive.result === "none") return [];
      return [{ directive_id: directive.directiveId, outcome, ...extra }];
    });
    this.steps.push({ do: "done", outcomes: this.items.map((item) => item.outcome), results });
  }
}

/** Whether a directive needs a yes: because the Engine or its risk says so. */
function asks(directive: Directive, abilities: Abilities): boolean {
  const from = TIERS.indexOf(abilities.askFrom ?? "dangerous");
  return directive.needsApproval || TIERS.indexOf(directive.riskTier) >= from;
}

/** What a `render_message` shows, or undefined when it holds no text. */
export function render(at: number, payload: Json): Extract<Step, { do: "render" }> | undefined {
  const text = firstText(payload, ["text", "message", "fallback_message"], MAX_TEXT);
  const format = payload["format"] === "markdown" ? "markdown" : "plain";
  return text === undefined ? undefined : { do: "render", directive: at, text, format };
}

/** The options of a `request_approval`; undefined when there is nothing to choose. */
export function questionOptions(payload: Json): Option[] | undefined {
  const given = payload["options"];
  if (!Array.isArray(given) || given.length === 0) return undefined;
  const options: Option[] = [];
  for (const option of given.slice(0, MAX_OPTIONS) as unknown[]) {
    const id = isObject(option) ? option["option_id"] : undefined;
    if (!isObject(option) || typeof id !== "string" || id === "") return undefined;
    const kind = KINDS.includes(option["kind"]) ? (option["kind"] as string) : "reject_once";
    options.push({ option_id: id, label: firstText(option, ["label"], MAX_NOTICE) ?? kind, kind });
  }
  return options;
}

/** Whether a directive only shows words and may be shown as soon as it is whole. */
export function isPlainMessage(directive: Directive, abilities: Abilities): boolean {
  const waits = directive.dependsOn.length > 0 || directive.deadlineMs !== undefined;
  const isPlain = !waits && directive.riskTier !== "caution" && !asks(directive, abilities);
  return directive.actionType === "render_message" && isPlain;
}

/** Whether two values of JSON are the same; the order of keys does not matter. */
export function same(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  return keys.every((key) => Object.hasOwn(b, key) && same((a as Json)[key], (b as Json)[key]));
}
