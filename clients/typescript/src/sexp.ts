/**
 * The data language of the framed protocol: one form of text to a value, and back.
 *
 * `read` takes exactly one form, as the payload of a frame holds it, and `write` gives its canonical spelling.
 * Neither recurses, and every limit of the protocol has a name here. What has no counterpart in JavaScript is
 * kept as text, so that what one shell says reaches another unchanged.
 *
 * | text                       | value                                           |
 * |----------------------------|-------------------------------------------------|
 * | `nil`, `()`                | `null` (`[]`, `false`, `undefined` are written so) |
 * | `t`                        | `true`                                          |
 * | `42`, `#xff`               | `number`, or `bigint` beyond 53 bits            |
 * | `"text"`                   | `string`                                        |
 * | `:key`, `name`, `pkg:name` | `Sym`                                           |
 * | `1.5`, `1/3`, `#\a`        | `Atom`: a float, a ratio, a character           |
 * | `(a b)`                    | array                                           |
 * | `(a . b)`                  | `Dotted`                                        |
 * | `#(a b)`, `[a b]`          | `Vector`                                        |
 */

import { FLOAT, INTEGER, RATIO, character, isAmbiguous, isControl, spell } from "./spelling.js";

/** Lists inside lists. */
export const MAX_DEPTH = 512;
/** Bytes of an atom that is not a string. */
export const MAX_ATOM = 1 << 20;
/** Values in one form. */
export const MAX_ELEMENTS = 4_000_000;
/** Digits of an integer, or of each half of a ratio. */
export const MAX_DIGITS = 4_096;

/** What a form is read as. Floats and undefined are only written. */
export type Value = null | undefined | boolean | number | bigint | string | Sym | Atom | Dotted | Vector | Value[];

/** A text that is not one form: `category` names the trouble, `at` is line, column, byte offset. */
export class SexpError extends Error {
  readonly at: readonly [number, number, number];

  constructor(
    readonly category: string,
    text: string,
    index: number,
  ) {
    const before = text.slice(0, index);
    const line = before.split("\n").length;
    const column = [...before.slice(before.lastIndexOf("\n") + 1)].length + 1;
    const offset = new TextEncoder().encode(before).length;
    super(`${category} at ${line}:${column} (byte ${offset})`);
    this.at = [line, column, offset];
  }
}

/** A symbol or, with a colon in front, a keyword, by its canonical spelling. */
export class Sym {
  constructor(readonly spelling: string) {}

  get isKeyword(): boolean {
    return this.spelling.startsWith(":");
  }

  /** The characters without their protection, the colon of a keyword included. */
  get name(): string {
    return this.spelling.replace(/\\(.)/gsu, "$1").replace("||", "");
  }

  /** Whether this is the symbol of the protocol that is spelled so: case does not matter. */
  matches(spelling: string): boolean {
    return this.name.toLowerCase() === spelling.toLowerCase();
  }

  toString(): string {
    return this.spelling;
  }
}

/** A float, a ratio or a character, kept as its canonical text. */
export class Atom {
  constructor(readonly text: string) {}

  /** The nearest number, NaN for a character. */
  toNumber(): number {
    const text = this.text;
    if (text.endsWith("e+INF")) return text.startsWith("-") ? -Infinity : Infinity;
    const [above, below] = text.split("/");
    if (below !== undefined) return Number(above) / Number(below);
    return Number(text.replace(/[dfsl]/i, "e"));
  }
}

/** A list whose tail is not a list. */
export class Dotted {
  constructor(
    readonly items: Value[],
    readonly tail: Value,
  ) {}
}

/** A vector, or an Emacs string with properties. `brackets` are kept where they tell the two apart. */
export class Vector {
  constructor(
    readonly items: Value[],
    readonly brackets = false,
  ) {}
}

/** The keyword of a plain name: `keyword("type")` is `:type`. */
export function keyword(name: string): Sym {
  if (!/^[A-Za-z0-9-]+$/.test(name)) throw new TypeError(`keyword \`${name}\`, expected letters, digits and \`-\``);
  return new Sym(":" + name);
}

