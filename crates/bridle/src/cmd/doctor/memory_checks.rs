//! Checks of the user's own files: the Org folder and the providers of models in it.

use std::path::Path;
use std::time::Duration;

use bridle_models::{KeySource, Provider, read_providers};
use bridle_sexp::Value;
use bridle_shell::client::{ClientOptions, DaemonTarget};
use bridle_shell::system::{SystemReply, ask_context};

use super::{CheckReport, Patient};
use crate::cmd::model::{ModelPlace, ModelTest, asked, tested_here};
use crate::exit::CommandFailure;
use crate::settings::{GivenFlags, ResolvedSettings};

/// Longest wait for a daemon that asks models.
const TEST_TIMEOUT: Duration = Duration::from_secs(120);

/// File of the providers in the Org folder, and the most bytes of it that are read.
const PROVIDERS_FILE: &str = "models.org";
const MAX_PROVIDERS_BYTES: u64 = 1 << 20;

pub(super) fn memory(patient: &Patient) -> CheckReport {
    const NAME: &str = "memory";
    let Some(folder) = patient.settings.path("memex") else {
        return CheckReport::skipped(NAME, "no Org folder chosen")
            .hint("`bridle init DIR` chooses one, and shows first what it would read");
    };
    if let Err(error) = std::fs::read_dir(folder) {
        let said = format!("cannot read {}: {error}", folder.display());
        return CheckReport::fault(NAME, said, "`bridle init DIR` chooses another folder");
    }
    let status = Value::plist([("action", Value::keyword("memex-status"))]);
    let Ok(SystemReply::Done(told)) = ask_context(&patient.targets, status) else {
        return CheckReport::fine(NAME, format!("{} can be read", folder.display()));
    };
    let state = told.get("state").and_then(Value::as_keyword).unwrap_or("unknown").to_owned();
    let count = |key| told.get(key).and_then(Value::as_i64).unwrap_or_default();
    let said = format!(
        "{}: {state}, {} files, {} headings",
        folder.display(),
        count("files"),
        count("headings")
    );
    match state.as_str() {
        "ready" | "starting" | "indexing" => CheckReport::fine(NAME, said),
        _ => CheckReport::warning(NAME, said, "`bridle memory status` says more"),
    }
}

/// The providers of `models.org`: no faults, each key where the file says, and an answer of each.
pub(super) fn providers(patient: &Patient) -> CheckReport {
    const NAME: &str = "models";
    let Some(folder) = patient.settings.path("memex") else {
        return CheckReport::skipped(NAME, "no Org folder, so no `models.org`");
    };
    let path = folder.join(PROVIDERS_FILE);
    let text = match read(&path) {
        Ok(Some(text)) => text,
        Ok(None) => return CheckReport::skipped(NAME, "no `models.org` in the Org folder"),
        Err(why) => return CheckReport::fault(NAME, why, "make it a readable text file"),
    };
    let parsed = read_providers(&text);
    if let Some(problem) = parsed.problems.first() {
        let said = format!("{}, {problem}", path.display());
        return CheckReport::fault(
            NAME,
            said,
            "the providers of before stay in force until it is mended",
        );
    }
    let providers = &parsed.providers;
    if providers.is_empty() {
        return CheckReport::skipped(NAME, "`models.org` names no provider");
    }
    let missing = providers.iter().find_map(|provider| missing_key(patient, provider));
    if let Some(why) = missing {
        return CheckReport::fault(NAME, why, "see docs/models.md: where a key may stand");
    }
    match tested(patient) {
        Ok(tests) => round_trips(&tests),
        Err(failure) => CheckReport::fault(NAME, failure.what(), "`bridle model list` says more"),
    }
}

/// One small question to the first model of every provider in force, by the daemon that runs or from here.
fn tested(patient: &Patient) -> Result<Vec<ModelTest>, CommandFailure> {
    let patient_enough = |target: &DaemonTarget| {
        let options = ClientOptions { timeout: TEST_TIMEOUT, ..target.options.clone() };
        DaemonTarget { addr: target.addr.clone(), options }
    };
    let targets: Vec<DaemonTarget> = patient.targets.iter().map(patient_enough).collect();
    if let Some(tests) = asked(&targets, None)? {
        return Ok(tests);
    }
    let given = GivenFlags::from(patient.file.clone());
    tested_here(&ModelPlace::of_settings(ResolvedSettings::resolve(&given)?)?, &[])
}

fn round_trips(tests: &[ModelTest]) -> CheckReport {
    const NAME: &str = "models";
    let failed = tests.iter().find_map(|test| Some((&test.model, test.outcome.as_ref().err()?)));
    if let Some((model, (why, hint))) = failed {
        return CheckReport::fault(NAME, format!("{model}: {why}"), hint);
    }
    let told = tests
        .iter()
        .filter_map(|test| Some(format!("{}: {}", test.model, test.outcome.as_ref().ok()?)));
    let told: Vec<String> = told.collect();
    match told.is_empty() {
        true => CheckReport::warning(
            NAME,
            "every provider waits for your yes",
            "see and approve them: bridle model approve",
        ),
        false => CheckReport::fine(NAME, told.join("; ")),
    }
}

fn read(path: &Path) -> Result<Option<String>, String> {
    let told = |error: std::io::Error| format!("cannot read {}: {error}", path.display());
    match std::fs::metadata(path) {
        Ok(meta) if !meta.is_file() || meta.len() > MAX_PROVIDERS_BYTES => {
            Err(format!("{} is no file of at most 1 MiB", path.display()))
        }
        Ok(_) => std::fs::read_to_string(path).map(Some).map_err(told),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(told(error)),
    }
}

/// Says which key is not where the file says; never reads one out.
fn missing_key(patient: &Patient, provider: &Provider) -> Option<String> {
    let name = &provider.name;
    match provider.key.as_ref()? {
        // The daemon's environment may be another; a daemon that this shell starts has this one.
        KeySource::Environment(variable) => std::env::var_os(variable)
            .is_none()
            .then(|| format!("{name}: variable {variable} is not set here")),
        KeySource::File(path) => {
            (!Path::new(path).is_file()).then(|| format!("{name}: no key file {path}"))
        }
        KeySource::Secret(secret) => {
            let known = patient.settings.secret_store().ok()?.list().ok()?;
            (!known.iter().any(|(it, _)| it == secret))
                .then(|| format!("{name}: no secret `{secret}`; `bridle secret set {secret}`"))
        }
        KeySource::Command(_) => None,
    }
}
