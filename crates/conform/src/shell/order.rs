//! In which order directives are carried out, and until when (section 10): cases `O` and `D`.
//!
//! long: each list of cases is one table, a requirement after the other.

use super::ShellUnderTest;
use super::scene::{act, acting, at, expect, message};
use super::stage::StageReply;
use crate::case::{CheckFinding, Checked, ConformanceCase, RequirementLevel};

/// Directives may run side by side.
const PARALLEL: RequirementLevel = RequirementLevel::Profile("parallel");

pub(super) fn cases() -> Vec<ConformanceCase<ShellUnderTest>> {
    let mut all = sequence();
    all.extend(groups());
    all.extend(deadlines());
    all
}

/// A directive that takes a while.
fn slow(name: &str, fields: &str) -> String {
    acting("com.example.door", name, fields, ",\"ms\":120")
}

fn played(
    peer: &mut ShellUnderTest,
    items: &[String],
    check: impl FnOnce(&mut super::scene::ShellScene) -> Checked,
) -> Checked {
    let mut scene = peer.scene(vec![StageReply::directives(&items.join(","))])?;
    scene.asks("hello")?;
    check(&mut scene)
}

fn sequence() -> Vec<ConformanceCase<ShellUnderTest>> {
    vec![
        ConformanceCase::new(
            "O-01",
            RequirementLevel::Should,
            "10",
            "the second begins when the first has ended",
            "later directives rely on earlier ones",
            |peer: &mut ShellUnderTest| {
                played(peer, &[slow("a", ""), act("b", "")], |scene| scene.before("a", "b"))
            },
        ),
        ConformanceCase::new(
            "O-02",
            RequirementLevel::Should,
            "10",
            "`priority` changes no order",
            "it is a hint",
            |peer: &mut ShellUnderTest| {
                let items =
                    [slow("a", ",\"priority\":\"low\""), act("b", ",\"priority\":\"critical\"")];
                played(peer, &items, |scene| scene.before("a", "b"))
            },
        ),
        ConformanceCase::new(
            "O-03",
            RequirementLevel::Should,
            "10",
            "a message waits for what stands before it",
            "`it is done` must not come before it is",
            |peer: &mut ShellUnderTest| {
                played(peer, &[slow("a", ""), message("it is done")], |scene| {
                    scene.shows("it is done")?;
                    let is_so =
                        scene.shell.place("end", "a") < scene.shell.place("show", "it is done");
                    expect(is_so, || "expected the message after the end of `a`".to_owned())
                })
            },
        ),
        ConformanceCase::new(
            "O-04",
            RequirementLevel::Should,
            "10",
            "an unknown word for `execution` counts as `sequential`",
            "order is the safe reading",
            |peer: &mut ShellUnderTest| {
                let items = [
                    slow("a", ",\"execution\":\"whenever\""),
                    act("b", ",\"execution\":\"whenever\""),
                ];
                played(peer, &items, |scene| scene.before("a", "b"))
            },
        ),
        ConformanceCase::new(
            "O-05",
            RequirementLevel::Should,
            "10",
            "two messages are shown in their order",
            "sentences make sense in their order",
            |peer: &mut ShellUnderTest| {
                played(peer, &[message("first"), message("second")], |scene| {
                    scene.shows("first")?;
                    scene.shows("second")?;
                    let is_so =
                        scene.shell.place("show", "first") < scene.shell.place("show", "second");
                    expect(is_so, || "expected `first` first".to_owned())
                })
            },
        ),
    ]
}

/// Whether the Shell says that it runs directives side by side.
fn offers_parallel(scene: &mut super::scene::ShellScene) -> Checked {
    let request = scene.request(0)?;
    let offered = at(&request, "capabilities/openharness.actions.parallel");
    if offered.is_some_and(bridle_wire::openharness::Json::is_truthy) {
        return Ok(());
    }
    Err(CheckFinding::unoffered("`openharness.actions.parallel` is not declared"))
}

