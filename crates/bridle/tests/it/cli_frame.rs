//! `bridle frame`: forms to frames and back.

use crate::harness::{Home, pipe};

/// HMAC-SHA256 of `(:a 1)` under the key `k`, made with another program.
const SEAL: &str = "7c272f617ad7f19f84b8d7e16b422bbda89a0be03486b63940aef1deadd07873";

#[test]
fn encodes_forms_separated_by_blanks() {
    pipe(&["frame", "encode"], "(:a 1)\n\n(:b  \"é\") foo\n12")
        .prints("000006(:a 1)00000a(:b  \"é\")000003foo00000212");
    pipe(&["frame", "encode"], " \n").prints("");
}

#[test]
fn counts_bytes_or_characters() {
    pipe(&["frame", "encode", "--count", "bytes"], "\"é\"").prints("000004\"é\"");
    pipe(&["frame", "encode", "--count", "chars"], "\"é\"").prints("000003\"é\"");
}

#[test]
fn decodes_either_case_and_either_unit() {
    pipe(&["frame", "decode"], "00000A(:b  \"é\")\n 00000a(:b  \"é\")")
        .prints("(:b  \"é\")\n(:b  \"é\")\n");
    pipe(&["frame", "decode"], "000009(:b  \"é\")000003foo").prints("(:b  \"é\")\nfoo\n");
    pipe(&["frame", "decode", "--count", "chars"], "000003\"é\"").prints("\"é\"\n");
}

#[test]
fn frames_before_a_bad_one_are_written() {
    pipe(&["frame", "decode"], "000003foo\nxyz").check(
        65,
        "foo\n",
        "bad-header at byte 10: expected six hex digits of length, got byte `0x78` as digit 1\n",
    );
    pipe(&["frame", "decode"], "000003foo000000").check(
        65,
        "foo\n",
        "empty-frame at byte 9: expected a length of at least 1, got `000000`\n",
    );
    pipe(&["frame", "decode"], "000003fo").check(
        65,
        "",
        "incomplete-frame at byte 0: expected the rest of a frame, got the end of the stream\n",
    );
}

#[test]
fn forms_before_a_bad_one_are_framed() {
    let done = pipe(&["frame", "encode"], "(a)\n  #.b");
    assert_eq!((done.code, done.stdout.as_str()), (65, "000003(a)"));
    assert!(done.stderr.starts_with("read-eval at 2:3 (byte 6): "), "{}", done.stderr);
    let done = pipe(&["frame", "encode"], b"(a)\n \"\xff\"");
    assert_eq!((done.code, done.stdout.as_str()), (65, "000003(a)"));
    assert!(done.stderr.starts_with("invalid-utf8 at 2:3 (byte 6): "), "{}", done.stderr);
    let done = pipe(&["frame", "encode"], "(a) (b");
    assert_eq!((done.code, done.stdout.as_str()), (65, "000003(a)"));
    assert!(done.stderr.starts_with("incomplete at 1:7 (byte 6): "), "{}", done.stderr);
}

#[test]
fn signs_and_verifies_version_1() {
    let home = Home::new();
    let key = home.write("key", "k");
    let flags = ["--hmac", "v1", "--key-file", &key];
    let encode = [&["frame", "encode"], &flags[..]].concat();
    let decode = [&["frame", "decode"], &flags[..]].concat();
    let frame = format!("000006{SEAL}(:a 1)");
    home.pipe(&encode, "(:a 1)").prints(&frame);
    home.pipe(&decode, &frame).prints("(:a 1)\n");
    home.pipe(&decode, frame.to_uppercase().replace("(:A 1)", "(:a 1)")).prints("(:a 1)\n");
    home.pipe(&decode, frame.replace("1)", "2)")).fails(
        65,
        "bad-signature at byte 0: expected a frame signed with a key known here, got one that is \
         not\n",
    );
}

#[test]
fn key_files_are_taken_as_they_are() {
    let home = Home::new();
    let (plain, newline) = (home.write("plain", "k"), home.write("newline", "k\n"));
    let sign = |key: &str| {
        home.pipe(&["frame", "encode", "--hmac", "v1", "--key-file", key], "(:a 1)").stdout
    };
    assert_ne!(sign(&plain), sign(&newline));
    let done = home.pipe(&["frame", "encode", "--hmac", "v1", "--key-file", "missing"], "a");
    done.fails(
        66,
        "error: cannot read key file `missing`: No such file or directory (os error 2)\n\
         hint: name a file that holds the key; make one: head -c 32 /dev/urandom > KEY; chmod 600 KEY\n",
    );
}

#[test]
fn a_large_form_in_and_out() {
    let form = format!("(:text \"{}\")", "日本".repeat(1_000_000));
    let framed = pipe(&["frame", "encode"], &form);
    assert_eq!((framed.code, framed.stdout.len()), (0, form.len() + 6));
    pipe(&["frame", "decode"], framed.stdout).prints(&format!("{form}\n"));
}

#[test]
fn what_six_digits_cannot_say_is_refused() {
    let done = pipe(&["frame", "encode"], format!("(a) \"{}\"", "x".repeat(0x0100_0000)));
    done.check(
        65,
        "000003(a)",
        "error: cannot frame the form: expected a payload of at most `16777215` bytes, got \
         `16777218`\nhint: split the form; one frame holds at most 16777215\n",
    );
}

#[test]
fn a_closed_pipe_is_success() {
    let home = Home::new();
    let mut child = home.command(&["frame", "decode"]).spawn().unwrap();
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().unwrap();
    let frames = "000003foo".repeat(100_000);
    // It stops reading when nobody reads it.
    let _ = std::io::Write::write_all(&mut stdin, frames.as_bytes());
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(output.stderr, b"");
}
