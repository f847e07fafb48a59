"""A shell of `cargo xtask chaos --clients`: says what it reads, and tells everything that it hears.

    chaos.py ADDRESS SESSION CLIENT SHELL [ACTUATOR]

Each line of standard input is a message with its id. Standard output gets, in the order of their numbers,
`event NUMBER FORM` for what was heard and `receipt NUMBER FORM` for what was said, the form of the latter
being its id; `ring ID` for each request carried out, and `refused FORM` for what was refused for good. It
ends with its input.
"""

from __future__ import annotations

import os
import select
import sys

from bridle_client import Client, Hello, Message, get, read, write


class Shell:
    def __init__(self, address: str, session: str, client: str, shell: str, *actuators: str) -> None:
        hello = Hello(session=session, client=client, shell=shell, actuators=actuators)
        self.client = Client(address, hello=hello, cursor=0, on_request=self.ring)
        self.told: set[object] = set()
        self.input = b""

    def ring(self, request: Message) -> None:
        print("ring", request.id, flush=True)

    def hear_and_say(self) -> bool:
        """Takes what has come from either side; false when there will be nothing more to say."""
        self.client.pump(0.005)
        lines = [(event.seq or 0, f"event {event.seq} {write(event.form)}") for event in self.client.events(0)]
        for id, saying in self.client.ledger.sayings.items():
            if saying.seq is not None and ("receipt", id) not in self.told:
                self.told.add(("receipt", id))
                lines.append((saying.seq, f"receipt {saying.seq} {write(id)}"))
            if saying.answer is not None and saying.answer.seq is None and ("refused", id) not in self.told:
                self.told.add(("refused", id))
                lines.append((0, f"refused {write(saying.answer.form)}"))
        for _, line in sorted(lines):
            print(line, flush=True)
        if not select.select([0], [], [], 0)[0]:
            return True
        data = os.read(0, 65_536)
        *whole, self.input = (self.input + data).split(b"\n")
        for text in whole:
            self.say(text.decode())
        return bool(data)

    def say(self, text: str) -> None:
        form = read(text)
        id = get(form, "id")
        assert isinstance(form, list) and isinstance(id, (int, str)), "a message with an id"
        # `send` puts the id where it stood: behind the type.
        self.client.send(form[:2] + form[4:], id)


if __name__ == "__main__":
    shell = Shell(*sys.argv[1:])
    while shell.hear_and_say():
        pass
