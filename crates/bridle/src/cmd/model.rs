//! `bridle model`: providers and models in `models.org`; here are the dispatch and what the verbs share.

mod add;
mod approve;
mod entry;
mod file;
mod list;
mod preset;
mod remove;
mod starter;
mod test;
mod usage;

use std::path::PathBuf;
use std::sync::Arc;

use bridle_inference::{InferenceError, KeyReader, ModelExchanger, SecretLookup};
use bridle_jail::SecretStore;
use bridle_model_host::{
    ApprovalError, ModelSeat, ProviderApprovals, ProviderReview, advice, review_folder,
};
use bridle_models::ProviderChange;
use zeroize::Zeroizing;

use crate::args::model::ModelCommand;
use crate::exit::{BridleExit, CommandFailure};
use crate::json::{object, quoted};
use crate::settings::{ResolvedSettings, StateDir};

pub(crate) use starter::write_starters;
pub(crate) use test::{ModelTest, asked, tested_here};

pub(crate) fn run(verb: ModelCommand) -> Result<BridleExit, CommandFailure> {
    match verb {
        ModelCommand::Add(args) => add::run(&args),
        ModelCommand::List(args) => list::run(&args),
        ModelCommand::Test(args) => test::run(&args),
        ModelCommand::Use(args) => usage::run(&args),
        ModelCommand::Remove(args) => remove::run(&args),
        ModelCommand::Approve(args) => approve::run(&args),
    }
}

/// Settings, folder and approvals that the verbs work with.
pub(crate) struct ModelPlace {
    pub(crate) settings: ResolvedSettings,
    /// Folder of the memory.
    pub(crate) folder: PathBuf,
    pub(crate) approvals: ProviderApprovals,
}

impl ModelPlace {
    pub(crate) fn of(state: &StateDir) -> Result<ModelPlace, CommandFailure> {
        ModelPlace::of_settings(ResolvedSettings::resolve(state.given())?)
    }

    pub(crate) fn of_settings(settings: ResolvedSettings) -> Result<ModelPlace, CommandFailure> {
        let folder = settings.path("memex").map(PathBuf::from).ok_or_else(|| {
            CommandFailure::new(
                BridleExit::Config,
                "no Org folder is chosen, so there is no `models.org`",
            )
            .hint("choose one: bridle init DIR")
        })?;
        let approvals = ProviderApprovals::new(&settings.state()?);
        Ok(ModelPlace { settings, folder, approvals })
    }

    /// The file as a daemon would take it over.
    pub(crate) fn review(&self) -> Result<ProviderReview, CommandFailure> {
        review_folder(&self.folder, &self.approvals).map_err(|error| approval_failure(&error))
    }
}

/// Ports of the schemes, where a secret names none; a daemon tries the same.
const SECRET_PORTS: [u16; 2] = [443, 80];

/// Secrets of the state directory.
struct StoredSecrets(SecretStore);

impl SecretLookup for StoredSecrets {
    fn secret(&self, name: &str, host: &str) -> Result<Zeroizing<String>, String> {
        let [first, second] = SECRET_PORTS.map(|port| self.0.for_host(name, host, port));
        let value = first.or(second).map_err(|error| error.to_string())?;
        let text = std::str::from_utf8(value.reveal());
        text.map(|text| Zeroizing::new(text.to_owned())).map_err(|_| format!("`{name}` is no text"))
    }
}

/// An exchanger with the keys of this shell and this state directory.
pub(crate) fn exchanger(settings: &ResolvedSettings) -> Result<ModelExchanger, CommandFailure> {
    let secrets = StoredSecrets(settings.secret_store()?);
    Ok(ModelExchanger::new(KeyReader::new(Arc::new(secrets))))
}

/// Runs a future to its end: these commands do one thing at a time.
pub(crate) fn block_on<F: Future>(work: F) -> Result<F::Output, CommandFailure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| {
        CommandFailure::because(BridleExit::Software, "cannot start the runtime", &error)
            .hint("check the limits on processes and open files: ulimit -a")
    })?;
    let done = runtime.block_on(work);
    // A program that prints a key may still be there.
    runtime.shutdown_background();
    Ok(done)
}

/// Explains why a model or its server gave no answer, with the way out.
fn exchange_failure(what: &str, error: &InferenceError, seat: &ModelSeat) -> CommandFailure {
    let exit = match error {
        InferenceError::Connect { .. } => BridleExit::Unavailable,
        InferenceError::Silent { .. } | InferenceError::Overlong(_) => BridleExit::Temporary,
        InferenceError::Key(_) => BridleExit::NoInput,
        InferenceError::KeyHost(_) => BridleExit::Permission,
        InferenceError::Client(_) => BridleExit::Config,
        _ => BridleExit::Answered,
    };
    CommandFailure::because(exit, what, error).hint(advice(error, seat))
}

fn approval_failure(error: &ApprovalError) -> CommandFailure {
    let exit = match error {
        ApprovalError::File { .. } => BridleExit::Io,
        ApprovalError::Exposed(_) => BridleExit::Permission,
        ApprovalError::Damaged(_) => BridleExit::Data,
    };
    CommandFailure::because(exit, "cannot use the approved providers", error)
        .hint("check the owner and the free disk space of the state directory")
}

/// No provider or model of that name.
pub(crate) fn unknown(name: &str) -> CommandFailure {
    CommandFailure::new(BridleExit::NoInput, format!("no provider or model `{name}`"))
        .hint("`bridle model list` shows the names")
}

/// Changed settings, a line each: what was, what is to be.
fn told_changes(changes: &[ProviderChange]) -> String {
    let told = changes.iter().map(|change| {
        let name = change.field.as_str();
        let line = |mark: char, value: &Option<String>| {
            value.as_ref().map_or_else(String::new, |value| format!("  {mark} {name}: {value}\n"))
        };
        line('-', &change.before) + &line('+', &change.after)
    });
    told.collect()
}

fn changes_json(changes: &[ProviderChange]) -> String {
    let optional = |value: &Option<String>| value.as_deref().map_or("null".to_owned(), quoted);
    let all = changes.iter().map(|change| {
        object(&[
            ("setting", quoted(&change.field.as_str().to_lowercase())),
            ("before", optional(&change.before)),
            ("after", optional(&change.after)),
        ])
    });
    format!("[{}]", all.collect::<Vec<_>>().join(","))
}
