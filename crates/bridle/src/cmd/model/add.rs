//! `bridle model add`: a provider at the end of `models.org`, with models that its server has, and the owner's yes to it.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::sync::Arc;

use bridle_inference::{KeyReader, ModelExchanger, SecretLookup};
use bridle_jail::{HostRule, SecretValue};
use bridle_model_host::ModelSeat;
use bridle_models::{CodecName, ModelTier, Provider, ProviderPrivacy, ServedModel, read_providers};
use zeroize::Zeroizing;

use super::entry::{ModelEntry, ProviderEntry};
use super::file::ModelsFile;
use super::{ModelPlace, approval_failure, block_on, exchange_failure, exchanger, preset};
use crate::args::model::{ModelAddArgs, PrivacyArg};
use crate::cmd::output::print;
use crate::cmd::{confirm, secret};
use crate::exit::{BridleExit, CommandFailure};
use crate::json::{object, quoted, strings};

/// Word for a key that is read, and then kept sealed.
const READ_KEY: &str = "-";

/// Name that stands in for a model while the server is asked which it has.
const NO_MODEL: &str = "none";

/// Names in a message or on a terminal.
const MAX_SHOWN_NAMES: usize = 30;

/// Distance in letters up to which a name is offered instead of one that is not there.
const MAX_NAME_DISTANCE: usize = 3;

pub(super) fn run(args: &ModelAddArgs) -> Result<BridleExit, CommandFailure> {
    let place = ModelPlace::of(&args.state)?;
    let file = ModelsFile::open(&place.folder)?;
    let preset = preset::find(&args.provider);
    let mut entry = entry(args, preset.as_ref())?;
    check_is_new(&entry.name, &file.text)?;
    let key = KeyWish::of(args, preset.as_ref(), &entry)?;
    entry.key = key.source(&entry.name);
    let asked = ask_server(args, &place, &entry, &key)?;
    entry.models = ModelChoice { args, preset: preset.as_ref(), served: asked.as_deref() }
        .models(entry.privacy == ProviderPrivacy::Local)?;
    let provider = entry.read()?;
    if let KeyWish::Typed(value) = &key {
        keep(&place, &provider, value)?;
    }
    // Made by its owner: the yes is given with it.
    place.approvals.approve(&provider).map_err(|error| approval_failure(&error))?;
    if let Err(failure) = file.replace(&entry.behind(&file.text)) {
        // A yes to what is not there would be one to whatever comes under its name.
        let _ = place.approvals.forget(&provider.name);
        return Err(failure);
    }
    print(&if args.json { as_json(&entry, &file) } else { told(&entry, &file, &provider) })
}

/// Entry that is to be added, without key and models.
fn entry(args: &ModelAddArgs, preset: Option<&Provider>) -> Result<ProviderEntry, CommandFailure> {
    let address = match (&args.address, preset) {
        (Some(address), _) => address.clone(),
        (None, Some(preset)) => preset.address.to_string(),
        (None, None) if args.provider.contains("://") => args.provider.clone(),
        (None, None) => return Err(unknown_preset(&args.provider)),
    };
    let codec = args.codec.as_deref().and_then(|name| name.parse().ok());
    let codec = codec.or(preset.map(|it| it.codec)).unwrap_or(CodecName::OpenAiChat);
    let mut entry = ProviderEntry {
        name: args.name.clone().unwrap_or_else(|| "server".to_owned()),
        address,
        codec,
        privacy: ProviderPrivacy::Remote,
        key: None,
        models: vec![ModelEntry::new(NO_MODEL, vec![ModelTier::Cognition], false)],
    };
    let read = entry.read()?;
    let is_here = read.address.is_loopback();
    entry.name = match (&args.name, preset) {
        (Some(name), _) => name.clone(),
        (None, Some(preset)) => preset.name.clone(),
        (None, None) if is_here => "local".to_owned(),
        (None, None) => read.address.host.replace(':', "-"),
    };
    let usual = preset.filter(|_| args.address.is_none()).map(|it| it.privacy);
    entry.privacy = match (args.privacy, usual) {
        (Some(PrivacyArg::Local), _) => ProviderPrivacy::Local,
        (Some(PrivacyArg::Remote), _) => ProviderPrivacy::Remote,
        (None, Some(usual)) => usual,
        (None, None) if is_here => ProviderPrivacy::Local,
        (None, None) => ProviderPrivacy::Remote,
    };
    Ok(entry)
}

