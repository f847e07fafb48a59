//! `bridle health`, `send` and `tap`: finds the daemon and the key, then hands over to the faces.

use std::fs::File;
use std::io::{self, BufReader, Read, Write as _};
use std::path::Path;

use bridle_shell::client::{ClientAuth, ClientOptions, DaemonTarget};
use bridle_shell::screen::OutputScreen;
use bridle_shell::{DaemonAddress, health, send, tap};
use bridle_wire::seal::{KeyId, SigningKey};

use super::{hint_stdin, read_key, style, text};
use crate::args::{self, PeerArgs, SealVersionArg};
use crate::exit::{BridleExit, CommandFailure};
use crate::settings::{ADDR_VARIABLE, ConfigFile, GivenFlags, ResolvedSettings};

pub(crate) fn health(args: args::HealthArgs) -> Result<BridleExit, CommandFailure> {
    let question = health::HealthQuestion {
        targets: find(args.peer)?,
        detail: if args.detail { health::HealthScope::Full } else { health::HealthScope::Brief },
        output: if args.json {
            health::HealthOutput::Json
        } else {
            health::HealthOutput::Text(OutputScreen::of_stdout())
        },
        wait: args.wait,
    };
    match health::run(&question, &mut io::stdout().lock())? {
        health::HealthVerdict::Healthy => Ok(BridleExit::Ok),
        health::HealthVerdict::NotHealthy => Ok(BridleExit::Answered),
    }
}

pub(crate) fn send(args: args::SendArgs) -> Result<BridleExit, CommandFailure> {
    let targets = find(args.peer)?;
    let output = match (args.json, args.pretty) {
        (true, _) => send::SendOutput::Json,
        (_, true) => send::SendOutput::Pretty(style()),
        _ => send::SendOutput::Source(OutputScreen::of_stdout()),
    };
    let order = send::SendOrder { targets, output, session: args.session };
    if args.form.is_none() {
        hint_stdin(if args.raw { "a text" } else { "forms" });
    }
    let mut stdin = io::stdin().lock();
    let raw;
    let content = match (&args.form, args.raw) {
        (Some(form), false) => send::SendContent::Form(form),
        (Some(form), true) => send::SendContent::Raw(form),
        (None, false) => send::SendContent::Stream(&mut stdin),
        (None, true) => {
            raw = bridle_shell::form_stream::read_text(&mut stdin)?;
            send::SendContent::Raw(&raw)
        }
    };
    match send::run(&order, content, &mut io::stdout().lock())? {
        send::SendVerdict::Fine => Ok(BridleExit::Ok),
        send::SendVerdict::SomeError => Ok(BridleExit::Answered),
    }
}

pub(crate) fn tap(args: args::TapArgs) -> Result<BridleExit, CommandFailure> {
    let output = if args.json { tap::TapOutput::Json } else { tap::TapOutput::Text(style()) };
    let options = text::options(args.framing)?;
    match (args.listen, args.connect) {
        (Some(listen), connect) => {
            let daemons = match connect {
                Some(connect) => vec![connect],
                None => {
                    let given = GivenFlags::from(ConfigFile { config: args.config });
                    addresses(None, &ResolvedSettings::resolve(&given)?)?
                }
            };
            let ready = |addr: &DaemonAddress| {
                // Nobody may be reading; the tap serves all the same.
                let _ = writeln!(io::stderr().lock(), "ready {addr}");
            };
            let out = Box::new(io::stdout());
            tap::between(&listen, &daemons, &options, output, out, ready)?;
        }
        (_, Some(connect)) => {
            tap::daemon(&connect, options, output, &mut io::stdout().lock())?;
        }
        _ => {
            let mut source = open(args.file.as_deref())?;
            tap::file(&mut source, options, output, &mut io::stdout().lock())?;
        }
    }
    Ok(BridleExit::Ok)
}

