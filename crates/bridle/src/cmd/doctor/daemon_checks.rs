//! Checks of what runs: the daemon and what it says of itself, its addresses, the policies, the jail.

use std::net::TcpListener;
use std::time::Instant;

use bridle_daemon::config::PolicyChoice;
use bridle_daemon::{policy_file, policy_load};
use bridle_sexp::{Value, read_one};
use bridle_shell::ShellError;
use bridle_shell::client::DaemonClient;

use super::{CheckOutcome, CheckReport, Patient, RepairMode};
use crate::cmd::jail::probed;
use crate::cmd::launch::DaemonLaunch;

/// End of an address that leaves the port to the system.
const ANY_PORT: &str = ":0";

/// The daemon, and the checks that it makes of itself.
pub(super) struct DaemonHealth {
    pub(super) is_running: bool,
    pub(super) report: CheckReport,
    pub(super) inside: Vec<CheckReport>,
}

/// Connects, reads the hello and asks for the health: what every shell does first.
pub(super) fn daemon(patient: &Patient) -> DaemonHealth {
    match talk(patient) {
        Ok(health) => health,
        Err(ShellError::Connect { .. }) if patient.mode == RepairMode::Repair && patient.is_own => {
            let started = DaemonLaunch::of(&patient.file)
                .map_err(|failure| failure.what().to_owned())
                .and_then(|launch| launch.start());
            match started.map(|()| talk(patient)) {
                Ok(Ok(mut health)) => {
                    health.report.outcome = CheckOutcome::Repaired;
                    health.report.said = format!("started; {}", health.report.said);
                    health
                }
                Ok(Err(error)) => absent(CheckOutcome::Fault, &error.to_string()),
                Err(why) => absent(CheckOutcome::Fault, &why),
            }
        }
        Err(ShellError::Connect { .. }) => absent(CheckOutcome::Warning, "no daemon runs"),
        Err(error) => absent(CheckOutcome::Fault, &error.to_string()),
    }
}

fn absent(outcome: CheckOutcome, said: &str) -> DaemonHealth {
    let report = CheckReport::new("daemon", outcome, said)
        .hint("`bridle up` starts it in the foreground, `bridle doctor --fix` in the background");
    DaemonHealth { is_running: false, report, inside: Vec::new() }
}

fn talk(patient: &Patient) -> Result<DaemonHealth, ShellError> {
    let begun = Instant::now();
    let mut client = DaemonClient::connect_any(&patient.targets)?;
    let answer = client.request("(:type :health-check :detail t)")?;
    let took = begun.elapsed();
    let health = read_one(&answer).map_or(Value::Nil, |tree| tree.root().to_value());
    let word = health.get("status").and_then(Value::as_keyword).unwrap_or("unknown").to_owned();
    let detail = health.get("detail").cloned().unwrap_or(Value::Nil);
    let server = detail.get("server").and_then(Value::as_str).unwrap_or("a daemon").to_owned();
    let said = format!(
        "{server} at {}, handshake and health in {:.1} ms: {word}",
        client.addr(),
        took.as_secs_f64() * 1000.0
    );
    let outcome = match word.as_str() {
        "healthy" => CheckOutcome::Fine,
        "degraded" => CheckOutcome::Warning,
        _ => CheckOutcome::Fault,
    };
    let mut report = CheckReport::new("daemon", outcome, said);
    let is_checked = health.get("checked-p").is_some_and(|it| !matches!(it, Value::Nil));
    if !is_checked && outcome == CheckOutcome::Fine {
        report = CheckReport { outcome: CheckOutcome::Warning, ..report }
            .hint("it has not finished its own checks; ask again in a moment");
    }
    Ok(DaemonHealth { is_running: true, report, inside: own_checks(&detail) })
}

