"""Both clients against the real daemon, which is killed on the way.

    BRIDLE_BIN=../../target/debug/bridle PYTHONPATH=src python3 -m unittest tests.e2e
"""

from __future__ import annotations

import unittest

from bridle_client import (
    Actuator, Client, Engine, Hello, Key, OfferedAction, OfferedArgument, Piece, Profile, Question, Refused, Ui, get,
    keyword, plist,
)
from bridle_client.oacp import Message
from bridle_client.shell import Intent, Send, Shell, Wait

from .daemon import Daemon

WAIT = 60.0
"""Seconds after which something that should happen has not: generous, for busy machines."""

RULES = """
(rule :when "echo *" :say "echo: $1")
(rule :when "slow *" :delay 20 :pace 5 :stream ("slow: " "one, " "two, " "$1"))
(rule :when "ring *" :propose ((:target :bell :action :message :text "$1" :then-think t)))
(rule :when "* *" :result t :say "rung: $2")
(rule :when "risky *" :propose ((:target :bell :action :eval :code "$1")))
(default :say "nothing fits")
"""


def with_rules(daemon: Daemon) -> None:
    """Starts the daemon again with a thinker that follows the rules above."""
    path = daemon.folder / "rules"
    path.write_text(RULES)
    daemon.restart("--thinker", f"script:{path}")


