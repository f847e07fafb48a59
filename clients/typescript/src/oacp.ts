/**
 * What a shell of the framed protocol remembers, and what it makes of a message: no sockets here.
 *
 * A `Ledger` outlives connections. It knows up to which number everything was heard (the cursor), what was said
 * and is not acknowledged, and which requests were answered. So after any cut the next connection goes on where
 * the last one ended: nothing is missed, nothing is heard twice, nothing is said twice.
 */

import { randomBytes, randomUUID } from "node:crypto";

import { MAX_FRAME, type Unit } from "./frame.js";
import { type Actuator, offerOf } from "./offer.js";
import { Sym, type Value, get, isPlist, keyword, read, write } from "./sexp.js";

/** The version of the framed protocol that this client speaks. */
export const VERSION = "0.3.0";
/** Codes of refusals after which the same message may be said again. */
export const FOR_NOW: readonly string[] = [
  "store-unavailable", "overloaded", "shutting-down", "frame-timeout", "part-timeout",
];
/** Requests whose answers are kept, to give the same one when they are offered again; and of those that are over. */
export const MAX_ANSWERED = 1_024;
/** Things said that are remembered until somebody asks for their answer; the oldest that were answered go first. */
export const MAX_SAYINGS = 4_096;
/** Parts of one message. */
export const MAX_PARTS = 9_999;
/** UTF-16 units of a message in parts. */
export const MAX_MESSAGE = 64 << 20;
/** Messages in parts that may be under way at once. */
export const MAX_OPEN_PARTS = 4;
/** Room in a frame for what stands around the data of a part. */
export const PART_OVERHEAD = 512;

export type Id = number | bigint | string;

/** The peer said something that this protocol does not have. */
export class ProtocolError extends Error {}

/** The daemon answered with an error; `code` is one of the protocol's list. */
export class Refused extends Error {
  constructor(
    readonly code: string,
    readonly reason: string,
    readonly retryable = false,
  ) {
    super(reason === "" ? code : `${code}: ${reason}`);
  }
}

/** A property list of camel-case names; what is null or undefined is left out. */
export function plist(fields: Record<string, Value>): Value[] {
  return Object.entries(fields).flatMap(([name, value]) => {
    if (value === null || value === undefined) return [];
    return [keyword(name.replace(/[A-Z]/g, (letter) => "-" + letter.toLowerCase())), value];
  });
}

/** The name of a keyword or symbol in lower case, without its colon. */
export function word(value: Value): string | undefined {
  return value instanceof Sym ? value.name.replace(/^:/, "").toLowerCase() : undefined;
}

function integer(value: Value): number | undefined {
  return typeof value === "number" ? value : undefined;
}

function idOf(value: Value): Id | undefined {
  return typeof value === "number" || typeof value === "bigint" || typeof value === "string" ? value : undefined;
}

/** One message of the daemon. */
export class Message {
  constructor(readonly form: Value) {}

  /** Throws `ProtocolError` for what is no message, and `SexpError` for what is no form. */
  static parse(text: string): Message {
    const form = read(text);
    if (!isPlist(form) || word(get(form, "type")) === undefined) {
      throw new ProtocolError("expected a property list with a `:type`");
    }
    return new Message(form);
  }

  /** `event`, `request`, `response`, `log`, `status` or `health-response`. */
  get type(): string {
    return word(get(this.form, "type")) ?? "";
  }

  get id(): Id | undefined {
    return idOf(get(this.form, "id"));
  }

  get target(): string | undefined {
    return word(get(this.form, "target"));
  }

  get meta(): Value {
    return get(this.form, "meta");
  }

  get payload(): Value {
    return get(this.form, "payload");
  }

  /** The number of the event in its session, if it has one. */
  get seq(): number | undefined {
    return integer(get(this.meta, "seq"));
  }

  /** The number of the message that this one answers. */
  get answers(): number | undefined {
    return integer(get(this.meta, "answers"));
  }

  /** Whether this shell said it, on this connection or an earlier one. */
  get own(): boolean {
    return get(this.meta, "own") === true;
  }

  get status(): string | undefined {
    return word(get(this.payload, "status"));
  }

  get action(): string | undefined {
    return word(get(this.payload, "action"));
  }

  get text(): string | undefined {
    const value = get(this.payload, "text");
    return typeof value === "string" ? value : undefined;
  }

