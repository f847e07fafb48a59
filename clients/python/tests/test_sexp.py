"""The data language: every vector of `vectors/sexp` that is Lisp without comments, and what values become."""

import unittest

from bridle_client.sexp import Atom, Dotted, SexpError, Symbol, Value, Vector, get, is_plist, keyword, read, write

from .vectors import octets, vectors


class Vectors(unittest.TestCase):
    def test_every_text_has_its_verdict(self) -> None:
        ran = 0
        for vector in vectors("sexp"):
            # A client speaks Lisp on the wire, where there are no comments.
            if vector.get("dialect") == "emacs" or vector.get("comments"):
                continue
            ran += 1
            with self.subTest(vector["id"], note=vector["note"]):
                text = octets(vector).decode()
                try:
                    written = write(read(text))
                    verdict = "accept"
                except SexpError as error:
                    written, verdict = "", error.category
                    self.assertEqual(list(error.at), vector.get("at"))
                self.assertEqual(verdict, vector["verdict"])
                if verdict == "accept":
                    self.assertEqual(written, vector.get("canonical", text))
                    self.assertEqual(write(read(written)), written)
        self.assertGreater(ran, 350)


class Values(unittest.TestCase):
    def test_reading(self) -> None:
        expected: Value = [Symbol(":a"), None, True, -7, 'x"y', Atom("1/3"), Dotted([1], 2), Vector([1])]
        self.assertEqual(read('(:a () t -7 "x\\"y" 1/3 (1 . 2) #(1))'), expected)

    def test_writing(self) -> None:
        value: Value = [keyword("a"), [], None, True, False, 1.5, 'x"y\\']
        self.assertEqual(write(value), '(:a nil nil t nil 1.5 "x\\"y\\\\")')
        self.assertEqual(write([float("inf"), float("-inf"), float("nan")]), "(1.0e+INF -1.0e+INF 0.0e+NaN)")

    def test_numbers_of_atoms(self) -> None:
        self.assertEqual([float(Atom(text)) for text in ("1.5d0", "1/4", "-1.0e+INF")], [1.5, 0.25, float("-inf")])

    def test_the_first_key_counts_whatever_its_case(self) -> None:
        plist = read('(:TYPE :EVENT :type :LOG :|id| 7 :empty nil)')
        self.assertTrue(is_plist(plist))
        found = [get(plist, key) for key in ("type", "id", "empty", "absent")]
        self.assertEqual(found, [Symbol(":EVENT"), 7, None, None])

    def test_integers_of_any_size(self) -> None:
        for text in ("-" + "7" * 4096, "12345678901234567890"):
            self.assertEqual(write(read(text)), text)
        self.assertEqual(len(write(read("#x" + "f" * 4096))), 4933)

    def test_a_bottomless_value_is_not_written(self) -> None:
        value: Value = 1
        for _ in range(600):
            value = [value]
        with self.assertRaises(ValueError):
            write(value)


if __name__ == "__main__":
    unittest.main()