fn unknown_preset(name: &str) -> CommandFailure {
    let names = preset::names().join(", ");
    CommandFailure::new(BridleExit::Usage, format!("no preset `{name}`"))
        .hint(format!("write one of {names}, or an address such as http://127.0.0.1:8080/v1"))
}

fn check_is_new(name: &str, text: &str) -> Result<(), CommandFailure> {
    let parsed = read_providers(text);
    let is_broken = parsed.problems.iter().any(|it| it.provider.as_deref() == Some(name));
    if !is_broken && !parsed.providers.iter().any(|it| it.name == name) {
        return Ok(());
    }
    Err(CommandFailure::new(
        BridleExit::CannotCreate,
        format!("`models.org` has a provider `{name}`"),
    )
    .hint(format!(
        "edit it there, or: bridle model remove {name}; or give another name with --name"
    )))
}

/// Key of the new provider.
enum KeyWish {
    /// No key is wanted.
    Keyless,
    /// Source of it.
    Named(String),
    /// Read from the owner, to be kept sealed.
    Typed(Zeroizing<String>),
}

impl KeyWish {
    fn of(
        args: &ModelAddArgs,
        preset: Option<&Provider>,
        entry: &ProviderEntry,
    ) -> Result<KeyWish, CommandFailure> {
        match args.key.as_deref() {
            Some(READ_KEY) => KeyWish::typed(&entry.name),
            Some(source) => Ok(KeyWish::Named(source.to_owned())),
            None => match preset.and_then(|preset| preset::key_variable(&preset.name)) {
                None => Ok(KeyWish::Keyless),
                Some(variable) if is_set(variable) => Ok(KeyWish::Named(format!("env:{variable}"))),
                Some(_) if confirm::has_person() && !args.json => KeyWish::typed(&entry.name),
                Some(variable) => Err(no_key(&args.provider, variable)),
            },
        }
    }

    fn typed(name: &str) -> Result<KeyWish, CommandFailure> {
        let bytes = secret::read_bytes(&format!("key for {name}, kept sealed: "))?;
        let text = std::str::from_utf8(&bytes).map(str::trim).unwrap_or_default();
        if text.is_empty() {
            return Err(CommandFailure::new(BridleExit::NoInput, "no key was given")
                .hint("type it, pipe it in, or name its source: --key env:NAME"));
        }
        Ok(KeyWish::Typed(Zeroizing::new(text.to_owned())))
    }

    fn source(&self, name: &str) -> Option<String> {
        match self {
            KeyWish::Keyless => None,
            KeyWish::Named(source) => Some(source.clone()),
            KeyWish::Typed(_) => Some(format!("secret:{name}")),
        }
    }
}

fn is_set(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|value| !value.is_empty())
}

fn no_key(provider: &str, variable: &str) -> CommandFailure {
    CommandFailure::new(
        BridleExit::NoInput,
        format!("`{provider}` wants a key, and {variable} is not set"),
    )
    .hint(format!("keep it sealed: pass show KEY | bridle model add {provider} --key -"))
    .hint("or name its source: --key env:NAME, file:PATH or 'command:PROGRAM ARGUMENTS'")
}

/// Lookup of the one key that is not kept yet.
struct TypedKey(Zeroizing<String>);

impl SecretLookup for TypedKey {
    fn secret(&self, _: &str, _: &str) -> Result<Zeroizing<String>, String> {
        Ok(self.0.clone())
    }
}

/// Asks the server which models it has; nothing with `--no-check`.
fn ask_server(
    args: &ModelAddArgs,
    place: &ModelPlace,
    entry: &ProviderEntry,
    key: &KeyWish,
) -> Result<Option<Vec<ServedModel>>, CommandFailure> {
    let provider = entry.read()?;
    if args.no_check {
        return Ok(None);
    }
    let exchanger = match key {
        KeyWish::Typed(value) => {
            ModelExchanger::new(KeyReader::new(Arc::new(TypedKey(value.clone()))))
        }
        _ => exchanger(&place.settings)?,
    };
    let listed = block_on(exchanger.served_models(&provider))?;
    listed.map(Some).map_err(|error| {
        let seat = ModelSeat { model: provider.models[0].clone(), provider: provider.clone() };
        let what = format!("`{}` does not say which models it has; nothing was added", entry.name);
        exchange_failure(&what, &error, &seat)
            .hint("add it without asking: --no-check, with --model NAME for each model")
    })
}

