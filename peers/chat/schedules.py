"""Kills at random moments: the daemon dies under `bridle chat` in a real tmux, in the middle of a stream or of a question,
and comes back. Each line of the record must stand on the terminal once, text that is in no record under its mark, and
what was allowed must be done once.

usage: python3 schedules.py BRIDLE FOLDER [SCHEDULES] [SEED]
"""

import random
import sys
import time

from home import Home, Pane, check

SCRIPT = """
(rule :when "stream *" :pace 60 :stream ("$1-one " "$1-two " "$1-three " "$1-four " "$1-five " "$1-six " "$1-seven "))
(rule :when "forget *" :propose ((:target :system :action :forget :session "$1" :then-think t)))
(rule :when "forget *" :result (:action :forget :outcome :done) :say "$1 is gone.")
(rule :when "forget *" :result (:action :forget) :say "$1 is kept.")
(default :say "noted")
"""

# Something that makes a session.
SAID = '(:type :EVENT :payload (:sensor :user-prompt :text "hello"))'

WORDS = ["one", "two", "three", "four", "five", "six", "seven"]

# Schedules that share a home: each has a session of its own.
PER_HOME = 20


def restart(home, chance):
    home.kill()
    time.sleep(chance.random() * 0.3)
    home.up()


def stream(home, pane, name, chance):
    """Kills while an answer streams; a prompt waits behind it."""
    pane.say(f"stream {name}")
    if chance.random() < 0.5:
        pane.say(f"behind {name}")
    time.sleep(chance.random() * 0.7)
    restart(home, chance)


def question(home, pane, name, chance):
    """Kills while the guard asks, or just behind the answer."""
    home.run("send", "--session", f"old-{name}", SAID)
    pane.say(f"forget old-{name}")
    time.sleep(chance.random() * 0.4)
    is_early = chance.random() < 0.5
    if is_early:
        restart(home, chance)
    pane.wait("question", lambda screen: "a allow" in screen and "reconnecting" not in screen)
    # A key right behind a question is no answer to it.
    time.sleep(0.8)
    pane.type("a")
    if not is_early:
        time.sleep(chance.random() * 0.05)
        restart(home, chance)
        time.sleep(1.0)
        if "a allow" in pane.screen():
            pane.type("a")


def settled(home, pane, session):
    """Waits until nothing is under way and the screen has the last text of the record."""

    def is_over(screen):
        quiet = "· idle" in screen and "queued" not in screen and "sending" not in screen
        return quiet and "reconnecting" not in screen and "a allow" not in screen

    end = time.monotonic() + 60
    while time.monotonic() < end:
        pane.wait("idle", is_over)
        texts = home.texts(session)
        asked = [text for text in texts if text.startswith(("stream", "behind", "forget"))]
        if len(texts) >= 2 * len(asked) and is_over(pane.screen()):
            time.sleep(0.2)
            return home.texts(session)
        time.sleep(0.05)
    raise AssertionError(f"never settled: {home.texts(session)}\n{pane.everything()}")


def bare(text):
    return "".join(text.split())


def compare(home, pane, name, texts):
    """Holds the terminal against the record."""
    shown = pane.everything().splitlines()
    plain = [line for line in shown if not line.startswith("┆")]
    # Long lines are broken between words.
    letters = bare("".join(plain))
    for text in texts:
        wanted = sum(bare(other).count(bare(text)) for other in texts)
        found = letters.count(bare(text))
        check(found == wanted, f"`{text}` {found} times, not {wanted}, on\n" + "\n".join(shown))
    for word in WORDS:
        recorded = sum(f"{name}-{word}" in text for text in texts)
        found = sum(f"{name}-{word}" in line for line in plain)
        check(found == recorded, f"{name}-{word} {found} times, not {recorded}, on\n" + "\n".join(shown))
    if any(text.startswith("forget") for text in texts):
        # One that the daemon was killed in has an unknown outcome and is asked about once more: then it is done, or
        # there is nothing left to do.
        effects = home.run("effects", "--addr", home.address, "--session", name, "--json")
        done = [line for line in effects.splitlines() if "forget" in line and '"done"' in line]
        is_lost = "unknown-outcome" in effects and "no session" in effects
        check(len(done) == (0 if is_lost else 1), f"one execution, got {effects}")
        sessions = home.run("sessions", "--addr", home.address, "--all").splitlines()
        gone = [line for line in sessions if line.startswith(f"old-{name} ") and "forgotten" in line]
        check(len(gone) == 1, f"the session is forgotten, got {sessions}")


def main():
    bridle, folder, *rest = sys.argv[1:]
    count = int(rest[0]) if rest else 4
    seed = int(rest[1]) if len(rest) > 1 else int(time.time()) % 1_000_000
    home, pane, counts = None, None, {}
    try:
        for number in range(count):
            chance = random.Random(seed * 1000 + number)
            if number % PER_HOME == 0:
                if home:
                    pane.end()
                    home.down()
                home = Home(bridle, f"{folder}/h{number}", SCRIPT)
                home.up()
                pane = Pane(home, chance.choice([(80, 24), (60, 12), (200, 50)]))
            work = stream if number % 2 == 0 else question
            name = f"s{number}"
            try:
                pane.open(name)
                work(home, pane, name, chance)
                compare(home, pane, name, settled(home, pane, name))
                pane.leave()
            except AssertionError as fault:
                raise SystemExit(f"schedule {number} of seed {seed} ({work.__name__}): {fault}") from fault
            counts[work.__name__] = counts.get(work.__name__, 0) + 1
        said = home.run("log", "verify", "--state", home.path("state"))
        check("broken" not in said, said)
    finally:
        if pane:
            pane.end()
        if home:
            home.kill()
    told = ", ".join(f"{name} {times}" for name, times in counts.items())
    print(f"{count} kills of seed {seed} under chat, no line lost or doubled ({told})")


main()
