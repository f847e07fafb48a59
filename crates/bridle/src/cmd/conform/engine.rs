//! `bridle conform engine`: what the kit needs to know, then the run.

use std::path::Path;

use bridle_conform::CheckFinding;
use bridle_conform::engine::http::{HttpRoute, ServerTrust};
use bridle_conform::engine::{self, KitSetup};

use super::forget::RunSessions;
use super::{check, list, nonce};
use crate::args::conform::engine::ConformEngineArgs;
use crate::exit::{BridleExit, CommandFailure};

/// Largest file of a token, in bytes: far more than any token has.
const MAX_TOKEN: u64 = 64 << 10;

pub(super) fn run(args: ConformEngineArgs) -> Result<BridleExit, CommandFailure> {
    let cases = engine::cases();
    let Some(url) = args.url.filter(|_| !args.how.list) else {
        return list(&cases);
    };
    let trust = match (url.is_tls, &args.ca) {
        (false, None) => None,
        (_, file) => Some(ServerTrust::load(file.as_deref()).map_err(|error| {
            CommandFailure::because(
                BridleExit::NoInput,
                "cannot check certificates".to_owned(),
                &error,
            )
        })?),
    };
    let nonce = nonce();
    let sessions = RunSessions::of(&nonce, None);
    let setup = KitSetup {
        token: token(args.token_file.as_deref())?,
        token2: token(args.token2_file.as_deref())?,
        origin: args.origin,
        intent: args.intent,
        approval: args.intent_approval,
        slow: args.intent_slow,
        nonce,
    };
    let mut peer =
        engine::EngineUnderTest::new(HttpRoute { url, trust, timeout: args.timeout }, setup);
    // Whether anybody is there at all is a question of its own, with its own exit code.
    if let Err(CheckFinding::Fault(what)) = peer.open() {
        return Err(CommandFailure::new(BridleExit::Unavailable, what).hint("is the engine up?"));
    }
    check(engine::KIT, &cases, &mut peer, &args.how, sessions)
}

/// The first line of a file.
fn token(path: Option<&Path>) -> Result<Option<String>, CommandFailure> {
    use std::io::Read as _;
    let Some(path) = path else { return Ok(None) };
    let mut text = String::new();
    let read =
        std::fs::File::open(path).and_then(|file| file.take(MAX_TOKEN).read_to_string(&mut text));
    read.map_err(|error| {
        CommandFailure::because(
            BridleExit::NoInput,
            format!("cannot read `{}`", path.display()),
            &error,
        )
    })?;
    let line = text.lines().next().unwrap_or_default().trim();
    if line.is_empty() || !line.bytes().all(|byte| byte.is_ascii_graphic()) {
        let what = format!("`{}` contains no token", path.display());
        return Err(
            CommandFailure::new(BridleExit::Data, what).hint("expected one line of visible ASCII")
        );
    }
    Ok(Some(line.to_owned()))
}
