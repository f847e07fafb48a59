//! `bridle pair`: a code for a device, as text and as a QR code.

use std::io::IsTerminal as _;

use bridle_daemon::pairing::{Error, Offer, PairingCode, Pairings};
use bridle_daemon::tokens::Owner;
use bridle_wire::time::rfc3339;
use qrcode::render::unicode::Dense1x2;
use qrcode::{EcLevel, QrCode};

use super::record::print;
use super::token::{self, file_failure, moment, now};
use crate::args::token as args;
use crate::exit::{Exit, Failure};
use crate::json::{object, quoted};
use crate::settings::Settings;

/// Black on white, whatever the terminal's own colors are: cameras want it so.
const INK: &str = "\x1b[30;107m";
const PLAIN: &str = "\x1b[0m";

pub(crate) fn run(args: args::Pair) -> Result<Exit, Failure> {
    let settings = Settings::resolve(args.state.given())?;
    let base = match args.url {
        Some(url) => checked(&url)?,
        None => settings.http_url()?,
    };
    let offer = Offer {
        name: args.name.into(),
        owner: Owner::this_user(),
        scopes: args.scopes.into_iter().map(Into::into).collect(),
        lifetime: args.expires.millis(),
    };
    let code = PairingCode::from_system().map_err(|error| failure(&error))?;
    let pairings = Pairings::new(&settings.state()?);
    let end = pairings.issue(&code, offer, now()).map_err(|error| failure(&error))?;
    let url = format!("{}/v1/pair", base.trim_end_matches('/'));
    if args.json {
        let code = quoted(code.reveal());
        let pairs = [("code", code), ("url", quoted(&url)), ("expires", moment(Some(end)))];
        return print(&format!("{}\n", object(&pairs)));
    }
    let is_terminal = std::io::stdout().is_terminal();
    if !is_terminal && !args.qr {
        return print(&format!("{}\n", code.reveal()));
    }
    let drawn = draw(&format!("{url}#{}", code.reveal()), is_terminal)?;
    let until = rfc3339(end);
    print(&format!("{drawn}\n{url}\n{}  good once, until {until}\n", code.reveal()))
}

/// The code as two rows of modules a line.
fn draw(text: &str, is_terminal: bool) -> Result<String, Failure> {
    let code = QrCode::with_error_correction_level(text, EcLevel::M).map_err(|_| {
        Failure::new(Exit::Usage, "the URL does not fit into a QR code")
            .hint("give a shorter --url, or --json for the code alone")
    })?;
    let drawn = code.render::<Dense1x2>().build();
    if !is_terminal {
        return Ok(format!("{drawn}\n"));
    }
    Ok(drawn.lines().map(|line| format!("{INK}{line}{PLAIN}\n")).collect())
}

/// A URL that a device can use; anything else would be a QR code that leads nowhere.
fn checked(url: &str) -> Result<String, Failure> {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let is_plain = |rest: &str| {
        !rest.is_empty()
            && !rest.starts_with('/')
            && rest.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'#' | b'?'))
    };
    if rest.is_some_and(is_plain) {
        return Ok(url.to_owned());
    }
    Err(Failure::new(Exit::Usage, format!("bad URL `{}`", url.escape_debug()))
        .hint("expected https://HOST:PORT, as the device reaches the daemon"))
}

fn failure(error: &Error) -> Failure {
    match error {
        Error::File(error) => file_failure(error),
        Error::Token(error) => token::failure(error),
        Error::TooMany => Failure::because(Exit::Temporary, "cannot pair", error)
            .hint("wait five minutes: codes that nobody redeems are over by then"),
        _ => Failure::because(Exit::Io, "cannot pair", error)
            .hint("check the limits of this process: ulimit -a"),
    }
}
