//! The whole road through the real daemon and the real commands: `bridle model add`, questions, streams, calls of tools,
//! what goes wrong, calling off, stopping, and replay without any server. Once over llama.cpp's server with a small model,
//! whose words prove nothing, and once over the mock server, whose words and counts are known.

use std::io::Read as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::home::RoadHome;
use super::servers::Server;
use crate::console::VerbConsole;

/// Codecs of llama.cpp's server, and those of the mock server.
const LLAMA_CODECS: [&str; 3] = ["openai-chat", "openai-responses", "anthropic-messages"];
const MOCK_CODECS: [&str; 4] = ["openai-chat", "openai-responses", "anthropic-messages", "gemini"];

/// Words of the mock server, see `road_server.mjs`.
const MOCK_TEXT: &str = "Grüße, ✓ and a text that is long enough to be cut into pieces.";

/// Faults of the mock server, and words that the user is told each with.
const MOCK_FAULTS: [(&str, &str); 5] = [
    ("limit", "rate limit is reached"),
    ("cut", "ended in the middle"),
    ("garble", "cannot be read"),
    ("drop", "the provider failed"),
    ("vanish", "cannot be reached"),
];

/// Words of a prompt that does not fit into llama.cpp's context.
const TOO_MANY_WORDS: usize = 12_000;

pub(super) fn travel(console: &VerbConsole) -> Result<String> {
    let mock = over_mock().context("over the mock server")?;
    console.say(format!("through the daemon, mock server: {mock}"));
    let llama = over_llama().context("over llama.cpp's server")?;
    console.say(format!("through the daemon, llama.cpp: {llama}"));
    Ok(format!("{mock}; {llama}"))
}

pub(super) fn add(home: &RoadHome, address: &str, codec: &str, model: &str) -> Result<String> {
    let version = if codec == "gemini" { "v1beta" } else { "v1" };
    let base = format!("{address}/{version}");
    let words = ["model", "add", &base, "--name", codec, "--codec", codec, "--model", model];
    home.must(&[&words[..], &["--no-check"]].concat())?;
    Ok(format!("{codec}/{model}"))
}

fn over_mock() -> Result<String> {
    let mut home = RoadHome::new("road-mock")?;
    let mock = Server::road_mock()?;
    home.up()?;
    for codec in MOCK_CODECS {
        let model = add(&home, &mock.address, codec, "mock-1")?;
        // What is asked again after a pause is asked in vain here.
        describe(&home, codec, ":RETRIES: 0", ":OUTPUT: 512")?;
        home.choose(&model)?;
        let session = format!("s-{codec}");
        let ask = |words: &str| home.run(&["ask", "--session", &session, words]);
        let said = ask("[plain]")?;
        ensure!(said.is_well && said.out.contains(MOCK_TEXT), "{codec}: {}{}", said.out, said.err);
        let said = ask("[look]")?;
        ensure!(said.is_well && said.out.contains("Looked."), "{codec}: {}{}", said.out, said.err);
        let log = home.must(&["log", "--session", &session])?;
        ensure!(
            log.contains(":target :context") && log.contains("Mend the roof"),
            "{codec}: {log}"
        );
        for (fault, words) in MOCK_FAULTS {
            // Over frames: a Shell of OpenHarness would ask again for a while.
            let prompt = format!(
                "(:type :EVENT :id 1 :payload (:sensor :user-prompt :text \"[{fault}]\" :model \"{model}\"))"
            );
            let told = home.run(&["send", "--session", &format!("f-{codec}-{fault}"), &prompt])?;
            ensure!(told.out.contains(words), "{codec}, {fault}: {}{}", told.out, told.err);
        }
        let costs = home.must(&["cost", "--by", "session", "--session", &session, "--json"])?;
        // Three exchanges were whole: 11 tokens and 7 each.
        let counts = ["\"input-tokens\":33", "\"output-tokens\":21"];
        let plain = costs.replace(": ", ":");
        ensure!(counts.iter().all(|count| plain.contains(count)), "{codec}: {costs}");
    }
    let canceled = call_off(&home, "[slow]")?;
    home.end("-TERM")?;
    drop(mock);
    replays(&home)?;
    Ok(format!(
        "{} codecs with answers, calls, usage and {} faults; called off within {} ms",
        MOCK_CODECS.len(),
        MOCK_FAULTS.len(),
        canceled.as_millis()
    ))
}