fn groups() -> Vec<ConformanceCase<ShellUnderTest>> {
    let parallel = ",\"execution\":\"parallel\"";
    vec![
        ConformanceCase::new(
            "O-10",
            PARALLEL,
            "10",
            "what follows a parallel group begins when all of it has ended",
            "the group is one step",
            move |peer: &mut ShellUnderTest| {
                let items = [slow("a", parallel), act("b", parallel), act("c", "")];
                played(peer, &items, |scene| {
                    offers_parallel(scene)?;
                    scene.before("a", "c")?;
                    scene.before("b", "c")
                })
            },
        ),
        ConformanceCase::new(
            "O-11",
            PARALLEL,
            "10",
            "a parallel group begins when what stands before it has ended",
            "the group is one step",
            move |peer: &mut ShellUnderTest| {
                let items = [slow("a", ""), act("b", parallel), act("c", parallel)];
                played(peer, &items, |scene| {
                    offers_parallel(scene)?;
                    scene.before("a", "b")?;
                    scene.before("a", "c")
                })
            },
        ),
        ConformanceCase::new(
            "O-12",
            PARALLEL,
            "10",
            "neighbors of a parallel group do not wait for each other",
            "that is what it is declared for",
            move |peer: &mut ShellUnderTest| {
                let items = [slow("a", parallel), slow("b", parallel)];
                played(peer, &items, |scene| {
                    offers_parallel(scene)?;
                    scene.once("a")?;
                    scene.once("b")?;
                    let shell = &scene.shell;
                    let is_so = shell.place("begin", "a") < shell.place("end", "b")
                        && shell.place("begin", "b") < shell.place("end", "a");
                    expect(is_so, || "expected both to begin before one ends".to_owned())
                })
            },
        ),
    ]
}

fn deadlines() -> Vec<ConformanceCase<ShellUnderTest>> {
    vec![
        ConformanceCase::new(
            "D-01",
            RequirementLevel::Should,
            "10",
            "what cannot begin within `deadline_ms` of its receipt does not begin",
            "a door that opens an hour late is a danger",
            |peer: &mut ShellUnderTest| {
                let items = [slow("a", ""), act("b", ",\"deadline_ms\":20"), message("later")];
                played(peer, &items, |scene| {
                    scene.once("a")?;
                    scene.never("b")?;
                    scene.shows("later")
                })
            },
        ),
        ConformanceCase::new(
            "D-02",
            RequirementLevel::Should,
            "10",
            "a negative deadline has passed",
            "it was meant to be over",
            |peer: &mut ShellUnderTest| {
                played(peer, &[act("a", ",\"deadline_ms\":-1")], |scene| scene.never("a"))
            },
        ),
        ConformanceCase::new(
            "D-03",
            RequirementLevel::Should,
            "10",
            "a deadline bounds the beginning, not the end",
            "what has begun is not undone by a clock",
            |peer: &mut ShellUnderTest| {
                let item = acting("com.example.door", "a", ",\"deadline_ms\":10000", ",\"ms\":100");
                played(peer, &[item], |scene| scene.once("a"))
            },
        ),
        ConformanceCase::new(
            "D-04",
            RequirementLevel::Should,
            "10",
            "deadlines are integers in any spelling, and as large as they like",
            "`1e5` is an integer, and 2^63 is far away",
            |peer: &mut ShellUnderTest| {
                let items = [
                    act("a", ",\"deadline_ms\":1e5"),
                    act("b", ",\"deadline_ms\":9223372036854775808"),
                ];
                played(peer, &items, |scene| {
                    scene.once("a")?;
                    scene.once("b")
                })
            },
        ),
        ConformanceCase::new(
            "D-05",
            RequirementLevel::Must,
            "10",
            "a yes that comes after the deadline is too late",
            "the user said yes to what was to happen then",
            |peer: &mut ShellUnderTest| {
                let item = act("a", ",\"requires_user_approval\":true,\"deadline_ms\":150");
                let mut scene = peer.scene(vec![StageReply::directives(&item)])?;
                scene.ask("hello")?;
                scene.question()?;
                std::thread::sleep(std::time::Duration::from_millis(400));
                scene.shell.say("allow")?;
                scene.done()?;
                scene.never("a")
            },
        ),
    ]
}
