"""What a shell remembers and makes of messages: the vectors of `vectors/message`, and the ledger."""

import unittest

from bridle_client.oacp import Hello, Ledger, Message, Parts, ProtocolError, in_parts, plist
from bridle_client.offer import Actuator, OfferedAction, OfferedArgument
from bridle_client.piece import Piece, Pieces, voided
from bridle_client.sexp import SexpError, Symbol, get, read, write

from .vectors import octets, vectors


class Vectors(unittest.TestCase):
    def test_every_message_and_every_answer_is_read(self) -> None:
        ran = 0
        for vector in vectors("message"):
            # A client asks for Lisp, so nobody sends it the other dialect.
            if vector.get("dialect") == "emacs":
                continue
            ran += 1
            with self.subTest(vector["id"], note=vector["note"]):
                text = octets(vector).decode()
                if vector["verdict"] == "accept":
                    message = Message.parse(text)
                    self.assertEqual(message.type, vector["type"].lower())
                    self.assertEqual(Message.parse(write(message.form)), message)
                elif vector["verdict"] == "syntax":
                    with self.assertRaises(SexpError) as raised:
                        Message.parse(text)
                    self.assertEqual(raised.exception.category, vector["category"])
                elif vector["verdict"] == "not-a-plist" and vector["path"] == []:
                    with self.assertRaises(ProtocolError):
                        Message.parse(text)
                if "reply" in vector:
                    reply = Message.parse(vector["reply"])
                    refusal = reply.refusal()
                    self.assertEqual(refusal.code if refusal else "accept", vector["verdict"])
        self.assertGreater(ran, 250)

    def test_the_hello_is_one_that_the_daemon_knows(self) -> None:
        hello = Hello(session="work", client="6f1c", shell="python", actuators=("bell",), role="observer")
        self.assertEqual(
            write(hello.form("work", 12, None)),
            '(:type :EVENT :payload (:action :handshake :version "0.3.0" :capabilities (:parts) :length :bytes'
            ' :client "6f1c" :session "work" :cursor 12 :role :observer :shell :python :max-frame 16777215'
            " :receipts t :actuators (:bell)))",
        )


class Offered(unittest.TestCase):
    def test_actions_are_described_in_the_hello(self) -> None:
        where = OfferedArgument("where", choices=("here", "aside"))
        path = OfferedArgument("path", "Absolute path", required=True)
        count = OfferedArgument("count", shape="integer")
        actuator = Actuator("editor", ("eval", OfferedAction("open-file", "Open a file.", (path, where, count))))
        hello = Hello(client="6f1c", actuators=("bell", actuator))
        self.assertIn(
            ":actuators (:bell (:name :editor :actions (:eval (:name :open-file :about \"Open a file.\" :arguments"
            " ((:name :path :required t :about \"Absolute path\") (:name :where :shape :choice :choices (:here :aside))"
            " (:name :count :shape :integer))))))",
            write(hello.form(None, None, None)),
        )
        for wrong in (OfferedArgument("x", shape="number-of-things"), OfferedArgument("x", shape="choice")):
            with self.assertRaises(ValueError):
                wrong.form()


def delta(more: str) -> Message:
    return Message.parse(f"(:type :EVENT :meta (:session \"s\") :payload (:action :delta :turn 3 {more}))")


class Streams(unittest.TestCase):
    def texts(self, *pieces: str) -> list[tuple[str, str, str, bool]]:
        known = Pieces()
        found = [known.take(piece) for piece in map(Piece.of, map(delta, pieces)) if piece]
        return [(it.thought, it.channel, it.text, it.is_gap) for it in found if it]

    def test_what_came_again_is_given_once(self) -> None:
        made = self.texts(
            ':thought 12 :channel :text :offset 0 :text "übér "',
            ':thought 12 :channel :reasoning :offset 0 :text "hm"',
            ':thought 12 :channel :text :offset 0 :text "übér zw"',
            ':thought 12 :channel :text :offset 9 :text "ölf"',
            ':thought 12 :channel :text :offset 0 :text "üb"',
            ':thought 13 :channel :output :offset 900 :text "late"',
        )
        self.assertEqual(
            made,
            [
                ("12", "text", "übér ", False), ("12", "reasoning", "hm", False), ("12", "text", "zw", False),
                ("12", "text", "ölf", False), ("13", "output", "late", True),
            ],
        )

    def test_a_daemon_that_names_the_turn_alone(self) -> None:
        self.assertEqual(self.texts(':text "a"', ':text "a"'), [("turn-3", "text", "a", False)] * 2)

    def test_what_is_taken_back_begins_anew(self) -> None:
        known, piece = Pieces(), Piece.of(delta(':thought 1 :channel :text :offset 0 :text "no"'))
        assert piece is not None
        self.assertEqual(known.take(piece), piece)
        self.assertIsNone(known.take(piece))
        void = Message.parse("(:type :EVENT :payload (:action :voided :turn 3 :thought 1))")
        self.assertEqual(voided(void), "1")
        known.void("1")
        self.assertEqual(known.take(piece), piece)

    def test_other_messages_are_no_pieces(self) -> None:
        self.assertIsNone(Piece.of(event(3)))
        self.assertIsNone(voided(event(3)))


def event(seq: int, more: str = "") -> Message:
    return Message.parse(f'(:type :EVENT :meta (:session "s" :seq {seq}{more}) :payload (:action :message :text "x"))')