fn over_llama() -> Result<String> {
    let mut home = RoadHome::new("road-llama")?;
    let llama = Server::road_llama()?;
    home.up()?;
    for codec in LLAMA_CODECS {
        let model = add(&home, &llama.address, codec, "small")?;
        // So small a model goes on and on.
        describe(&home, codec, ":RETRIES: 0", ":OUTPUT: 48")?;
        home.choose(&model)?;
        let session = format!("s-{codec}");
        let said =
            home.run(&["ask", "--session", &session, "what do my notes say about the roof?"])?;
        let log = home.must(&["log", "--session", &session])?;
        ensure!(log.contains("acted") && log.contains("Mend the roof"), "{codec}: no call: {log}");
        ensure!(!said.out.is_empty() || !said.err.is_empty(), "{codec}: no words");
        let costs = home.must(&["cost", "--by", "session", "--session", &session, "--json"])?;
        ensure!(costs.replace(": ", ":").contains("\"uncounted\":0"), "{codec}: {costs}");
    }
    speak(&home)?;
    let canceled = call_off(&home, "tell me everything about roofs")?;
    let long = "roof ".repeat(TOO_MANY_WORDS);
    let said = home.run(&["ask", "--session", "long", &long])?;
    let told = format!("{}{}", said.out, said.err);
    ensure!(!said.is_well && told.contains("does not fit"), "too long: {told}");
    let stopped = stop_in_the_middle(&mut home)?;
    drop(llama);
    replays(&home)?;
    Ok(format!(
        "{} codecs with streams, forced calls and usage; called off within {} ms, stopped within {} ms",
        LLAMA_CODECS.len(),
        canceled.as_millis(),
        stopped.as_millis()
    ))
}

/// Adds a property to a provider, and one to its model.
pub(super) fn describe(home: &RoadHome, provider: &str, own: &str, of_model: &str) -> Result<()> {
    let path = home.path("org/models.org");
    let text = super::home::read(&path)?;
    let heading = format!("\n* {provider}\n");
    let begin = text.find(&heading).with_context(|| format!("no `{provider}` in models.org"))?;
    let drawer = ":PROPERTIES:\n";
    let (before, rest) = text.split_at(begin + heading.len());
    let (head, model) = rest.split_once("\n** ").context("a provider without a model")?;
    let head = head.replacen(drawer, &format!("{drawer}{own}\n"), 1);
    let model = model.replacen(drawer, &format!("{drawer}{of_model}\n"), 1);
    std::fs::write(&path, format!("{before}{head}\n** {model}")).context("cannot write models.org")
}

/// Takes the tools from all models and lets them speak for longer, since what is called off or stopped has to say something.
fn speak(home: &RoadHome) -> Result<()> {
    let path = home.path("org/models.org");
    let text = super::home::read(&path)?.replace(":OUTPUT: 48\n", ":OUTPUT: 400\n:TOOLS: no\n");
    std::fs::write(&path, text).context("cannot write models.org")?;
    home.until("models without tools", || {
        let said = home.run(&["prompt", "preview", "--body", "hi"])?;
        Ok(said.is_well && !said.out.contains("\"tools\":"))
    })
}

/// Begins a question, calls it off as soon as something of its answer is shown, and tells how long it took to end.
fn call_off(home: &RoadHome, words: &str) -> Result<Duration> {
    let mut child =
        home.command(&["ask", "--session", "off", words]).stderr(Stdio::inherit()).spawn()?;
    let mut output = child.stdout.take().context("no output")?;
    let mut first = [0; 1];
    output.read_exact(&mut first).context("nothing was shown")?;
    let begun = Instant::now();
    let interrupt = "(:type :EVENT :id 1 :payload (:sensor :interrupt))";
    home.must(&["send", "--session", "off", interrupt])?;
    child.wait()?;
    Ok(begun.elapsed())
}

/// Stops the daemon while a model answers, and starts it again: what was said is there.
fn stop_in_the_middle(home: &mut RoadHome) -> Result<Duration> {
    let mut child =
        home.command(&["ask", "--session", "stop", "tell me everything about ladders"]).spawn()?;
    let mut first = [0; 1];
    child.stdout.take().context("no output")?.read_exact(&mut first).context("nothing shown")?;
    let stopped = home.end("-TERM")?;
    child.wait()?;
    home.up()?;
    let log = home.must(&["log", "--session", "stop"])?;
    ensure!(log.contains("everything about ladders"), "{log}");
    home.end("-TERM")?;
    Ok(stopped)
}

/// Whether the record verifies and replays, with no server to ask.
pub(super) fn replays(home: &RoadHome) -> Result<()> {
    home.must(&["log", "verify"])?;
    let said = home.must(&["replay"])?;
    ensure!(said.starts_with("same:"), "{said}");
    Ok(())
}
