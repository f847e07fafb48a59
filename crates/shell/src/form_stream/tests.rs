//! Forms from streams that arrive in pieces of any size.

use std::io::{self, Read};

use super::{FormStream, read_text};
use crate::error::ShellError;

/// A stream that gives at most `size` bytes at a time.
struct Pieces<'a> {
    rest: &'a [u8],
    size: usize,
}

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n_bytes = self.size.min(self.rest.len()).min(buffer.len());
        buffer[..n_bytes].copy_from_slice(&self.rest[..n_bytes]);
        self.rest = &self.rest[n_bytes..];
        Ok(n_bytes)
    }
}

/// All forms, and the first line of the error if there is one.
fn read_all(bytes: &[u8], size: usize) -> (Vec<String>, Option<String>) {
    let mut forms = FormStream::new(Pieces { rest: bytes, size });
    let mut seen = Vec::new();
    loop {
        match forms.next_form() {
            Ok(Some(form)) => seen.push(form),
            Ok(None) => return (seen, None),
            Err(error) => return (seen, Some(error.to_string())),
        }
    }
}

fn check(bytes: &[u8], expected: &[&str], error: Option<&str>) {
    for size in [1, 2, 3, 7, 1 << 20] {
        let (forms, found) = read_all(bytes, size);
        assert_eq!(forms, expected, "in pieces of {size}");
        let start = found.as_deref().map(|text| text.split(": ").next().unwrap_or_default());
        assert_eq!(start, error, "in pieces of {size}");
    }
}

#[test]
fn forms_come_one_by_one() {
    check(b"", &[], None);
    check(b" \n\t", &[], None);
    check("(a) (b \"日本\")\n:c 12".as_bytes(), &["(a)", "(b \"日本\")", ":c", "12"], None);
    check(b"(a)(b)'c", &["(a)", "(b)", "'c"], None);
}

#[test]
fn faults_have_their_place_in_the_stream() {
    check(b"(a)\n (b", &["(a)"], Some("incomplete at 2:4 (byte 7)"));
    check("(é) #.x".as_bytes(), &["(é)"], Some("read-eval at 1:5 (byte 5)"));
    check(b"(a)\n\"\xff\"", &["(a)"], Some("invalid-utf8 at 2:2 (byte 5)"));
    check(b"(a)\n\"\xe6\x97", &["(a)"], Some("invalid-utf8 at 2:2 (byte 5)"));
    check(b"(a))", &["(a)"], Some("unbalanced at 1:4 (byte 3)"));
}

#[test]
fn a_large_form_in_small_pieces_and_many_after_it() {
    let mut text = format!("(\"{}\")", "x".repeat(1 << 20));
    text.push_str(&" (a)".repeat(50_000));
    let (forms, error) = read_all(text.as_bytes(), 1000);
    assert_eq!((forms.len(), error), (50_001, None));
}

#[test]
fn whole_texts_must_be_utf8() {
    assert_eq!(read_text(&mut "é".as_bytes()).ok().as_deref(), Some("é"));
    let error = read_text(&mut &b"a\nb\xe6\x97"[..]).unwrap_err();
    assert!(matches!(&error, ShellError::Syntax(fault) if fault.offset == 3), "{error}");
}