  /** The error that this message is, if it is one. */
  refusal(): Refused | undefined {
    if (this.status !== "error") return undefined;
    const reason = get(this.payload, "message");
    const code = word(get(this.payload, "code")) ?? "internal";
    return new Refused(code, typeof reason === "string" ? reason : "", get(this.payload, "retryable") === true);
  }
}

/** Something said under an id: it is said again until it is acknowledged, and once more never. */
export interface Saying {
  readonly form: Value[];
  seq?: number;
  answer?: Message;
  /** The connection on which it was said last. */
  connection: number;
}

/** What a shell says of itself. `client` must survive restarts for repeats to be known as such. */
export interface Hello {
  session?: string;
  shell?: string;
  client?: string;
  role?: "controller" | "observer";
  actuators?: readonly (string | Actuator)[];
  renderRate?: number;
  maxFrame?: number;
  unit?: Unit;
}

/** What outlives a connection. */
export class Ledger {
  session: string | undefined;
  connection = 0;
  readonly sayings = new Map<Id, Saying>();
  readonly answered = new Map<Id, Value[]>();
  private readonly known = new Set<number>();
  private readonly over = new Set<Id>();
  private readonly client: string;
  // Ids of this process: unique, so that a restarted client never repeats one by accident.
  private readonly prefix = randomBytes(4).toString("hex");
  private count = 0;

  constructor(
    readonly hello: Hello,
    public cursor?: number,
  ) {
    this.session = hello.session;
    this.client = hello.client ?? randomUUID();
  }

  /** The message that attaches a connection. */
  attachment(auth?: Value): Value[] {
    const { hello } = this;
    const payload = plist({
      action: keyword("handshake"),
      version: VERSION,
      capabilities: [keyword("parts")],
      length: keyword(hello.unit ?? "bytes"),
      client: this.client,
      session: this.session,
      cursor: this.cursor,
      role: hello.role === "observer" ? keyword("observer") : null,
      shell: keyword(hello.shell ?? "node"),
      maxFrame: hello.maxFrame ?? MAX_FRAME,
      renderRate: hello.renderRate,
      receipts: true,
      actuators: hello.actuators?.map(offerOf) ?? null,
      auth: auth ?? null,
    });
    return plist({ type: new Sym(":EVENT"), payload });
  }

  /** An id that nothing else has. */
  newId(): string {
    return `${this.prefix}-${++this.count}`;
  }

  /** Takes the answer to a hello. */
  attached(message: Message): void {
    const [session, seq] = [get(message.payload, "session"), integer(get(message.payload, "seq"))];
    if (typeof session !== "string" || seq === undefined) {
      throw new ProtocolError("a hello was answered without session or number");
    }
    if (this.session !== undefined && session !== this.session) {
      throw new ProtocolError("attached to another session than asked for");
    }
    if (this.cursor !== undefined && seq < this.cursor) {
      throw new ProtocolError(`the session ends at ${seq}, before ${this.cursor}`);
    }
    // Without a cursor it is from now on: what was before is for others.
    this.cursor ??= seq;
    this.session = session;
  }

  /** Whether a number was not heard before; it counts as heard from now on. */
  isNew(seq: number): boolean {
    let cursor = this.cursor ?? 0;
    if (seq <= cursor || this.known.has(seq)) return false;
    this.known.add(seq);
    while (this.known.delete(cursor + 1)) cursor++;
    this.cursor = cursor;
    return true;
  }

  /** Notes something to say. Throws a `RangeError` when too much waits for its answer. */
  say(id: Id, form: Value[]): Saying {
    if (this.sayings.size >= MAX_SAYINGS) {
      const oldest = [...this.sayings].find(([, it]) => it.answer);
      if (!oldest) throw new RangeError(`${MAX_SAYINGS} things were said and are not answered`);
      this.sayings.delete(oldest[0]);
    }
    const saying: Saying = { form, connection: 0 };
    this.sayings.set(id, saying);
    return saying;
  }

  /** What was neither acknowledged nor said on this connection, oldest first. */
  due(): Saying[] {
    return [...this.sayings.values()].filter((it) => it.seq === undefined && it.connection !== this.connection);
  }

  /** Takes a receipt: the saying is on disk, under this number. */
  receipt(message: Message): void {
    const seq = integer(get(message.payload, "seq"));
    if (seq !== undefined && message.id !== undefined) this.admit(message.id, seq);
  }

