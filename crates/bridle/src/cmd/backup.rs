//! `bridle backup` and `bridle restore`: everything of a state directory that cannot be made again, as a folder with a
//! manifest. A backup is made while the daemon runs; restoring needs an empty state directory and no daemon.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use bridle_daemon::lock::StateLock;
use bridle_daemon::tokens::TOKENS_FILE;
use bridle_history::RecordHistory;
use bridle_jail::{SECRETS_FILE, SECRETS_KEY_FILE};
use bridle_record::backup::backup_databases;
use bridle_record::database::RECORD_FILE;
use bridle_wire::time::rfc3339;

use super::memex_source::now_ms;
use super::output::print;
use super::record::failure;
use crate::args::care as args;
use crate::exit::{BridleExit, CommandFailure};
use crate::json::{object, quoted};
use crate::settings::ResolvedSettings;

/// File that names all others, each with its hash.
const MANIFEST: &str = "MANIFEST";

/// First line of a manifest.
const MANIFEST_HEAD: &str = "bridle backup 1";

/// Most bytes of a manifest.
const MAX_MANIFEST_BYTES: u64 = 16 << 10;

/// Databases of a state directory; the search index is made anew.
const DATABASES: [&str; 4] = [RECORD_FILE, "memory.db", "overlays.db", "files.db"];

/// Files that are copied as they are.
const PLAIN_FILES: [&str; 3] = [SECRETS_FILE, "config.toml", "policy.org"];

/// Files that let whoever has them in.
const KEY_FILES: [&str; 4] = [TOKENS_FILE, "refresh", "continuation.key", SECRETS_KEY_FILE];

/// One file of a backup.
struct BackupEntry {
    name: String,
    bytes: u64,
    hash: blake3::Hash,
}

/// Content of a backup, checked against its manifest and its hash chain.
struct CheckedBackup {
    entries: Vec<BackupEntry>,
    /// Number of the last record.
    head: u64,
}

pub(crate) fn backup(args: &args::BackupArgs) -> Result<BridleExit, CommandFailure> {
    let settings = ResolvedSettings::resolve(args.state.given())?;
    let state = settings.state()?;
    RecordHistory::open(&state).map_err(|error| failure(&error))?;
    let target = &args.dir;
    let made = fs::DirBuilder::new().mode(0o700).create(target);
    made.map_err(|error| {
        let what = format!("cannot make `{}`", target.display());
        CommandFailure::because(BridleExit::CannotCreate, what, &error)
            .hint("name a folder that does not exist yet, in one that does")
    })?;
    let mut names: Vec<String> = backup_databases(&state, target)
        .map_err(|error| {
            CommandFailure::because(BridleExit::Io, "cannot copy the databases", &error)
                .hint("check the free disk space, and try again")
        })?
        .into_iter()
        .map(str::to_owned)
        .collect();
    let keys = if args.with_keys { KEY_FILES.as_slice() } else { &[] };
    for name in PLAIN_FILES.iter().chain(keys) {
        if let Some(from) = source_of(name, &settings, &state).filter(|path| path.is_file()) {
            copy_private(&from, &target.join(name))?;
            names.push((*name).to_owned());
        }
    }
    write_manifest(target, &names)?;
    // What was written is read again: a backup that nobody tried is none.
    let checked = check(target)?;
    print(&told(&checked, target, args.json, "backed up"))
}

pub(crate) fn restore(args: &args::RestoreArgs) -> Result<BridleExit, CommandFailure> {
    let checked = check(&args.dir)?;
    if args.verify {
        return print(&told(&checked, &args.dir, args.json, "whole"));
    }
    let settings = ResolvedSettings::resolve(args.state.given())?;
    let state = settings.state()?;
    let _lock = StateLock::take(&state).map_err(|error| {
        CommandFailure::because(BridleExit::Temporary, "cannot take the state directory", &error)
            .hint("stop the daemon, or restore into another directory: --state DIR")
    })?;
    for entry in &checked.entries {
        let path = state.join(&entry.name);
        if path.exists() && is_of_state(&entry.name) {
            let what = format!("`{}` is there already; nothing was restored", path.display());
            return Err(CommandFailure::new(BridleExit::CannotCreate, what)
                .hint("move the directory away, or restore into another: --state DIR"));
        }
    }
    for entry in checked.entries.iter().filter(|entry| is_of_state(&entry.name)) {
        copy_private(&args.dir.join(&entry.name), &state.join(&entry.name))?;
    }
    let text = told(&checked, &state, args.json, "restored");
    let rest: Vec<&str> = checked
        .entries
        .iter()
        .map(|entry| entry.name.as_str())
        .filter(|name| !is_of_state(name))
        .collect();
    if rest.is_empty() || args.json {
        return print(&text);
    }
    print(&format!("{text}left in the backup, copy them yourself: {}\n", rest.join(", ")))
}

/// Whether a file of a backup belongs into the state directory; settings and policies have places of their own, where
/// newer ones may be.
fn is_of_state(name: &str) -> bool {
    !matches!(name, "config.toml" | "policy.org")
}

fn source_of(name: &str, settings: &ResolvedSettings, state: &Path) -> Option<PathBuf> {
    match name {
        "config.toml" => settings.file.clone(),
        "policy.org" => settings.path("policy").map(Path::to_path_buf),
        SECRETS_KEY_FILE => settings
            .path("secret-key-file")
            .map(Path::to_path_buf)
            .or_else(|| Some(state.join(SECRETS_KEY_FILE))),
        name => Some(state.join(name)),
    }
}

