"""A home with a daemon that can be killed, and `bridle chat` in a pane of tmux or on a terminal of its own.

Shared by the scripts of this folder, which `cargo xtask chat` starts. Nothing outside of Python and tmux is needed.
"""

import json
import os
import pty
import select
import shutil
import signal
import struct
import fcntl
import subprocess
import termios
import time

PATIENCE = 60.0


def check(condition, what):
    """Ends a script with a sentence."""
    if not condition:
        raise AssertionError(what)


class Home:
    """A folder for one daemon, and the daemon."""

    def __init__(self, bridle, folder, script):
        shutil.rmtree(folder, ignore_errors=True)
        self.bridle, self.folder, self.daemon = bridle, folder, None
        for name in ("home", "state", "memex", "proj"):
            os.makedirs(os.path.join(folder, name), mode=0o700)
        with open(self.path("rules.script"), "w", encoding="utf-8") as file:
            file.write(script)
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": self.path("home"),
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
            "TERM": "xterm-256color",
            "SHELL": "/bin/sh",
            "BRIDLE_STATE": self.path("state"),
            "BRIDLE_UNIX": self.path("b.sock"),
            "BRIDLE_TCP": "off",
            "BRIDLE_HTTP": "off",
            "BRIDLE_HTTP_UNIX": "off",
        }
        self.address = f"unix:{self.path('b.sock')}"

    def path(self, name):
        return os.path.join(self.folder, name)

    def up(self):
        """Starts the daemon, and waits until it is ready."""
        command = [self.bridle, "up", "--log", "error"]
        command += ["--thinker", f"script:{self.path('rules.script')}", "--memex", self.path("memex")]
        self.daemon = subprocess.Popen(
            command, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
        )
        for line in self.daemon.stdout:
            if "ready " in line:
                return
        raise AssertionError("the daemon is not ready")

    def kill(self):
        self.daemon.kill()
        self.daemon.wait()

    def down(self):
        self.daemon.send_signal(signal.SIGTERM)
        self.daemon.wait()

    def run(self, *words):
        done = subprocess.run(
            [self.bridle, *words], env=self.env, stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
        check(done.returncode == 0, f"{words}: {done.stderr}")
        return done.stdout

    def events(self, session):
        """Events of a session as the record has them."""
        told = self.run("tail", "--addr", self.address, "--session", session, "--json")
        return [json.loads(line) for line in told.splitlines()]

    def texts(self, session):
        payloads = [event.get("payload") or {} for event in self.events(session)]
        return [it["text"] for it in payloads if isinstance(it.get("text"), str)]


class Pane:
    """`bridle chat` in a pane of a tmux of its own."""

    def __init__(self, home, size=(80, 24)):
        self.home, self.socket = home, home.path("tmux")
        with open(home.path("tmux.conf"), "w", encoding="utf-8") as file:
            file.write("set -g history-limit 200000\nset -g status off\nset -s escape-time 0\n")
        place = ["-d", "-s", "t", "-x", str(size[0]), "-y", str(size[1])]
        self.tmux("new-session", *place, "-c", home.path("proj"), "sh")

    def tmux(self, *words):
        base = ["tmux", "-S", self.socket, "-f", self.home.path("tmux.conf")]
        done = subprocess.run([*base, *words], env=self.home.env, capture_output=True, text=True)
        check(done.returncode == 0, f"tmux {words}: {done.stderr}")
        return done.stdout

    def open(self, session):
        self.type(f"clear; {self.home.bridle} chat --addr {self.home.address} {session}")
        self.key("Enter")
        self.wait("idle", lambda screen: "· idle" in screen and session in screen)

    def leave(self):
        """Leaves, and forgets what was on the screen."""
        self.key("C-d")
        self.wait("shell", lambda screen: "· idle" not in screen)
        self.tmux("clear-history", "-t", "t")

    def type(self, text):
        self.tmux("send-keys", "-t", "t", "-l", "--", text)

    def key(self, *names):
        self.tmux("send-keys", "-t", "t", *names)

    def say(self, text):
        self.type(text)
        self.key("Enter")

    def screen(self):
        return self.tmux("capture-pane", "-t", "t", "-p")

    def everything(self):
        return self.tmux("capture-pane", "-t", "t", "-p", "-J", "-S", "-")

    def wait(self, what, found):
        end = time.monotonic() + PATIENCE
        while True:
            screen = self.screen()
            if found(screen):
                return screen
            check(time.monotonic() < end, f"no {what} on\n{screen}")
            time.sleep(0.02)

    def end(self):
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], env=self.home.env, capture_output=True)


class Terminal:
    """A program on a terminal of its own, whose every byte is seen with its moment."""

    def __init__(self, home, words, size=(80, 24)):
        self.seen, self.moments, self.size = b"", [], size
        self.pid, self.handle = pty.fork()
        if self.pid == 0:
            os.chdir(home.path("proj"))
            os.execve(words[0], words, home.env)
        fcntl.ioctl(self.handle, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        self.began = time.monotonic()

    def read(self, seconds):
        """Takes what comes within so many seconds; returns it."""
        ready, _, _ = select.select([self.handle], [], [], seconds)
        if not ready:
            return b""
        try:
            piece = os.read(self.handle, 1 << 16)
        except OSError:
            return b""
        self.seen += piece
        self.moments.append((time.monotonic() - self.began, piece))
        return piece

    def wait(self, wanted, since=0):
        """Waits for bytes behind a place; returns the moment at which they were there."""
        end = time.monotonic() + PATIENCE
        wanted = wanted.encode()
        while wanted not in self.seen[since:]:
            check(time.monotonic() < end, f"{wanted} in {self.seen[-2000:]!r}")
            self.read(0.5)
        return time.monotonic()

    def write(self, text):
        os.write(self.handle, text.encode())

    def memory(self):
        """Most resident memory so far, in MiB."""
        with open(f"/proc/{self.pid}/status", encoding="ascii") as file:
            line = next(line for line in file if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024

    def end(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.handle)
