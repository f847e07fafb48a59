"""The OpenHarness Shell runtime: plays every vector of `vectors/shell`."""

import dataclasses
import json
import unittest
from itertools import count
from typing import Any

from bridle_client.perform import Abilities, Performance
from bridle_client.response import InvalidResponse, parse
from bridle_client.shell import Intent, Profile, Shell
from bridle_client.text import safe

from .vectors import octets, repeated, vectors


def written(action: Any) -> dict[str, Any]:
    """An action as vectors have it."""
    fields = {key: value for key, value in dataclasses.asdict(action).items() if value is not None}
    return {type(action).__name__.lower(): fields}


def abilities(shell: dict[str, Any]) -> Abilities:
    return Abilities(
        frozenset(shell.get("acts", [])),
        frozenset(shell.get("renders", [])),
        shell.get("approval", False),
        shell.get("parallel", False),
        shell.get("ask_from", "dangerous"),
    )


def perform(vector: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """Plays a vector with `do: perform`: the actions after each step."""
    first, *rest = vector["play"]
    performance = Performance(abilities(vector.get("shell", {})), parse(vector["response"]), first["at"])
    actions = [performance.start(first["at"])]
    for step in rest:
        now = step["at"]
        if "answered" in step:
            actions.append(performance.answered(step["answered"], step.get("answer"), now))
        elif "finished" in step:
            actions.append(
                performance.finished(step["finished"], step["ok"], now, step.get("output"), step.get("error"))
            )
        elif "cancel" in step:
            actions.append(performance.cancel(now))
        else:
            actions.append(performance.tick(now))
    return [[written(action) for action in group] for group in actions]


def converse(vector: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """Plays a vector with `do: converse`."""
    options = vector.get("shell", {})
    profile = Profile(**{**options.get("profile", {}), "stream": options.get("stream", False)})
    if "versions" in options:
        profile = dataclasses.replace(profile, versions=tuple(options["versions"]))
    ids, jitter = count(1), iter(vector.get("jitter", []))
    shell = Shell(abilities(options), profile, lambda: f"r{next(ids)}", lambda: next(jitter, 1.0))
    groups = []
    for step in vector["play"]:
        now, unix = step["at"], vector.get("unix_ms", 0) + step["at"]
        if "ask" in step:
            actions = shell.ask(Intent(**step["ask"]), unix)
        elif "reply" in step:
            actions = shell.replied(step["reply"], now, unix, step.get("retry_after"))
        elif "opened" in step:
            shell.opened()
            actions = []
        elif "event" in step:
            actions = shell.event(step["event"], step["data"], now, unix)
        elif "cut" in step:
            actions = shell.cut(now)
        elif "answered" in step:
            actions = shell.answered(step["answered"], step.get("answer"), now)
        elif "finished" in step:
            actions = shell.finished(step["finished"], step["ok"], now, step.get("output"), step.get("error"))
        elif "cancel" in step:
            actions = shell.cancel(now)
        else:
            actions = shell.wake(now)
        groups.append([written(action) for action in actions])
    return groups


class Vectors(unittest.TestCase):
    maxDiff = None

    def test_every_course_of_events(self) -> None:
        ran = 0
        for vector in vectors("shell"):
            ran += 1
            with self.subTest(vector["id"], note=vector["note"]):
                if vector["do"] == "text":
                    text = vector["in"] if "in" in vector else repeated(vector["in_repeat"])
                    out = vector["out"] if "out" in vector else repeated(vector["out_repeat"])
                    self.assertEqual(safe(text, vector["limit"]), out)
                    continue
                played = perform(vector) if vector["do"] == "perform" else converse(vector)
                self.assertEqual(played, [step["then"] for step in vector["play"]])
        self.assertGreaterEqual(ran, 120)

    def test_an_answer_is_taken_as_the_reader_of_messages_takes_it(self) -> None:
        ran = 0
        for vector in vectors("openharness"):
            if vector.get("as") != "response" or vector.get("mode") == "strict" or "reason" in vector:
                continue
            ran += 1
            with self.subTest(vector["id"], note=vector["note"]):
                try:
                    parse(json.loads(octets(vector)))
                    verdict = "accept"
                except InvalidResponse as error:
                    verdict = error.code.replace("invalid_response", "invalid_request")
                self.assertEqual(verdict, vector["verdict"])
        self.assertGreater(ran, 20)


if __name__ == "__main__":
    unittest.main()