class Cursors(unittest.TestCase):
    def setUp(self) -> None:
        self.ledger = Ledger(Hello(session="s"), cursor=0)

    def hear(self, seq: int, more: str = "") -> bool:
        return self.ledger.numbered(seq, event(seq, more))

    def test_nothing_is_heard_twice(self) -> None:
        self.assertEqual([self.hear(seq) for seq in (1, 2, 2, 1, 3)], [True, True, False, False, True])
        self.assertEqual(self.ledger.cursor, 3)

    def test_a_number_of_our_own_is_known_by_its_receipt(self) -> None:
        self.ledger.say(7, plist(type=Symbol(":EVENT")))
        self.assertTrue(self.hear(2))
        self.assertEqual(self.ledger.cursor, 0)
        receipt = '(:type :STATUS :id 7 :payload (:status :admitted :session "s" :seq 1))'
        self.ledger.receipt(Message.parse(receipt))
        self.assertEqual(self.ledger.cursor, 2)
        self.assertEqual(self.ledger.due(), [])

    def test_our_own_saying_in_the_tail_is_a_receipt(self) -> None:
        self.ledger.say(7, plist(type=Symbol(":EVENT")))
        self.assertFalse(self.hear(1, " :id 7 :own t"))
        self.assertEqual(self.ledger.cursor, 1)

    def test_what_somebody_said_with_our_client_before_is_heard(self) -> None:
        self.assertTrue(self.hear(1, " :id 7 :own t"))

    def test_an_answer_tells_the_number_of_what_it_answers(self) -> None:
        saying = self.ledger.say(7, plist(type=Symbol(":EVENT")))
        answer = '(:type :RESPONSE :id 7 :meta (:session "s" :seq 2 :answers 1) :payload (:status :success))'
        self.assertTrue(self.ledger.numbered(2, Message.parse(answer)))
        self.assertIsNotNone(saying.answer)
        self.assertEqual(self.ledger.cursor, 2)

    def test_what_is_not_acknowledged_is_due_on_the_next_connection(self) -> None:
        self.ledger.connection = 1
        saying = self.ledger.say(7, plist(type=Symbol(":EVENT")))
        self.assertEqual(self.ledger.due(), [saying])
        saying.connection = 1
        self.assertEqual(self.ledger.due(), [])
        self.ledger.connection = 2
        self.assertEqual(self.ledger.due(), [saying])

    def test_a_second_receipt_with_another_number_is_a_fault(self) -> None:
        self.ledger.say(7, plist(type=Symbol(":EVENT")))
        for seq, fault in ((1, False), (1, False), (2, True)):
            receipt = Message.parse(f'(:type :STATUS :id 7 :payload (:status :admitted :session "s" :seq {seq}))')
            if fault:
                with self.assertRaises(ProtocolError):
                    self.ledger.receipt(receipt)
            else:
                self.ledger.receipt(receipt)


    def test_a_request_that_is_over_is_known_when_it_comes_once_more(self) -> None:
        self.ledger.keep_answer("s-5", plist(type=Symbol(":RESPONSE")))
        self.assertFalse(self.ledger.is_over("s-5"))
        outcome = '(:type :EVENT :meta (:session "s" :seq 9) :payload (:action :outcome :effect "s-5" :outcome :done))'
        self.ledger.outcome(Message.parse(outcome))
        self.assertTrue(self.ledger.is_over("s-5"))
        self.assertEqual(self.ledger.answered, {})

    def test_what_was_said_and_never_asked_for_is_not_remembered_forever(self) -> None:
        first = self.ledger.say(0, plist(type=Symbol(":EVENT")))
        for id in range(1, 4096):
            self.ledger.say(id, plist(type=Symbol(":EVENT")))
        with self.assertRaises(OverflowError):
            self.ledger.say(4096, plist(type=Symbol(":EVENT")))
        first.answer = event(1)
        self.ledger.say(4096, plist(type=Symbol(":EVENT")))
        self.assertNotIn(0, self.ledger.sayings)


class InParts(unittest.TestCase):
    def test_there_and_back(self) -> None:
        text = write(plist(type=Symbol(":LOG"), payload=plist(text='é"\\😀' * 2000)))
        payloads = in_parts(text, "7f", 1024)
        self.assertGreater(len(payloads), 10)
        self.assertLessEqual(max(len(payload.encode()) for payload in payloads), 1024)
        parts = Parts()
        whole = [parts.take(read(payload)) for payload in payloads]
        self.assertEqual((whole[:-1], whole[-1]), ([None] * (len(payloads) - 1), text))

    def test_what_fits_stays_whole(self) -> None:
        self.assertEqual(in_parts("(a)", "7f", 1024), ["(a)"])

    def test_parts_that_contradict_each_other(self) -> None:
        for second in (':n 3 :of 3) :data "b"', ':n 2 :of 4) :data "b"', ':n 1 :of 3) :data "b"', ":n 2 :of 3)"):
            parts = Parts()
            parts.take(read('(:type :EVENT :part (:id "7f" :n 1 :of 3) :data "a")'))
            with self.assertRaises(ProtocolError):
                parts.take(read(f'(:type :EVENT :part (:id "7f" {second})'))

    def test_a_message_that_is_given_up(self) -> None:
        parts = Parts()
        parts.take(read('(:type :EVENT :part (:id "7f" :n 1 :of 2) :data "a")'))
        self.assertIsNone(parts.take(read('(:type :EVENT :part (:id "7f" :abort t))')))
        self.assertIsNone(parts.take(read('(:type :EVENT :part (:id "7f" :n 1 :of 2) :data "(a")')))
        self.assertEqual(parts.take(read('(:type :EVENT :part (:id "7f" :n 2 :of 2) :data ")")')), "(a)")


class Plists(unittest.TestCase):
    def test_what_is_none_is_left_out(self) -> None:
        form = plist(max_frame=5, session=None)
        self.assertEqual((write(form), get(form, "max-frame")), ("(:max-frame 5)", 5))


if __name__ == "__main__":
    unittest.main()
