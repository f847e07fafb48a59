//! Kills of the daemon while a model answers, a tool is called and a yes is given: whatever happens, what a model asked for
//! is done once or not at all, and the record verifies and replays.

use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::home::{RoadHome, read};
use super::road;
use super::servers::Server;
use crate::chaos::random::SplitMix;
use crate::console::VerbConsole;

/// Longest time until a kill: a turn takes about as long.
const MAX_DELAY_MS: u64 = 900;

/// Time in which what is open after a start is answered.
const ANSWER_TIME: Duration = Duration::from_millis(1_500);

/// Kills the daemon at random moments of so many turns; the last line tells what came of it.
pub(super) fn run(schedules: u64, seed: u64, console: &VerbConsole) -> Result<String> {
    let mut home = RoadHome::new("road-kills")?;
    let mock = Server::road_mock()?;
    let mut dice = SplitMix::new(seed);
    home.up()?;
    let codecs = ["openai-chat", "openai-responses", "anthropic-messages", "gemini"];
    for codec in codecs {
        road::add(&home, &mock.address, codec, "mock-1")?;
        road::describe(&home, codec, ":RETRIES: 1", ":OUTPUT: 512")?;
    }
    home.choose("openai-chat/mock-1")?;
    let mut kills = 0;
    for number in 0..schedules {
        let model = format!("{}/mock-1", codecs[dice.index(codecs.len())]);
        let mut asking = ask(&home, number, &model)?;
        for _ in 0..=dice.below(2) {
            thread::sleep(Duration::from_millis(dice.below(MAX_DELAY_MS)));
            home.end("-KILL")?;
            kills += 1;
            home.up()?;
            say_yes(&home, Duration::from_millis(dice.below(MAX_DELAY_MS)))?;
        }
        say_yes(&home, ANSWER_TIME)?;
        drop(asking.kill());
        asking.wait()?;
        check(&home, number).with_context(|| format!("schedule {number} of seed {seed}"))?;
    }
    say_yes(&home, ANSWER_TIME)?;
    let log = read(&home.path("org/log.org"))?;
    let done = log.matches("entry k").count();
    home.end("-TERM")?;
    drop(mock);
    road::replays(&home)?;
    ensure!(schedules < 8 || done > 0, "nothing was ever done: the kills prove nothing");
    let said =
        format!("{schedules} schedules of seed {seed}, {kills} kills, {done} edits, none twice");
    console.say(format!("kills: {said}"));
    Ok(said)
}

/// Has the model write an entry, over frames.
fn ask(home: &RoadHome, number: u64, model: &str) -> Result<Child> {
    let prompt = format!(
        "(:type :EVENT :id {number} :payload (:sensor :user-prompt :text \"[write k{number}x]\" :model \"{model}\"))"
    );
    let session = format!("kill-{number}");
    home.command(&["send", "--session", &session, &prompt]).spawn().context("bridle send")
}

/// Answers every open question with a yes, for so long.
fn say_yes(home: &RoadHome, time: Duration) -> Result<()> {
    let begun = Instant::now();
    loop {
        let open = home.run(&["approvals", "--json"])?;
        let ids = open.out.lines().filter_map(|line| {
            let value: serde_json::Value = serde_json::from_str(line).ok()?;
            Some(value["approval"].as_str()?.to_owned())
        });
        for id in ids {
            // It may have been answered meanwhile.
            drop(home.run(&["approve", &id])?);
        }
        if begun.elapsed() >= time {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(50));
    }
}

/// Whether nothing was done twice.
fn check(home: &RoadHome, number: u64) -> Result<()> {
    let log = read(&home.path("org/log.org"))?;
    let count = log.matches(&format!("entry k{number}x\n")).count();
    ensure!(count <= 1, "done {count} times:\n{log}");
    Ok(())
}
