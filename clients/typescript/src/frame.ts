/**
 * Frames: six hex digits of length, a signature where one is asked for, and the text of one form.
 *
 * `encode` makes a frame; a `Decoder` takes bytes as they come and gives payloads. Nothing here reads or writes
 * sockets, and nothing is allocated ahead of received bytes. Needs Node, for its HMAC.
 */

import { createHmac, timingSafeEqual } from "node:crypto";

/** What a length counts. */
export type Unit = "bytes" | "chars";

/** The largest length that six digits can say. */
export const MAX_FRAME = 0xffffff;
/** Blanks between two frames, padding not counted. */
export const MAX_BLANKS = 64 * 1024;
/** Digits of the length. */
export const HEADER = 6;
/** Digits of a signature. */
export const SIGNATURE = 64;

/** What is wrong with a frame, by the code of the protocol. When `lost`, nobody knows where the next one is. */
export class FrameError extends Error {
  constructor(
    readonly code: string,
    readonly lost: boolean,
  ) {
    super(code);
  }
}

/** Version 1 of signatures: HMAC-SHA256 of the payload. */
export class Seal {
  constructor(protected readonly secret: Uint8Array) {}

  /** The signature of the next frame that is sent. */
  sign(_length: Uint8Array, payload: Uint8Array): string {
    return createHmac("sha256", this.secret).update(payload).digest("hex");
  }

  /** Whether this is the signature of the next frame that is received. */
  fits(signature: string, length: Uint8Array, payload: Uint8Array): boolean {
    if (same(signature, this.sign(length, payload))) return true;
    const latin = latin1(payload);
    // Old Lisp peers sign one octet a character.
    return latin !== undefined && same(signature, this.sign(length, latin));
  }
}

/** Version 2: it also signs the connection, the direction and the position, one of these for each direction. */
export class ConnectionSeal extends Seal {
  private counter = 0n;

  constructor(
    secret: Uint8Array,
    private readonly direction: "C" | "S",
    private readonly clientNonce: string,
    private readonly serverNonce: string,
  ) {
    super(secret);
  }

  override sign(length: Uint8Array, payload: Uint8Array): string {
    const signature = this.digest(length, payload);
    this.counter++;
    return signature;
  }

  override fits(signature: string, length: Uint8Array, payload: Uint8Array): boolean {
    const fits = same(signature, this.digest(length, payload));
    if (fits) this.counter++;
    return fits;
  }

  private digest(length: Uint8Array, payload: Uint8Array): string {
    const counter = Buffer.alloc(8);
    counter.writeBigUInt64BE(this.counter);
    const hmac = createHmac("sha256", this.secret).update(this.direction + this.clientNonce + this.serverNonce);
    return hmac.update(counter).update(length).update(payload).digest("hex");
  }
}

function same(signature: string, own: string): boolean {
  return timingSafeEqual(Buffer.from(signature.toLowerCase()), Buffer.from(own));
}

function latin1(payload: Uint8Array): Uint8Array | undefined {
  const text = utf8(payload);
  return text !== undefined && /^[\0-\xff]*$/.test(text) ? Buffer.from(text, "latin1") : undefined;
}

function utf8(data: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(data);
  } catch {
    return undefined;
  }
}

/** The frame of a payload. Throws `FrameError` when it is empty or larger than the peer takes. */
export function encode(payload: string, seal?: Seal, unit: Unit = "bytes", maxFrame = MAX_FRAME): Buffer {
  const data = Buffer.from(payload, "utf8");
  const length = unit === "bytes" ? data.length : [...payload].length;
  if (length === 0) throw new FrameError("empty-frame", false);
  if (length > Math.min(maxFrame, MAX_FRAME)) throw new FrameError("frame-too-large", false);
  const digits = Buffer.from(length.toString(16).padStart(HEADER, "0"));
  return Buffer.concat([digits, Buffer.from(seal?.sign(digits, data) ?? ""), data]);
}

/** Reads frames out of bytes that arrive in any pieces. */
export class Decoder {
  private buffer: Buffer = Buffer.alloc(0);
  private arrived: Buffer[] = [];
  private arrivedBytes = 0;
  private needed = 0; // bytes without which nothing new can be said
  private blanks = MAX_BLANKS;
  private discard = 0; // units of a frame over the limit that are still to pass
  private walked = { bytes: 0, chars: 0 }; // what was looked at of the payload
  private lost: FrameError | undefined;

  constructor(
    public seal?: Seal,
    private readonly unit: Unit = "bytes",
    private readonly maxFrame = MAX_FRAME,
  ) {}

  /** Takes bytes from the peer. */
  feed(data: Uint8Array): void {
    this.arrived.push(Buffer.from(data));
    this.arrivedBytes += data.length;
  }

  /** The next payload, or undefined when more bytes are needed. Throws `FrameError`. */
  next(): string | undefined {
    if (this.lost) throw this.lost;
    // Pieces of a large frame are joined once, not with every piece.
    if (this.buffer.length + this.arrivedBytes < this.needed) return undefined;
    this.join();
    this.needed = 0;
    try {
      return this.parse();
    } catch (error) {
      if (error instanceof FrameError && error.lost) this.lost = error;
      throw error;
    }
  }

