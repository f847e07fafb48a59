"""Nobody at the address: said where, and within a time, by both clients."""

from __future__ import annotations

import socket
import unittest
from collections.abc import Callable
from unittest import mock

from bridle_client import CannotConnect, Client, Engine, client


def _free_port() -> int:
    """A port on which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Reach(unittest.TestCase):
    def test_a_daemon_that_is_not_there_is_named(self) -> None:
        address = f"127.0.0.1:{_free_port()}"
        with mock.patch.object(client, "FIRST_WAIT", 0.2), Client(address) as one:
            calls: list[Callable[[], object]] = [lambda: one.ask("help"), one.attach, lambda: next(one.events())]
            for call in calls:
                with self.assertRaises(CannotConnect) as raised:
                    call()
                self.assertRegex(str(raised.exception), f"^cannot connect to `{address}`: .*refused")

    def test_a_short_timeout_says_the_same(self) -> None:
        address = f"127.0.0.1:{_free_port()}"
        with Client(address) as one, self.assertRaises(TimeoutError) as raised:
            one.ask("help", timeout=0.2)
        self.assertIn(f"cannot connect to `{address}`", str(raised.exception))

    def test_a_daemon_that_says_nothing_is_not_waited_for_for_ever(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            address = f"127.0.0.1:{server.getsockname()[1]}"
            with mock.patch.object(client, "ANSWER_WAIT", 0.2), Client(address) as one:
                with self.assertRaisesRegex(TimeoutError, "no answer to"):
                    one.wait(one.prompt("help"), timeout=client.ANSWER_WAIT)

    def test_waits_end_unless_told_otherwise(self) -> None:
        for method in (Client.ask, Client.request, Client.wait, Client.attach):
            defaults = method.__defaults__ or ()
            self.assertEqual(defaults[-1], client.ANSWER_WAIT, method.__name__)

    def test_an_engine_that_is_not_there_is_named(self) -> None:
        host = f"127.0.0.1:{_free_port()}"
        engine = Engine(f"http://{host}")
        turn = engine.ask("help")
        engine.close()
        assert turn.error is not None, "nobody is there"
        self.assertEqual(turn.error.code, "transport_error")
        self.assertRegex(turn.error.message, f"^cannot connect to `{host}`: .*refused")


if __name__ == "__main__":
    unittest.main()
