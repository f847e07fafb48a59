"""The data language of the framed protocol: one form of text to a value, and back.

`read` takes exactly one form, as the payload of a frame holds it, and `write` gives its canonical
spelling. Neither recurses, and every limit of the protocol has a name here. What has no counterpart in
Python is kept as text, so that what one shell says reaches another unchanged.

| text                       | value                                    |
|----------------------------|------------------------------------------|
| `nil`, `()`                | `None` (an empty list is written `nil`)  |
| `t`                        | `True` (`False` is written `nil`)        |
| `42`, `#xff`               | `int`                                    |
| `"text"`                   | `str`                                    |
| `:key`, `name`, `pkg:name` | `Symbol`                                 |
| `1.5`, `1/3`, `#\\a`       | `Atom`: a float, a ratio, a character    |
| `(a b)`                    | `list`                                   |
| `(a . b)`                  | `Dotted`                                 |
| `#(a b)`, `[a b]`          | `Vector`                                 |
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Union

from .spelling import FLOAT, INTEGER, RATIO, character, is_control, spell

MAX_DEPTH = 512
"""Lists inside lists."""
MAX_ATOM = 1 << 20
"""Bytes of an atom that is not a string."""
MAX_ELEMENTS = 4_000_000
"""Values in one form."""
MAX_DIGITS = 4_096
"""Digits of an integer, or of each half of a ratio."""


class SexpError(ValueError):
    """A text that is not one form: `category` names the trouble, `at` is (line, column, byte offset)."""

    def __init__(self, category: str, text: str, index: int) -> None:
        before = text[:index]
        line = before.count("\n") + 1
        column = index - (before.rfind("\n") + 1) + 1
        offset = len(before.encode("utf-8", "surrogatepass"))
        super().__init__(f"{category} at {line}:{column} (byte {offset})")
        self.category = category
        self.at = (line, column, offset)


@dataclass(frozen=True)
class Symbol:
    """A symbol or, with a colon in front, a keyword, by its canonical spelling."""

    spelling: str

    @property
    def is_keyword(self) -> bool:
        return self.spelling.startswith(":")

    def matches(self, spelling: str) -> bool:
        """Whether this is the symbol of the protocol that is spelled so: case does not matter."""
        return self.name.lower() == spelling.lower()

    @property
    def name(self) -> str:
        """The characters without their protection, the colon of a keyword included."""
        return re.sub(r"\\(.)", r"\1", self.spelling, flags=re.DOTALL).replace("||", "")

    def __str__(self) -> str:
        return self.spelling


@dataclass(frozen=True)
class Atom:
    """A float, a ratio or a character, kept as its canonical text."""

    text: str

    def __float__(self) -> float:
        if self.text.endswith(("e+INF", "e+NaN")):
            return float(self.text[-3:]) * (-1 if self.text.startswith("-") else 1)
        above, slash, below = self.text.partition("/")
        if slash:
            return int(above) / int(below)
        return float(re.sub("[dDfFsSlL]", "e", self.text))


@dataclass(frozen=True)
class Dotted:
    """A list whose tail is not a list."""

    items: list[Value]
    tail: Value


@dataclass(frozen=True)
class Vector:
    """A vector, or an Emacs string with properties. `brackets` are kept where they tell the two apart."""

    items: list[Value]
    brackets: bool = False


Value = Union[None, bool, int, float, str, Symbol, Atom, list[Any], Dotted, Vector]
"""What a form is read as. A float is only written: reading gives an `Atom`."""


def keyword(name: str) -> Symbol:
    """The keyword of a plain name: `keyword("type")` is `:type`."""
    if not re.fullmatch(r"[A-Za-z0-9-]+", name):
        raise ValueError(f"keyword `{name}`, expected letters, digits and `-`")
    return Symbol(":" + name)


def get(plist: Value, key: str) -> Value:
    """The value of `:key` in a property list, ignoring case; the first one counts, and nil is absence."""
    if isinstance(plist, list):
        for at in range(0, len(plist) - 1, 2):
            name = plist[at]
            if isinstance(name, Symbol) and name.is_keyword and name.matches(":" + key):
                found: Value = plist[at + 1]
                return found
    return None


def is_plist(value: Value) -> bool:
    """Whether this is a property list: nil, or a list of even length with keywords in all key places."""
    if value is None:
        return True
    if not isinstance(value, list) or len(value) % 2:
        return False
    return all(isinstance(key, Symbol) and key.is_keyword for key in value[::2])


# --- writing -----------------------------------------------------------------------------------------


def write(value: Value) -> str:
    """The canonical text of a value."""
    out: list[str] = []
    stack: list[Iterator[str | tuple[Value]]] = [iter([(value,)])]
    while stack:
        step = next(stack[-1], None)
        if step is None:
            stack.pop()
        elif isinstance(step, str):
            out.append(step)
        else:
            inner = step[0]
            if isinstance(inner, (list, Dotted, Vector)) and inner != []:
                if len(stack) > MAX_DEPTH:
                    raise ValueError(f"expected at most {MAX_DEPTH} levels")
                stack.append(_pieces(inner))
            else:
                out.append(_write_atom(inner))
    return "".join(out)


def _pieces(value: list[Any] | Dotted | Vector) -> Iterator[str | tuple[Value]]:
    """What a list is written as: pieces of text, and values that stand between them."""
    items = value if isinstance(value, list) else value.items
    if isinstance(value, Vector):
        brackets = value.brackets and _looks_propertized(items)
        opening, closing = ("[", "]") if brackets else ("#(", ")")
    else:
        opening, closing = "(", ")"
    yield opening
    for at, item in enumerate(items):
        if at:
            yield " "
        yield (item,)
    if isinstance(value, Dotted):
        yield " . "
        yield (value.tail,)
    yield closing


def _write_atom(value: Value) -> str:
    if value is None or value is False or value == []:
        return "nil"
    if value is True:
        return "t"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, Symbol):
        return value.spelling
    if isinstance(value, Atom):
        return value.text
    if isinstance(value, int):
        return _write_integer(value)
    if isinstance(value, float):
        return _write_float(value)
    raise TypeError(f"no form for a `{type(value).__name__}`")


def _write_integer(value: int) -> str:
    """Decimal digits; in pieces, since Python converts at most 4,300 of them at once unless told otherwise."""
    pieces, rest = [], abs(value)
    while rest >= _PIECE:
        rest, piece = divmod(rest, _PIECE)
        pieces.append(f"{piece:0{MAX_DIGITS}}")
    pieces.append(f"{'-' if value < 0 else ''}{rest}")
    return "".join(reversed(pieces))


_PIECE = 10**MAX_DIGITS


def _write_float(value: float) -> str:
    if value != value:
        return "0.0e+NaN"
    if value in (float("inf"), float("-inf")):
        return "1.0e+INF" if value > 0 else "-1.0e+INF"
    return repr(value)


def _looks_propertized(items: list[Value]) -> bool:
    """`("text" 0 4 (face bold))`: a string, then by turns two integers and a list."""
    if len(items) < 2 or len(items) % 3 != 1 or not isinstance(items[0], str):
        return False
    for at, item in enumerate(items[1:], 1):
        fits = (item is None or isinstance(item, list)) if at % 3 == 0 else _is_integer(item)
        if not fits:
            return False
    return True


def _is_integer(value: Value) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


# --- reading -----------------------------------------------------------------------------------------

_BLANKS = re.compile(r"[ \n\t\r\f]*")
_CONSTITUENTS = re.compile(r"""[^ \n\t\r\f()\[\]{}"';,`\\|\x00-\x1f\x7f]*""")
_PLAIN_KEYWORD = re.compile(r":[A-Za-z0-9./-]+(?=[ \n\t\r\f()\[\]{}\"';,`]|$)")
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_ENDS = frozenset(" \n\t\r\f()[]{}\"';,`")
_MARKS = {"'": "quote", "#'": "function", "`": "quasiquote", ",": "unquote"}
_SPLICES = {"@": "unquote-splicing", ".": "unquote-nsplicing"}
_REFUSED = {
    ".": "read-eval", ",": "read-eval", "<": "unreadable", "s": "structure", "S": "structure",
    "p": "pathname", "P": "pathname", "c": "complex", "C": "complex", "+": "feature", "-": "feature",
    "*": "array", "a": "array", "A": "array", "#": "label", "|": "comment",
}
_NUMBERED = {
    "a": "array", "A": "array", "(": "array", "*": "array",
    "=": "label", "#": "label", ")": "label", " ": "label", "\n": "label",
}


