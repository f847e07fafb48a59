//! Holds `docs/protocol.md` to what the code does: every example frame decodes and reads, the
//! list of error codes is exactly the code's, and the tables name what exists.

#![allow(clippy::unwrap_used, reason = "helpers of a test")]
#![allow(clippy::disallowed_methods, reason = "the document is a file")]

use std::fs;
use std::path::Path;

use bridle_sexp::Reader;
use bridle_wire::frame::{DecodeStep, DecoderOptions, FrameDecoder, HEADER_LEN, SEAL_LEN};
use bridle_wire::oacp::{self, MessageType, OacpCode};
use bridle_wire::seal::{
    ConnectionNonce, FrameVerifier, KeyId, SigningKey, SigningKeyring, VersionOnePolicy,
};

fn document() -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/protocol.md");
    fs::read_to_string(file).unwrap()
}

/// One section, from its heading to the next of the same level.
fn section<'d>(document: &'d str, heading: &str) -> &'d str {
    let start = document.find(heading).unwrap_or_else(|| panic!("no `{heading}`"));
    let rest = &document[start + heading.len()..];
    &rest[..rest.find("\n## ").unwrap_or(rest.len())]
}

/// Byte offsets at which hex digits are followed by a parenthesis: `(digits, start)`.
fn headers(text: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut run = 0;
    for (at, byte) in text.bytes().enumerate() {
        if byte == b'(' && run >= HEADER_LEN {
            found.push((run, at - run));
        }
        run = if byte.is_ascii_hexdigit() { run + 1 } else { 0 };
    }
    found
}

#[test]
fn every_example_frame_has_the_right_length() {
    let document = document();
    let errata = section(&document, "## 11. Errata");
    let document = document.replace(errata, "");
    let (mut plain, mut signed) = (0, 0);
    for (digits, start) in headers(&document) {
        let text = &document[start..];
        if digits == HEADER_LEN {
            let payload = decode(text);
            if let Err(unreadable) = oacp::read(payload, &Reader::new()) {
                // Shown to be refused: then the next frame is the answer, word for word.
                let mut answer = String::new();
                oacp::unreadable_response(unreadable).write(&mut answer);
                let (_, next) = headers(&text[payload.len()..])[0];
                assert_eq!(decode(&text[payload.len() + next..]), answer, "after {payload}");
            }
            plain += 1;
        } else {
            assert_eq!(digits, HEADER_LEN + SEAL_LEN, "{}", &text[..digits]);
            let unsigned = format!("{}{}", &text[..HEADER_LEN], &text[digits..]);
            oacp::read(decode(&unsigned), &Reader::new()).unwrap();
            signed += 1;
        }
    }
    assert!(plain >= 10 && signed >= 3, "{plain} plain and {signed} signed frames");
}

#[test]
fn the_signed_examples_verify() {
    let document = document();
    let signatures = section(&document, "## 4. Signatures");
    let frames: Vec<&str> = headers(signatures)
        .into_iter()
        .map(|(_, start)| signatures[start..].lines().next().unwrap())
        .collect();
    let [version_1, version_2 @ ..] = &frames[..] else { panic!("no signed frame") };
    let keys = |id, secret: &str| {
        SigningKeyring::of(SigningKey::from_bytes(KeyId::new(id), secret.as_bytes()))
    };
    verify(FrameVerifier::v1(keys("any", "secret")), &[version_1]);
    let nonce = ConnectionNonce::parse("00112233445566778899aabbccddeeff").unwrap();
    let keys = keys("laptop", "0123456789abcdef");
    assert_eq!(version_2.len(), 2);
    verify(FrameVerifier::server(keys, nonce, VersionOnePolicy::Refuse), version_2);
}

fn verify(verifier: FrameVerifier, frames: &[&str]) {
    let mut decoder = FrameDecoder::signed(DecoderOptions::default(), verifier);
    for frame in frames {
        match decoder.decode(frame.as_bytes()) {
            Ok(DecodeStep::Frame { consumed, .. }) => assert_eq!(consumed, frame.len()),
            other => panic!("{other:?}: {frame}"),
        }
    }
}

