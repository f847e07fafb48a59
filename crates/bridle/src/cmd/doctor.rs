//! `bridle doctor`: every part of an installation looked at, with what to do about what is wrong. Changes nothing
//! without `--fix`, and then only what cannot lose anything.

mod daemon_checks;
mod memory_checks;
mod place_checks;

use std::path::PathBuf;

use bridle_shell::client::DaemonTarget;
use bridle_shell::screen::{OutputScreen, TableColumn, TextTable};

use super::output::print;
use super::talk::{find_by, is_named};
use crate::args::care::DoctorArgs;
use crate::exit::{BridleExit, CommandFailure};
use crate::json::{object, quoted};
use crate::settings::{ConfigFile, GivenFlags, ResolvedSettings};

/// Result of one check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CheckOutcome {
    Fine,
    /// Works, and should be seen to.
    Warning,
    /// Does not work.
    Fault,
    /// Nothing to look at.
    Skipped,
    /// Was wrong, and is repaired.
    Repaired,
}

impl CheckOutcome {
    fn word(self) -> &'static str {
        match self {
            CheckOutcome::Fine => "ok",
            CheckOutcome::Warning => "warning",
            CheckOutcome::Fault => "fault",
            CheckOutcome::Skipped => "skipped",
            CheckOutcome::Repaired => "repaired",
        }
    }
}

/// One line of the report.
#[derive(Debug)]
struct CheckReport {
    name: &'static str,
    outcome: CheckOutcome,
    /// Finding, for people.
    said: String,
    /// Way out.
    hint: Option<String>,
}

impl CheckReport {
    fn new(name: &'static str, outcome: CheckOutcome, said: impl Into<String>) -> CheckReport {
        CheckReport { name, outcome, said: said.into(), hint: None }
    }

    fn fine(name: &'static str, said: impl Into<String>) -> CheckReport {
        CheckReport::new(name, CheckOutcome::Fine, said)
    }

    fn skipped(name: &'static str, said: impl Into<String>) -> CheckReport {
        CheckReport::new(name, CheckOutcome::Skipped, said)
    }

    fn warning(name: &'static str, said: impl Into<String>, hint: &str) -> CheckReport {
        CheckReport::new(name, CheckOutcome::Warning, said).hint(hint)
    }

    fn fault(name: &'static str, said: impl Into<String>, hint: &str) -> CheckReport {
        CheckReport::new(name, CheckOutcome::Fault, said).hint(hint)
    }

    fn hint(mut self, hint: &str) -> CheckReport {
        self.hint = Some(hint.to_owned());
        self
    }

    fn to_json(&self) -> String {
        object(&[
            ("name", quoted(self.name)),
            ("outcome", quoted(self.outcome.word())),
            ("said", quoted(&self.said)),
            ("hint", self.hint.as_deref().map_or_else(|| "null".to_owned(), quoted)),
        ])
    }
}

/// Whether what is found is also repaired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RepairMode {
    Look,
    Repair,
}

/// Everything that the checks look at.
struct Patient {
    settings: ResolvedSettings,
    state: PathBuf,
    targets: Vec<DaemonTarget>,
    /// Whether the daemon is the one that the settings describe.
    is_own: bool,
    file: ConfigFile,
    mode: RepairMode,
}

pub(crate) fn run(args: DoctorArgs) -> Result<BridleExit, CommandFailure> {
    let DoctorArgs { fix, json, peer } = args;
    let mode = if fix { RepairMode::Repair } else { RepairMode::Look };
    let file = peer.file.clone();
    let reports = match ResolvedSettings::resolve(&GivenFlags::from(file.clone())) {
        Ok(settings) => {
            let patient = Patient {
                state: settings.state()?,
                is_own: !is_named(&peer),
                targets: find_by(peer, &settings)?,
                settings,
                file,
                mode,
            };
            examine(&patient)
        }
        // Without settings nobody knows where anything is.
        Err(failure) => vec![CheckReport::fault(
            "settings",
            failure.what(),
            "`bridle config check` names everything that is wrong",
        )],
    };
    let is_well = reports.iter().all(|it| it.outcome != CheckOutcome::Fault);
    print(&if json { as_json(&reports, is_well) } else { as_text(&reports) })?;
    Ok(if is_well { BridleExit::Ok } else { BridleExit::Answered })
}

/// All checks: first the ground, then what stands on it.
fn examine(patient: &Patient) -> Vec<CheckReport> {
    let mut reports = vec![
        place_checks::settings(patient),
        place_checks::permissions(patient),
        place_checks::disk(patient),
        place_checks::record(patient),
        place_checks::clock(patient),
        place_checks::secrets(patient),
    ];
    let health = daemon_checks::daemon(patient);
    reports.extend(daemon_checks::ports(patient, health.is_running));
    reports.push(health.report);
    reports.extend(health.inside);
    reports.extend([
        daemon_checks::policy(patient),
        daemon_checks::sandbox(),
        memory_checks::memory(patient),
        memory_checks::providers(patient),
    ]);
    reports
}

fn as_text(reports: &[CheckReport]) -> String {
    let mut table = TextTable::new([
        TableColumn::text("CHECK"),
        TableColumn::text("RESULT"),
        TableColumn::text("FOUND").shrinks(),
    ]);
    for report in reports {
        table.push_row([report.name, report.outcome.word(), &report.said]);
    }
    let mut text = table.render(OutputScreen::of_stdout(), "");
    for report in reports {
        if let Some(hint) = &report.hint {
            text.push_str(&format!("{}: {hint}\n", report.name));
        }
    }
    text
}

fn as_json(reports: &[CheckReport], is_well: bool) -> String {
    let checks: Vec<String> = reports.iter().map(CheckReport::to_json).collect();
    let checks = format!("[{}]", checks.join(","));
    format!("{}\n", object(&[("well", is_well.to_string()), ("checks", checks)]))
}