def read(text: str) -> Value:
    """The one form in `text`; blanks may stand around it and nothing else.

    Raises `SexpError`.
    """
    reader = _Reader(text)
    value, end = reader.run()
    end = _skip(text, end)
    if end < len(text):
        raise SexpError("trailing", text, end)
    return value


def _skip(text: str, at: int) -> int:
    found = _BLANKS.match(text, at)
    return found.end() if found else at


class _Open:
    """A list, vector or mark that has begun and not ended."""

    __slots__ = ("kind", "items", "tail", "mode", "quotes")

    def __init__(self, kind: str, items: list[Value], quotes: int = 0) -> None:
        self.kind = kind  # `(`, `[`, `#(`, or `'` for any mark
        self.items = items
        self.tail: Value = None
        self.mode = "elements"  # then `dot` (a tail must follow) and `done` (only the end may)
        self.quotes = quotes  # what it adds to the number of open backquotes


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.stack: list[_Open] = []
        self.elements = 0
        self.backquotes = 0
        self.done = False
        self.result: Value = None

    def fault(self, category: str, at: int) -> SexpError:
        return SexpError(category, self.text, at)

    def run(self) -> tuple[Value, int]:
        text, at = self.text, 0
        while not self.done:
            at = _skip(text, at)
            if at >= len(text):
                raise self.fault("incomplete" if self.stack else "empty", len(text))
            self.refuse_after_tail(at)
            at = self.step(text[at], at)
        return self.result, at

    def refuse_after_tail(self, at: int) -> None:
        """After the tail of a list not even the beginning of a form may stand."""
        if self.stack and self.stack[-1].mode == "done":
            c, rest = self.text[at], self.text[at : at + 2]
            if c not in ")]{};" and not is_control(c) and rest not in ("#", "#|"):
                raise self.fault("dot", at)

    def step(self, c: str, at: int) -> int:
        if c == "(":
            return self.open(at, "(", at + 1)
        if c == ")" or c == "]":
            return self.close(c, at)
        if c == '"':
            return self.string(at)
        if c == "#":
            return self.dispatch(at)
        if c == "[":
            return self.open(at, "[", at + 1)
        if c == "'" or c == "`":
            return self.mark(at, at + 1, _MARKS[c], 1 if c == "`" else 0)
        if c == ",":
            return self.comma(at)
        if c == ";":
            raise self.fault("comment", at)
        if c in "{}":
            raise self.fault("brace", at)
        return self.token(at)

    def open(self, at: int, kind: str, inside: int) -> int:
        self.deepen(at)
        self.count(at)
        self.stack.append(_Open(kind, []))
        return inside

    def deepen(self, at: int) -> None:
        if len(self.stack) >= MAX_DEPTH:
            raise self.fault("limit-depth", at)

    def count(self, at: int) -> None:
        self.elements += 1
        if self.elements > MAX_ELEMENTS:
            raise self.fault("limit-elements", at)

    def close(self, c: str, at: int) -> int:
        if not self.stack:
            raise self.fault("unbalanced", at)
        top = self.stack[-1]
        if top.mode == "dot":
            raise self.fault("dot", at)
        if top.kind == "'" or (c == "]") != (top.kind == "["):
            raise self.fault("unbalanced", at)
        self.stack.pop()
        if top.kind != "(":
            self.add(Vector(top.items, top.kind == "[" and _looks_propertized(top.items)))
        else:
            self.add(_joined(top))
        return at + 1

    def add(self, value: Value) -> None:
        """Hands a whole form to what is open around it, and ends the marks that waited for it."""
        while True:
            if not self.stack:
                self.result, self.done = value, True
                return
            top = self.stack[-1]
            if top.kind != "'":
                break
            self.stack.pop()
            self.backquotes -= top.quotes
            value = top.items + [value]
        if top.mode == "dot":
            top.tail, top.mode = value, "done"
        else:
            top.items.append(value)

    def mark(self, at: int, inside: int, name: str, quotes: int) -> int:
        self.deepen(at)
        self.count(at)
        self.count(at)
        self.stack.append(_Open("'", [Symbol(name)], quotes))
        self.backquotes += quotes
        return inside

    def comma(self, at: int) -> int:
        if self.backquotes == 0:
            raise self.fault("comma", at)
        name = _SPLICES.get(self.text[at + 1 : at + 2])
        if name is None:
            return self.mark(at, at + 1, "unquote", -1)
        top = self.stack[-1]
        if top.mode == "dot" or top.kind == "'" and top.quotes == 1:
            raise self.fault("comma", at)
        return self.mark(at, at + 2, name, -1)

    def string(self, at: int) -> int:
        found = _STRING.match(self.text, at)
        if not found:
            raise self.fault("incomplete", len(self.text))
        body = found.group()[1:-1]
        self.count(at)
        self.add(re.sub(r"\\(.)", r"\1", body, flags=re.DOTALL) if "\\" in body else body)
        return found.end()

    def dispatch(self, at: int) -> int:
        text = self.text
        if at + 1 >= len(text):
            raise self.fault("incomplete", len(text))
        c = text[at + 1]
        if c == "(":
            return self.open(at, "#(", at + 2)
        if c == "'":
            return self.mark(at, at + 2, "function", 0)
        if c == "\\":
            return self.character(at)
        if c == ":":
            return self.escaped(at, at + 2)
        radix = {"x": 16, "o": 8, "b": 2}.get(c.lower())
        if radix is not None:
            return self.radix(at, radix)
        if c in "0123456789":
            rest = text[at + 1 :].lstrip("0123456789")
            if not rest:
                raise self.fault("incomplete", len(text))
            raise self.fault(_NUMBERED.get(rest[0], "dispatch"), at)
        raise self.fault(_REFUSED.get(c, "dispatch"), at)

    def radix(self, at: int, radix: int) -> int:
        end = self.constituents(at + 2)
        digits = self.text[at + 2 : end]
        unsigned = digits[1:] if digits[:1] in ("+", "-") else digits
        allowed = "0123456789abcdef"[:radix]
        if not unsigned or any(c not in allowed for c in unsigned.lower()):
            raise self.fault("number", at)
        self.check_digits(at, len(unsigned))
        self.count(at)
        self.add(int(digits, radix))
        return end

    def check_digits(self, at: int, digits: int) -> None:
        if digits > MAX_DIGITS:
            raise self.fault("limit-digits", at)

    def constituents(self, at: int) -> int:
        found = _CONSTITUENTS.match(self.text, at)
        return found.end() if found else at

    def character(self, at: int) -> int:
        text = self.text
        if at + 2 >= len(text):
            raise self.fault("incomplete", len(text))
        if is_control(text[at + 2]):
            raise self.fault("control", at + 2)
        end = self.constituents(at + 3)
        self.check_wide(at + 3, end)
        name = text[at + 2 : end]
        spelled = character(name)
        if spelled is None or text[end : end + 1] in ("\\", "|"):
            raise self.fault("character", at)
        self.count(at)
        self.add(Atom("#\\" + spelled))
        return end

    def check_wide(self, at: int, end: int) -> None:
        """Refuses what no bare token may hold: control characters and look-alikes of blanks."""
        for index in range(at, end):
            c = self.text[index]
            if is_control(c) or c in "\u00a0\ufeff":
                raise self.fault("control", index)

    def token(self, at: int) -> int:
        """A symbol, a keyword, a number or a dot."""
        text = self.text
        plain = _PLAIN_KEYWORD.match(text, at)
        if plain and plain.end() - at <= MAX_ATOM:
            self.count(at)
            self.add(Symbol(plain.group()))
            return plain.end()
        end = self.constituents(at)
        stopped = text[end : end + 1]
        if stopped and stopped not in _ENDS or _size(text, at, end) > MAX_ATOM:
            return self.escaped(at, at)
        self.check_wide(at, end)
        token = text[at:end]
        if token == ".":
            return self.dot(at)
        if not token.strip("."):
            raise self.fault("dot", at)
        number = self.number(at, token)
        self.count(at)
        self.add(self.symbol(at, token) if number is None else number)
        return end

    def number(self, at: int, token: str) -> Value:
        if token[0] not in "0123456789+-.":
            return None
        if INTEGER.fullmatch(token):
            self.check_digits(at, len(token.strip("+-.")))
            return int(token.rstrip("."))
        ratio = RATIO.fullmatch(token)
        if ratio:
            if not ratio[2].strip("0"):
                raise self.fault("number", at)
            self.check_digits(at, max(len(ratio[1].strip("+-")), len(ratio[2])))
            return Atom(f"{int(ratio[1])}/{int(ratio[2])}")
        return Atom(token) if FLOAT.fullmatch(token) else None

    def dot(self, at: int) -> int:
        top = self.stack[-1] if self.stack else None
        if top is None or top.kind != "(" or top.mode != "elements" or not top.items:
            raise self.fault("dot", at)
        top.mode = "dot"
        return at + 1

    def escaped(self, at: int, start: int) -> int:
        """A symbol that may have escapes, or an atom that is too long; `start` is after its `#:`."""
        end = self.end_of_escaped(at, start)
        self.count(at)
        self.add(self.symbol(at, self.text[at:end]))
        return end

    def end_of_escaped(self, at: int, start: int) -> int:
        text, bars, escape, size = self.text, False, False, start - at
        for index in range(start, len(text)):
            c = text[index]
            bare = not bars and not escape
            if bare and c in _ENDS:
                return index
            size += len(c.encode("utf-8", "surrogatepass"))
            if size > MAX_ATOM:
                raise self.fault("limit-atom", at)
            if is_control(c) or bare and c in "\u00a0\ufeff":
                raise self.fault("control", index)
            if escape:
                escape = False
            elif c == "\\":
                escape = True
            elif c == "|":
                bars = not bars
        if bars or escape:
            raise self.fault("incomplete", len(text))
        return len(text)

    def symbol(self, at: int, source: str) -> Value:
        mark = "#:" if source.startswith("#:") else ":" if source.startswith(":") else ""
        spelled = spell(source[len(mark) :], mark)
        if spelled is None:
            raise self.fault("package", at)
        if not mark and spelled.lower() == "nil":
            return None
        if not mark and spelled.lower() == "t":
            return True
        return Symbol(mark + spelled)


def _joined(top: _Open) -> Value:
    """The list of what was between parentheses; a tail that is a list continues it."""
    if top.mode != "done" or top.tail is None:
        return top.items or None
    if isinstance(top.tail, list):
        return top.items + top.tail
    if isinstance(top.tail, Dotted):
        return Dotted(top.items + top.tail.items, top.tail.tail)
    return Dotted(top.items, top.tail)


def _size(text: str, at: int, end: int) -> int:
    """Bytes of a piece of text; exact only near the limit."""
    return end - at if (end - at) * 4 <= MAX_ATOM else len(text[at:end].encode("utf-8", "surrogatepass"))
