//! `cargo xtask fuzz`: the fuzz targets, for as long as asked, seeded with the vectors. The properties
//! they check also run in `cargo test` for seconds, on a fixed seed; this verb is the long run. Needs a
//! nightly toolchain and cargo-fuzz, and installs both when missing.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use bridle_sexp::byte_text;
use serde_json::{Value, json};

use crate::console::{ProgramRun, VerbConsole, files, has_program, root};
use crate::{peers, setup, tidy};

pub(crate) const HELP: &str = "\
usage: cargo xtask fuzz [TARGET...] [--seconds N]

Runs the named targets, or all of them, N seconds each (600 unless told). A crash is printed as a
vector line, ready for vectors/ once its verdict is filled in. Targets:

  sexp_read sexp_roundtrip frame_decode message_decode openharness_read org_read
  model_stream
  lisp_run";

/// Ten minutes: what every target must survive before a release.
const SECONDS: u64 = 600;

/// A target and the folder of vectors that seeds it.
const TARGETS: &[(&str, &str)] = &[
    ("sexp_read", "sexp"),
    ("sexp_roundtrip", "sexp"),
    ("frame_decode", "frame"),
    ("message_decode", "message"),
    ("openharness_read", "openharness"),
    (ORG, "org"),
    ("model_stream", "models"),
    (LISP, "sexp"),
];

/// The target whose vectors are files as they are.
const ORG: &str = "org_read";

/// The target that is seeded with the forms compared with SBCL too.
const LISP: &str = "lisp_run";

/// The target whose input starts with two bytes that are not part of the stream.
const FRAMES: &str = "frame_decode";

/// Longest input tried: room for any structure, and still thousands of runs a second.
const MAX_INPUT_BYTES: usize = 4 * 1024;

pub(crate) fn run(arguments: &[String], console: &VerbConsole) -> Result<()> {
    let (targets, seconds) = parse(arguments)?;
    prepare(console)?;
    let mut crashes = 0;
    for (target, folder) in targets {
        let seeds = seed(target, folder)?;
        console.say(format!("fuzz: {target} for {seconds} s from {seeds} vectors"));
        let before = artifacts(target)?;
        let result = fuzz_command(target, seconds).run(console);
        let fresh: Vec<PathBuf> = artifacts(target)?.difference(&before).cloned().collect();
        for path in &fresh {
            report(path, target, folder, console)?;
        }
        crashes += fresh.len();
        if fresh.is_empty() {
            result?;
        }
    }
    if crashes > 0 {
        bail!("{crashes} new crashes: the inputs are in fuzz/artifacts");
    }
    console.say("fuzz: nothing found");
    Ok(())
}

type Target = (&'static str, &'static str);

fn parse(arguments: &[String]) -> Result<(Vec<Target>, u64)> {
    let (mut targets, mut seconds) = (Vec::new(), SECONDS);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if argument == "--seconds" {
            let value = rest.next().context("`--seconds` without a number")?;
            seconds =
                value.parse().with_context(|| format!("not a number of seconds: `{value}`"))?;
        } else if let Some(target) = TARGETS.iter().find(|(name, _)| name == argument) {
            targets.push(*target);
        } else {
            bail!("no target `{argument}`\n\n{HELP}");
        }
    }
    if targets.is_empty() {
        targets = TARGETS.to_vec();
    }
    Ok((targets, seconds))
}

fn prepare(console: &VerbConsole) -> Result<()> {
    let toolchains = ProgramRun::new("rustup").args(["toolchain", "list"]).stdout()?;
    if !toolchains.contains("nightly") {
        console.say("installing the nightly toolchain (the fuzzer needs its instrumentation)");
        let install = ["toolchain", "install", "nightly", "--profile", "minimal"];
        ProgramRun::new("rustup").args(install).run(console)?;
    }
    if !has_program("cargo-fuzz") {
        setup::install_cargo_tool(&["cargo-fuzz"], "builds and runs the fuzz targets", console)?;
    }
    Ok(())
}

fn fuzz_command(target: &str, seconds: u64) -> ProgramRun {
    // The toolchain that runs us is pinned by environment variables; the fuzzer needs another one.
    ProgramRun::new("rustup")
        .args(["run", "nightly", "cargo", "fuzz", "run", "--fuzz-dir", "fuzz", target, "--"])
        .args([format!("-max_total_time={seconds}"), format!("-max_len={MAX_INPUT_BYTES}")])
        .args(["-timeout=10", "-rss_limit_mb=2048", "-print_final_stats=1"])
        .args([format!("-dict={}", root().join("fuzz/tokens.dict").display())])
        .without_env("CARGO")
        .without_env("RUSTUP_TOOLCHAIN")
}

