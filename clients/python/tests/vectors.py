"""Finds the vectors of the repository; the tests of this folder run all of them that concern a client."""

import json
import os
import pathlib
from collections.abc import Iterator
from typing import Any

ROOT = pathlib.Path(os.environ.get("BRIDLE_VECTORS", pathlib.Path(__file__).resolve().parents[3] / "vectors"))


def vectors(folder: str) -> Iterator[dict[str, Any]]:
    """Every vector of a folder, in the order of the files."""
    for file in sorted((ROOT / folder).glob("*.jsonl")):
        for line in file.read_text(encoding="utf-8").split("\n"):
            if line:
                yield json.loads(line)


def repeated(pieces: list[Any]) -> str:
    """Texts and counts by turns."""
    return "".join(text * count for text, count in zip(pieces[::2], pieces[1::2]))


def octets(vector: dict[str, Any]) -> bytes:
    """The input of a vector."""
    if "in" in vector:
        return str(vector["in"]).encode()
    if "in_hex" in vector:
        return bytes.fromhex(vector["in_hex"])
    return repeated(vector["in_repeat"]).encode()
