"""A recording of the real program, for people who want to see it before they install it: `docs/chat.cast`, in the format of
asciinema, version 2. Every key is a person's, every answer the daemon's; it fails when the screen is not as told.

usage: python3 cast.py BRIDLE FOLDER FILE
"""

import json
import sys
import time

from home import Home, Terminal

SCRIPT = """
(rule :when "what did I promise this week?" :pace 90 :stream ("Two things, " "by *your notes*:\\n" "\\n"
  "- [[file:promises.org::*Send Ada the draft][Send Ada the draft]], due " "on Friday\\n"
  "- [[file:promises.org::*Water the beds][Water the beds]] while Tom is away\\n"))
(rule :when "the beds are watered" :result nil :rejected nil :text "I will mark it. "
  :propose ((:target :memory :action :set-state :path "promises.org" :outline ("Water the beds") :state "DONE" :call "m")))
(rule :when "the beds are watered" :result (:outcome :done) :text "Marked as done.")
(default :say "I only know this conversation.")
"""

NOTES = """* TODO Send Ada the draft
DEADLINE: <2026-11-20 Fri>
* TODO Water the beds
Tom is away until Sunday.
"""

SIZE = (84, 24)


def person(terminal, text):
    for letter in text:
        terminal.write(letter)
        breathe(terminal, 0.05)


def breathe(terminal, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        terminal.read(max(0.0, end - time.monotonic()))


def main():
    bridle, folder, target = sys.argv[1:]
    home = Home(bridle, folder, SCRIPT.replace("\\\\n", "\n").replace("\\n", "\n"))
    with open(home.path("memex/promises.org"), "w", encoding="utf-8") as file:
        file.write(NOTES)
    home.up()
    try:
        terminal = Terminal(home, [bridle, "chat", "--addr", home.address, "promises"], SIZE)
        terminal.wait("idle")
        breathe(terminal, 0.8)
        person(terminal, "what did I promise this week?")
        terminal.write("\r")
        terminal.wait("Tom is away")
        terminal.wait("idle", terminal.seen.rfind(b"thinking"))
        breathe(terminal, 1.5)
        person(terminal, "the beds are watered")
        terminal.write("\r")
        terminal.wait("+* DONE Water the beds")
        breathe(terminal, 2.0)
        terminal.write("a")
        terminal.wait("Marked as done.")
        breathe(terminal, 1.5)
        terminal.write("\x04")
        breathe(terminal, 0.5)
    finally:
        home.kill()
    with open(home.path("memex/promises.org"), encoding="utf-8") as file:
        assert "* DONE Water the beds" in file.read()
    head = {"version": 2, "width": SIZE[0], "height": SIZE[1], "title": "bridle chat"}
    with open(target, "w", encoding="utf-8") as file:
        file.write(json.dumps(head) + "\n")
        rest = b""
        for at, piece in terminal.moments:
            piece, rest = whole(rest + piece)
            if piece:
                file.write(json.dumps([round(at, 3), "o", piece], ensure_ascii=False) + "\n")
    print(f"{len(terminal.moments)} paintings in {terminal.moments[-1][0]:.0f} s")


def whole(piece):
    """The text of a piece, and the bytes of a letter that is cut off."""
    for cut in range(4):
        try:
            return piece[: len(piece) - cut].decode(), piece[len(piece) - cut :]
        except UnicodeDecodeError:
            continue
    return piece.decode(errors="replace"), b""


main()
