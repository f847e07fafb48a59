"""How symbols, numbers and characters are spelled: the part of `sexp` that knows the quirks of both Lisps.

What a symbol's text cannot lose is which characters were protected (behind a backslash or between bars),
because Lisp changes the case of the others. The canonical spelling protects what must be, and nothing else.
"""

from __future__ import annotations

import re

LONGEST_NAME = 124
"""Characters of the name of a character; Unicode's longest has 88."""

INTEGER = re.compile(r"[+-]?[0-9]+\.?")
RATIO = re.compile(r"([+-]?[0-9]+)/([0-9]+)")
FLOAT = re.compile(
    r"[+-]?(?:[0-9]+\.[0-9]+|\.[0-9]+|[0-9]+\.(?=[eEdDfFsSlL])|[0-9]+(?=[eEdDfFsSlL]))"
    r"(?:[eEdDfFsSlL][+-]?[0-9]+|e\+INF|e\+NaN)?"
)

_CHARACTERS = (
    "Nul Null|Soh|Stx|Etx|Eot|Enq|Ack|Bel Bell|Backspace Bs|Tab Ht|Newline Linefeed Lf Nl|Vt|"
    "Page Form Formfeed Ff Np|Return Cr|So|Si|Dle|Dc1|Dc2|Dc3|Dc4|Nak|Syn|Etb|Can|Em|Sub|"
    "Esc Escape Altmode Alt|Fs|Gs|Rs|Us|Space Sp"
)
_NAMED = {code: names.split() for code, names in enumerate(_CHARACTERS.split("|"))}
_NAMED[0x7F] = ["Rubout", "Delete", "Del"]
_BY_NAME = {name.lower(): code for code, names in _NAMED.items() for name in names}


def is_control(c: str) -> bool:
    code = ord(c)
    return code < 0x20 and c not in "\n\t\r\f" or 0x7F <= code < 0xA0


def character(name: str) -> str | None:
    """The canonical name of the character that is called so."""
    code = ord(name) if len(name) == 1 else _BY_NAME.get(name.lower())
    numbered = re.fullmatch(r"[Uu]\+?([0-9A-Fa-f]{1,8})", name)
    if code is None and numbered:
        value = int(numbered[1], 16)
        code = value if value < 0xD800 or 0xDFFF < value <= 0x10FFFF else None
    if code is None:
        printed = re.fullmatch(r"[A-Za-z0-9_-]+", name) and ("_" in name or name == name.upper())
        return name if printed and len(name) <= LONGEST_NAME else None
    if code in _NAMED:
        return _NAMED[code][0]
    c = chr(code)
    unclear = not c.isascii() and (is_control(c) or c in "\u00a0\ufeff" or c.isspace())
    return f"U+{code:04X}" if unclear else c


_ALWAYS = frozenset("\"'(),;`[]{}\\|# \n\t\r\f\x7f\u00a0\ufeff")


def spell(source: str, mark: str) -> str | None:
    """The canonical spelling of a symbol without its mark; None where its colons make no sense."""
    pairs: list[tuple[str, bool]] = []
    bars, characters = False, iter(source)
    for c in characters:
        if c == "\\":
            pairs.append((next(characters, ""), True))
        elif c == "|":
            bars = not bars
        else:
            pairs.append((c, bars))
    if not pairs:
        return "||" if source else None
    shape = "".join(":" if pair == (":", False) else "x" for pair in pairs)
    if ":" in shape and (mark or not re.fullmatch(r"x+::?x+", shape)):
        return None
    pairs = [(c, _protect(c, protected, at == 0 and not mark)) for at, (c, protected) in enumerate(pairs)]
    bare = "".join(c for c, protected in pairs if not protected)
    if mark != ":" and len(bare) == len(pairs) and _reads_otherwise(bare):
        pairs[0] = (pairs[0][0], True)
    return "".join("\\" + c if protected else c for c, protected in pairs)


def _protect(c: str, protected: bool, first: bool) -> bool:
    """Whether the canonical spelling protects a character: where one of the Lisps would stumble."""
    if c in _ALWAYS or c < " ":
        return True
    if c == "?":
        return first
    return protected and (c == ":" or c.isalpha() and c.isascii() or not c.isascii())


def _reads_otherwise(text: str) -> bool:
    """Whether a bare text would be read as a number or as dots."""
    return not text.strip(".") or any(form.fullmatch(text) for form in (INTEGER, RATIO, FLOAT))