class Framed(unittest.TestCase):
    def setUp(self) -> None:
        self.daemon = Daemon()
        self.addCleanup(self.daemon.close)

    def test_over_every_road(self) -> None:
        for address in (self.daemon.unix, self.daemon.tcp):
            with Client(address, session=f"s-{'u' if '/' in address else 't'}") as client:
                self.assertIn("bridle", client.ask("help", WAIT).text or "")

    def test_a_cursor_survives_the_death_of_the_daemon(self) -> None:
        hello = Hello(session="work", client="00000000-0000-4000-8000-000000000001")
        heard: list[Message] = []
        with Client(self.daemon.unix, hello=hello, cursor=0) as client, Client(
            self.daemon.unix, session="work", cursor=0
        ) as other:
            ids = [client.prompt(f"help {n}") for n in range(3)]
            client.wait(ids[0], WAIT)
            other.ask("status", WAIT)
            self.daemon.kill()
            # Said while nobody is there; the connection is found to be gone by saying it.
            ids.append(client.prompt("help 3"))
            client.pump(0.05)
            self.daemon.start()
            for id in ids[1:]:
                client.wait(id, WAIT)
            other.ask("status", WAIT)
            while (client.cursor or 0) < (other.cursor or 0):
                client.pump(0.1)
            heard = list(client.events(0.2))
        numbers = [event.seq for event in heard]
        self.assertEqual(numbers, sorted(set(numbers)), "in order, none twice")
        with Client(self.daemon.unix, session="work", cursor=0) as fresh:
            fresh.attach(WAIT)
            everything = {event.seq: event for event in fresh.events(0.5)}
        self.assertEqual(list(everything), list(range(1, len(everything) + 1)))
        said = [event.text for event in everything.values() if (event.text or "").startswith("help ")]
        self.assertEqual(said, [f"help {n}" for n in range(4)], "each is in the record once")
        missed = set(everything) - set(numbers)
        self.assertTrue(all(everything[seq].text in said for seq in missed), "but for its own words, all was heard")

    def test_a_saying_that_is_repeated_is_done_once(self) -> None:
        hello = Hello(session="work", client="00000000-0000-4000-8000-000000000002")
        form = plist(payload=plist(sensor=keyword("user-prompt"), text="help"))
        numbers = []
        for _ in range(2):
            with Client(self.daemon.unix, hello=hello, cursor=0) as client:
                client.send(plist(type=keyword("EVENT")) + form, id="once")
                numbers.append(client.wait("once", WAIT).seq)
            self.daemon.kill()
            self.daemon.start()
        self.assertEqual(numbers, [2, 2])

    def test_an_error_is_an_exception_with_its_code(self) -> None:
        with Client(self.daemon.unix, session="work") as client:
            with self.assertRaises(Refused) as raised:
                client.request(plist(action=keyword("message"), text="x"), "nowhere", WAIT)
            self.assertEqual(raised.exception.code, "unknown-target")

    def test_a_session_of_somebody_else_is_refused(self) -> None:
        with Client(self.daemon.unix, session="mine") as client:
            client.ask("help", WAIT)
        with Client(self.daemon.tcp, session="mine") as stranger, self.assertRaises(Refused) as raised:
            stranger.ask("help", WAIT)
        self.assertEqual(raised.exception.code, "unknown-session")

    def test_requests_deltas_and_approvals(self) -> None:
        with_rules(self.daemon)
        rung: list[str] = []
        deltas: list[str] = []
        asked: list[str] = []

        def ring(request: Message) -> str:
            rung.append(request.text or str(request.action))
            return "ding"

        def judge(question: object) -> str:
            asked.append(str(question))
            return "allow"

        hello = Hello(session="work", actuators=("bell",), render_rate=1000)
        handlers = {"on_request": ring, "on_approval": judge, "on_delta": deltas.append}
        with Client(self.daemon.unix, hello=hello, **handlers) as client:  # type: ignore[arg-type]
            self.assertEqual(client.ask("echo hi", WAIT).text, "echo: hi")
            self.assertEqual(client.ask("ring 3", WAIT).text, "rung: 3")
            client.ask("risky (x)", WAIT)
            self.assertEqual(client.ask("slow down", WAIT).text, "slow: one, two, down")
        self.assertEqual((rung, len(asked)), (["3", "eval"], 1))
        self.assertTrue("".join(deltas).startswith("slow: "), deltas)

    def test_a_declared_action_a_grant_and_a_stream_joined_late(self) -> None:
        rules = """
(rule :when "open *" :result nil :propose ((:target :editor :action :open-file :path "$1" :then-think t)))
(rule :when "open *" :result (:outcome :done :value (:result *)) :say "opened $2")
(rule :when "open *" :result t :say "not opened")
(rule :when "slow *" :delay 20 :pace 300 :stream ("zwölf " "Äpfel, " "$1"))
(default :say "nothing fits")
"""
        path = self.daemon.folder / "rules"
        path.write_text(rules)
        self.daemon.restart("--thinker", f"script:{path}", "--policy", str(self.daemon.folder / "policy.org"))
        editor = Actuator("editor", (OfferedAction("open-file", "Open a file.", (OfferedArgument("path", required=True),)),))
        asked: list[Question] = []
        opened: list[str] = []

        def open_file(request: Message) -> str:
            opened.append(str(get(request.payload, "path")))
            return "it"

        hello = Hello(session="work", actuators=(editor,), render_rate=1000)
        with Client(
            self.daemon.unix, hello=hello, on_request=open_file, on_approval=lambda it: asked.append(it)
        ) as client:
            waits = client.prompt("open /a")
            while not asked:
                client.pump(0.1)
            [scope] = [it for it in asked[0].scopes if it.name == "action"]
            self.assertIn("editor", scope.allows)
            preview = client.preview_grant(asked[0], "action", "1h", WAIT)
            self.assertIs(get(preview.payload, "written"), None)
            granted = client.grant(asked[0], "action", "1h", WAIT)
            self.assertIn("Until", str(get(granted.payload, "sentence")))
            self.assertEqual(client.wait(waits, WAIT).text, "opened it")
            # The same again is not asked for, until the grant is taken back.
            self.assertEqual(client.ask("open /a", WAIT).text, "opened it")
            [grant] = client.grants(WAIT)
            client.revoke_grant(str(get(grant, "grant")), WAIT)
            self.assertEqual(client.grants(WAIT), [])
            self.assertEqual((len(asked), opened), (1, ["/a", "/a"]))
            # Somebody who comes in the middle hears what was streamed, each byte once.
            pieces: list[Piece] = []
            first = client.prompt("slow down")
            client.on_piece = lambda piece: late.append(piece)
            late: list[Piece] = []
            while not late:
                client.pump(0.05)
            with Client(self.daemon.unix, session="work", on_piece=pieces.append) as other:
                other.attach(WAIT)
                while "".join(it.text for it in pieces) != "zwölf Äpfel, down":
                    other.pump(0.1)
                self.assertEqual({it.channel for it in pieces}, {"text"})
                self.assertEqual([it.is_gap for it in pieces], [False] * len(pieces))
            self.assertEqual(client.wait(first, WAIT).text, "zwölf Äpfel, down")
            self.assertEqual("".join(it.text for it in late), "zwölf Äpfel, down")

    def test_signed(self) -> None:
        key = self.daemon.folder / "key"
        key.write_bytes(b"0123456789abcdef")
        key.chmod(0o600)
        self.daemon.restart("--hmac-enforce", "--hmac-key-file", str(key), "--hmac-allow-v1=false")
        with Client(self.daemon.tcp, session="work", key=Key("default", b"0123456789abcdef")) as client:
            client.ask("help", WAIT)
            self.daemon.kill()
            self.daemon.start()
            self.assertIn("bridle", client.ask("help", WAIT).text or "")


