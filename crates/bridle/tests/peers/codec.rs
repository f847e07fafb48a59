//! `bridle frame encode` and `decode` piped into Lisp and Emacs and back: both directions, both units, signed
//! and not, without a daemon between.

use std::process::Command;

use bridle_sexp::Value;
use tempfile::NamedTempFile;

use crate::conversation::{self, TEXTS};
use crate::support;

/// How one side counts and whether it signs: the arguments of each program that say so.
struct Pair {
    who: &'static str,
    count: &'static str,
    signed: bool,
    peer: fn(&str) -> Command,
}

const PAIRS: [Pair; 10] = [
    Pair {
        who: "SBCL 000",
        count: "chars",
        signed: false,
        peer: |verb| support::sbcl(&[verb, "--dialect", "000"]),
    },
    Pair {
        who: "SBCL 001",
        count: "chars",
        signed: false,
        peer: |verb| support::sbcl(&[verb, "--dialect", "001"]),
    },
    Pair {
        who: "SBCL 002",
        count: "chars",
        signed: false,
        peer: |verb| support::sbcl(&[verb, "--dialect", "002"]),
    },
    Pair {
        who: "SBCL 003",
        count: "bytes",
        signed: false,
        peer: |verb| support::sbcl(&[verb, "--dialect", "003"]),
    },
    Pair {
        who: "SBCL 000",
        count: "chars",
        signed: true,
        peer: |verb| support::sbcl(&[verb, "--dialect", "000"]),
    },
    Pair {
        who: "SBCL 003",
        count: "bytes",
        signed: true,
        peer: |verb| support::sbcl(&[verb, "--dialect", "003"]),
    },
    Pair {
        who: "Emacs",
        count: "chars",
        signed: false,
        peer: |verb| support::emacs(&[verb, "--unit", "chars"]),
    },
    Pair {
        who: "Emacs",
        count: "bytes",
        signed: false,
        peer: |verb| support::emacs(&[verb, "--unit", "bytes", "--upper"]),
    },
    Pair {
        who: "Emacs",
        count: "chars",
        signed: true,
        peer: |verb| support::emacs(&[verb, "--unit", "chars", "--key", support::SECRET]),
    },
    Pair {
        who: "Emacs",
        count: "bytes",
        signed: true,
        peer: |verb| support::emacs(&[verb, "--unit", "bytes", "--key", support::SECRET]),
    },
];

impl Pair {
    fn name(&self) -> String {
        format!("{}, {}, {}", self.who, self.count, if self.signed { "signed" } else { "plain" })
    }

    /// Dialect 000 cannot sign what has no octet for each character.
    fn script(&self) -> Vec<u8> {
        let texts = if self.signed && self.who == "SBCL 000" { &TEXTS[..1] } else { &TEXTS[..] };
        conversation::script(&conversation::conversation(texts))
    }

    fn peer(&self, verb: &str) -> Command {
        let mut command = (self.peer)(verb);
        if self.signed {
            support::signing(&mut command);
        }
        command
    }

    fn bridle(&self, verb: &str, key: &NamedTempFile) -> Command {
        let mut command = support::bridle();
        command.args(["frame", verb, "--count", self.count]);
        if self.signed {
            command.args(["--hmac", "v1", "--key-file"]).arg(key.path());
        }
        command
    }
}

/// Lisp folds the case of symbols, so forms are compared without it.
fn folded(forms: &[Value]) -> Vec<String> {
    forms.iter().map(|form| form.to_string().to_lowercase()).collect()
}

#[test]
fn peers_decode_what_bridle_encodes() {
    let key = support::key_file();
    for pair in &PAIRS {
        let script = pair.script();
        let frames = support::finish(pair.bridle("encode", &key), &script);
        let printed = support::finish(pair.peer("decode"), &frames);
        let expected = folded(&support::forms(&script));
        assert_eq!(folded(&support::forms(&printed)), expected, "{}", pair.name());
    }
}

#[test]
fn bridle_decodes_what_peers_encode() {
    let key = support::key_file();
    for pair in &PAIRS {
        let script = pair.script();
        let frames = support::finish(pair.peer("encode"), &script);
        let printed = support::finish(pair.bridle("decode", &key), &frames);
        let expected = folded(&support::forms(&script));
        assert_eq!(folded(&support::forms(&printed)), expected, "{}", pair.name());
    }
}

#[test]
fn a_changed_byte_is_noticed_by_both_sides() {
    let key = support::key_file();
    for pair in PAIRS.iter().filter(|pair| pair.signed) {
        let form = b"(:type :health-check)";
        let mut frames = support::finish(pair.bridle("encode", &key), form);
        let last = frames.iter().rposition(|byte| *byte == b'k').expect("the form ends in check");
        frames[last] = b'l';
        assert!(
            !support::attempt(pair.peer("decode"), &frames).success,
            "{} accepts it",
            pair.name()
        );
        let bridle = support::attempt(pair.bridle("decode", &key), &frames);
        assert!(!bridle.success, "bridle accepts it");
    }
}

#[test]
fn the_emacs_peer_passes_its_own_tests() {
    let mut command = Command::new("emacs");
    command.args([
        "-Q",
        "--batch",
        "-l",
        "peers/emacs/bridle-peer.el",
        "-f",
        "ert-run-tests-batch-and-exit",
    ]);
    command.current_dir(support::root());
    support::finish(command, b"");
}