  private admit(id: Id, seq: number): void {
    const saying = this.sayings.get(id);
    if (saying) {
      if (saying.seq !== undefined && saying.seq !== seq) {
        throw new ProtocolError(`a second receipt with number ${seq} after ${saying.seq}`);
      }
      saying.seq = seq;
    }
    this.isNew(seq);
  }

  /** Takes a numbered event; false when it was heard before, or is a saying of ours come back. */
  numbered(seq: number, message: Message): boolean {
    const own = message.own && message.id === undefined ? idOf(get(message.meta, "id")) : undefined;
    if (own !== undefined && this.sayings.has(own)) {
      this.admit(own, seq);
      return false;
    }
    if (!this.isNew(seq)) return false;
    if (message.answers === undefined) return true;
    for (const [id, saying] of this.sayings) {
      const isAnswer = (message.type === "response" && message.id === id) || message.answers === saying.seq;
      if (saying.answer === undefined && isAnswer) {
        saying.answer = message;
        // The answer tells the number of what it answers, should the receipt be lost.
        this.admit(id, message.answers);
      }
    }
    return true;
  }

  /** Keeps the answer to a request until its outcome is heard. */
  keepAnswer(id: Id, response: Value[]): void {
    makeRoom(this.answered);
    this.answered.set(id, response);
  }

  /** Whether a request has ended. It may still come once more, in the tail after a cursor. */
  isOver(id: Id): boolean {
    return this.over.has(id);
  }

  /** A request has ended, however it did: it is not carried out again. */
  endRequest(id: Id): void {
    this.answered.delete(id);
    makeRoom(this.over);
    this.over.add(id);
  }

  /** Takes note of how a request ended, if this message tells it. */
  outcome(message: Message): void {
    const effect = get(message.payload, "effect");
    if (message.action === "outcome" && typeof effect === "string") this.endRequest(effect);
  }
}

/** Lets the oldest go where there is no room for one more. */
function makeRoom(kept: Map<Id, unknown> | Set<Id>): void {
  for (const oldest of kept.keys()) {
    if (kept.size < MAX_ANSWERED) return;
    kept.delete(oldest);
  }
}

/** Puts messages together that came in parts. */
export class Parts {
  private readonly open = new Map<string, { of: number; pieces: string[]; size: number }>();

  /** The whole text after its last part. Throws `ProtocolError`. */
  take(form: Value): string | undefined {
    const [part, data] = [get(form, "part"), get(form, "data")];
    const [id, n, of] = [get(part, "id"), integer(get(part, "n")), integer(get(part, "of"))];
    if (typeof id !== "string") throw new ProtocolError("a part without an id");
    if (get(part, "abort") === true) {
      this.open.delete(id);
      return undefined;
    }
    if (n === undefined || of === undefined || typeof data !== "string" || n < 1 || n > of || of > MAX_PARTS) {
      throw new ProtocolError("a part without its number or data");
    }
    const message = this.open.get(id) ?? { of, pieces: [], size: 0 };
    this.open.set(id, message);
    message.pieces.push(data);
    message.size += data.length;
    const fits = message.of === of && message.pieces.length === n && message.size <= MAX_MESSAGE;
    if (!fits || this.open.size > MAX_OPEN_PARTS) throw new ProtocolError("a part that contradicts those before it");
    if (n < of) return undefined;
    this.open.delete(id);
    return message.pieces.join("");
  }
}

/** The payloads of the frames that carry a text: itself, or parts when it is too large for one. */
export function inParts(text: string, id: string, maxFrame: number): string[] {
  if (Buffer.byteLength(text) <= maxFrame) return [text];
  const chars = [...text];
  // A character has at most four bytes, and a quote or backslash becomes two.
  const step = Math.max(1, Math.floor((maxFrame - PART_OVERHEAD) / 4));
  const of = Math.ceil(chars.length / step);
  if (of > MAX_PARTS) throw new RangeError(`expected at most ${MAX_PARTS} parts, got ${of}`);
  return Array.from({ length: of }, (_, at) => {
    const data = chars.slice(at * step, (at + 1) * step).join("");
    return write(plist({ type: new Sym(":EVENT"), part: plist({ id, n: at + 1, of }), data }));
  });
}