/** The value of `:key` in a property list, ignoring case; the first one counts, and nil is absence. */
export function get(plist: Value, key: string): Exclude<Value, undefined> {
  if (Array.isArray(plist)) {
    for (let at = 0; at + 1 < plist.length; at += 2) {
      const name = plist[at];
      if (name instanceof Sym && name.isKeyword && name.matches(":" + key)) return plist[at + 1] ?? null;
    }
  }
  return null;
}

/** Whether this is a property list: nil, or a list of even length with keywords in all key places. */
export function isPlist(value: Value): boolean {
  if (value === null) return true;
  if (!Array.isArray(value) || value.length % 2 === 1) return false;
  return value.every((item, at) => at % 2 === 1 || (item instanceof Sym && item.isKeyword));
}

// --- writing -----------------------------------------------------------------------------------------

type Piece = string | { value: Value };

/** The canonical text of a value. Throws a `RangeError` when it is too deep, a `TypeError` for what has no form. */
export function write(value: Value): string {
  const out: string[] = [];
  const stack: Iterator<Piece>[] = [[{ value }][Symbol.iterator]()];
  while (stack.length > 0) {
    const step = stack[stack.length - 1]!.next();
    if (step.done) {
      stack.pop();
    } else if (typeof step.value === "string") {
      out.push(step.value);
    } else {
      const inner = step.value.value;
      const isList = Array.isArray(inner) ? inner.length > 0 : inner instanceof Dotted || inner instanceof Vector;
      if (!isList) {
        out.push(writeAtom(inner));
      } else {
        if (stack.length > MAX_DEPTH) throw new RangeError(`expected at most ${MAX_DEPTH} levels`);
        stack.push(pieces(inner as Value[] | Dotted | Vector));
      }
    }
  }
  return out.join("");
}

/** What a list is written as: pieces of text, and values that stand between them. */
function* pieces(value: Value[] | Dotted | Vector): Generator<Piece> {
  const items = Array.isArray(value) ? value : value.items;
  const brackets = value instanceof Vector && value.brackets && looksPropertized(items);
  yield brackets ? "[" : value instanceof Vector ? "#(" : "(";
  for (const [at, item] of items.entries()) {
    if (at > 0) yield " ";
    yield { value: item };
  }
  if (value instanceof Dotted) {
    yield " . ";
    yield { value: value.tail };
  }
  yield brackets ? "]" : ")";
}