  /** Judges the end of the stream: throws `FrameError` inside a frame. A frame that is cut is never given. */
  finish(): void {
    if (this.lost) throw this.lost;
    this.join();
    if (this.discard > 0 || countBlanks(this.buffer) < this.buffer.length) throw new FrameError("incomplete-frame", true);
  }

  private join(): void {
    if (this.arrived.length > 0) this.buffer = Buffer.concat([this.buffer, ...this.arrived]);
    this.arrived = [];
    this.arrivedBytes = 0;
  }

  private parse(): string | undefined {
    if (this.discard > 0 && !this.discarded()) return undefined;
    this.skipBlanks();
    this.checkDigits(0, HEADER, "bad-header");
    if (this.buffer.length < HEADER) return undefined;
    const length = parseInt(this.buffer.toString("latin1", 0, HEADER), 16);
    if (this.seal) {
      if (length > this.maxFrame) throw new FrameError("frame-too-large", true);
      this.checkDigits(HEADER, HEADER + SIGNATURE, "unsigned-frame");
      if (this.buffer.length < HEADER + SIGNATURE) return undefined;
    } else if (length === 0) {
      this.take(HEADER, 0);
      throw new FrameError("empty-frame", false);
    } else if (length > this.maxFrame) {
      this.take(HEADER, 0);
      this.discard = length;
      throw new FrameError("frame-too-large", false);
    }
    const start = HEADER + (this.seal ? SIGNATURE : 0);
    const end = this.end(start, length);
    return end === undefined ? undefined : this.payload(start, end);
  }

  private payload(start: number, end: number): string {
    const [head, data] = [this.buffer.subarray(0, start), this.buffer.subarray(start, end)];
    if (this.seal && !this.seal.fits(head.toString("latin1", HEADER), head.subarray(0, HEADER), data)) {
      throw new FrameError("bad-signature", true);
    }
    this.take(end, data.some((byte) => byte > 0x7f) ? data.length : 0);
    if (data.length === 0) throw new FrameError("empty-frame", false);
    const text = utf8(data);
    if (text === undefined) throw new FrameError("invalid-utf8", false);
    return text;
  }

  /** Drops a frame from the buffer; one with bytes above ASCII may have padding behind it. */
  private take(count: number, padded: number): void {
    this.buffer = this.buffer.subarray(count);
    this.walked = { bytes: 0, chars: 0 };
    this.blanks = MAX_BLANKS + Math.floor(padded / 4) * 3;
  }

  private skipBlanks(): void {
    const blanks = countBlanks(this.buffer);
    this.blanks -= blanks;
    if (this.blanks < 0) throw new FrameError("too-many-blanks", true);
    this.buffer = this.buffer.subarray(blanks);
  }

  private checkDigits(start: number, end: number, code: string): void {
    if (!/^[0-9a-fA-F]*$/.test(this.buffer.toString("latin1", start, end))) throw new FrameError(code, true);
  }

  /** Where the payload ends, or undefined when it has not arrived. */
  private end(start: number, length: number): number | undefined {
    if (this.unit === "bytes") {
      if (this.buffer.length >= start + length) return start + length;
      this.needed = start + length;
      return undefined;
    }
    const step = walk(this.buffer, start + this.walked.bytes, length - this.walked.chars);
    this.walked = { bytes: step.at - start, chars: this.walked.chars + step.count };
    return this.walked.chars === length ? step.at : undefined;
  }

  /** Throws a frame away as it passes; whether all of it has. */
  private discarded(): boolean {
    const most = Math.min(this.discard, this.buffer.length);
    const step = this.unit === "bytes" ? { at: most, count: most } : walk(this.buffer, 0, this.discard);
    this.buffer = this.buffer.subarray(step.at);
    this.discard -= step.count;
    return this.discard === 0;
  }
}

function countBlanks(buffer: Buffer): number {
  let count = 0;
  while (count < buffer.length && [0x20, 0x09, 0x0d, 0x0a].includes(buffer[count]!)) count++;
  return count;
}

/**
 * Walks over up to `count` whole characters; where it stops, and how many there were. Bytes that are no character
 * count as one, as far as they could have begun one.
 */
function walk(buffer: Buffer, at: number, count: number): { at: number; count: number } {
  let walked = 0;
  while (walked < count && at < buffer.length) {
    const size = characterSize(buffer, at);
    if (size === undefined) break;
    at += size;
    walked++;
  }
  return { at, count: walked };
}

/** The bytes of the character at a place, or undefined when it may still be completed. */
function characterSize(buffer: Buffer, at: number): number | undefined {
  const first = buffer[at]!;
  if (first < 0xc2 || first > 0xf4) return 1;
  const size = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  // What may follow the first byte, so that nothing is written longer than it must be.
  let low = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80;
  let high = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf;
  for (let step = 1; step < size; step++) {
    const byte = buffer[at + step];
    if (byte === undefined) return undefined;
    if (byte < low || byte > high) return step;
    [low, high] = [0x80, 0xbf];
  }
  return size;
}
