/**
 * A shell of the framed protocol over TCP or a Unix socket, for Node.
 *
 *     const client = new Client("127.0.0.1:9105", { session: "work" });
 *     console.log((await client.ask("help")).text);
 *     client.close();
 *
 * Whatever happens to the connection or the daemon, the client comes back by itself and goes on where it was; see
 * `Ledger` for what that takes.
 */

import { randomBytes } from "node:crypto";
import { type Socket, connect } from "node:net";

import { ConnectionSeal, Decoder, FrameError, MAX_FRAME, Seal, encode } from "./frame.js";
import { FOR_NOW, type Hello, type Id, Ledger, Message, Parts, ProtocolError, inParts, plist, word } from "./oacp.js";
import { type Piece, Pieces, pieceOf, voidedBy } from "./piece.js";
import { SexpError, Sym, type Value, get, keyword, write } from "./sexp.js";

/** Milliseconds for an answer, unless told otherwise: a daemon gives up on a turn after that time. */
export const ANSWER_WAIT = 600_000;
/** Milliseconds until a daemon that was never reached counts as one that is not there. */
export const FIRST_WAIT = 20_000;
/** Milliseconds for the answer to a hello: a connection made while a daemon stopped may stay silent forever. */
export const HELLO_WAIT = 20_000;
/** Milliseconds between attempts to connect: they double from the first to the longest. */
export const FIRST_PAUSE = 50;
export const LONGEST_PAUSE = 2_000;
/** Milliseconds before something is said again that was refused for now. */
export const AGAIN = 100;
/** Events that may wait to be taken with `events`. */
export const MAX_QUEUED = 100_000;

/** A shared secret and its id. With it, every frame is signed. */
export interface Key {
  id: string;
  secret: Uint8Array;
}

/** How far a lasting yes would go: a word, such as `action` or `file`, and what it allows. */
export interface Scope {
  readonly name: string;
  readonly allows: string;
}

/** Something that is done only after a yes. `wanted` is exactly what the yes is for. */
export interface Question {
  readonly id: string;
  readonly text: string;
  readonly risk: string;
  readonly target: string;
  readonly wanted: Value;
  readonly hash: string;
  readonly deadline: number | undefined;
  /** Scopes in which an owner may allow it from now on, with `Client.grant`. */
  readonly scopes: readonly Scope[];
}

export interface ClientOptions extends Hello {
  /** Everything after this number is heard, and 0 is the whole session; without one, what happens from now on. */
  cursor?: number;
  key?: Key;
  /** Carries out a request of the engine and gives what belongs into the answer; a rejection is a failure. */
  onRequest?: (request: Message) => Value | Promise<Value>;
  /** Gives `allow`, `deny`, or undefined to leave a question open. */
  onApproval?: (question: Question) => string | undefined | Promise<string | undefined>;
  /** Gets the text of answers under way. */
  onDelta?: (text: string) => void;
  /** Gets every channel of what is made, each piece once. */
  onPiece?: (piece: Piece) => void;
  /** Gets the thought whose pieces do not count any more. */
  onVoid?: (thought: string) => void;
  /** Whether events are kept for `events`; a program that only asks says false. */
  keepEvents?: boolean;
}

/** A shell that is attached to one session. */
export class Client {
  readonly ledger: Ledger;
  private link: Link | undefined;
  private pause = FIRST_PAUSE;
  /** What was wrong with the connection, last; undefined while it stands. */
  private trouble: string | undefined;
  private wasAttached = false;
  private readonly timers = new Set<NodeJS.Timeout>();
  private readonly queue: Message[] = [];
  private readonly waiting = new Set<() => void>();
  private readonly busy = new Set<Id>();
  private readonly pieces = new Pieces();
  private peerMax = MAX_FRAME;
  private failure: Error | undefined;
  private closed = false;

  constructor(
    /** `HOST:PORT`, or the path of a Unix socket. */
    readonly address: string,
    private readonly options: ClientOptions = {},
  ) {
    this.ledger = new Ledger(options, options.cursor);
    this.dial();
  }

  /** The session's name, once attached. */
  get session(): string | undefined {
    return this.ledger.session;
  }

