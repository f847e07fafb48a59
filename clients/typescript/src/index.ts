/** Clients of bridle, for Node: the framed protocol (`Client`), and everything of `openharness`, which browsers have too. */

export { CannotConnect, Client, type ClientOptions, type Key, type Question, type Scope, TimeoutError } from "./client.js";
export { ConnectionSeal, Decoder, FrameError, Seal, type Unit, encode } from "./frame.js";
export { type Hello, type Id, Ledger, Message, Parts, ProtocolError, Refused, inParts, plist } from "./oacp.js";
export { type Actuator, type ArgumentShape, type OfferedAction, type OfferedArgument, offerOf } from "./offer.js";
export * from "./openharness.js";
export { type Piece, Pieces, pieceOf, voidedBy } from "./piece.js";
export { Atom, Dotted, SexpError, Sym, type Value, Vector, get, isPlist, keyword, read, write } from "./sexp.js";
