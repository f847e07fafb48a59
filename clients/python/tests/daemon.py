"""A real daemon for the tests of `e2e.py`: started, killed, started again at the same addresses."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]


def binary() -> str:
    """The daemon's binary, from `BRIDLE_BIN` or as `cargo build` leaves it."""
    path = os.environ.get("BRIDLE_BIN", str(ROOT / "target" / "debug" / "bridle"))
    if not os.path.exists(path):
        raise FileNotFoundError(f"no daemon at {path}: `cargo build`, or set BRIDLE_BIN")
    return path


class Daemon:
    """One state directory, and the daemon that holds it now."""

    def __init__(self, *options: str) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="bridle-")
        self.folder = pathlib.Path(self._folder.name)
        self.unix = str(self.folder / "s")
        self.tcp = self.http = "127.0.0.1:0"
        self.options = options
        self._process: subprocess.Popen[str] | None = None
        self.start()

    def start(self) -> None:
        """Starts it and waits until it serves."""
        listen = ["--unix", self.unix, "--tcp", self.tcp, "--http", self.http]
        state = ["--state", str(self.folder / "state"), "--policy", "off", "--log", "warn"]
        command = [binary(), "up", *listen, *state, *self.options]
        with (self.folder / "log").open("a") as log:
            self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        assert self._process.stdout is not None, "it is a pipe"
        line = self._process.stdout.readline()
        found = dict(re.findall(r"(\w+)=(\S+)", line))
        if not line.startswith("ready"):
            raise RuntimeError((self.folder / "log").read_text())
        self.tcp, self.http = found["tcp"], found["http"].removeprefix("http://")

    def restart(self, *options: str) -> None:
        """Kills it and starts it with these options."""
        self.kill()
        self.options = options
        self.start()

    def kill(self) -> None:
        """Ends it at once, without a word."""
        if self._process:
            self._process.kill()
            self._process.wait()
            assert self._process.stdout is not None, "it is a pipe"
            self._process.stdout.close()
            self._process = None

    def run(self, *arguments: str) -> str:
        """What another command of the same binary prints."""
        command = [binary(), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def close(self) -> None:
        """Ends it and removes its files."""
        self.kill()
        self._folder.cleanup()
