//! `bridle ask`: puts the prompt, the token and the terminal together, and says how it went.

use std::io::{self, IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};

use bridle_shell::Addr;
use bridle_shell::ask::{self, AnsweredElsewhere, Desk, Order, Output, frames, lines};
use bridle_shell::client::{Auth, Options as ClientOptions, TIMEOUT, Target};
use bridle_shell::openharness::http::{Error, Http, Options, Place};
use bridle_shell::openharness::{Intent, Turn};
use bridle_wire::seal::{Key, KeyId};

use super::approve::answered_elsewhere;
use super::talk::from_environment;
use super::{hint_stdin, read_key};
use crate::args::ask::Ask;
use crate::exit::{Exit, Failure};
use crate::settings::{
    ConfigFile, ENGINE_VARIABLE, Given, Settings, TOKEN_VARIABLE, http_socket_beside,
};

/// Bytes of a prompt on standard input: an Engine takes no larger message.
const MAX_PROMPT: u64 = 1 << 20;

/// Bytes of a file with a token.
const MAX_TOKEN: u64 = 64 << 10;

pub(crate) fn run(args: Ask) -> Result<Exit, Failure> {
    if let Some(addr) = args.addr.clone() {
        return framed(addr, args);
    }
    let own = own_daemon(args.config.clone());
    let place = engine(args.engine, args.config)?;
    // Another Engine's questions are not known there.
    let own = own.filter(|_| place.socket.is_some());
    let shown = place.shown();
    let token = match (&args.token_file, &place.socket) {
        // Your own daemon knows you; a token would make you less.
        (None, Some(_)) => None,
        (file, _) => token(file.as_deref())?,
    };
    let options = Options { token, authorities: args.ca };
    if args.lines {
        let transport = Http::new(place, options).map_err(|error| unusable(&error))?;
        let input = ask::lines_of(io::stdin());
        lines::run(Box::new(transport), args.session.as_deref(), input, Box::new(io::stdout()));
        return Ok(Exit::Ok);
    }
    let has_words = !args.words.is_empty();
    let text = if has_words { args.words.join(" ") } else { read_prompt()? };
    let intent = Intent {
        user_intent: Some(text),
        session_id: args.session,
        conversation_id: args.conversation,
        timeout_ms: args.timeout.and_then(|timeout| u64::try_from(timeout.as_millis()).ok()),
        ..Intent::default()
    };
    let output = if args.json { Output::Json } else { Output::Text };
    let order =
        Order { place, options, intent, timeout: args.timeout, stream: !args.no_stream, output };
    // Only who sees the question and types the answer can be asked.
    let is_person = has_words && io::stdin().is_terminal() && io::stderr().is_terminal();
    let person = is_person.then(|| ask::lines_of(io::stdin()));
    let elsewhere = own.map(|targets| {
        let told = move |id: &str| answered_elsewhere(&targets, id);
        Box::new(told) as AnsweredElsewhere
    });
    let desk = Desk { out: Box::new(io::stdout()), err: Box::new(io::stderr()), person, elsewhere };
    let turn = ask::run(order, desk).map_err(|error| unusable(&error))?;
    ended(turn, &shown)
}

/// The socket on which your own daemon tells how its questions ended.
fn own_daemon(config: Option<PathBuf>) -> Option<Vec<Target>> {
    let settings = Settings::resolve(&Given::from(ConfigFile { config })).ok()?;
    let addr = match from_environment().ok()? {
        Some(addr) => addr,
        None => Addr::Unix(settings.path("unix")?.to_path_buf()),
    };
    Some(vec![Target { addr, options: ClientOptions { timeout: TIMEOUT, auth: Auth::None } }])
}

/// The framed protocol, driven by lines.
fn framed(addr: Addr, args: Ask) -> Result<Exit, Failure> {
    let auth = match args.key_file.as_deref().filter(|name| !name.is_empty()) {
        Some(path) => {
            let key = read_key(Path::new(path))?;
            Auth::V2(Key::from_bytes(KeyId::new(&args.key_id), &key))
        }
        None => Auth::None,
    };
    let options = ClientOptions { timeout: TIMEOUT, auth };
    let order = frames::Order {
        targets: vec![Target { addr, options }],
        session: args.session.unwrap_or_default(),
        cursor: args.cursor,
        client: ask::new_id(),
    };
    frames::run(order, &ask::lines_of(io::stdin()), &mut io::stdout().lock())?;
    Ok(Exit::Ok)
}

