/**
 * What is shown while it is made: pieces of answers, of the way to them, and of what runs. No sockets here.
 *
 * A piece names who makes it (a thought or an act), its channel, and how many bytes of the channel came before it. A
 * shell that attaches in the middle gets what was streamed so far, then the rest; `Pieces` gives each text once.
 */

import { Message, word } from "./oacp.js";
import { type Value, get, write } from "./sexp.js";

/** Channels whose place is remembered; the one that was heard of least lately is forgotten. */
export const MAX_STREAMS = 1_024;

/** A piece of something in the making; not recorded. The numbered message has the whole text. */
export interface Piece {
  readonly thought: string;
  /** `text` of the answer, `reasoning` behind it, `output` and `progress` of what runs; show no other. */
  readonly channel: string;
  /** Bytes of the channel before it, in UTF-8; undefined from a daemon that does not tell. */
  readonly offset: number | undefined;
  readonly text: string;
  /** Whether something before it is gone: so much was streamed that its front is not kept. */
  readonly isGap: boolean;
}

/** The piece that a message is, if it is one. */
export function pieceOf(message: Message): Piece | undefined {
  if (message.action !== "delta" || message.seq !== undefined) return undefined;
  const offset = get(message.payload, "offset");
  return {
    thought: thoughtOf(message),
    channel: word(get(message.payload, "channel")) ?? "text",
    offset: typeof offset === "number" && Number.isInteger(offset) && offset >= 0 ? offset : undefined,
    text: message.text ?? "",
    isGap: false,
  };
}

/** The thought that a message takes back: what it has shown does not count. */
export function voidedBy(message: Message): string | undefined {
  return message.action === "voided" && message.seq === undefined ? thoughtOf(message) : undefined;
}

function thoughtOf(message: Message): string {
  const named = (value: Value): string => (typeof value === "string" ? value : write(value));
  const thought = get(message.payload, "thought");
  // An old daemon names the turn alone.
  return thought === null ? `turn-${named(get(message.payload, "turn"))}` : named(thought);
}

/** Places in channels: what was given once is not given again. */
export class Pieces {
  private readonly places = new Map<string, number>();

  /** The part of a piece that is new, if any is. */
  take(piece: Piece): Piece | undefined {
    if (piece.offset === undefined) return piece.text ? piece : undefined;
    const name = `${piece.thought}\n${piece.channel}`;
    const place = this.places.get(name) ?? 0;
    const data = new TextEncoder().encode(piece.text);
    const end = piece.offset + data.length;
    // A map keeps the order in which keys were put in: the one heard of last is behind the others.
    this.places.delete(name);
    this.places.set(name, Math.max(place, end));
    for (const [oldest] of this.places) {
      if (this.places.size <= MAX_STREAMS) break;
      this.places.delete(oldest);
    }
    if (end <= place) return undefined;
    // Pieces end between characters, so the place is between two.
    const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(data.subarray(Math.max(0, place - piece.offset)));
    return { ...piece, offset: Math.max(place, piece.offset), text, isGap: piece.offset > place };
  }

  /** Forgets what a thought has shown. */
  void(thought: string): void {
    for (const name of [...this.places.keys()]) {
      if (name.startsWith(`${thought}\n`)) this.places.delete(name);
    }
  }
}
