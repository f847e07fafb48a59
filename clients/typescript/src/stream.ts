/**
 * Streams of profile `dev.bridle.sse.1`: bytes to events, and events to what may be shown meanwhile.
 *
 * Everything before `final` is for display. A stream that breaks can be taken up again after the last event that
 * came whole, if the Engine has offered it.
 */

import { type Abilities, type Step, isPlainMessage, render } from "./perform.js";
import { InvalidResponse, type Json, integer, isObject, readDirective } from "./response.js";
import { MAX_NOTICE, MAX_TEXT, firstText } from "./text.js";

/** The profile of streams that is understood. */
export const PROFILE = "dev.bridle.sse.1";
/** UTF-16 units of pieces that are put together for display; what is beyond waits for `final`. */
export const MAX_FOLDED = 1 << 20;
/** Directives that are put together at the same time. */
export const MAX_OPEN = 256;
/** Levels of a payload that a piece may lie under. */
export const MAX_LEVELS = 16;
/** UTF-16 units of one line of a stream. */
export const MAX_LINE = 4 << 20;

/** One event: its name and its data as text. */
export interface Event {
  readonly name: string;
  readonly data: string;
}

/** Takes bytes of a `text/event-stream` as they come. Throws a `RangeError` for a line without end. */
export class EventParser {
  private readonly decoder = new TextDecoder();
  private buffer = "";
  private name = "";
  private data: string[] = [];

  /** The events that are whole now. */
  feed(bytes: Uint8Array): Event[] {
    this.buffer += this.decoder.decode(bytes, { stream: true });
    const lines = this.buffer.split("\n");
    this.buffer = lines.pop() ?? "";
    if (this.buffer.length > MAX_LINE) throw new RangeError("a line without end");
    return lines.flatMap((line) => this.line(line.replace(/\r$/, "")) ?? []);
  }

  private line(line: string): Event | undefined {
    if (line === "") {
      const event = { name: this.name || "message", data: this.data.join("\n") };
      const isEvent = this.data.length > 0;
      [this.name, this.data] = ["", []];
      return isEvent ? event : undefined;
    }
    const [, field = line, value = ""] = /^([^:]*):? ?(.*)$/su.exec(line) ?? [];
    if (field === "event") this.name = value;
    else if (field === "data") this.data.push(value);
    return undefined;
  }
}

/** What may be shown before the end. */
export type Shown =
  /** A message as far as it is known. The whole of it follows. */
  | { do: "display"; directive: number; text: string }
  /** What the Engine is doing. */
  | { do: "progress"; label: string }
  | Extract<Step, { do: "render" }>;

/** The stream is not what it should be: as good as cut. */
export class Broken extends Error {}

/** What a stream has said so far, across its connections. */
export class Stream {
  lastSeq: number | undefined;
  resumable = false;
  private readonly folded = new Map<string, { index: number; directive: Json }>();
  private room = MAX_FOLDED;

  constructor(
    private readonly abilities: Abilities,
    readonly shown: Map<string, Json> = new Map(),
  ) {}

  /** What to show for an event, or the message of `final`. Throws `Broken`. */
  take(name: string, data: unknown): { show: Shown[] } | { final: Json } {
    try {
      return this.understood(name, data);
    } catch (error) {
      if (error instanceof InvalidResponse) throw new Broken(error.message);
      throw error;
    }
  }

  private understood(name: string, data: unknown): { show: Shown[] } | { final: Json } {
    const seq = isObject(data) ? integer(data, "seq") : undefined;
    if (!isObject(data) || seq === undefined) return { show: [] };
    const expected = this.lastSeq === undefined ? 0 : this.lastSeq + 1;
    if (seq < expected) return { show: [] };
    if (seq > expected || (this.lastSeq === undefined && name !== "open")) throw new Broken("an event is missing");
    this.lastSeq = seq;
    switch (name) {
      case "open":
        this.resumable = isObject(data["resume"]);
        return { show: [] };
      case "progress": {
        const label = firstText(data, ["label"], MAX_NOTICE);
        return { show: label === undefined ? [] : [{ do: "progress", label }] };
      }
      case "directive.start":
        this.start(data);
        return { show: [] };
      case "directive.delta":
        return { show: this.delta(data) };
      case "directive.done":
        return { show: this.done(data) };
      case "final": {
        const message = data["message"];
        if (!isObject(message)) throw new Broken("a final event without its message");
        return { final: message };
      }
      default:
        return { show: [] };
    }
  }

  private start(data: Json): void {
    const [id, index, directive] = [data["directive_id"], integer(data, "index"), data["directive"]];
    if (typeof id !== "string" || index === undefined || !isObject(directive) || this.folded.size >= MAX_OPEN) return;
    this.folded.set(id, { index, directive: { ...directive, payload: {} } });
  }

  private delta(data: Json): Shown[] {
    const [id, path, append] = [data["directive_id"], data["path"], data["append"]];
    const folded = typeof id === "string" ? this.folded.get(id) : undefined;
    if (!folded || typeof path !== "string") return [];
    this.room -= typeof append === "string" ? append.length : 1;
    if (this.room < 0 || !fold(folded.directive, path, data)) return [];
    const directive = readDirective(folded.directive);
    if (!isPlainMessage(directive, this.abilities)) return [];
    const text = firstText(directive.payload, ["text", "message"], MAX_TEXT);
    return text === undefined ? [] : [{ do: "display", directive: folded.index, text }];
  }

  private done(data: Json): Shown[] {
    const id = data["directive_id"];
    const directive = readDirective(data["directive"]);
    const folded = typeof id === "string" ? this.folded.get(id) : undefined;
    if (!folded || typeof id !== "string") return [];
    this.folded.delete(id);
    if (directive.directiveId !== id || !isPlainMessage(directive, this.abilities)) return [];
    const step = render(folded.index, directive.payload);
    if (!step) return [];
    this.shown.set(id, directive.raw);
    return [step];
  }
}

/** Puts a piece where its path says, below `/payload`; false when it fits nowhere. */
export function fold(directive: Json, path: string, data: Json): boolean {
  const keys = path.split("/").map((key) => key.replace(/~1/g, "/").replace(/~0/g, "~"));
  const last = keys[keys.length - 1]!;
  if (keys[0] !== "" || keys[1] !== "payload" || keys.length > MAX_LEVELS || keys.includes("__proto__")) return false;
  let holder: unknown = directive;
  for (const key of keys.slice(1, -1)) {
    if (!isObject(holder)) return false;
    if (!Object.hasOwn(holder, key)) holder[key] = {};
    holder = holder[key];
  }
  if (!isObject(holder)) return false;
  if (Object.hasOwn(data, "value")) {
    holder[last] = data["value"];
    return true;
  }
  const before = Object.hasOwn(holder, last) ? holder[last] : "";
  const append = data["append"];
  if (typeof before !== "string" || typeof append !== "string") return false;
  holder[last] = before + append;
  return true;
}