fn open(path: Option<&Path>) -> Result<Box<dyn Read>, CommandFailure> {
    let Some(path) = path.filter(|path| *path != Path::new("-")) else {
        hint_stdin("frames");
        return Ok(Box::new(io::stdin().lock()));
    };
    let file = File::open(path).map_err(|error| {
        CommandFailure::because(
            BridleExit::NoInput,
            format!("cannot read `{}`", path.display()),
            &error,
        )
        .hint("name a file of frames, or - for stdin")
    })?;
    Ok(Box::new(BufReader::new(file)))
}

/// Whether somebody said where the daemon is, rather than left it to the settings.
pub(super) fn is_named(peer: &PeerArgs) -> bool {
    peer.addr.is_some() || std::env::var_os(ADDR_VARIABLE).is_some_and(|value| !value.is_empty())
}

/// Finds the daemon: `--addr`, then the environment, then the settings' Unix socket, then their
/// TCP address.
pub(super) fn find(peer: PeerArgs) -> Result<Vec<DaemonTarget>, CommandFailure> {
    let settings = ResolvedSettings::resolve(&GivenFlags::from(peer.file.clone()))?;
    find_by(peer, &settings)
}

/// Finds the daemon by settings that are known already.
pub(super) fn find_by(
    peer: PeerArgs,
    settings: &ResolvedSettings,
) -> Result<Vec<DaemonTarget>, CommandFailure> {
    let flagged = match &peer.seal.key_file {
        None => None,
        Some(path) => {
            let key = SigningKey::from_bytes(KeyId::new(&peer.seal.key_id), &read_key(path)?);
            Some(match peer.seal.hmac {
                SealVersionArg::V1 => ClientAuth::V1(key),
                SealVersionArg::V2 => ClientAuth::V2(key),
            })
        }
    };
    let mut targets = Vec::new();
    for addr in addresses(peer.addr, settings)? {
        let auth = match &flagged {
            Some(auth) => auth.clone(),
            None => settled_auth(settings, &addr)?,
        };
        targets.push(DaemonTarget { addr, options: ClientOptions { timeout: peer.timeout, auth } });
    }
    Ok(targets)
}

/// Takes over signatures that the settings enforce for the daemon. Sockets are
/// never signed.
pub(super) fn settled_auth(
    settings: &ResolvedSettings,
    addr: &DaemonAddress,
) -> Result<ClientAuth, CommandFailure> {
    if !matches!(addr, DaemonAddress::Tcp(_)) || !settings.is_on("hmac.enforce") {
        return Ok(ClientAuth::None);
    }
    let key = settings.first_key()?;
    Ok(key.map_or(ClientAuth::None, |key| {
        ClientAuth::V2(SigningKey::from_bytes(KeyId::new(&key.id), &key.secret))
    }))
}

fn addresses(
    flagged: Option<DaemonAddress>,
    settings: &ResolvedSettings,
) -> Result<Vec<DaemonAddress>, CommandFailure> {
    if let Some(addr) = flagged {
        return Ok(vec![addr]);
    }
    match from_environment()? {
        Some(addr) => Ok(vec![addr]),
        None => from_settings(settings),
    }
}

pub(super) fn from_environment() -> Result<Option<DaemonAddress>, CommandFailure> {
    let Some(value) = std::env::var_os(ADDR_VARIABLE).filter(|value| !value.is_empty()) else {
        return Ok(None);
    };
    let addr = value.to_string_lossy().parse::<DaemonAddress>();
    addr.map(Some).map_err(|error| {
        CommandFailure::new(BridleExit::Config, format!("{ADDR_VARIABLE}: {error}"))
            .hint("unset it, or name the daemon with --addr")
    })
}

fn from_settings(settings: &ResolvedSettings) -> Result<Vec<DaemonAddress>, CommandFailure> {
    let unix = settings.path("unix").map(|path| DaemonAddress::Unix(path.to_path_buf()));
    let tcp = settings.word("tcp").map(DaemonAddress::Tcp);
    let addrs: Vec<DaemonAddress> = unix.into_iter().chain(tcp).collect();
    if addrs.is_empty() {
        return Err(CommandFailure::new(
            BridleExit::Config,
            "the settings name no address: tcp and unix are off",
        )
        .hint("name the daemon with --addr"));
    }
    Ok(addrs)
}
