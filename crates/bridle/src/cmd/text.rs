//! `bridle sexp` and `bridle frame`: arguments to options, standard streams to the faces.

use std::io;

use bridle_sexp::{Comments, Dialect};
use bridle_shell::screen::data_writer;
use bridle_shell::sexp::{Input, Output};
use bridle_wire::frame::Unit;
use bridle_wire::seal::{Key, KeyId};

use super::output::{print_bytes, print_styled};
use super::{hint_stdin, read_key, style};
use crate::args;
use crate::exit::{Exit, Failure};

pub(crate) fn sexp(args: &args::Sexp) -> Result<Exit, Failure> {
    let dialect = match args.dialect {
        args::Dialect::Lisp => Dialect::Lisp,
        args::Dialect::Emacs => Dialect::Emacs,
    };
    let comments = if args.comments { Comments::Skip } else { Comments::Refuse };
    let input = if args.from_json { Input::Json } else { Input::Form { dialect, comments } };
    let output = match args {
        args::Sexp { canonical: true, .. } => Output::Canonical,
        args::Sexp { json: true, .. } => Output::Json,
        args::Sexp { pretty: true, .. } => Output::Pretty(style()),
        _ => Output::Source,
    };
    hint_stdin(if args.from_json { "JSON" } else { "a form" });
    let mut out = Vec::new();
    bridle_shell::sexp::run(input, output, &mut io::stdin().lock(), &mut out)?;
    match output {
        // Neutralised, atom by atom, before it was colored.
        Output::Pretty(_) => print_styled(&String::from_utf8_lossy(&out)),
        _ => print_bytes(&out),
    }
}

pub(crate) fn frame(verb: args::Frame) -> Result<Exit, Failure> {
    hint_stdin(if matches!(verb, args::Frame::Encode(_)) { "forms" } else { "frames" });
    let mut out = data_writer();
    let source = io::stdin().lock();
    match verb {
        args::Frame::Encode(framing) => {
            bridle_shell::frame::encode(options(framing)?, source, &mut out)?;
        }
        args::Frame::Decode(framing) => {
            bridle_shell::frame::decode(options(framing)?, source, &mut out)?;
        }
    }
    Ok(Exit::Ok)
}

/// The options of a stream of frames; reads the key file.
pub(super) fn options(framing: args::Framing) -> Result<bridle_shell::frame::Options, Failure> {
    let unit = framing.count.map(|count| match count {
        args::Count::Bytes => Unit::Bytes,
        args::Count::Chars => Unit::Chars,
    });
    let key = match (framing.hmac, framing.key_file) {
        (Some(args::FileVersion::V1), Some(path)) => {
            Some(Key::from_bytes(KeyId::new("file"), &read_key(&path)?))
        }
        _ => None,
    };
    Ok(bridle_shell::frame::Options { unit, key })
}
