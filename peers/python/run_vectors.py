"""Runs every vector of vectors/{sexp,frame,message} through the client on one screen, examples/python/client.py.

    python3 peers/python/run_vectors.py [--record DIR] [--vectors DIR]

from the repository root.  The last line is `N passed, M failed`; the exit code is 1 when M is not 0.
--record DIR writes what the client did with each vector to DIR/{sexp,frame,message}/peers/python.jsonl
(`--record vectors` renews the committed ones).

The client reads a small part of the language.  So it may refuse what bridle accepts, but what it accepts it must
print as bridle's canonical text, and it must never accept what bridle refuses.
"""

import argparse
import io
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples" / "python"))
sys.dont_write_bytecode = True
import client  # noqa: E402  (the path above leads to it)

# Characters of printed text to record: the record is for people to read in a diff.
PRINTED_LIMIT = 2000


class Run:
    """Counts what holds and what does not."""

    def __init__(self):
        self.passed = 0
        self.failed = 0

    def check(self, vector, holds, message):
        if holds:
            self.passed += 1
        else:
            self.failed += 1
            print(f"FAILED {vector['id']}: {message[:PRINTED_LIMIT]}")


def repeated(pieces):
    """`pieces` holds texts and counts by turns."""
    return "".join(text * count for text, count in zip(pieces[::2], pieces[1::2]))


def octets(vector):
    if vector.get("in") is not None:
        return vector["in"].encode()
    if vector.get("in_hex") is not None:
        return bytes.fromhex(vector["in_hex"])
    return repeated(vector["in_repeat"]).encode()


def shortened(text):
    if text is not None and len(text) > PRINTED_LIMIT:
        return f"{text[:80]}... ({len(text)} characters)"
    return text


def reading(data):
    """The printed text of the form in `data`, or None if the client refuses it."""
    try:
        return client.write(client.read(data.decode()))
    except ValueError:
        return None


def run_sexp(run, vector):
    printed = reading(octets(vector))
    if printed is not None:
        accepted = vector["verdict"] == "accept"
        run.check(vector, accepted, f"bridle says {vector['verdict']}, the client prints {printed!r}")
        if accepted:
            # A text that is its own canonical spelling and too long to write twice has no `canonical`.
            expected = vector.get("canonical", octets(vector).decode())
            run.check(vector, printed == expected, f"prints {printed!r}, canonical is {expected!r}")
    else:
        run.check(vector, True, "")
    return {"verdict": "error" if printed is None else "accept", "printed": shortened(printed)}


def vector_key(vector):
    if vector.get("hmac") is None:
        return None
    if vector.get("key_hex") is not None:
        return bytes.fromhex(vector["key_hex"])
    return vector.get("key", "").encode()


def decoded(data, key):
    """The payloads in `data`, and how it ended: open or error."""
    stream, payloads = io.BytesIO(data), []
    try:
        while (payload := client.unframe(stream, key)) is not None:
            payloads.append(payload)
    except ValueError:
        return payloads, "error"
    return payloads, "open"


def run_decode(run, vector):
    payloads, end = decoded(octets(vector), vector_key(vector))
    expected = []
    for item in vector["out"]:
        if "payload" not in item:
            break
        expected.append(item["payload"])
    clean = vector["end"] == "open" and len(expected) == len(vector["out"])
    same = payloads == expected and end == ("open" if clean else "error")
    unit = vector.get("unit_after") or vector.get("unit")
    latin1 = "latin-1" in vector["note"].lower()
    must = clean and unit != "chars" and not latin1
    run.check(vector, same or not must, f"decodes {payloads!r} and ends {end}")
    return {"verdict": "accept" if same else "error"}


def written_unit(vector):
    """The unit of what bridle writes, or None where it pads so that readers of either unit read it."""
    unknown = vector.get("unknown_unit", "pad")
    return vector.get("unit") or (unknown if unknown != "pad" else "bytes" if vector.get("hmac") else None)


def run_encode(run, vector):
    payload = vector.get("payload")
    if payload is None:
        payload = repeated(vector["payload_repeat"]) if "payload_repeat" in vector else octets(vector).decode()
    key, out, unit = vector_key(vector), vector.get("out"), written_unit(vector)
    if out is None:
        run.check(vector, True, "")
        return {"verdict": "error" if len(client.frame(payload)) != 6 + len(payload.encode()) else "accept"}
    if unit == "bytes":
        same = client.frame(payload, key).decode() == out
        run.check(vector, same, f"encodes {client.frame(payload, key)!r}")
    else:
        back, _ = decoded(out.encode(), key)
        same = [text.rstrip(" ") for text in back] == [payload.rstrip(" ")]
        run.check(vector, same or unit == "chars", f"reads {back!r} back")
    return {"verdict": "accept" if same else "error"}


def run_frame(run, vector):
    return run_encode(run, vector) if vector["do"] == "encode" else run_decode(run, vector)


def message_type(data):
    """The message's type in upper case, or None if the client cannot read it or finds none."""
    try:
        form = client.read(data.decode())
    except ValueError:
        return None
    kind = client.get(form, ":type") if isinstance(form, list) else None
    return kind.lstrip(":").upper() if isinstance(kind, client.Symbol) else None


def run_message(run, vector):
    data = octets(vector)
    kind, printed = message_type(data), reading(data)
    if vector["verdict"] == "accept" and printed is not None:
        run.check(vector, kind == vector["type"].upper(), f"type {kind}, expected {vector['type']}")
    else:
        run.check(vector, True, "")
    if vector.get("reply") is not None:
        run.check(vector, message_type(vector["reply"].encode()) is not None, f"reply {vector['reply']!r} has no type")
    return {"verdict": "error" if printed is None else "accept", "type": kind, "printed": shortened(printed)}


FOLDERS = {"sexp": run_sexp, "frame": run_frame, "message": run_message}


def run_folder(run, root, folder, runner):
    """One line of record for each vector, in the order of the files."""
    for file in sorted((root / folder).glob("*.jsonl")):
        for line in file.read_text(encoding="utf-8").split("\n"):
            if line.strip():
                vector = json.loads(line)
                facts = {"id": vector["id"], **runner(run, vector)}
                yield json.dumps({k: v for k, v in facts.items() if v is not None}, separators=(",", ":"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--record", type=pathlib.Path, metavar="DIR")
    parser.add_argument("--vectors", type=pathlib.Path, metavar="DIR", default=pathlib.Path("vectors"))
    arguments = parser.parse_args()
    run = Run()
    for folder, runner in FOLDERS.items():
        lines = list(run_folder(run, arguments.vectors, folder, runner))
        if arguments.record:
            target = arguments.record / folder / "peers" / "python.jsonl"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    print(f"{run.passed} passed, {run.failed} failed")
    return 1 if run.failed else 0


if __name__ == "__main__":
    sys.exit(main())