function writeAtom(value: Value): string {
  if (value === null || value === undefined || value === false || Array.isArray(value)) return "nil";
  if (value === true) return "t";
  if (typeof value === "string") return '"' + value.replace(/["\\]/g, "\\$&") + '"';
  if (typeof value === "bigint") return value.toString();
  if (typeof value === "number") return writeNumber(value);
  if (value instanceof Sym) return value.spelling;
  if (value instanceof Atom) return value.text;
  throw new TypeError(`no form for a \`${typeof value}\``);
}

function writeNumber(value: number): string {
  if (Number.isNaN(value)) return "0.0e+NaN";
  if (!Number.isFinite(value)) return value > 0 ? "1.0e+INF" : "-1.0e+INF";
  return value.toString();
}

/** `("text" 0 4 (face bold))`: a string, then by turns two integers and a list. */
function looksPropertized(items: readonly Value[]): boolean {
  if (items.length < 2 || items.length % 3 !== 1 || typeof items[0] !== "string") return false;
  return items.every((item, at) => {
    if (at === 0) return true;
    if (at % 3 === 0) return item === null || Array.isArray(item);
    return typeof item === "number" || typeof item === "bigint";
  });
}

// --- reading -----------------------------------------------------------------------------------------

const BLANKS = /[ \n\t\r\f]*/y;
const CONSTITUENTS = /[^ \n\t\r\f()[\]{}"';,`\\|\x00-\x1f\x7f]*/y;
const PLAIN_KEYWORD = /:[A-Za-z0-9./-]+(?=[ \n\t\r\f()[\]{}"';,`]|$)/y;
const STRING = /"[^"\\]*(?:\\[^][^"\\]*)*"/y;
const ENDS = new Set(" \n\t\r\f()[]{}\"';,`");
const SPLICES: Record<string, string> = { "@": "unquote-splicing", ".": "unquote-nsplicing" };
const REFUSED: Record<string, string> = {
  ".": "read-eval", ",": "read-eval", "<": "unreadable", s: "structure", S: "structure",
  p: "pathname", P: "pathname", c: "complex", C: "complex", "+": "feature", "-": "feature",
  "*": "array", a: "array", A: "array", "#": "label", "|": "comment",
};
const NUMBERED: Record<string, string> = {
  a: "array", A: "array", "(": "array", "*": "array", "=": "label", "#": "label", ")": "label", " ": "label", "\n": "label",
};

/** The one form in `text`; blanks may stand around it and nothing else. Throws `SexpError`. */
export function read(text: string): Value {
  const [value, at] = new Reader(text).run();
  const end = match(BLANKS, text, at);
  if (end < text.length) throw new SexpError("trailing", text, end);
  return value;
}

/** The end of what an expression matches at a place; the place itself when it does not. */
function match(expression: RegExp, text: string, at: number): number {
  expression.lastIndex = at;
  return expression.test(text) ? expression.lastIndex : at;
}

/** A list, vector or mark that has begun and not ended. */
interface Open {
  readonly kind: "(" | "[" | "#(" | "'"; // the last one is any mark
  readonly items: Value[];
  readonly quotes: number; // what it adds to the number of open backquotes
  mode: "elements" | "dot" | "done"; // after a dot a tail must follow, then only the end
  tail: Value;
}

class Reader {
  private readonly stack: Open[] = [];
  private elements = 0;
  private backquotes = 0;
  private isDone = false;
  private result: Value = null;

  constructor(private readonly text: string) {}

  run(): [Value, number] {
    let at = 0;
    while (!this.isDone) {
      at = match(BLANKS, this.text, at);
      if (at >= this.text.length) throw this.fault(this.stack.length > 0 ? "incomplete" : "empty", this.text.length);
      this.refuseAfterTail(at);
      at = this.step(this.text[at]!, at);
    }
    return [this.result, at];
  }

  private fault(category: string, at: number): SexpError {
    return new SexpError(category, this.text, at);
  }

  private get top(): Open | undefined {
    return this.stack[this.stack.length - 1];
  }

  /** After the tail of a list not even the beginning of a form may stand. */
  private refuseAfterTail(at: number): void {
    if (this.top?.mode !== "done") return;
    const c = this.text[at]!;
    const rest = this.text.slice(at, at + 2);
    if (!")]{};".includes(c) && !isControl(c) && rest !== "#" && rest !== "#|") throw this.fault("dot", at);
  }

  private step(c: string, at: number): number {
    switch (c) {
      case "(":
        return this.open(at, "(", at + 1);
      case ")":
      case "]":
        return this.close(c, at);
      case '"':
        return this.string(at);
      case "#":
        return this.dispatch(at);
      case "[":
        return this.open(at, "[", at + 1);
      case "'":
        return this.mark(at, at + 1, "quote", 0);
      case "`":
        return this.mark(at, at + 1, "quasiquote", 1);
      case ",":
        return this.comma(at);
      case ";":
        throw this.fault("comment", at);
      case "{":
      case "}":
        throw this.fault("brace", at);
      default:
        return this.token(at);
    }
  }

  private open(at: number, kind: Open["kind"], inside: number, items: Value[] = [], quotes = 0): number {
    if (this.stack.length >= MAX_DEPTH) throw this.fault("limit-depth", at);
    this.count(at);
    this.stack.push({ kind, items, quotes, mode: "elements", tail: null });
    return inside;
  }

  private count(at: number): void {
    if (++this.elements > MAX_ELEMENTS) throw this.fault("limit-elements", at);
  }

  private close(c: string, at: number): number {
    const top = this.top;
    if (!top) throw this.fault("unbalanced", at);
    if (top.mode === "dot") throw this.fault("dot", at);
    if (top.kind === "'" || (c === "]") !== (top.kind === "[")) throw this.fault("unbalanced", at);
    this.stack.pop();
    const isVector = top.kind !== "(";
    this.add(isVector ? new Vector(top.items, top.kind === "[" && looksPropertized(top.items)) : joined(top));
    return at + 1;
  }

  /** Hands a whole form to what is open around it, and ends the marks that waited for it. */
  private add(value: Value): void {
    for (;;) {
      const top = this.top;
      if (!top) {
        this.result = value;
        this.isDone = true;
        return;
      }
      if (top.kind !== "'") {
        if (top.mode === "dot") [top.tail, top.mode] = [value, "done"];
        else top.items.push(value);
        return;
      }
      this.stack.pop();
      this.backquotes -= top.quotes;
      value = [...top.items, value];
    }
  }

  private mark(at: number, inside: number, name: string, quotes: number): number {
    this.open(at, "'", inside, [new Sym(name)], quotes);
    this.count(at);
    this.backquotes += quotes;
    return inside;
  }

  private comma(at: number): number {
    if (this.backquotes === 0) throw this.fault("comma", at);
    const name = SPLICES[this.text[at + 1] ?? ""];
    if (name === undefined) return this.mark(at, at + 1, "unquote", -1);
    const top = this.top;
    if (top?.mode === "dot" || (top?.kind === "'" && top.quotes === 1)) throw this.fault("comma", at);
    return this.mark(at, at + 2, name, -1);
  }

  private string(at: number): number {
    const end = match(STRING, this.text, at);
    if (end === at) throw this.fault("incomplete", this.text.length);
    const body = this.text.slice(at + 1, end - 1);
    this.count(at);
    this.add(body.includes("\\") ? body.replace(/\\([^])/g, "$1") : body);
    return end;
  }

  private dispatch(at: number): number {
    const c = this.text[at + 1];
    if (c === undefined) throw this.fault("incomplete", this.text.length);
    if (c === "(") return this.open(at, "#(", at + 2);
    if (c === "'") return this.mark(at, at + 2, "function", 0);
    if (c === "\\") return this.character(at);
    if (c === ":") return this.escaped(at, at + 2);
    if ("xX".includes(c)) return this.radix(at, "0x", /^[0-9a-f]+$/i);
    if ("oO".includes(c)) return this.radix(at, "0o", /^[0-7]+$/);
    if ("bB".includes(c)) return this.radix(at, "0b", /^[01]+$/);
    if (c >= "0" && c <= "9") {
      const end = match(/[0-9]*/y, this.text, at + 1);
      const after = this.text[end];
      if (after === undefined) throw this.fault("incomplete", this.text.length);
      throw this.fault(NUMBERED[after] ?? "dispatch", at);
    }
    throw this.fault(REFUSED[c] ?? "dispatch", at);
  }

  private radix(at: number, prefix: string, digits: RegExp): number {
    const end = match(CONSTITUENTS, this.text, at + 2);
    const source = this.text.slice(at + 2, end);
    const unsigned = source.replace(/^[+-]/, "");
    if (!digits.test(unsigned)) throw this.fault("number", at);
    this.checkDigits(at, unsigned.length);
    this.count(at);
    const size = BigInt(prefix + unsigned);
    this.add(narrowed(source.startsWith("-") ? -size : size));
    return end;
  }

  private checkDigits(at: number, digits: number): void {
    if (digits > MAX_DIGITS) throw this.fault("limit-digits", at);
  }

  private character(at: number): number {
    const code = this.text.codePointAt(at + 2);
    if (code === undefined) throw this.fault("incomplete", this.text.length);
    const first = String.fromCodePoint(code);
    if (isControl(first)) throw this.fault("control", at + 2);
    const rest = at + 2 + first.length;
    const end = match(CONSTITUENTS, this.text, rest);
    this.checkWide(rest, end);
    const name = character(this.text.slice(at + 2, end));
    if (name === undefined || "\\|".includes(this.text[end] ?? "none")) throw this.fault("character", at);
    this.count(at);
    this.add(new Atom("#\\" + name));
    return end;
  }

  /** Refuses what no bare token may hold: control characters and look-alikes of blanks. */
  private checkWide(at: number, end: number): void {
    for (let index = at; index < end; index++) {
      const c = this.text[index]!;
      if (isControl(c) || isAmbiguous(c)) throw this.fault("control", index);
    }
  }

  /** A symbol, a keyword, a number or a dot. */
  private token(at: number): number {
    const plain = match(PLAIN_KEYWORD, this.text, at);
    if (plain > at && plain - at <= MAX_ATOM) {
      this.count(at);
      this.add(new Sym(this.text.slice(at, plain)));
      return plain;
    }
    const end = match(CONSTITUENTS, this.text, at);
    const stopped = this.text[end];
    if ((stopped !== undefined && !ENDS.has(stopped)) || bytesOf(this.text, at, end) > MAX_ATOM) {
      return this.escaped(at, at);
    }
    this.checkWide(at, end);
    const token = this.text.slice(at, end);
    if (token === ".") return this.dot(at);
    if (/^\.+$/.test(token)) throw this.fault("dot", at);
    const number = this.number(at, token);
    this.count(at);
    this.add(number === undefined ? this.symbol(at, token) : number);
    return end;
  }

  private number(at: number, token: string): Value | undefined {
    if (!/^[0-9+.-]/.test(token)) return undefined;
    if (INTEGER.test(token)) {
      this.checkDigits(at, token.replace(/[+.-]/g, "").length);
      return narrowed(BigInt(token.replace(/[+.]/g, "")));
    }
    const ratio = RATIO.exec(token);
    if (ratio) {
      const [, above = "", below = ""] = ratio;
      if (/^0+$/.test(below)) throw this.fault("number", at);
      this.checkDigits(at, Math.max(above.replace(/[+-]/, "").length, below.length));
      return new Atom(`${BigInt(above.replace("+", ""))}/${BigInt(below)}`);
    }
    return FLOAT.test(token) ? new Atom(token) : undefined;
  }

  private dot(at: number): number {
    const top = this.top;
    if (top?.kind !== "(" || top.mode !== "elements" || top.items.length === 0) throw this.fault("dot", at);
    top.mode = "dot";
    return at + 1;
  }

  /** A symbol that may have escapes, or an atom that is too long; `start` is after its `#:`. */
  private escaped(at: number, start: number): number {
    const end = this.endOfEscaped(at, start);
    this.count(at);
    this.add(this.symbol(at, this.text.slice(at, end)));
    return end;
  }

  private endOfEscaped(at: number, start: number): number {
    let [bars, escape, size] = [false, false, start - at];
    for (let index = start; index < this.text.length; index++) {
      const c = this.text[index]!;
      const bare = !bars && !escape;
      if (bare && ENDS.has(c)) return index;
      size += unitBytes(c);
      if (size > MAX_ATOM) throw this.fault("limit-atom", at);
      if (isControl(c) || (bare && isAmbiguous(c))) throw this.fault("control", index);
      if (escape) escape = false;
      else if (c === "\\") escape = true;
      else if (c === "|") bars = !bars;
    }
    if (bars || escape) throw this.fault("incomplete", this.text.length);
    return this.text.length;
  }

  private symbol(at: number, source: string): Value {
    const mark = source.startsWith("#:") ? "#:" : source.startsWith(":") ? ":" : "";
    const spelled = spell(source.slice(mark.length), mark);
    if (spelled === undefined) throw this.fault("package", at);
    if (mark === "" && spelled.toLowerCase() === "nil") return null;
    if (mark === "" && spelled.toLowerCase() === "t") return true;
    return new Sym(mark + spelled);
  }
}

/** The list of what was between parentheses; a tail that is a list continues it. */
function joined(top: Open): Value {
  if (top.mode !== "done" || top.tail === null) return top.items.length > 0 ? top.items : null;
  if (Array.isArray(top.tail)) return [...top.items, ...top.tail];
  if (top.tail instanceof Dotted) return new Dotted([...top.items, ...top.tail.items], top.tail.tail);
  return new Dotted(top.items, top.tail);
}

function narrowed(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

/** Bytes of a piece of text; exact only near the limit. */
function bytesOf(text: string, at: number, end: number): number {
  return (end - at) * 3 <= MAX_ATOM ? end - at : new TextEncoder().encode(text.slice(at, end)).length;
}

/** Bytes of one UTF-16 unit; each half of a pair has two of its character's four. */
function unitBytes(c: string): number {
  const code = c.charCodeAt(0);
  return code < 0x80 ? 1 : code < 0x800 || (code >= 0xd800 && code <= 0xdfff) ? 2 : 3;
}