  /** The number up to which everything was heard. To go on later, keep the last `seq` you were done with. */
  get cursor(): number | undefined {
    return this.ledger.cursor;
  }

  /** Says something and waits for its answer. Rejects with `Refused`, or after `timeout` milliseconds. */
  ask(text: string, timeout: number | undefined = ANSWER_WAIT): Promise<Message> {
    return this.wait(this.prompt(text), timeout);
  }

  /** Says something and does not wait; `wait` takes the id. */
  prompt(text: string): Id {
    return this.send(plist({ type: new Sym(":EVENT"), payload: plist({ sensor: keyword("user-prompt"), text }) }));
  }

  /** Asks an actuator for something and waits for the answer. */
  request(payload: Value[], target?: string, timeout: number | undefined = ANSWER_WAIT): Promise<Message> {
    const form = plist({ type: new Sym(":REQUEST"), target: target === undefined ? null : keyword(target), payload });
    return this.wait(this.send(form), timeout);
  }

  /** Says any message of this protocol, under an id that is new unless given. It will arrive, once. */
  send(form: Value[], id: Id = this.ledger.newId()): Id {
    this.ledger.say(id, [...form.slice(0, 2), ...plist({ id }), ...form.slice(2)]);
    this.sayDue();
    return id;
  }

  /** The answer to what was said under an id. Rejects with `Refused`, or after `timeout` milliseconds. */
  async wait(id: Id, timeout: number | undefined = ANSWER_WAIT): Promise<Message> {
    const saying = this.ledger.sayings.get(id);
    if (!saying) throw new RangeError(`nothing was said as \`${id}\``);
    await this.until(() => saying.answer !== undefined, timeout, `no answer to \`${id}\``);
    this.ledger.sayings.delete(id);
    const answer = saying.answer!;
    const refusal = answer.refusal();
    if (refusal) throw refusal;
    return answer;
  }

  /** Numbered events, each once and in order; ends when none came for `timeout` milliseconds, or with `close`. */
  async *events(timeout?: number): AsyncGenerator<Message, void, undefined> {
    for (;;) {
      try {
        await this.until(() => this.queue.length > 0, timeout, "no event", true);
      } catch (error) {
        if (!(error instanceof CannotConnect) && (error instanceof TimeoutError || this.closed)) return;
        throw error;
      }
      yield this.queue.shift()!;
    }
  }

  /** Waits until the session is attached. Not needed before anything else. */
  attach(timeout: number | undefined = ANSWER_WAIT): Promise<void> {
    return this.until(() => this.link?.attached === true, timeout, "not attached");
  }

  /** Answers a question that was left open: `allow` or `deny`. */
  answer(question: Question, verdict: string): void {
    this.respond(question.id, verdictOn(question, verdict));
  }

  /** What allowing a question in a scope for a time (`30m`, `12h`, `7d`) would mean. Changes nothing. */
  previewGrant(question: Question, scope: string, span = "7d", timeout: number | undefined = ANSWER_WAIT): Promise<Message> {
    return this.request([...grantOf(question, scope, span), keyword("preview"), true], "system", timeout);
  }

  /** Allows a question, and what its scope says for a time: for owners. The payload has `:sentence`. */
  async grant(question: Question, scope: string, span = "7d", timeout: number | undefined = ANSWER_WAIT): Promise<Message> {
    const answer = await this.request(grantOf(question, scope, span), "system", timeout);
    this.ledger.endRequest(question.id);
    return answer;
  }

  /** What is allowed without asking, as property lists with `:grant`, `:sentence` and `:until`. */
  async grants(timeout: number | undefined = ANSWER_WAIT): Promise<Value[]> {
    const answer = await this.request(plist({ action: keyword("grants") }), "system", timeout);
    const grants = get(answer.payload, "grants");
    return Array.isArray(grants) ? grants : [];
  }

  /** Takes a grant back by its id, or all that are over by the id `expired`. */
  revokeGrant(grant: string, timeout: number | undefined = ANSWER_WAIT): Promise<Message> {
    return this.request(plist({ action: keyword("revoke-grant"), grant }), "system", timeout);
  }

  /** Ends the connection. What was acknowledged is done all the same. */
  close(): void {
    this.closed = true;
    for (const timer of this.timers) clearTimeout(timer);
    this.link?.socket.destroy();
    this.link = undefined;
    this.changed();
  }

