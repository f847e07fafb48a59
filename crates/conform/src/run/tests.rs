//! What a kit makes of findings, and how reports show it.

use super::super::Kit;
use super::super::case::{Case, Finding, Level};
use super::super::expect::Expected;
use super::super::notes::Notes;
use super::super::report::{Bar, Count, Ended, Report};
use super::{Options, Peer, run};

const KIT: Kit = Kit { name: "toy", revision: "1", text: "nowhere" };

#[derive(Default)]
struct Toy(Notes);

impl Peer for Toy {
    fn begin(&mut self) {
        self.0 = Notes::default();
    }

    fn end(&mut self) -> Notes {
        std::mem::take(&mut self.0)
    }
}

fn case(id: &'static str, level: Level, found: Option<Finding>) -> Case<Toy> {
    Case::new(id, level, "1.2", "a <title>", "people \"suffer\"", move |peer: &mut Toy| {
        peer.0.sent(b"ping");
        found.clone().map_or(Ok(()), Err)
    })
}

fn fault() -> Option<Finding> {
    Some(Finding::fault("expected a, got b"))
}

fn report(cases: &[Case<Toy>], expected: &str) -> Report {
    let ids: Vec<&str> = cases.iter().map(|case| case.id).collect();
    let expected = Expected::parse(expected, &ids).unwrap();
    let options = Options { only: Vec::new(), expected };
    run(KIT, cases, &mut Toy::default(), &options, &mut |_| {})
}

#[test]
fn a_must_that_fails_is_never_excused_by_absence() {
    let missing = || Some(Finding::unoffered("no such capability"));
    let must = report(&[case("A", Level::Must, missing())], "");
    assert!(!must.conforms(Bar::Must));
    let profile = report(&[case("A", Level::Profile("parts"), missing())], "");
    assert!(profile.conforms(Bar::Should));
    assert_eq!(profile.count(|_| true), Count { unoffered: 1, ..Count::default() });
}

#[test]
fn the_bar_says_whether_advice_counts() {
    let should = report(&[case("A", Level::Should, fault())], "");
    assert!(should.conforms(Bar::Must));
    assert!(!should.conforms(Bar::Should));
    let profile = report(&[case("A", Level::Profile("parts"), fault())], "");
    assert!(!profile.conforms(Bar::Must), "what is offered binds");
}

#[test]
fn a_known_failure_passes_and_a_stale_one_does_not() {
    let cases = [case("A", Level::Must, fault()), case("B", Level::Must, None)];
    let known = report(&cases, "A  an old peer");
    assert!(known.conforms(Bar::Must));
    let stale = report(&cases, "A  an old peer\nB  was broken once");
    assert!(!stale.conforms(Bar::Must));
    assert!(matches!(stale.outcomes[1].ended, Ended::Stale(_)));
    assert!(stale.outcomes[1].to_text().starts_with("STALE"));
}

#[test]
fn only_some_cases_run() {
    let cases = [case("F-01", Level::Must, fault()), case("H-01", Level::Must, None)];
    let options = Options { only: vec!["H".to_owned()], ..Options::default() };
    let mut seen = Vec::new();
    let report = run(KIT, &cases, &mut Toy::default(), &options, &mut |one| seen.push(one.id));
    assert_eq!(seen, ["H-01"]);
    assert!(report.conforms(Bar::Must));
}

#[test]
fn a_failure_shows_what_was_sent_and_why_it_matters() {
    let failed = report(&[case("A", Level::Must, fault())], "");
    let text = failed.outcomes[0].to_text();
    for part in ["FAIL  A", "expected a, got b", "> ping", "why: people \"suffer\" (section 1.2)"] {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
    assert!(failed.summary(Bar::Must).ends_with("does not conform to toy 1\n"));
}

#[test]
fn programs_get_well_formed_documents() {
    let failed = report(&[case("A", Level::Must, fault()), case("B", Level::Should, None)], "");
    let json = failed.to_json(Bar::Must);
    let limits = bridle_wire::openharness::Limits::default();
    let document =
        bridle_wire::openharness::json::Document::read(json.as_bytes(), &limits).unwrap();
    assert_eq!(document.root().get("cases").unwrap().items().count(), 2, "{json}");
    assert!(json.contains("\"exchange\":[\"> ping\"]"), "{json}");
    let xml = failed.to_junit();
    assert!(xml.contains("tests=\"2\" failures=\"1\""), "{xml}");
    assert!(xml.contains("name=\"A a &lt;title&gt;\""), "{xml}");
}
