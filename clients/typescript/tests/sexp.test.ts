/** The data language: every vector of `vectors/sexp` that is Lisp without comments, and what values become. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Atom, Dotted, SexpError, Sym, type Value, Vector, get, isPlist, keyword, read, write } from "../src/sexp.js";
import { octets, vectors } from "./vectors.js";

test("every text has its verdict", () => {
  let ran = 0;
  for (const vector of vectors("sexp")) {
    // A client speaks Lisp on the wire, where there are no comments.
    if (vector["dialect"] === "emacs" || vector["comments"]) continue;
    ran++;
    const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(octets(vector));
    let written: string | undefined;
    try {
      written = write(read(text));
    } catch (error) {
      assert.ok(error instanceof SexpError, vector.id);
      assert.equal(error.category, vector["verdict"], vector.id);
      assert.deepEqual(error.at, vector["at"], vector.id);
    }
    if (written !== undefined) {
      assert.equal(vector["verdict"], "accept", vector.id);
      assert.equal(written, vector["canonical"] ?? text, vector.id);
      assert.equal(write(read(written)), written, vector.id);
    }
  }
  assert.ok(ran > 350, `${ran}`);
});

test("reading", () => {
  const expected: Value = [
    new Sym(":a"), null, true, -7, 'x"y', new Atom("1/3"), new Dotted([1], 2), new Vector([1]), 12345678901234567890n,
  ];
  assert.deepEqual(read('(:a () t -7 "x\\"y" 1/3 (1 . 2) #(1) 12345678901234567890)'), expected);
});

test("writing", () => {
  assert.equal(write([keyword("a"), [], null, true, false, 1.5, -0, -10, 'x"y\\']), '(:a nil nil t nil 1.5 0 -10 "x\\"y\\\\")');
  assert.equal(write([Infinity, -Infinity, NaN]), "(1.0e+INF -1.0e+INF 0.0e+NaN)");
});

test("numbers of atoms", () => {
  assert.deepEqual(["1.5d0", "1/4", "-1.0e+INF"].map((text) => new Atom(text).toNumber()), [1.5, 0.25, -Infinity]);
});

test("the first key counts, whatever its case", () => {
  const plist = read("(:TYPE :EVENT :type :LOG :|id| 7 :empty nil)");
  assert.ok(isPlist(plist));
  assert.deepEqual(["type", "id", "empty", "absent"].map((key) => get(plist, key)), [new Sym(":EVENT"), 7, null, null]);
});

test("a bottomless value is not written", () => {
  let value: Value = 1;
  for (let at = 0; at < 600; at++) value = [value];
  assert.throws(() => write(value), RangeError);
});