class Watching(Ui):
    def __init__(self) -> None:
        self.displayed: list[str] = []

    def display(self, text: str) -> None:
        self.displayed.append(text)


class OpenHarness(unittest.TestCase):
    def setUp(self) -> None:
        self.daemon = Daemon()
        self.addCleanup(self.daemon.close)

    def engine(self, **options: object) -> Engine:
        engine = Engine(f"http://{self.daemon.http}", **options)  # type: ignore[arg-type]
        self.addCleanup(engine.close)
        return engine

    def test_a_prompt_in_one_message_and_as_a_stream(self) -> None:
        for stream in (False, True):
            turn = self.engine(profile=Profile(stream=stream)).ask("help", session_id="desk")
            self.assertIsNone(turn.error)
            self.assertIn("bridle", turn.text)
            self.assertEqual(turn.outcomes, ["completed"])

    def test_pieces_are_shown_before_the_whole(self) -> None:
        with_rules(self.daemon)
        ui = Watching()
        turn = self.engine(ui=ui).ask("slow down", session_id="desk")
        self.assertEqual(turn.texts, ["slow: one, two, down"])
        self.assertTrue(ui.displayed and turn.text.startswith(ui.displayed[0]), ui.displayed)

    def test_a_stream_is_taken_up_after_the_daemon_died(self) -> None:
        first, second = self.engine(), self.engine()
        [send] = first.shell.ask(Intent("help", "desk"), 0)
        assert isinstance(send, Send)
        request_id = str(send.body["request_id"])
        # The same request by somebody else runs to its end; of its stream we heard the first event alone.
        second.shell = Shell(second.shell.abilities, second.shell.profile, lambda: request_id)
        answer = second.ask("help", session_id="desk").text
        first.shell.opened()
        first.shell.event("open", {"seq": 0, "protocol_version": "1.0.0", "resume": {"ttl_ms": 1000}}, 0, 0)
        self.daemon.kill()
        self.daemon.start()
        [wait] = first.shell.cut(0)
        assert isinstance(wait, Wait)
        turn = first.follow(first.shell.wake(wait.ms))
        self.assertEqual((turn.text, turn.error), (answer, None))
        self.assertEqual(self.daemon.run("log", "--session", "desk", "--state", self.state()).count("user-prompt"), 1)

    def state(self) -> str:
        return str(self.daemon.folder / "state")

    def test_a_token(self) -> None:
        token = self.daemon.run("token", "create", "--name", "test", "--state", self.state()).split()[-1]
        self.daemon.kill()
        self.daemon.start()
        self.assertIsNone(self.engine(token=token).ask("help", session_id="desk").error)
        error = self.engine(token="brt_wrong").ask("help", session_id="desk").error
        assert error is not None
        self.assertEqual((error.code, error.retryable), ("unauthenticated", False))

    def test_what_is_offered(self) -> None:
        self.assertIn("1.0.0", self.engine().discover()["protocol_versions"])

    def test_trouble_of_the_user_interface_is_no_trouble_of_the_transport(self) -> None:
        class Broken(Ui):
            def render(self, text: str, format: str) -> None:
                raise BrokenPipeError("the terminal is gone")

        for stream in (False, True):
            with self.assertRaises(BrokenPipeError):
                self.engine(ui=Broken(), profile=Profile(stream=stream)).ask("help", session_id="desk")

    def test_nobody_there(self) -> None:
        self.daemon.kill()
        error = self.engine().ask("help").error
        assert error is not None
        self.assertEqual(error.code, "transport_error")


class Tokens(unittest.TestCase):
    def test_none_is_sent_in_the_clear(self) -> None:
        with self.assertRaises(ValueError):
            Engine("http://example.org", token="secret")
        Engine("http://127.0.0.1:1", token="secret").close()


if __name__ == "__main__":
    unittest.main()
