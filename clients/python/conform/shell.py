"""The Shell of this package in the hands of `bridle conform shell`: reads lines, says lines.

    bridle conform shell -- python3 clients/python/conform/shell.py

`docs/conformance.md` says what the lines mean. A good start for a wrapper around another Shell.
"""

import json
import os
import pathlib
import sys
import threading
import time
from typing import Any, Optional

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "src"))

from bridle_client import Ask, Engine, Ui  # noqa: E402
from bridle_client.text import safe  # noqa: E402

_OUT = threading.Lock()


def say(word: str, text: Optional[str] = None) -> None:
    with _OUT:
        print(word if text is None else f"{word} {json.dumps(text)}", flush=True)


class Lines(Ui):
    can_ask = True

    def render(self, text: str, format: str) -> None:
        say("show", text)

    def notice(self, code: str, text: Optional[str]) -> None:
        say("notice", text or code)

    def ask(self, question: Ask, timeout: Optional[float]) -> Optional[str]:
        say("question", safe(question.message or json.dumps(question.payload, ensure_ascii=False)))
        answer = sys.stdin.readline().strip()
        return json.loads(answer[7:]) if answer.startswith("choose ") else answer


def act(payload: dict[str, Any]) -> dict[str, Any]:
    say("begin", payload["name"])
    time.sleep(payload.get("ms", 0) / 1000)
    say("end", payload["name"])
    if payload.get("fail"):
        raise RuntimeError("told to fail")
    return {"name": payload["name"]}


def main() -> None:
    engine = Engine(
        os.environ["OPENHARNESS_URL"],
        token=os.environ["OPENHARNESS_TOKEN"],
        ui=Lines(),
        acts={"com.example.lamp": act, "com.example.door": act},
        parallel=True,
    )
    while line := sys.stdin.readline():
        if line.startswith("ask "):
            turn = engine.ask(json.loads(line[4:]), session_id=os.environ["OPENHARNESS_SESSION"])
            if turn.error:
                say("notice", turn.error.message)
                say("failed", turn.error.code)
            say("done")
    engine.close()


if __name__ == "__main__":
    main()