/// Writes every vector of `folder` into the corpus of `target`; returns how many.
fn seed(target: &str, folder: &str) -> Result<usize> {
    let corpus = root().join("fuzz/corpus").join(target);
    fs::create_dir_all(&corpus).with_context(|| format!("cannot make `{}`", corpus.display()))?;
    let mut count = 0;
    if target == LISP {
        for (number, form) in peers::written_lisp_forms()?.iter().enumerate() {
            fs::write(corpus.join(format!("form-{number}")), form)
                .context("cannot write a form")?;
            count += 1;
        }
    }
    if target == ORG {
        let is_text = |path: &&PathBuf| {
            path.starts_with("vectors/org") && path.extension().is_some_and(|end| end == "org")
        };
        for path in files()?.iter().filter(is_text) {
            let name = path.file_name().context("a file without a name")?;
            fs::copy(root().join(path), corpus.join(name))
                .with_context(|| format!("cannot copy `{}`", path.display()))?;
            count += 1;
        }
    }
    for path in files()?.iter().filter(|path| tidy::vectors::folder(path) == Some(folder)) {
        let text = fs::read_to_string(root().join(path))
            .with_context(|| format!("cannot read `{}`", path.display()))?;
        for line in text.lines() {
            let vector: Value = serde_json::from_str(line)
                .with_context(|| format!("`{}` is not JSON lines", path.display()))?;
            let (Some(id), Some(input)) = (vector["id"].as_str(), input(&vector)) else { continue };
            let file = corpus.join(id);
            let prefix = if target == FRAMES { mode(&vector) } else { Vec::new() };
            fs::write(&file, [prefix, input].concat())
                .with_context(|| format!("cannot write `{}`", file.display()))?;
            count += 1;
        }
    }
    Ok(count)
}

/// The two bytes before a stream of frames: how to read it, and how to cut it (any number will do).
fn mode(vector: &Value) -> Vec<u8> {
    let signed = u8::from(vector["hmac"].is_string());
    let unit = match vector["unit"].as_str() {
        Some("bytes") => 1,
        Some("chars") => 2,
        _ => 0,
    };
    vec![unit << 1 | signed, 7]
}

/// The input bytes of a vector; `None` for one that is generated or too long to be a good seed.
fn input(vector: &Value) -> Option<Vec<u8>> {
    let bytes = match (vector["in"].as_str(), vector["in_hex"].as_str()) {
        (Some(text), _) => text.as_bytes().to_vec(),
        (None, Some(hex)) => byte_text::unhex(hex)?,
        (None, None) => return None,
    };
    (bytes.len() <= MAX_INPUT_BYTES).then_some(bytes)
}

fn artifacts(target: &str) -> Result<BTreeSet<PathBuf>> {
    let folder = root().join("fuzz/artifacts").join(target);
    if !folder.exists() {
        return Ok(BTreeSet::new());
    }
    let list =
        fs::read_dir(&folder).with_context(|| format!("cannot list `{}`", folder.display()))?;
    list.map(|entry| Ok(entry?.path())).collect()
}

/// Prints a crash as the vector that will keep it from coming back.
fn report(path: &Path, target: &str, folder: &str, console: &VerbConsole) -> Result<()> {
    let mut bytes = fs::read(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    if target == FRAMES {
        bytes.drain(..bytes.len().min(2));
    }
    console.say(format!("crash: {}", path.strip_prefix(root()).unwrap_or(path).display()));
    console.say(vector_line(&bytes, folder));
    Ok(())
}

fn vector_line(bytes: &[u8], folder: &str) -> String {
    let mut vector =
        json!({"id": format!("{folder}-NEXT"), "note": "found by fuzzing", "verdict": "?"});
    match std::str::from_utf8(bytes) {
        Ok(text) => vector["in"] = text.into(),
        Err(_) => {
            vector["in_hex"] = byte_text::hex(bytes).into();
        }
    }
    vector.to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{HELP, TARGETS, input, parse, vector_line};

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn targets_and_seconds() {
        let (targets, seconds) = parse(&words("sexp_read --seconds 5")).unwrap();
        assert_eq!((targets, seconds), (vec![("sexp_read", "sexp")], 5));
        assert_eq!(parse(&[]).unwrap().0.len(), TARGETS.len());
        assert!(parse(&words("sexp_write")).is_err());
        assert!(parse(&words("--seconds soon")).is_err());
    }

    #[test]
    fn help_names_every_target() {
        for (name, _) in TARGETS {
            assert!(HELP.contains(name), "{name}");
        }
    }

    #[test]
    fn a_crash_becomes_a_vector_and_a_vector_a_seed() {
        let line = vector_line(b"(a\xff", "frame");
        assert!(line.contains("\"in_hex\":\"2861ff\""), "{line}");
        assert_eq!(input(&json!({"in_hex": "2861ff"})), Some(b"(a\xff".to_vec()));
        assert_eq!(input(&json!({"in": "(a)"})), Some(b"(a)".to_vec()));
        assert_eq!(input(&json!({"in_repeat": ["(", 9]})), None);
    }
}
