//! `bridle health`, `send` and `tap`: finds the daemon and the key, then hands over to the faces.

use std::fs::File;
use std::io::{self, BufReader, Read, Write as _};
use std::path::Path;

use bridle_shell::client::{Auth, Options, Target};
use bridle_shell::screen::Screen;
use bridle_shell::{Addr, health, send, tap};
use bridle_wire::seal::{Key, KeyId};

use super::{hint_stdin, read_key, style, text};
use crate::args::{self, Peer, Version};
use crate::exit::{Exit, Failure};
use crate::settings::{ADDR_VARIABLE, ConfigFile, Given, Settings};

pub(crate) fn health(args: args::Health) -> Result<Exit, Failure> {
    let question = health::Question {
        targets: find(args.peer)?,
        detail: if args.detail { health::Detail::Full } else { health::Detail::Brief },
        output: if args.json {
            health::Output::Json
        } else {
            health::Output::Text(Screen::of_stdout())
        },
        wait: args.wait,
    };
    match health::run(&question, &mut io::stdout().lock())? {
        health::Verdict::Healthy => Ok(Exit::Ok),
        health::Verdict::NotHealthy => Ok(Exit::Answered),
    }
}

pub(crate) fn send(args: args::Send) -> Result<Exit, Failure> {
    let targets = find(args.peer)?;
    let output = match (args.json, args.pretty) {
        (true, _) => send::Output::Json,
        (_, true) => send::Output::Pretty(style()),
        _ => send::Output::Source(Screen::of_stdout()),
    };
    let order = send::Order { targets, output, session: args.session };
    if args.form.is_none() {
        hint_stdin(if args.raw { "a text" } else { "forms" });
    }
    let mut stdin = io::stdin().lock();
    let raw;
    let content = match (&args.form, args.raw) {
        (Some(form), false) => send::Content::Form(form),
        (Some(form), true) => send::Content::Raw(form),
        (None, false) => send::Content::Stream(&mut stdin),
        (None, true) => {
            raw = bridle_shell::input::read_text(&mut stdin)?;
            send::Content::Raw(&raw)
        }
    };
    match send::run(&order, content, &mut io::stdout().lock())? {
        send::Verdict::Fine => Ok(Exit::Ok),
        send::Verdict::SomeError => Ok(Exit::Answered),
    }
}

pub(crate) fn tap(args: args::Tap) -> Result<Exit, Failure> {
    let output = if args.json { tap::Output::Json } else { tap::Output::Text(style()) };
    let options = text::options(args.framing)?;
    match (args.listen, args.connect) {
        (Some(listen), connect) => {
            let daemons = match connect {
                Some(connect) => vec![connect],
                None => {
                    let given = Given::from(ConfigFile { config: args.config });
                    addresses(None, &Settings::resolve(&given)?)?
                }
            };
            let ready = |addr: &Addr| {
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
    Ok(Exit::Ok)
}

fn open(path: Option<&Path>) -> Result<Box<dyn Read>, Failure> {
    let Some(path) = path.filter(|path| *path != Path::new("-")) else {
        hint_stdin("frames");
        return Ok(Box::new(io::stdin().lock()));
    };
    let file = File::open(path).map_err(|error| {
        Failure::because(Exit::NoInput, format!("cannot read `{}`", path.display()), &error)
            .hint("name a file of frames, or - for stdin")
    })?;
    Ok(Box::new(BufReader::new(file)))
}

/// Whether somebody said where the daemon is, rather than left it to the settings.
pub(super) fn is_named(peer: &Peer) -> bool {
    peer.addr.is_some() || std::env::var_os(ADDR_VARIABLE).is_some_and(|value| !value.is_empty())
}

/// Finds the daemon: `--addr`, then the environment, then the settings' Unix socket, then their
/// TCP address.
pub(super) fn find(peer: Peer) -> Result<Vec<Target>, Failure> {
    let settings = Settings::resolve(&Given::from(peer.file.clone()))?;
    find_by(peer, &settings)
}

/// The same by settings that are known already.
pub(super) fn find_by(peer: Peer, settings: &Settings) -> Result<Vec<Target>, Failure> {
    let flagged = match &peer.seal.key_file {
        None => None,
        Some(path) => {
            let key = Key::from_bytes(KeyId::new(&peer.seal.key_id), &read_key(path)?);
            Some(match peer.seal.hmac {
                Version::V1 => Auth::V1(key),
                Version::V2 => Auth::V2(key),
            })
        }
    };
    let mut targets = Vec::new();
    for addr in addresses(peer.addr, settings)? {
        let auth = match &flagged {
            Some(auth) => auth.clone(),
            None => settled_auth(settings, &addr)?,
        };
        targets.push(Target { addr, options: Options { timeout: peer.timeout, auth } });
    }
    Ok(targets)
}

/// Where the settings enforce signatures for the daemon, they serve its clients too. Sockets are
/// never signed.
fn settled_auth(settings: &Settings, addr: &Addr) -> Result<Auth, Failure> {
    if !matches!(addr, Addr::Tcp(_)) || !settings.is_on("hmac.enforce") {
        return Ok(Auth::None);
    }
    let key = settings.first_key()?;
    Ok(key.map_or(Auth::None, |key| Auth::V2(Key::from_bytes(KeyId::new(&key.id), &key.secret))))
}

fn addresses(flagged: Option<Addr>, settings: &Settings) -> Result<Vec<Addr>, Failure> {
    if let Some(addr) = flagged {
        return Ok(vec![addr]);
    }
    match from_environment()? {
        Some(addr) => Ok(vec![addr]),
        None => from_settings(settings),
    }
}

pub(super) fn from_environment() -> Result<Option<Addr>, Failure> {
    let Some(value) = std::env::var_os(ADDR_VARIABLE).filter(|value| !value.is_empty()) else {
        return Ok(None);
    };
    let addr = value.to_string_lossy().parse::<Addr>();
    addr.map(Some).map_err(|error| {
        Failure::new(Exit::Config, format!("{ADDR_VARIABLE}: {error}"))
            .hint("unset it, or name the daemon with --addr")
    })
}

fn from_settings(settings: &Settings) -> Result<Vec<Addr>, Failure> {
    let unix = settings.path("unix").map(|path| Addr::Unix(path.to_path_buf()));
    let tcp = settings.word("tcp").map(Addr::Tcp);
    let addrs: Vec<Addr> = unix.into_iter().chain(tcp).collect();
    if addrs.is_empty() {
        return Err(Failure::new(
            Exit::Config,
            "the settings name no address: tcp and unix are off",
        )
        .hint("name the daemon with --addr"));
    }
    Ok(addrs)
}
