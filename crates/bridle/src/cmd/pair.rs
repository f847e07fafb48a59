//! `bridle pair`: a code for a device, as text and as a QR code; and what is said to devices that
//! show a code themselves.

use std::io::{IsTerminal as _, Write as _};

use bridle_daemon::pairing::{
    ACCESS_MS, PairingCode, PairingError, PairingOffer, PairingRegistry, WaitingDeviceInfo,
    WaitingDevices,
};
use bridle_daemon::tokens::{TokenId, TokenOwner};
use bridle_shell::openharness::http::EngineUrl;
use bridle_shell::screen::{OutputScreen, TableColumn, TextTable, local_minute, neutral_line};
use bridle_wire::time::rfc3339;
use qrcode::render::unicode::Dense1x2;
use qrcode::{EcLevel, QrCode};

use super::output::{print, print_styled};
use super::token::{self, file_failure, moment, now};
use crate::args::token as args;
use crate::exit::{BridleExit, CommandFailure};
use crate::json::{object, quoted};
use crate::settings::{ResolvedSettings, StateDir};

/// Black on white, whatever the terminal's own colors are: cameras want it so.
const INK: &str = "\x1b[30;107m";
const PLAIN: &str = "\x1b[0m";

pub(crate) fn run(args: args::PairArgs) -> Result<BridleExit, CommandFailure> {
    match args.verb {
        Some(args::PairVerb::Confirm(args)) => confirm(args),
        Some(args::PairVerb::Deny(args)) => {
            answered(devices(&args.state)?.deny(&args.code, now()), "denied")
        }
        Some(args::PairVerb::List(args)) => list(&args),
        None => issue(args),
    }
}

fn confirm(args: args::PairConfirmArgs) -> Result<BridleExit, CommandFailure> {
    let (name, scopes) = (args.name, args.scopes.into_iter().map(Into::into).collect());
    let offer = |own: &str| PairingOffer {
        name: name.as_deref().unwrap_or(own).into(),
        owner: TokenOwner::this_user(),
        scopes,
        lifetime: Some(ACCESS_MS),
    };
    answered(devices(&args.state)?.confirm(&args.code, offer, now()), "confirmed")
}

fn answered(
    device: Result<Option<TokenId>, PairingError>,
    word: &str,
) -> Result<BridleExit, CommandFailure> {
    match device.map_err(|error| failure(&error))? {
        Some(device) => print(&format!("{word} {device}\n")),
        // The code itself stays off the screen, where it may be of another kind.
        None => Err(CommandFailure::new(BridleExit::NoInput, "no waiting device shows this code")
            .hint("a code works once, for five minutes; `bridle pair list` lists waiting devices")),
    }
}

fn list(args: &args::TokenListArgs) -> Result<BridleExit, CommandFailure> {
    let all = devices(&args.state)?.list(now()).map_err(|error| failure(&error))?;
    if args.json {
        return print(&all.iter().map(|info| as_json(info) + "\n").collect::<String>());
    }
    let mut table = TextTable::new([
        TableColumn::text("DEVICE"),
        TableColumn::text("NAME").shrinks(),
        TableColumn::text("STATUS"),
        TableColumn::text("UNTIL"),
    ]);
    for info in &all {
        let WaitingDeviceInfo { device, name, expires, status, .. } = info;
        table.push_row([device.as_str(), name, status, &local_minute(*expires)]);
    }
    print(&table.render(OutputScreen::of_stdout(), "no waiting devices"))
}

fn as_json(info: &WaitingDeviceInfo) -> String {
    let WaitingDeviceInfo { id, device, name, expires, status } = info;
    object(&[
        ("pairing", quoted(id.as_str())),
        ("device", quoted(device.as_str())),
        ("name", quoted(name)),
        ("status", quoted(status)),
        ("expires", quoted(&rfc3339(*expires))),
    ])
}

fn devices(state: &StateDir) -> Result<WaitingDevices, CommandFailure> {
    Ok(WaitingDevices::new(&ResolvedSettings::resolve(state.given())?.state()?))
}

fn issue(args: args::PairArgs) -> Result<BridleExit, CommandFailure> {
    let settings = ResolvedSettings::resolve(args.state.given())?;
    let base = match args.url {
        Some(url) => checked(&url)?,
        None => settings.http_url()?,
    };
    let offer = PairingOffer {
        name: args.name.into(),
        owner: TokenOwner::this_user(),
        scopes: args.scopes.into_iter().map(Into::into).collect(),
        lifetime: args.expires.millis(),
    };
    let code = PairingCode::from_system().map_err(|error| failure(&error))?;
    let pairings = PairingRegistry::new(&settings.state()?);
    let end = pairings.issue(&code, offer, now()).map_err(|error| failure(&error))?;
    let url = format!("{}/v1/pair", base.trim_end_matches('/'));
    warn_if_only_here(&base);
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
    let until = local_minute(end);
    print_styled(&format!("{drawn}\n{url}\n{}  valid once, until {until}\n", code.reveal()))
}

/// Says on stderr that no other device can reach the URL, and what to set so that one can.
fn warn_if_only_here(url: &str) {
    let Ok(place) = url.parse::<EngineUrl>() else { return };
    let host = place.host.parse::<std::net::IpAddr>().ok();
    let is_loopback = place.is_local() || host.is_some_and(|host| host.is_loopback());
    let (what, hint) = match host.is_some_and(|host| host.is_unspecified()) {
        true => ("names no host", "give the address that the device can reach"),
        false if is_loopback => (
            "is loopback; a phone cannot reach it",
            "let others reach it: bridle up --http 0.0.0.0:8788 --tls-cert FILE --tls-key FILE; \
             then name the address that the device sees",
        ),
        false => return,
    };
    let text = format!(
        "warning: `{}` {what}\nhint: {hint}: bridle pair --url https://HOST:8788\n",
        neutral_line(&place.authority)
    );
    // The code is good for programs of this machine all the same.
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// The code as two rows of modules a line.
fn draw(text: &str, is_terminal: bool) -> Result<String, CommandFailure> {
    let code = QrCode::with_error_correction_level(text, EcLevel::M).map_err(|_| {
        CommandFailure::new(BridleExit::Usage, "the URL does not fit into a QR code")
            .hint("give a shorter --url, or --json for the code alone")
    })?;
    let drawn = code.render::<Dense1x2>().build();
    if !is_terminal {
        return Ok(format!("{drawn}\n"));
    }
    Ok(drawn.lines().map(|line| format!("{INK}{line}{PLAIN}\n")).collect())
}

/// A URL that a device can use; anything else would be a QR code that leads nowhere.
fn checked(url: &str) -> Result<String, CommandFailure> {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let is_plain = |rest: &str| {
        !rest.is_empty()
            && !rest.starts_with('/')
            && rest.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'#' | b'?'))
    };
    if rest.is_some_and(is_plain) {
        return Ok(url.to_owned());
    }
    Err(CommandFailure::new(BridleExit::Usage, format!("bad URL `{}`", url.escape_debug()))
        .hint("expected https://HOST:PORT, as the device reaches the daemon"))
}

fn failure(error: &PairingError) -> CommandFailure {
    match error {
        PairingError::File(error) => file_failure(error),
        PairingError::Token(error) => token::failure(error),
        PairingError::TooMany => {
            CommandFailure::because(BridleExit::Temporary, "cannot pair", error)
                .hint("wait five minutes: unused codes expire by then")
        }
        _ => CommandFailure::because(BridleExit::Io, "cannot pair", error)
            .hint("check the process limits: ulimit -a"),
    }
}