  // --- connections ---

  private until(done: () => boolean, timeout: number | undefined, what: string, isLook = false): Promise<void> {
    return new Promise((resolve, reject) => {
      // A look may end before a connection stands; a daemon that was there once is waited for.
      const late = (): Error =>
        this.trouble && !this.wasAttached && !isLook
          ? new CannotConnect(this.address, this.trouble)
          : new TimeoutError(what);
      const timer = timeout === undefined ? undefined : this.later(timeout, () => finish(late()));
      const first = this.wasAttached
        ? undefined
        : this.later(FIRST_WAIT, () => {
            if (this.trouble && !this.wasAttached) finish(new CannotConnect(this.address, this.trouble));
          });
      const look = (): void => {
        if (done()) finish();
        else if (this.failure) finish(this.failure);
        else if (this.closed) finish(new Error("closed"));
      };
      const finish = (error?: Error): void => {
        this.waiting.delete(look);
        if (timer) this.never(timer);
        if (first) this.never(first);
        if (error) reject(error);
        else resolve();
      };
      this.waiting.add(look);
      look();
    });
  }

  /** Something has changed: whoever waits looks again. */
  private changed(): void {
    for (const look of [...this.waiting]) look();
  }

  private later(ms: number, work: () => void): NodeJS.Timeout {
    const timer = setTimeout(() => {
      this.timers.delete(timer);
      work();
    }, ms);
    this.timers.add(timer);
    return timer;
  }

  private never(timer: NodeJS.Timeout): void {
    clearTimeout(timer);
    this.timers.delete(timer);
  }

  private dial(): void {
    const link = new Link(this.address, this.options);
    this.link = link;
    this.ledger.connection++;
    const patience = this.later(HELLO_WAIT, () => link.attached || link.socket.destroy());
    link.socket.on("data", (data) => this.received(link, data));
    link.socket.on("error", (error) => {
      this.trouble = error.message; // `close` follows
    });
    link.socket.on("close", () => {
      this.never(patience);
      this.trouble ??= "the connection was closed";
      if (this.link === link) this.drop();
    });
    // Who does not sign need not wait for the daemon's hello.
    if (!this.options.key) this.write(this.ledger.attachment());
  }

  /** The connection is gone: the next one comes after a pause, longer each time. */
  private drop(): void {
    this.link?.socket.destroy();
    this.link = undefined;
    if (this.closed || this.failure) return;
    this.later(this.pause * (0.5 + Math.random() / 2), () => this.dial());
    this.pause = Math.min(this.pause * 2, LONGEST_PAUSE);
  }

  private received(link: Link, data: Uint8Array): void {
    if (this.link !== link) return;
    link.decoder.feed(data);
    try {
      for (let text = link.decoder.next(); text !== undefined; text = link.decoder.next()) {
        this.take(link, text);
        if (this.link !== link) return;
      }
      this.sayDue();
    } catch (error) {
      if (error instanceof Disconnected || error instanceof FrameError) {
        this.drop();
      } else {
        this.failure = error instanceof Error ? error : new Error(String(error));
        this.drop();
      }
    }
    this.changed();
  }

  private write(form: Value): void {
    if (!this.link) return;
    for (const payload of inParts(write(form), randomBytes(4).toString("hex"), this.peerMax)) this.link.send(payload);
  }

  private sayDue(): void {
    if (!this.link?.attached) return;
    for (const saying of this.ledger.due()) {
      saying.connection = this.ledger.connection;
      this.write(saying.form);
    }
  }

  // --- messages ---

  private take(link: Link, text: string): void {
    let message = parsed(text);
    if (get(message.form, "part") !== null) {
      const whole = link.parts.take(message.form);
      if (whole === undefined) return;
      message = parsed(whole);
    }
    const { id } = message;
    const saying = id === undefined ? undefined : this.ledger.sayings.get(id);
    if (!link.greeted) {
      this.greeted(link, message);
    } else if (message.type === "response" && message.action === "handshake") {
      this.attached(link, message);
    } else if (message.type === "status" && message.status === "admitted") {
      this.ledger.receipt(message);
    } else if (message.seq !== undefined) {
      this.numbered(message.seq, message);
    } else if (message.type === "response" && message.status === "error") {
      this.refused(link, message);
    } else if (message.type === "response" && saying) {
      // Some answers of the daemon itself are not recorded and have no number.
      saying.answer = message;
    } else {
      this.shown(message);
    }
  }