/// Choice of the models of the new provider.
struct ModelChoice<'c> {
    args: &'c ModelAddArgs,
    preset: Option<&'c Provider>,
    served: Option<&'c [ServedModel]>,
}

impl ModelChoice<'_> {
    fn models(&self, is_free: bool) -> Result<Vec<ModelEntry>, CommandFailure> {
        let mut named = self.named();
        if named.is_empty() {
            named = self.usual()?;
        }
        named.iter().map(|(name, tiers)| self.entry(name, tiers, is_free)).collect()
    }

    /// Models of the flags, each once, with their tiers.
    fn named(&self) -> Vec<(String, Vec<ModelTier>)> {
        let lists = [
            (&self.args.model, ModelTier::Cognition),
            (&self.args.reflex, ModelTier::Reflex),
            (&self.args.reasoning, ModelTier::Reasoning),
        ];
        let mut all: Vec<(String, Vec<ModelTier>)> = Vec::new();
        for (name, tier) in
            lists.iter().flat_map(|(list, tier)| list.iter().map(move |it| (it, tier)))
        {
            match all.iter_mut().find(|(known, _)| known == name) {
                Some((_, tiers)) if tiers.contains(tier) => {}
                Some((_, tiers)) => tiers.push(*tier),
                None => all.push((name.clone(), vec![*tier])),
            }
        }
        all.iter_mut().for_each(|(_, tiers)| tiers.sort_unstable());
        all
    }

    /// Models without a flag: those of the preset that the server has, else its only one, else one that is chosen.
    fn usual(&self) -> Result<Vec<(String, Vec<ModelTier>)>, CommandFailure> {
        let of_preset = self.preset.map(|it| it.models.as_slice()).unwrap_or_default();
        let is_there =
            |name: &str| self.served.is_none_or(|served| served.iter().any(|it| it.name == name));
        let there = of_preset.iter().filter(|model| is_there(&model.name));
        let there: Vec<_> = there.map(|it| (it.name.clone(), it.tiers.clone())).collect();
        if !there.is_empty() {
            return Ok(there);
        }
        let all_work = vec![ModelTier::Reflex, ModelTier::Cognition];
        match self.served {
            Some([only]) => Ok(vec![(only.name.clone(), all_work)]),
            Some([]) => {
                Err(CommandFailure::new(BridleExit::NoInput, "the server has no models yet")
                    .hint("load one there, such as: ollama pull qwen3:8b; then run this again"))
            }
            Some(served) if confirm::has_person() && !self.args.json => {
                Ok(vec![(chosen(served)?, all_work)])
            }
            Some(served) => Err(CommandFailure::new(
                BridleExit::Usage,
                format!("the server has {} models: {}", served.len(), shown(served)),
            )
            .hint("choose with --model NAME")),
            None => Err(CommandFailure::new(BridleExit::Usage, "no model is named")
                .hint("name it with --model NAME")),
        }
    }

    fn entry(
        &self,
        name: &str,
        tiers: &[ModelTier],
        is_free: bool,
    ) -> Result<ModelEntry, CommandFailure> {
        let served = self.served.map(|served| served.iter().find(|it| it.name == name));
        if let (Some(None), Some(all)) = (served, self.served) {
            return Err(self.not_served(name, all));
        }
        let served = served.flatten();
        let known = self.preset.and_then(|preset| preset.model(name));
        Ok(ModelEntry {
            context_tokens: served
                .and_then(|it| it.context_tokens)
                .or_else(|| known.and_then(|it| it.context_tokens)),
            max_output_tokens: served
                .and_then(|it| it.max_output_tokens)
                .or_else(|| known.and_then(|it| it.max_output_tokens)),
            takes_images: known.is_some_and(|it| it.takes_images),
            ..ModelEntry::new(name, tiers.to_vec(), is_free)
        })
    }

    fn not_served(&self, name: &str, served: &[ServedModel]) -> CommandFailure {
        let is_near = |it: &&ServedModel| {
            it.name.contains(name) || strsim::osa_distance(&it.name, name) <= MAX_NAME_DISTANCE
        };
        let near: Vec<ServedModel> = served.iter().filter(is_near).cloned().collect();
        let offer = if near.is_empty() { shown(served) } else { shown(&near) };
        CommandFailure::new(BridleExit::NoInput, format!("the server has no model `{name}`"))
            .hint(format!("it has {offer}"))
            .hint("add it all the same: --no-check")
    }
}

