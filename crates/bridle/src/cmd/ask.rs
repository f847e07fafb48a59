//! `bridle ask`: puts the prompt, the token and the terminal together, and says how it went.

use std::io::{self, IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};

use bridle_shell::DaemonAddress;
use bridle_shell::ask::{
    self, AnsweredElsewhere, AskConsole, AskOutput, AskRequest, frames, lines,
};
use bridle_shell::client::{ANSWER_TIMEOUT, ClientAuth, ClientOptions, DaemonTarget};
use bridle_shell::openharness::http::{EngineUrl, HttpOptions, HttpTransport, TransportError};
use bridle_shell::openharness::{TurnResult, UserIntent};
use bridle_wire::openharness::feedback::DirectiveOutcome;
use bridle_wire::seal::{KeyId, SigningKey};

use super::approve::answered_elsewhere;
use super::talk::from_environment;
use super::{hint_stdin, read_key};
use crate::args::ask::AskArgs;
use crate::exit::{BridleExit, CommandFailure};
use crate::settings::{
    ConfigFile, ENGINE_VARIABLE, GivenFlags, ResolvedSettings, TOKEN_VARIABLE, http_socket_beside,
};

/// Bytes of a prompt on standard input: an Engine takes no larger message.
const MAX_PROMPT: u64 = 1 << 20;

/// Bytes of a file with a token.
const MAX_TOKEN: u64 = 64 << 10;

pub(crate) fn run(args: AskArgs) -> Result<BridleExit, CommandFailure> {
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
    let options = HttpOptions { token, authorities: args.ca };
    if args.lines {
        let transport = HttpTransport::new(place, options).map_err(|error| unusable(&error))?;
        let input = ask::lines_of(io::stdin());
        lines::run(Box::new(transport), args.session.as_deref(), input, Box::new(io::stdout()));
        return Ok(BridleExit::Ok);
    }
    let has_words = !args.words.is_empty();
    let text = if has_words { args.words.join(" ") } else { read_prompt()? };
    let intent = UserIntent {
        user_intent: Some(text),
        session_id: args.session,
        conversation_id: args.conversation,
        timeout_ms: args.timeout.and_then(|timeout| u64::try_from(timeout.as_millis()).ok()),
        ..UserIntent::default()
    };
    let output = match (args.json, args.plist) {
        (true, _) => AskOutput::Json,
        (_, true) => AskOutput::Plist,
        _ => AskOutput::Text,
    };
    let order = AskRequest {
        place,
        options,
        intent,
        timeout: args.timeout,
        stream: !args.no_stream,
        output,
    };
    // Only who sees the question and types the answer can be asked.
    let is_person = has_words && io::stdin().is_terminal() && io::stderr().is_terminal();
    let person = is_person.then(|| ask::lines_of(io::stdin()));
    let elsewhere = own.map(|targets| {
        let told = move |id: &str| answered_elsewhere(&targets, id);
        Box::new(told) as AnsweredElsewhere
    });
    let desk =
        AskConsole { out: Box::new(io::stdout()), err: Box::new(io::stderr()), person, elsewhere };
    let turn = ask::run(order, desk).map_err(|error| unusable(&error))?;
    ended(turn, &shown)
}

/// The socket on which your own daemon tells how its questions ended.
fn own_daemon(config: Option<PathBuf>) -> Option<Vec<DaemonTarget>> {
    let settings = ResolvedSettings::resolve(&GivenFlags::from(ConfigFile { config })).ok()?;
    let addr = match from_environment().ok()? {
        Some(addr) => addr,
        None => DaemonAddress::Unix(settings.path("unix")?.to_path_buf()),
    };
    Some(vec![DaemonTarget {
        addr,
        options: ClientOptions { timeout: ANSWER_TIMEOUT, auth: ClientAuth::None },
    }])
}

/// The framed protocol, driven by lines.
fn framed(addr: DaemonAddress, args: AskArgs) -> Result<BridleExit, CommandFailure> {
    let auth = match args.key_file.as_deref().filter(|name| !name.is_empty()) {
        Some(path) => {
            let key = read_key(Path::new(path))?;
            ClientAuth::V2(SigningKey::from_bytes(KeyId::new(&args.key_id), &key))
        }
        None => ClientAuth::None,
    };
    let options = ClientOptions { timeout: ANSWER_TIMEOUT, auth };
    let order = frames::AttachOrder {
        targets: vec![DaemonTarget { addr, options }],
        session: args.session.unwrap_or_default(),
        cursor: args.cursor,
        client: ask::new_id(),
    };
    frames::run(order, &ask::lines_of(io::stdin()), &mut io::stdout().lock())?;
    Ok(BridleExit::Ok)
}

/// Finds the Engine: the one that was named, else your own daemon, on its Unix socket if it has one.
fn engine(named: Option<EngineUrl>, config: Option<PathBuf>) -> Result<EngineUrl, CommandFailure> {
    if let Some(place) = named {
        return Ok(place);
    }
    let text = std::env::var(ENGINE_VARIABLE).ok().filter(|text| !text.is_empty());
    if let Some(text) = text {
        return text.parse().map_err(|error| {
            CommandFailure::because(BridleExit::Config, ENGINE_VARIABLE, &error)
                .hint("unset it, or use --engine")
        });
    }
    if let Some(DaemonAddress::Unix(socket)) = from_environment()?
        && let Some(beside) = http_socket_beside(&socket)
    {
        return Ok(EngineUrl::of_socket(&beside));
    }
    let settings = ResolvedSettings::resolve(&GivenFlags::from(ConfigFile { config }))?;
    if let Some(socket) = settings.path("http-unix") {
        return Ok(EngineUrl::of_socket(socket));
    }
    settings.http_url()?.parse().map_err(|error| {
        CommandFailure::because(BridleExit::Config, "cannot use the setting `http`", &error)
            .hint("name the Engine with --engine URL")
    })
}