  /** Takes what is shown while it is made, if a message is that. */
  private shown(message: Message): void {
    const thought = voidedBy(message);
    if (thought !== undefined) {
      this.pieces.void(thought);
      this.options.onVoid?.(thought);
    }
    const piece = pieceOf(message);
    const fresh = piece && this.pieces.take(piece);
    if (!fresh) return;
    this.options.onPiece?.(fresh);
    // Other channels show the way to the answer, not the answer.
    if (fresh.channel === "text") this.options.onDelta?.(fresh.text);
  }

  /** Takes the daemon's hello, and answers it when frames are signed. */
  private greeted(link: Link, message: Message): void {
    // It ends, or serves as many as it can.
    if (message.refusal()) throw new Disconnected();
    if (message.action !== "handshake") throw new ProtocolError("expected the daemon's hello");
    link.greeted = true;
    const limit = get(get(message.payload, "limits"), "max-frame");
    this.peerMax = typeof limit === "number" && limit > 0 ? Math.min(limit, MAX_FRAME) : MAX_FRAME;
    if (this.options.key) {
      const nonce = nonceOf(get(message.payload, "auth"));
      if (nonce === undefined) throw new ProtocolError("this daemon does not sign");
      const auth = link.signConnection(this.options.key, nonce);
      this.write(this.ledger.attachment(auth));
    }
  }

  private attached(link: Link, message: Message): void {
    const refusal = message.refusal();
    if (refusal) throw refusal;
    this.ledger.attached(message);
    link.attached = true;
    this.trouble = undefined;
    this.wasAttached = true;
    this.pause = FIRST_PAUSE;
  }

  private numbered(seq: number, message: Message): void {
    const isNew = this.ledger.numbered(seq, message);
    this.ledger.outcome(message);
    if (message.type === "request" && message.id !== undefined) void this.requested(message, message.id);
    if (isNew && this.options.keepEvents !== false) {
      if (this.queue.length >= MAX_QUEUED) throw new ProtocolError(`${MAX_QUEUED} events wait and nobody takes them`);
      this.queue.push(message);
    }
  }

  /** Carries out a request once; offered again, it gets the same answer. */
  private async requested(message: Message, id: Id): Promise<void> {
    const before = this.ledger.answered.get(id);
    if (before) this.write(before);
    if (before || this.busy.has(id) || this.ledger.isOver(id)) return;
    this.busy.add(id);
    const response = message.target === "approval" ? await this.judged(message) : await this.carriedOut(message, id);
    this.busy.delete(id);
    if (response && !this.closed) this.respond(id, response);
  }

  private respond(id: Id, response: Value[]): void {
    this.ledger.keepAnswer(id, response);
    if (this.link?.attached) this.write(response);
  }

  private async carriedOut(message: Message, id: Id): Promise<Value[]> {
    const { onRequest } = this.options;
    let payload: Value[];
    try {
      payload = onRequest
        ? plist({ status: keyword("success"), result: await onRequest(message) })
        : plist({ status: keyword("denied"), message: "this shell carries nothing out" });
    } catch (error) {
      payload = plist({ status: keyword("error"), message: String(error) });
    }
    return plist({ type: new Sym(":RESPONSE"), id, payload });
  }

  private async judged(message: Message): Promise<Value[] | undefined> {
    const question = questionOf(message);
    try {
      const verdict = await this.options.onApproval?.(question);
      return verdict === undefined ? undefined : verdictOn(question, verdict);
    } catch {
      // Whoever could not decide has not said yes; the question stays open for others.
      return undefined;
    }
  }

