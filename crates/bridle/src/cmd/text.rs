//! `bridle sexp` and `bridle frame`: arguments to options, standard streams to the faces.

use std::io;

use bridle_sexp::{Comments, Dialect};
use bridle_shell::screen::data_writer;
use bridle_shell::sexp::{FormInput, FormOutput};
use bridle_wire::frame::LengthUnit;
use bridle_wire::seal::{KeyId, SigningKey};

use super::output::{print_bytes, print_styled};
use super::{hint_stdin, read_key, style};
use crate::args;
use crate::exit::{BridleExit, CommandFailure};

pub(crate) fn sexp(args: &args::SexpArgs) -> Result<BridleExit, CommandFailure> {
    let dialect = match args.dialect {
        args::DialectArg::Lisp => Dialect::Lisp,
        args::DialectArg::Emacs => Dialect::Emacs,
    };
    let comments = if args.comments { Comments::Skip } else { Comments::Refuse };
    let input =
        if args.from_json { FormInput::Json } else { FormInput::Form { dialect, comments } };
    let output = match args {
        args::SexpArgs { canonical: true, .. } => FormOutput::Canonical,
        args::SexpArgs { json: true, .. } => FormOutput::Json,
        args::SexpArgs { pretty: true, .. } => FormOutput::Pretty(style()),
        _ => FormOutput::Source,
    };
    hint_stdin(if args.from_json { "JSON" } else { "a form" });
    let mut out = Vec::new();
    bridle_shell::sexp::run(input, output, &mut io::stdin().lock(), &mut out)?;
    match output {
        // Neutralised, atom by atom, before it was colored.
        FormOutput::Pretty(_) => print_styled(&String::from_utf8_lossy(&out)),
        _ => print_bytes(&out),
    }
}

pub(crate) fn frame(verb: args::FrameCommand) -> Result<BridleExit, CommandFailure> {
    hint_stdin(if matches!(verb, args::FrameCommand::Encode(_)) { "forms" } else { "frames" });
    let mut out = data_writer();
    let source = io::stdin().lock();
    match verb {
        args::FrameCommand::Encode(framing) => {
            bridle_shell::frame::encode(options(framing)?, source, &mut out)?;
        }
        args::FrameCommand::Decode(framing) => {
            bridle_shell::frame::decode(options(framing)?, source, &mut out)?;
        }
    }
    Ok(BridleExit::Ok)
}

/// The options of a stream of frames; reads the key file.
pub(super) fn options(
    framing: args::FramingArgs,
) -> Result<bridle_shell::frame::FrameOptions, CommandFailure> {
    let unit = framing.count.map(|count| match count {
        args::CountArg::Bytes => LengthUnit::Bytes,
        args::CountArg::Chars => LengthUnit::Chars,
    });
    let key = match (framing.hmac, framing.key_file) {
        (Some(args::FileVersionArg::V1), Some(path)) => {
            Some(SigningKey::from_bytes(KeyId::new("file"), &read_key(&path)?))
        }
        _ => None,
    };
    Ok(bridle_shell::frame::FrameOptions { unit, key })
}
