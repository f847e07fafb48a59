//! What a kit makes of findings, and how reports show it.

use super::super::KitKind;
use super::super::case::{CheckFinding, ConformanceCase, RequirementLevel};
use super::super::expect::ExpectedFailures;
use super::super::notes::CaseNotes;
use super::super::report::{CaseEnd, ConformanceReport, FailureBar, LevelCount};
use super::{KitPeer, RunOptions, run};

const KIT: KitKind = KitKind { name: "toy", revision: "1", text: "nowhere" };

#[derive(Default)]
struct Toy(CaseNotes);

impl KitPeer for Toy {
    fn begin(&mut self) {
        self.0 = CaseNotes::default();
    }

    fn end(&mut self) -> CaseNotes {
        std::mem::take(&mut self.0)
    }
}

fn case(
    id: &'static str,
    level: RequirementLevel,
    found: Option<CheckFinding>,
) -> ConformanceCase<Toy> {
    ConformanceCase::new(
        id,
        level,
        "1.2",
        "a <title>",
        "people \"suffer\"",
        move |peer: &mut Toy| {
            peer.0.sent(b"ping");
            found.clone().map_or(Ok(()), Err)
        },
    )
}

fn fault() -> Option<CheckFinding> {
    Some(CheckFinding::fault("expected a, got b"))
}

fn report(cases: &[ConformanceCase<Toy>], expected: &str) -> ConformanceReport {
    let ids: Vec<&str> = cases.iter().map(|case| case.id).collect();
    let expected = ExpectedFailures::parse(expected, &ids).unwrap();
    let options = RunOptions { only: Vec::new(), expected };
    run(KIT, cases, &mut Toy::default(), &options, &mut |_| {})
}

#[test]
fn a_must_that_fails_is_never_excused_by_absence() {
    let missing = || Some(CheckFinding::unoffered("no such capability"));
    let must = report(&[case("A", RequirementLevel::Must, missing())], "");
    assert!(!must.conforms(FailureBar::Must));
    let profile = report(&[case("A", RequirementLevel::Profile("parts"), missing())], "");
    assert!(profile.conforms(FailureBar::Should));
    assert_eq!(profile.count(|_| true), LevelCount { unoffered: 1, ..LevelCount::default() });
}

#[test]
fn the_bar_says_whether_advice_counts() {
    let should = report(&[case("A", RequirementLevel::Should, fault())], "");
    assert!(should.conforms(FailureBar::Must));
    assert!(!should.conforms(FailureBar::Should));
    let profile = report(&[case("A", RequirementLevel::Profile("parts"), fault())], "");
    assert!(!profile.conforms(FailureBar::Must), "what is offered binds");
}

#[test]
fn a_known_failure_passes_and_a_stale_one_does_not() {
    let cases =
        [case("A", RequirementLevel::Must, fault()), case("B", RequirementLevel::Must, None)];
    let known = report(&cases, "A  an old peer");
    assert!(known.conforms(FailureBar::Must));
    let stale = report(&cases, "A  an old peer\nB  was broken once");
    assert!(!stale.conforms(FailureBar::Must));
    assert!(matches!(stale.outcomes[1].ended, CaseEnd::Stale(_)));
    assert!(stale.outcomes[1].to_text().starts_with("STALE"));
}

#[test]
fn only_some_cases_run() {
    let cases =
        [case("F-01", RequirementLevel::Must, fault()), case("H-01", RequirementLevel::Must, None)];
    let options = RunOptions { only: vec!["H".to_owned()], ..RunOptions::default() };
    let mut seen = Vec::new();
    let report = run(KIT, &cases, &mut Toy::default(), &options, &mut |one| seen.push(one.id));
    assert_eq!(seen, ["H-01"]);
    assert!(report.conforms(FailureBar::Must));
}

#[test]
fn a_failure_shows_what_was_sent_and_why_it_matters() {
    let failed = report(&[case("A", RequirementLevel::Must, fault())], "");
    let text = failed.outcomes[0].to_text();
    for part in ["FAIL  A", "expected a, got b", "> ping", "why: people \"suffer\" (section 1.2)"] {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
    assert!(failed.summary(FailureBar::Must).ends_with("does not conform to toy 1\n"));
}

#[test]
fn programs_get_well_formed_documents() {
    let failed = report(
        &[case("A", RequirementLevel::Must, fault()), case("B", RequirementLevel::Should, None)],
        "",
    );
    let json = failed.to_json(FailureBar::Must);
    let limits = bridle_wire::openharness::MessageLimits::default();
    let document =
        bridle_wire::openharness::json::JsonDocument::read(json.as_bytes(), &limits).unwrap();
    assert_eq!(document.root().get("cases").unwrap().items().count(), 2, "{json}");
    assert!(json.contains("\"exchange\":[\"> ping\"]"), "{json}");
    let xml = failed.to_junit();
    assert!(xml.contains("tests=\"2\" failures=\"1\""), "{xml}");
    assert!(xml.contains("name=\"A a &lt;title&gt;\""), "{xml}");
}