  private refused(link: Link, message: Message): void {
    const refusal = message.refusal()!;
    const forNow = FOR_NOW.includes(refusal.code) || refusal.retryable;
    const saying = message.id === undefined ? undefined : this.ledger.sayings.get(message.id);
    if (saying && saying.answer === undefined) {
      if (forNow) {
        this.later(AGAIN, () => {
          saying.connection = 0;
          this.sayDue();
        });
      } else {
        saying.answer = message;
      }
    } else if (message.id === undefined) {
      throw link.attached || forNow ? new Disconnected() : refusal;
    }
    // Else an answer to a request that has ended meanwhile, or is not open yet after a restart: what is still wanted
    // is asked for again.
  }
}

/** The connection is gone. */
class Disconnected extends Error {}

/** Nothing came in the time that was given. */
export class TimeoutError extends Error {}

/** Nobody answers at the address. Says where, and what the system said. */
export class CannotConnect extends TimeoutError {
  constructor(address: string, trouble: string) {
    super(`cannot connect to \`${address}\`: ${trouble}`);
  }
}

/** One bad frame must not cost a session: the next connection goes on behind the cursor. */
function parsed(text: string): Message {
  try {
    return Message.parse(text);
  } catch (error) {
    throw error instanceof SexpError ? new Disconnected() : error;
  }
}

/** Out of `(:hmac 1 2 :nonce "..")`, which is no property list: it has several versions. */
function nonceOf(auth: Value): string | undefined {
  if (!Array.isArray(auth)) return undefined;
  const at = auth.findIndex((item) => item instanceof Sym && item.matches(":nonce"));
  const nonce = auth[at + 1];
  return at >= 0 && typeof nonce === "string" ? nonce : undefined;
}

function questionOf(message: Message): Question {
  const text = (key: string): string => {
    const value = get(message.payload, key);
    return typeof value === "string" ? value : value instanceof Sym ? value.name.replace(/^:/, "") : "";
  };
  const deadline = get(message.meta, "deadline");
  return {
    id: String(message.id),
    text: text("question"),
    risk: text("risk"),
    target: text("target"),
    wanted: get(message.payload, "wanted"),
    hash: text("hash"),
    deadline: typeof deadline === "number" ? deadline : undefined,
    scopes: scopesOf(get(message.payload, "scopes")),
  };
}

function scopesOf(value: Value): Scope[] {
  return (Array.isArray(value) ? value : []).flatMap((entry) => {
    const [name, allows] = [word(get(entry, "scope")), get(entry, "allows")];
    return name && typeof allows === "string" ? [{ name, allows }] : [];
  });
}

function grantOf(question: Question, scope: string, span: string): Value[] {
  // The hash makes sure that it is a yes to what was shown.
  return plist({
    action: keyword("grant"),
    approval: question.id,
    scope: keyword(scope),
    hash: question.hash || null,
    for: span,
  });
}

function verdictOn(question: Question, verdict: string): Value[] {
  // Only the word itself is a yes; the hash makes sure that it is one to what was shown.
  const payload = plist({ verdict: keyword(verdict === "allow" ? "allow" : "deny"), hash: question.hash || null });
  return plist({ type: new Sym(":RESPONSE"), id: question.id, payload });
}

/** One connection. */
class Link {
  readonly socket: Socket;
  readonly decoder: Decoder;
  readonly parts = new Parts();
  greeted = false;
  attached = false;
  private seal: Seal | undefined;

  constructor(
    address: string,
    private readonly options: ClientOptions,
  ) {
    const colon = address.lastIndexOf(":");
    this.socket = address.includes("/")
      ? connect({ path: address })
      : connect({ host: address.slice(0, colon).replace(/^\[|\]$/g, ""), port: Number(address.slice(colon + 1)) });
    this.socket.setNoDelay(true);
    const seal = options.key ? new Seal(options.key.secret) : undefined;
    this.decoder = new Decoder(seal, options.unit, options.maxFrame);
  }

  /** Signs with version 2 from here on, and gives what the hello says about it. */
  signConnection(key: Key, serverNonce: string): Value {
    const nonce = randomBytes(16).toString("hex");
    this.seal = new ConnectionSeal(key.secret, "C", nonce, serverNonce);
    this.decoder.seal = new ConnectionSeal(key.secret, "S", nonce, serverNonce);
    return plist({ hmac: 2, key: key.id, nonce, answer: serverNonce });
  }

  send(payload: string): void {
    if (!this.socket.destroyed) this.socket.write(encode(payload, this.seal, this.options.unit));
  }
}