fn token(file: Option<&Path>) -> Result<Option<String>, CommandFailure> {
    let Some(path) = file else {
        return Ok(std::env::var(TOKEN_VARIABLE).ok().filter(|token| !token.is_empty()));
    };
    let mut text = String::new();
    let read =
        std::fs::File::open(path).and_then(|file| file.take(MAX_TOKEN).read_to_string(&mut text));
    read.map_err(|error| {
        let what = format!("cannot read token file `{}`", path.display());
        CommandFailure::because(BridleExit::NoInput, what, &error)
            .hint("`bridle token create` prints a token; write it to a file of your own")
    })?;
    Ok(Some(text.trim().to_owned()))
}

fn read_prompt() -> Result<String, CommandFailure> {
    hint_stdin("the prompt");
    let mut text = String::new();
    let read = io::stdin().lock().take(MAX_PROMPT + 1).read_to_string(&mut text);
    read.map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData => {
            CommandFailure::new(BridleExit::Data, "the prompt is not UTF-8")
        }
        _ => CommandFailure::stream("cannot read the prompt", &error),
    })?;
    if u64::try_from(text.len()).is_ok_and(|length| length > MAX_PROMPT) {
        return Err(CommandFailure::new(
            BridleExit::Data,
            "expected a prompt of at most 1 MiB, got more",
        ));
    }
    let text = text.trim_end_matches(['\n', '\r']).to_owned();
    if text.trim().is_empty() {
        return Err(CommandFailure::new(BridleExit::Usage, "no prompt")
            .hint("give it as arguments, such as: bridle ask what time is it; or on stdin"));
    }
    Ok(text)
}

/// The Engine cannot be talked to at all.
fn unusable(error: &TransportError) -> CommandFailure {
    match error {
        TransportError::BadToken => {
            CommandFailure::because(BridleExit::Data, "cannot use the token", error)
        }
        TransportError::TokenInTheClear => CommandFailure::new(BridleExit::Permission, error)
            .hint("use https, or leave the token out"),
        _ => CommandFailure::new(BridleExit::NoInput, error).hint("name a PEM file with --ca"),
    }
}

fn ended(turn: TurnResult, authority: &str) -> Result<BridleExit, CommandFailure> {
    let Some(error) = turn.error else {
        return if turn.late { Err(late(authority)) } else { Ok(outcome_exit(&turn.outcomes)) };
    };
    if turn.late {
        return Err(late(authority));
    }
    let line = error.to_string();
    Err(match (error.code.as_str(), turn.trouble) {
        ("transport_error", Some(trouble)) => unreachable(&trouble),
        ("invalid_response", _) => CommandFailure::new(BridleExit::Protocol, line)
            .hint(format!("`{authority}` is not an Engine, or its answer is incomplete")),
        ("unauthenticated" | "forbidden", _) => CommandFailure::new(BridleExit::Permission, line)
            .hint("pass a token with --token-file FILE; `bridle token create` creates one"),
        ("engine_timeout", _) => {
            CommandFailure::new(BridleExit::Temporary, line).hint("raise --timeout")
        }
        ("rate_limited" | "engine_busy", _) => {
            CommandFailure::new(BridleExit::Answered, line).hint("wait a moment, then try again")
        }
        _ => CommandFailure::new(BridleExit::Answered, line)
            .hint("the log of that Engine may say more; for bridle: bridle log"),
    })
}

/// Exit code of what was carried out: the worst of all outcomes.
fn outcome_exit(outcomes: &[DirectiveOutcome]) -> BridleExit {
    let has = |outcome| outcomes.contains(&outcome);
    if has(DirectiveOutcome::Failed) {
        BridleExit::Answered
    } else if has(DirectiveOutcome::Rejected) {
        BridleExit::Permission
    } else if has(DirectiveOutcome::Expired) {
        BridleExit::Temporary
    } else {
        BridleExit::Ok
    }
}

fn late(authority: &str) -> CommandFailure {
    CommandFailure::new(BridleExit::Temporary, format!("`{authority}` did not finish in time"))
        .hint("raise --timeout")
}

/// The connection failed.
fn unreachable(trouble: &TransportError) -> CommandFailure {
    let (exit, hint) = match trouble {
        TransportError::NotHttp { .. } => {
            (BridleExit::Protocol, "another program listens there: check the address")
        }
        TransportError::Late { .. } => (BridleExit::Temporary, "raise --timeout"),
        TransportError::Connect { source, .. }
            if source.kind() == io::ErrorKind::PermissionDenied =>
        {
            (BridleExit::Permission, "the socket belongs to another user; run this as that user")
        }
        _ => (
            BridleExit::Unavailable,
            "start your own with: bridle up; or name another: --engine URL",
        ),
    };
    let failure = match std::error::Error::source(trouble) {
        Some(source) => CommandFailure::because(exit, trouble, source),
        None => CommandFailure::new(exit, trouble),
    };
    failure.hint(hint)
}
