/**
 * How symbols, numbers and characters are spelled: the part of `sexp` that knows the quirks of both Lisps.
 *
 * What a symbol's text cannot lose is which characters were protected (behind a backslash or between bars),
 * because Lisp changes the case of the others. The canonical spelling protects what must be, and nothing else.
 */

/** Characters of the name of a character; Unicode's longest has 88. */
export const LONGEST_NAME = 124;

export const INTEGER = /^[+-]?[0-9]+\.?$/;
export const RATIO = /^([+-]?[0-9]+)\/([0-9]+)$/;
export const FLOAT =
  /^[+-]?(?:[0-9]+\.[0-9]+|\.[0-9]+|[0-9]+\.(?=[eEdDfFsSlL])|[0-9]+(?=[eEdDfFsSlL]))(?:[eEdDfFsSlL][+-]?[0-9]+|e\+INF|e\+NaN)?$/;

const CHARACTERS =
  "Nul Null|Soh|Stx|Etx|Eot|Enq|Ack|Bel Bell|Backspace Bs|Tab Ht|Newline Linefeed Lf Nl|Vt|" +
  "Page Form Formfeed Ff Np|Return Cr|So|Si|Dle|Dc1|Dc2|Dc3|Dc4|Nak|Syn|Etb|Can|Em|Sub|" +
  "Esc Escape Altmode Alt|Fs|Gs|Rs|Us|Space Sp";
const NAMED = new Map(CHARACTERS.split("|").map((names, code) => [code, names.split(" ")]));
NAMED.set(0x7f, ["Rubout", "Delete", "Del"]);
const BY_NAME = new Map([...NAMED].flatMap(([code, names]) => names.map((name) => [name.toLowerCase(), code])));

/** Whether a character is refused outside strings, even behind an escape. */
export function isControl(c: string): boolean {
  const code = c.charCodeAt(0);
  return (code < 0x20 && !"\n\t\r\f".includes(c)) || (code >= 0x7f && code < 0xa0);
}

/** Whether a character above ASCII is refused bare: one Lisp takes it for a letter, the other for a blank. */
export function isAmbiguous(c: string): boolean {
  return c === "\u00a0" || c === "\ufeff";
}

/** The canonical name of the character that is called so. */
export function character(name: string): string | undefined {
  const code = codeOf(name);
  if (code === undefined) {
    const printed = /^[A-Za-z0-9_-]+$/.test(name) && (name.includes("_") || name === name.toUpperCase());
    return printed && name.length <= LONGEST_NAME ? name : undefined;
  }
  const named = NAMED.get(code);
  if (named) return named[0];
  const c = String.fromCodePoint(code);
  const unclear = code > 0x7f && (isControl(c) || isAmbiguous(c) || /^\s$/u.test(c));
  return unclear ? `U+${code.toString(16).toUpperCase().padStart(4, "0")}` : c;
}

function codeOf(name: string): number | undefined {
  const first = name.codePointAt(0);
  if (first !== undefined && String.fromCodePoint(first) === name) return first;
  const named = BY_NAME.get(name.toLowerCase());
  if (named !== undefined) return named;
  const digits = /^[Uu]\+?([0-9A-Fa-f]{1,8})$/.exec(name)?.[1];
  if (digits === undefined) return undefined;
  const code = parseInt(digits, 16);
  return code < 0xd800 || (code > 0xdfff && code <= 0x10ffff) ? code : undefined;
}

const ALWAYS = new Set("\"'(),;`[]{}\\|# \n\t\r\f\x7f\u00a0\ufeff");

/** The canonical spelling of a symbol without its mark; undefined where its colons make no sense. */
export function spell(source: string, mark: string): string | undefined {
  const chars = [...source];
  let pairs: [string, boolean][] = [];
  let bars = false;
  for (let at = 0; at < chars.length; at++) {
    const c = chars[at]!;
    if (c === "\\") pairs.push([chars[++at] ?? "", true]);
    else if (c === "|") bars = !bars;
    else pairs.push([c, bars]);
  }
  if (pairs.length === 0) return source === "" ? undefined : "||";
  const shape = pairs.map(([c, isProtected]) => (c === ":" && !isProtected ? ":" : "x")).join("");
  if (shape.includes(":") && (mark !== "" || !/^x+::?x+$/.test(shape))) return undefined;
  pairs = pairs.map(([c, isProtected], at) => [c, protects(c, isProtected, at === 0 && mark === "")]);
  const bare = pairs.every(([, isProtected]) => !isProtected);
  if (mark !== ":" && bare && readsOtherwise(pairs.map(([c]) => c).join(""))) pairs[0]![1] = true;
  return pairs.map(([c, isProtected]) => (isProtected ? "\\" + c : c)).join("");
}

/** Whether the canonical spelling protects a character: where one of the Lisps would stumble. */
function protects(c: string, isProtected: boolean, first: boolean): boolean {
  if (ALWAYS.has(c) || c < " ") return true;
  if (c === "?") return first;
  return isProtected && (c === ":" || /^[A-Za-z]$/.test(c) || c.codePointAt(0)! > 0x7f);
}

/** Whether a bare text would be read as a number or as dots. */
function readsOtherwise(text: string): boolean {
  return /^\.+$/.test(text) || INTEGER.test(text) || RATIO.test(text) || FLOAT.test(text);
}