/// Faults that the daemon found with itself when it started.
fn own_checks(detail: &Value) -> Vec<CheckReport> {
    let checks = detail.get("checks").and_then(Value::elements).unwrap_or_default();
    let failed = checks.iter().filter(|it| matches!(it.get("ok"), None | Some(Value::Nil)));
    let report = |check: &Value| {
        let name = check.get("name").and_then(Value::as_keyword).unwrap_or("check");
        let said = check.get("said").and_then(Value::as_str).unwrap_or_default();
        let hint = "its log says more; restart it when this is repaired";
        CheckReport::warning("daemon's own check", format!("{name}: {said}"), hint)
    };
    failed.map(report).collect()
}

/// Whether the addresses of the settings can be listened on, where no daemon does.
pub(super) fn ports(patient: &Patient, is_running: bool) -> Vec<CheckReport> {
    let mut reports = Vec::new();
    for name in ["tcp", "http"] {
        let Some(addr) = patient.settings.word(name) else {
            reports.push(CheckReport::skipped(name, "off"));
            continue;
        };
        if addr.ends_with(ANY_PORT) {
            reports.push(CheckReport::fine(name, "any free port"));
            continue;
        }
        reports.push(match TcpListener::bind(&addr) {
            Ok(_) if is_running && patient.is_own => {
                let hint = "it was started with other settings: restart it, or unset what differs";
                CheckReport::warning(name, format!("the daemon does not listen on {addr}"), hint)
            }
            Ok(_) => CheckReport::fine(name, format!("{addr} is free")),
            Err(_) if is_running && patient.is_own => CheckReport::fine(name, addr),
            Err(error) => CheckReport::fault(
                name,
                format!("{addr}: {error}"),
                "another program has it: choose another port in the settings, or `off`",
            ),
        });
    }
    reports
}

/// The policy file: readable, for its owner alone to write, without faults.
pub(super) fn policy(patient: &Patient) -> CheckReport {
    const NAME: &str = "policy";
    let path = match patient.settings.policy() {
        PolicyChoice::BuiltIn => return CheckReport::fine(NAME, "the built-in policies"),
        PolicyChoice::IfThere(path) if !path.exists() => {
            return CheckReport::fine(NAME, "the built-in policies");
        }
        PolicyChoice::IfThere(path) | PolicyChoice::File(path) => path,
    };
    let hint = "`bridle policy check` names each fault; until then the last good ones hold";
    let text = match policy_file::read(&path) {
        Ok(text) => text,
        Err(error) => return CheckReport::fault(NAME, error.to_string(), hint),
    };
    match policy_load::load_tried(&text) {
        Ok((_, tried)) => {
            let failed = tried.iter().filter(|one| !one.passed()).count();
            let said = format!("{}, {} examples", path.display(), tried.len());
            match failed {
                0 => CheckReport::fine(NAME, said),
                _ => CheckReport::fault(
                    NAME,
                    format!("{said}, {failed} fail"),
                    "`bridle policy test`",
                ),
            }
        }
        Err(error) => {
            let first = error.faults.first();
            let said = first.map_or_else(
                || format!("{} is no policy file", path.display()),
                |fault| format!("{}:{}: {}", path.display(), fault.line, fault.what),
            );
            CheckReport::fault(NAME, said, hint)
        }
    }
}

/// The layer of the jail that this system allows.
pub(super) fn sandbox() -> CheckReport {
    const NAME: &str = "sandbox";
    let hint = "`bridle sandbox explain` says what holds and why";
    match probed() {
        Ok(found) => {
            let held = found.promises.iter().filter(|it| it.held).count();
            let count = found.promises.len();
            match found.layer {
                Some(layer) if held == count => {
                    CheckReport::fine(NAME, format!("layer {layer}, all {count} promises held"))
                }
                Some(layer) => CheckReport::warning(
                    NAME,
                    format!("layer {layer}, {held} of {count} promises held"),
                    hint,
                ),
                None => {
                    let said = format!("none: this system lacks {}", found.missing());
                    CheckReport::warning(NAME, said, hint)
                }
            }
        }
        Err(error) => CheckReport::warning(NAME, error.to_string(), hint),
    }
}