/// Finds the Engine: the one that was named, else your own daemon, on its Unix socket if it has one.
fn engine(named: Option<Place>, config: Option<PathBuf>) -> Result<Place, Failure> {
    if let Some(place) = named {
        return Ok(place);
    }
    let text = std::env::var(ENGINE_VARIABLE).ok().filter(|text| !text.is_empty());
    if let Some(text) = text {
        return text.parse().map_err(|error| {
            Failure::because(Exit::Config, ENGINE_VARIABLE, &error)
                .hint("unset it, or use --engine")
        });
    }
    if let Some(Addr::Unix(socket)) = from_environment()?
        && let Some(beside) = http_socket_beside(&socket)
    {
        return Ok(Place::of_socket(&beside));
    }
    let settings = Settings::resolve(&Given::from(ConfigFile { config }))?;
    if let Some(socket) = settings.path("http-unix") {
        return Ok(Place::of_socket(socket));
    }
    settings.http_url()?.parse().map_err(|error| {
        Failure::because(Exit::Config, "cannot ask at the setting `http`", &error)
            .hint("name the Engine with --engine URL")
    })
}

fn token(file: Option<&Path>) -> Result<Option<String>, Failure> {
    let Some(path) = file else {
        return Ok(std::env::var(TOKEN_VARIABLE).ok().filter(|token| !token.is_empty()));
    };
    let mut text = String::new();
    let read =
        std::fs::File::open(path).and_then(|file| file.take(MAX_TOKEN).read_to_string(&mut text));
    read.map_err(|error| {
        let what = format!("cannot read token file `{}`", path.display());
        Failure::because(Exit::NoInput, what, &error)
            .hint("`bridle token create` prints a token; write it to a file of your own")
    })?;
    Ok(Some(text.trim().to_owned()))
}

fn read_prompt() -> Result<String, Failure> {
    hint_stdin("the prompt");
    let mut text = String::new();
    let read = io::stdin().lock().take(MAX_PROMPT + 1).read_to_string(&mut text);
    read.map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData => Failure::new(Exit::Data, "the prompt is not UTF-8"),
        _ => Failure::stream("cannot read the prompt", &error),
    })?;
    if u64::try_from(text.len()).is_ok_and(|length| length > MAX_PROMPT) {
        return Err(Failure::new(Exit::Data, "expected a prompt of at most 1 MiB, got more"));
    }
    let text = text.trim_end_matches(['\n', '\r']).to_owned();
    if text.trim().is_empty() {
        return Err(Failure::new(Exit::Usage, "nothing to ask")
            .hint("name it: bridle ask what time is it; or on standard input"));
    }
    Ok(text)
}

/// The Engine cannot be talked to at all.
fn unusable(error: &Error) -> Failure {
    match error {
        Error::BadToken => Failure::because(Exit::Data, "cannot use the token", error),
        Error::TokenInTheClear => {
            Failure::new(Exit::Permission, error).hint("use https, or leave the token out")
        }
        _ => Failure::new(Exit::NoInput, error).hint("name a PEM file with --ca"),
    }
}

fn ended(turn: Turn, authority: &str) -> Result<Exit, Failure> {
    let Some(error) = turn.error else {
        return if turn.late { Err(late(authority)) } else { Ok(Exit::Ok) };
    };
    if turn.late {
        return Err(late(authority));
    }
    let line = error.to_string();
    Err(match (error.code.as_str(), turn.trouble) {
        ("transport_error", Some(trouble)) => unreachable(&trouble),
        ("invalid_response", _) => Failure::new(Exit::Protocol, line)
            .hint(format!("what answers at `{authority}` is no Engine, or not a whole answer")),
        ("unauthenticated" | "forbidden", _) => Failure::new(Exit::Permission, line)
            .hint("bring a token with --token-file FILE; `bridle token create` makes one"),
        ("engine_timeout", _) => {
            Failure::new(Exit::Temporary, line).hint("give it longer with --timeout")
        }
        ("rate_limited" | "engine_busy", _) => {
            Failure::new(Exit::Answered, line).hint("wait a little, then ask again")
        }
        _ => Failure::new(Exit::Answered, line)
            .hint("the log of that Engine may say more; for bridle: bridle log"),
    })
}

fn late(authority: &str) -> Failure {
    Failure::new(Exit::Temporary, format!("`{authority}` was not done in time"))
        .hint("give it longer with --timeout")
}

/// The connection failed.
fn unreachable(trouble: &Error) -> Failure {
    let (exit, hint) = match trouble {
        Error::NotHttp { .. } => {
            (Exit::Protocol, "another program listens there: check the address")
        }
        Error::Late { .. } => (Exit::Temporary, "give it longer with --timeout"),
        Error::Connect { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
            (Exit::Permission, "the socket belongs to another user; ask as that user")
        }
        _ => (Exit::Unavailable, "start your own with: bridle up; or name another: --engine URL"),
    };
    let failure = match std::error::Error::source(trouble) {
        Some(source) => Failure::because(exit, trouble, source),
        None => Failure::new(exit, trouble),
    };
    failure.hint(hint)
}
