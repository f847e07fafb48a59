"""Numbers of `bridle chat` on a terminal: the first screen of a session of 100,000 lines, the time from a key to its letter
while text streams 200 pieces a second, and memory.

usage: python3 measure.py BRIDLE FOLDER [LINES]
"""

import statistics
import sys
import time

from home import Home, Terminal, check

LINE = "a line of an answer that is as long as such lines are, number"

# Lines of one answer.
ANSWER_LINES = 2_000

# Keys that are timed.
KEYS = 300


def script(pieces):
    answer = "\\n".join(f"{LINE} {number}" for number in range(ANSWER_LINES)).replace("\\n", "\n")
    streamed = " ".join(f'"piece {number} of it\n"' if number % 5 == 0 else f'"piece {number} " ' for number in range(pieces))
    return (
        f'(rule :when "fill *" :text "{answer}\nend of $1")\n'
        f'(rule :when "stream" :pace 5 :stream ({streamed}))\n'
        '(default :say "noted")\n'
    )


def first_screen(home, rounds=9):
    """Times from the start of the program to the last line of the session."""
    times, memory = [], []
    for _ in range(rounds):
        terminal = Terminal(home, [home.bridle, "chat", "--addr", home.address, "big"])
        at = terminal.wait("last word")
        times.append((at - terminal.began) * 1000)
        terminal.wait("· idle")
        memory.append(terminal.memory())
        terminal.end()
    return times, memory


def typing(home):
    """Times from a key to the terminal's line with it, while an answer streams."""
    terminal = Terminal(home, [home.bridle, "chat", "--addr", home.address, "typed"])
    terminal.wait("idle")
    terminal.write("stream\r")
    terminal.wait("piece 40 ")
    times, typed = [], ""
    for number in range(KEYS):
        if len(typed) == 40:
            terminal.write("\x15")
            typed = ""
            quiet(terminal)
        letter = chr(ord("a") + number % 26)
        typed += letter
        place = len(terminal.seen)
        began = time.monotonic()
        terminal.write(letter)
        times.append((terminal.wait(f"❯ \x1b[0m{typed}", place) - began) * 1000)
        quiet(terminal)
    streamed = terminal.seen.count(b"piece")
    check(streamed > 100, f"a stream, got {streamed} pieces")
    memory = terminal.memory()
    terminal.end()
    return times, memory


def quiet(terminal):
    """Takes what streams for a moment."""
    end = time.monotonic() + 0.03
    while time.monotonic() < end:
        terminal.read(max(0.0, end - time.monotonic()))


def say(home, text):
    home.run("send", "--session", "big", f'(:type :EVENT :payload (:sensor :user-prompt :text "{text}"))')


def main():
    bridle, folder, *rest = sys.argv[1:]
    lines = int(rest[0]) if rest else 100_000
    home = Home(bridle, folder, script(4_000))
    home.up()
    try:
        for number in range(lines // ANSWER_LINES):
            say(home, f"fill {number}")
        say(home, "the last word")
        times, memory = first_screen(home)
        keys, streaming = typing(home)
    finally:
        home.kill()
    keys.sort()
    print(
        f"{lines} lines: first screen {statistics.median(times):.0f} ms (most {max(times):.0f}), "
        f"{max(memory):.0f} MiB; a key while 200 pieces a second stream: p50 {keys[len(keys) // 2]:.1f} ms, "
        f"p99 {keys[len(keys) * 99 // 100]:.1f} ms, most {keys[-1]:.1f} ms; {streaming:.0f} MiB"
    )


main()
