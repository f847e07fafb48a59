//! The result of a kit: as text for people, as JSON for programs, as JUnit XML for build servers.
//!
//! Made by `run`, written by `bridle conform`. Whether a peer conforms is decided here, the same
//! for all three.

use std::fmt::Write as _;
use std::time::Duration;

use bridle_wire::plain::quoted as json;

use super::KitKind;
use super::case::RequirementLevel;
use super::notes::CaseNotes;

/// End of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CaseEnd {
    /// The requirement is kept.
    Passed,
    /// The requirement is not kept: expected and actual behavior.
    Failed(String),
    /// The peer does not offer what it is about.
    Unoffered(String),
    /// The requirement is not kept, and that was known.
    Known {
        /// Expected and actual behavior.
        what: String,
        /// Reason from the list of known failures.
        reason: String,
    },
    /// The requirement is kept, and was listed as a known failure for this reason.
    Stale(String),
}

impl CaseEnd {
    /// The word in reports.
    pub fn word(&self) -> &'static str {
        match self {
            CaseEnd::Passed => "pass",
            CaseEnd::Failed(_) => "FAIL",
            CaseEnd::Unoffered(_) => "none",
            CaseEnd::Known { .. } => "known",
            CaseEnd::Stale(_) => "STALE",
        }
    }

    /// Explanation of the end, if there is one.
    pub fn what(&self) -> &str {
        match self {
            CaseEnd::Passed => "",
            CaseEnd::Failed(what) | CaseEnd::Unoffered(what) | CaseEnd::Known { what, .. } => what,
            CaseEnd::Stale(_) => "listed as a known failure, and passes: take it off the list",
        }
    }
}

/// One case and how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseOutcome {
    /// The case.
    pub id: &'static str,
    /// Force of the requirement.
    pub level: RequirementLevel,
    /// Section that states it.
    pub section: &'static str,
    /// Requirement, in a sentence.
    pub title: &'static str,
    /// Harm to people when it is not kept.
    pub why: &'static str,
    /// End of the case.
    pub ended: CaseEnd,
    /// Messages sent and received.
    pub notes: CaseNotes,
    /// Duration of the case.
    pub took: Duration,
}

/// From which level on a failure means that a peer does not conform.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FailureBar {
    /// Binding cases: MUST, and profiles that are offered.
    #[default]
    Must,
    /// SHOULD too.
    Should,
}

/// All that a kit found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConformanceReport {
    /// The kit.
    pub kit: KitKind,
    /// Cases of the kit, in order.
    pub outcomes: Vec<CaseOutcome>,
}

/// Cases of one level by how they ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LevelCount {
    /// Kept.
    pub passed: usize,
    /// Not kept.
    pub failed: usize,
    /// Not kept, which is known.
    pub known: usize,
    /// Not offered.
    pub unoffered: usize,
}

impl ConformanceReport {
    /// Tells whether the peer conforms: nothing at or above the bar failed, and the list of known
    /// failures is true.
    pub fn conforms(&self, bar: FailureBar) -> bool {
        self.outcomes.iter().all(|outcome| match outcome.ended {
            CaseEnd::Failed(_) => {
                outcome.level == RequirementLevel::Should && bar == FailureBar::Must
            }
            CaseEnd::Stale(_) => false,
            CaseEnd::Passed | CaseEnd::Unoffered(_) | CaseEnd::Known { .. } => true,
        })
    }

    /// Counts the cases of a kind of level; all profiles are one.
    pub fn count(&self, wanted: impl Fn(RequirementLevel) -> bool) -> LevelCount {
        let mut count = LevelCount::default();
        for outcome in self.outcomes.iter().filter(|outcome| wanted(outcome.level)) {
            match outcome.ended {
                CaseEnd::Passed => count.passed += 1,
                CaseEnd::Failed(_) | CaseEnd::Stale(_) => count.failed += 1,
                CaseEnd::Known { .. } => count.known += 1,
                CaseEnd::Unoffered(_) => count.unoffered += 1,
            }
        }
        count
    }

    /// The last lines for people: each level, then the verdict.
    pub fn summary(&self, bar: FailureBar) -> String {
        let mut text = String::new();
        let is_profile = |level| matches!(level, RequirementLevel::Profile(_));
        for (name, count) in [
            ("MUST", self.count(|level| level == RequirementLevel::Must)),
            ("SHOULD", self.count(|level| level == RequirementLevel::Should)),
            ("profiles", self.count(is_profile)),
        ] {
            let LevelCount { passed, failed, known, unoffered } = count;
            let _ = write!(text, "{name:<9}{passed:>4} passed {failed:>4} failed");
            for (count, word) in [(known, "known"), (unoffered, "not offered")] {
                if count > 0 {
                    let _ = write!(text, " {count:>4} {word}");
                }
            }
            text.push('\n');
        }
        let KitKind { name, revision, .. } = self.kit;
        let verdict = if self.conforms(bar) { "conforms" } else { "does not conform" };
        let _ = writeln!(text, "{verdict} to {name} {revision}");
        text
    }