/// Decodes the frame at the front of a text; what follows it may only be another frame, a quote,
/// the end of the line, or a space of padding.
fn decode(text: &str) -> &str {
    let mut decoder = FrameDecoder::new(DecoderOptions::default());
    match decoder.decode(text.as_bytes()) {
        Ok(DecodeStep::Frame { payload, consumed }) => {
            let payload = &text[payload];
            assert!(payload.ends_with(')'), "wrong length: {payload}");
            let next = text[consumed..].chars().next().unwrap_or('\n');
            assert!(next.is_ascii_hexdigit() || "\n'` ".contains(next), "wrong length: {payload}");
            payload
        }
        other => panic!("{other:?}: {}", &text[..text.len().min(80)]),
    }
}

#[test]
fn errata_are_what_they_say() {
    let document = document();
    for line in section(&document, "## 11. Errata").lines().filter(|line| line.contains(" bytes: "))
    {
        let mut quoted = line.split('`').skip(1).step_by(2);
        let (wrong, right) = (quoted.next().unwrap(), quoted.next().unwrap());
        let payload = &wrong[HEADER_LEN..];
        assert_ne!(wrong[..HEADER_LEN].to_lowercase(), right);
        assert_eq!(format!("{:06x}", payload.len()), right);
        assert!(line.contains(&format!("| {} bytes", payload.len())), "{line}");
    }
}

#[test]
fn the_list_of_codes_is_exact() {
    let document = document();
    let rows: Vec<Vec<&str>> = section(&document, "## 10. Errors")
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect())
        .collect();
    let listed: Vec<&str> = rows.iter().map(|row| row[0].trim_matches('`')).collect();
    assert_eq!(listed, OacpCode::ALL.map(OacpCode::as_str));
    for (row, code) in rows.iter().zip(OacpCode::ALL) {
        assert_eq!(row[1], code.explanation());
        assert_eq!(row[2], if code.retryable() { "yes" } else { "no" }, "{code}");
    }
}

#[test]
fn the_data_language_is_as_the_tables_say() {
    let document = document();
    let language = section(&document, "## 3. The data language");
    let (accepted, refused) = language.split_once("| refused |").unwrap();
    let mut spans = 0;
    for (text, _) in accepted.lines().flat_map(cells) {
        bridle_sexp::read_one(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        spans += 1;
    }
    for (text, categories) in refused.lines().flat_map(cells) {
        let error = bridle_sexp::read_one(&text).err().unwrap_or_else(|| panic!("reads: {text}"));
        let category = format!("`{}`", error.category());
        assert!(categories.contains(&category), "{text}: {error}, expected {categories}");
        spans += 1;
    }
    assert!(spans > 40, "{spans} examples");
}

/// The examples in the first cell of a row, each with the row's second cell.
fn cells(line: &str) -> Vec<(String, String)> {
    let line = line.replace("\\|", "\u{1}");
    let mut cells = line.split('|').skip(1);
    let (Some(first), Some(second)) = (cells.next(), cells.next()) else { return Vec::new() };
    // A span that holds a backquote is written between double ones.
    let first = first.replace("`` `", "`\u{2}").replace(" ``", "`");
    let spans = first.split('`').skip(1).step_by(2);
    spans
        .map(|span| (span.replace('\u{1}', "|").replace('\u{2}', "`"), second.to_owned()))
        .filter(|(span, _)| span.starts_with(|c: char| !c.is_whitespace()))
        .collect()
}

#[test]
fn every_type_is_in_the_table() {
    let document = document();
    let messages = section(&document, "## 5. Messages");
    for kind in MessageType::ALL {
        assert!(messages.contains(&format!("\n| `:{}` |", kind.as_str())), "{}", kind.as_str());
    }
    assert!(document.contains(&format!("Version {}.", oacp::VERSION)));
}