/// Copies a file into a new one of mode 0600.
fn copy_private(from: &Path, to: &Path) -> Result<(), CommandFailure> {
    let copied = (|| -> io::Result<()> {
        let mut source = File::open(from)?;
        let mut target = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
        io::copy(&mut source, &mut target)?;
        target.sync_all()
    })();
    copied.map_err(|error| {
        let what = format!("cannot copy `{}` to `{}`", from.display(), to.display());
        CommandFailure::because(BridleExit::Io, what, &error)
            .hint("check the free disk space and the owner of both folders")
    })
}

fn hash_of(path: &Path) -> Result<(u64, blake3::Hash), CommandFailure> {
    let read = (|| -> io::Result<(u64, blake3::Hash)> {
        let mut hasher = blake3::Hasher::new();
        let bytes = io::copy(&mut File::open(path)?, &mut hasher)?;
        Ok((bytes, hasher.finalize()))
    })();
    read.map_err(|error| {
        let what = format!("cannot read `{}`", path.display());
        CommandFailure::because(BridleExit::NoInput, what, &error).hint("the backup is not whole")
    })
}

fn write_manifest(target: &Path, names: &[String]) -> Result<(), CommandFailure> {
    let mut text = format!("{MANIFEST_HEAD}\nat {}\n", rfc3339(now_ms()));
    for name in names {
        let (bytes, hash) = hash_of(&target.join(name))?;
        text.push_str(&format!("{hash} {bytes} {name}\n"));
    }
    let path = target.join(MANIFEST);
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)
        .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()));
    written.map_err(|error| {
        CommandFailure::because(
            BridleExit::Io,
            format!("cannot write `{}`", path.display()),
            &error,
        )
        .hint("check the free disk space")
    })
}

/// Checks each file against the manifest, and the record against its hash chain.
fn check(dir: &Path) -> Result<CheckedBackup, CommandFailure> {
    let entries = read_manifest(dir)?;
    for entry in &entries {
        let (bytes, hash) = hash_of(&dir.join(&entry.name))?;
        if (bytes, hash) != (entry.bytes, entry.hash) {
            return Err(not_whole(&format!("`{}` is not what was backed up", entry.name)));
        }
    }
    let history = RecordHistory::open(dir).map_err(|error| failure(&error))?;
    history.verify(None, &mut |_, _| {}).map_err(|error| failure(&error))?;
    let head = history.size().map_err(|error| failure(&error))?.all.records;
    Ok(CheckedBackup { entries, head })
}

fn not_whole(what: &str) -> CommandFailure {
    CommandFailure::new(BridleExit::Data, format!("not a whole backup: {what}"))
        .hint("use another backup; this one was damaged or changed")
}

fn read_manifest(dir: &Path) -> Result<Vec<BackupEntry>, CommandFailure> {
    let path = dir.join(MANIFEST);
    let mut text = String::new();
    File::open(&path)
        .and_then(|file| file.take(MAX_MANIFEST_BYTES).read_to_string(&mut text))
        .map_err(|error| {
            let what = format!("cannot read `{}`", path.display());
            CommandFailure::because(BridleExit::NoInput, what, &error)
                .hint("name a folder that `bridle backup` wrote")
        })?;
    let mut lines = text.lines();
    if lines.next() != Some(MANIFEST_HEAD) {
        return Err(not_whole("its manifest has another version, or none"));
    }
    let mut entries: Vec<BackupEntry> = Vec::new();
    for line in lines.skip(1) {
        let entry = entry(line).ok_or_else(|| not_whole("a line of its manifest is unclear"))?;
        if entries.iter().any(|known| known.name == entry.name) {
            return Err(not_whole("its manifest names a file twice"));
        }
        entries.push(entry);
    }
    if !entries.iter().any(|entry| entry.name == RECORD_FILE) {
        return Err(not_whole("it has no record"));
    }
    Ok(entries)
}

/// Reads a line; only files that a backup can have are let in, so no name leads out of a folder.
fn entry(line: &str) -> Option<BackupEntry> {
    let mut words = line.splitn(3, ' ');
    let hash = blake3::Hash::from_hex(words.next()?).ok()?;
    let bytes = words.next()?.parse().ok()?;
    let name = words.next()?;
    let mut known = DATABASES.iter().chain(&PLAIN_FILES).chain(&KEY_FILES);
    known.any(|it| *it == name).then(|| BackupEntry { name: name.to_owned(), bytes, hash })
}

fn told(backup: &CheckedBackup, place: &Path, json: bool, verb: &str) -> String {
    let bytes: u64 = backup.entries.iter().map(|entry| entry.bytes).sum();
    if json {
        let names: Vec<String> = backup.entries.iter().map(|it| quoted(&it.name)).collect();
        let pairs = [
            ("folder", quoted(&place.display().to_string())),
            ("files", format!("[{}]", names.join(","))),
            ("bytes", bytes.to_string()),
            ("records", backup.head.to_string()),
        ];
        return object(&pairs) + "\n";
    }
    format!(
        "{verb}: {}, {} files, {:.1} MiB, {} records, hash chain intact\n",
        place.display(),
        backup.entries.len(),
        bytes as f64 / f64::from(1 << 20),
        backup.head
    )
}