    /// One JSON object: the kit, the verdict, every case.
    pub fn to_json(&self, bar: FailureBar) -> String {
        let KitKind { name, revision, .. } = self.kit;
        let mut text = format!(
            "{{\"kit\":{},\"revision\":{},\"conforms\":{},\"cases\":[",
            json(name),
            json(revision),
            self.conforms(bar)
        );
        for (index, outcome) in self.outcomes.iter().enumerate() {
            text.push_str(if index == 0 { "\n" } else { ",\n" });
            case_json(outcome, &mut text);
        }
        text.push_str("\n]}\n");
        text
    }

    /// A JUnit document: a test suite with a test case each.
    pub fn to_junit(&self) -> String {
        let failed = |outcome: &&CaseOutcome| {
            matches!(outcome.ended, CaseEnd::Failed(_) | CaseEnd::Stale(_))
        };
        let skipped = |outcome: &&CaseOutcome| {
            matches!(outcome.ended, CaseEnd::Unoffered(_) | CaseEnd::Known { .. })
        };
        let took: Duration = self.outcomes.iter().map(|outcome| outcome.took).sum();
        let suite = format!("conform {} {}", self.kit.name, self.kit.revision);
        let mut text = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"{}\" tests=\"{}\" \
             failures=\"{}\" skipped=\"{}\" time=\"{:.3}\">\n",
            xml(&suite),
            self.outcomes.len(),
            self.outcomes.iter().filter(failed).count(),
            self.outcomes.iter().filter(skipped).count(),
            took.as_secs_f64(),
        );
        for outcome in &self.outcomes {
            case_junit(outcome, &mut text);
        }
        text.push_str("</testsuite>\n");
        text
    }
}

impl CaseOutcome {
    /// The case for people: one line, and after a failure what was sent, what came and why it
    /// matters.
    pub fn to_text(&self) -> String {
        let CaseOutcome { id, level, section, title, why, ended, .. } = self;
        let level = level.to_string();
        let mut text = format!("{:<6}{id:<8}{level:<7} {title}\n", ended.word());
        if matches!(ended, CaseEnd::Passed) {
            return text;
        }
        let _ = writeln!(text, "      {}", ended.what());
        match ended {
            CaseEnd::Known { reason, .. } => {
                let _ = writeln!(text, "      known: {reason}");
            }
            CaseEnd::Failed(_) => {
                for line in self.notes.lines() {
                    let _ = writeln!(text, "      {} {}", line.way.mark(), line.text);
                }
                if self.notes.more() > 0 {
                    let _ = writeln!(text, "      - and {} more", self.notes.more());
                }
                let _ = writeln!(text, "      why: {why} (section {section})");
            }
            CaseEnd::Passed | CaseEnd::Unoffered(_) | CaseEnd::Stale(_) => {}
        }
        text
    }
}

fn case_json(outcome: &CaseOutcome, text: &mut String) {
    let CaseOutcome { id, level, section, title, why, ended, notes, took } = outcome;
    let (level, profile) = match level {
        RequirementLevel::Profile(name) => ("profile", Some(*name)),
        RequirementLevel::Must => ("must", None),
        RequirementLevel::Should => ("should", None),
    };
    let _ = write!(text, "{{\"id\":{},\"level\":{}", json(id), json(level));
    if let Some(profile) = profile {
        let _ = write!(text, ",\"profile\":{}", json(profile));
    }
    let _ = write!(
        text,
        ",\"section\":{},\"title\":{},\"outcome\":{},\"ms\":{}",
        json(section),
        json(title),
        json(&ended.word().to_ascii_lowercase()),
        took.as_millis()
    );
    if !matches!(ended, CaseEnd::Passed) {
        let _ = write!(text, ",\"what\":{},\"why\":{}", json(ended.what()), json(why));
        if let CaseEnd::Known { reason, .. } | CaseEnd::Stale(reason) = ended {
            let _ = write!(text, ",\"reason\":{}", json(reason));
        }
        text.push_str(",\"exchange\":[");
        for (index, line) in notes.lines().iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            let _ = write!(text, "{comma}{}", json(&format!("{} {}", line.way.mark(), line.text)));
        }
        text.push(']');
    }
    text.push('}');
}

fn case_junit(outcome: &CaseOutcome, text: &mut String) {
    let CaseOutcome { id, level, title, why, ended, notes, took, .. } = outcome;
    let name = format!("{id} {title}");
    let _ = write!(
        text,
        "  <testcase classname=\"{}\" name=\"{}\" time=\"{:.3}\"",
        xml(&level.to_string()),
        xml(&name),
        took.as_secs_f64()
    );
    match ended {
        CaseEnd::Passed => text.push_str("/>\n"),
        CaseEnd::Unoffered(what) | CaseEnd::Known { what, .. } => {
            let _ = writeln!(text, "><skipped message=\"{}\"/></testcase>", xml(what));
        }
        CaseEnd::Failed(_) | CaseEnd::Stale(_) => {
            let _ = write!(text, "><failure message=\"{}\">", xml(ended.what()));
            for line in notes.lines() {
                let _ = writeln!(text, "{}", xml(&format!("{} {}", line.way.mark(), line.text)));
            }
            let _ = writeln!(text, "{}</failure></testcase>", xml(&format!("why: {why}")));
        }
    }
}

/// Text inside XML. Control characters were spelled out when it was noted.
fn xml(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            letter => out.push(letter),
        }
    }
    out
}
