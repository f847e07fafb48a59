"""Text of a peer, made safe to show: no terminal escapes, no characters that reorder or hide others, bounded."""

from __future__ import annotations

import re

MAX_TEXT = 65_536
"""Characters of a message that is shown."""
MAX_NOTICE = 4_096
"""Characters of a text that stands in for something unknown, of an error, of a label."""
MORE = "\u2026"
"""Stands for what was cut off."""

# Control characters but newline and tab; marks that change the direction of text; separators that are no
# newline; annotations; a byte order mark; tags, which nobody sees and programs read.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f]"
)
_HALVES = re.compile("[\ud800-\udfff]")


def safe(text: str, limit: int = MAX_TEXT) -> str:
    """The text without what could do more than be read, and no longer than the limit."""
    # What is far beyond the limit is not looked at: the work is bounded too.
    kept = _HALVES.sub("\ufffd", _UNSAFE.sub("", text[: limit * 16]))
    return kept if len(kept) <= limit else kept[:limit] + MORE


def first_text(payload: object, keys: tuple[str, ...], limit: int) -> str | None:
    """The first of these fields that holds text, made safe; blank text is none."""
    if isinstance(payload, dict):
        for key in keys:
            value = payload.get(key)
            if isinstance(value, str):
                text = safe(value, limit)
                if text.strip():
                    return text
    return None
