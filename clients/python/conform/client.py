"""The framed client of this package in the hands of `bridle conform oacp-client`: reads lines, says lines.

    bridle conform oacp-client -- python3 clients/python/conform/client.py

`docs/conformance.md` says what the lines mean. A good start for a wrapper around another client.
"""

import json
import os
import pathlib
import select
import sys
from typing import Optional

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "src"))

from bridle_client import Client, Key, Question, Refused, write  # noqa: E402
from bridle_client.oacp import Id  # noqa: E402


def say(word: str, text: str) -> None:
    print(word, json.dumps(text), flush=True)


class Driven:
    def __init__(self) -> None:
        path = os.environ["OACP_KEY_FILE"]
        key = Key(os.environ["OACP_KEY_ID"], pathlib.Path(path).read_bytes()) if path else None
        self.client = Client(
            os.environ["OACP_ADDR"],
            session=os.environ["OACP_SESSION"],
            cursor=int(os.environ["OACP_CURSOR"]),
            key=key,
            on_approval=self.asked,
        )
        self.open: Optional[Question] = None
        self.said: list[Id] = []
        self.input = b""

    def asked(self, question: Question) -> None:
        """Leaves a question open until a line answers it."""
        if self.open is None or self.open.id != question.id:
            self.open = question
            say("question", f"{question.text} {write(question.wanted)}")

    def told(self, line: str) -> None:
        if line.startswith("ask "):
            self.said.append(self.client.prompt(json.loads(line[4:])))
        elif self.open is not None:
            question, self.open = self.open, None
            self.client.answer(question, line)

    def pump(self) -> bool:
        """Takes what has come from either side; false at the end of input."""
        self.client.pump(0.01)
        for event in self.client.events(0):
            say("event", str(event.seq))
        for id in [id for id in self.said if self.client.ledger.sayings[id].answer is not None]:
            self.said.remove(id)
            try:
                say("answer", self.client.wait(id).text or "")
            except Refused as refusal:
                say("refused", refusal.code)
        if not select.select([0], [], [], 0)[0]:
            return True
        data = os.read(0, 65_536)
        *whole, self.input = (self.input + data).split(b"\n")
        for line in whole:
            self.told(line.decode())
        return bool(data)


def main() -> None:
    driven = Driven()
    try:
        while driven.pump():
            pass
    except Refused as refusal:
        say("ended", refusal.code)


if __name__ == "__main__":
    main()
