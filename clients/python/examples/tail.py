"""Hears a session from where it was left, through restarts of either side: tail.py ADDRESS SESSION FILE [SECONDS].

The number of the last event is kept in FILE, written after the event was printed: at worst, after a crash,
the last line comes once more. Ends when nothing happened for so many SECONDS; without them, with Ctrl-C.
"""

import pathlib
import sys

from bridle_client import Client, Hello, write


def main() -> None:
    address, session, place = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    cursor = int(place.read_text()) if place.exists() else 0
    hello = Hello(session=session, role="observer", shell="tail")
    with Client(address, hello=hello, cursor=cursor) as client:
        for event in client.events(timeout=float(sys.argv[4]) if len(sys.argv) > 4 else None):
            print(event.seq, event.type, write(event.payload), flush=True)
            place.write_text(str(event.seq))


if __name__ == "__main__":
    main()