/// Names for a message.
fn shown(served: &[ServedModel]) -> String {
    let names: Vec<&str> =
        served.iter().take(MAX_SHOWN_NAMES).map(|model| model.name.as_str()).collect();
    let more = if served.len() > MAX_SHOWN_NAMES { ", .." } else { "" };
    format!("{}{more}", names.join(", "))
}

/// Has the person at the terminal choose.
fn chosen(served: &[ServedModel]) -> Result<String, CommandFailure> {
    let failed = |error: io::Error| CommandFailure::stream("cannot ask", &error);
    let mut out = io::stderr().lock();
    for (index, model) in served.iter().enumerate().take(MAX_SHOWN_NAMES) {
        let name = bridle_shell::screen::neutral_line(&model.name);
        writeln!(out, "{:>3}  {name}", index + 1).map_err(failed)?;
    }
    write!(out, "model, by number or name [1]: ").and_then(|()| out.flush()).map_err(failed)?;
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line).map_err(failed)?;
    let answer = line.trim();
    let number = if answer.is_empty() { Some(1) } else { answer.parse::<usize>().ok() };
    let by_number = number.and_then(|number| served.get(number.checked_sub(1)?));
    Ok(by_number.map_or_else(|| answer.to_owned(), |model| model.name.clone()))
}

/// Keeps a typed key sealed, for the host of the provider alone.
fn keep(place: &ModelPlace, provider: &Provider, value: &str) -> Result<(), CommandFailure> {
    let host = &provider.address.host;
    let rule = HostRule::parse(host).map_err(|why| {
        CommandFailure::new(BridleExit::Usage, format!("a key cannot be kept for `{host}`: {why}"))
            .hint("name where the key is: --key env:NAME or file:PATH")
    })?;
    let value = SecretValue::new(value.as_bytes().to_vec());
    let store = secret::open_store(&place.settings)?;
    store.set(&provider.name, value, vec![rule]).map_err(|error| secret::failure(&error))?;
    Ok(())
}

fn told(entry: &ProviderEntry, file: &ModelsFile, provider: &Provider) -> String {
    let mut text = format!("added {} to {}\n", entry.name, file.path().display());
    for model in &entry.models {
        let tiers: Vec<&str> = model.tiers.iter().map(|tier| tier.as_str()).collect();
        text.push_str(&format!("  {}  {}\n", model.name, tiers.join(", ")));
    }
    match &provider.key {
        Some(bridle_models::KeySource::Environment(variable)) => {
            text.push_str(&format!(
                "the daemon needs {variable} in its environment too; --key - keeps a key sealed\n"
            ));
        }
        Some(source) => text.push_str(&format!("key: {source}\n")),
        None => {}
    }
    let first = entry.models.first().map(|model| model.name.as_str()).unwrap_or_default();
    if io::stdout().is_terminal() {
        text.push_str(&format!("try it: bridle model test {}/{first}\n", entry.name));
    }
    text
}

fn as_json(entry: &ProviderEntry, file: &ModelsFile) -> String {
    let names: Vec<Box<str>> = entry.models.iter().map(|it| it.name.as_str().into()).collect();
    let line = object(&[
        ("provider", quoted(&entry.name)),
        ("file", quoted(&file.path().to_string_lossy())),
        ("address", quoted(&entry.address)),
        ("codec", quoted(entry.codec.as_str())),
        ("privacy", quoted(entry.privacy.as_str())),
        ("key", entry.key.as_deref().map_or("null".to_owned(), quoted)),
        ("models", strings(&names)),
    ]);
    format!("{line}\n")
}
