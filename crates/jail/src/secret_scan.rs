//! A scanner for secrets in bytes that leave or are committed: formats that their makers publish,
//! private keys, assignments of `.env`. Says kind and place, never the secret. What has no format is
//! found by its name and its spread of characters only, so that hashes and prose are not accused.

use std::collections::HashMap;
use std::path::Path;
use std::sync::LazyLock;

use regex::bytes::{Captures, Regex};
use serde::{Deserialize, Serialize};

/// Most findings in one text.
const MAX_FINDINGS: usize = 100;

/// Bits of a character below which an assigned value is a word, not a secret.
const MIN_SPREAD_BITS: f64 = 3.2;

/// Kind of a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SecretKind {
    /// Block of a private key: PEM, OpenSSH, PGP, age.
    PrivateKey,
    /// Key of a cloud provider.
    CloudKey,
    /// Token of a forge or package registry.
    ForgeToken,
    /// Key of a model provider.
    ModelKey,
    /// Token of a chat, mail or payment service.
    ServiceToken,
    /// JSON Web Token.
    WebToken,
    /// Password inside a URL.
    UrlPassword,
    /// Value assigned to a name like `password` or `API_KEY`.
    Assignment,
}

/// Secret that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretFinding {
    /// Kind of it.
    pub kind: SecretKind,
    /// Line, from 1.
    pub line: usize,
    /// First byte in the text, and length.
    pub place: (usize, usize),
}

/// Formats, each with the kind that it proves.
#[rustfmt::skip]
const FORMATS: &[(SecretKind, &str)] = &[
    (SecretKind::PrivateKey, r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----"),
    (SecretKind::PrivateKey, r"\bAGE-SECRET-KEY-1[0-9A-Z]{58}\b"),
    (SecretKind::CloudKey, r"\b(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}\b"),
    (SecretKind::CloudKey, r"\bAIza[0-9A-Za-z_-]{35}"),
    (SecretKind::CloudKey, r"\bya29\.[0-9A-Za-z_-]{20,}"),
    (SecretKind::CloudKey, r"\bdo[opr]_v1_[0-9a-f]{64}\b"),
    (SecretKind::ForgeToken, r"\bgh[pousr]_[0-9A-Za-z]{36,255}\b"),
    (SecretKind::ForgeToken, r"\bgithub_pat_[0-9A-Za-z_]{82}\b"),
    (SecretKind::ForgeToken, r"\bglpat-[0-9A-Za-z_-]{20,}"),
    (SecretKind::ForgeToken, r"\bnpm_[0-9A-Za-z]{36}\b"),
    (SecretKind::ForgeToken, r"\bpypi-AgEIcHlwaS5vcmc[0-9A-Za-z_-]{50,}"),
    (SecretKind::ForgeToken, r"\bcio[0-9A-Za-z]{32}\b"),
    (SecretKind::ModelKey, r"\bsk-(?:ant-|proj-|svcacct-|or-v1-)[0-9A-Za-z_-]{20,}"),
    (SecretKind::ModelKey, r"\bsk-[0-9A-Za-z]{32,}\b"),
    (SecretKind::ModelKey, r"\b(?:gsk|hf|r8|xai)[_-][0-9A-Za-z]{30,}\b"),
    (SecretKind::ServiceToken, r"\bxox[abeoprs]-[0-9A-Za-z-]{10,}"),
    (SecretKind::ServiceToken, r"\b(?:sk|rk)_(?:live|test)_[0-9A-Za-z]{16,}\b"),
    (SecretKind::ServiceToken, r"\bSG\.[0-9A-Za-z_-]{22}\.[0-9A-Za-z_-]{43}"),
    (SecretKind::ServiceToken, r"\b[0-9]{8,10}:AA[0-9A-Za-z_-]{33}\b"),
    (SecretKind::ServiceToken, r"\bSK[0-9a-f]{32}\b"),
    (SecretKind::ServiceToken, r"hooks\.slack\.com/services/T[0-9A-Z]+/B[0-9A-Z]+/[0-9A-Za-z]{16,}"),
    (SecretKind::WebToken, r"\beyJ[0-9A-Za-z_-]{10,}\.eyJ[0-9A-Za-z_-]{10,}\.[0-9A-Za-z_-]{10,}"),
];

static FORMAT_RULES: LazyLock<Vec<(SecretKind, Regex)>> = LazyLock::new(|| {
    let compile =
        |text: &str| Regex::new(&format!("(?-u){text}")).expect("a rule of ours compiles");
    FORMATS.iter().map(|(kind, text)| (*kind, compile(text))).collect()
});

static URL_PASSWORD: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?-u)\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@'\x22]{1,100}:([^\s/@'\x22]{3,200})@")
        .expect("a rule of ours compiles")
});

static ASSIGNMENT: LazyLock<Regex> = LazyLock::new(|| {
    let names =
        "password|passwd|secret|token|api_?key|access_?key|private_?key|credentials?|auth_?key";
    Regex::new(&format!(
        r#"(?i-u)[a-z0-9_.-]{{0,40}}(?:{names})[a-z0-9_-]{{0,20}}['"]?\s{{0,3}}(?::=|=>|=|:)\s{{0,3}}(?:"([^"\r\n]{{8,200}})"|'([^'\r\n]{{8,200}})'|([^\s'"`,;]{{8,200}}))"#
    ))
    .expect("a rule of ours compiles")
});

/// Finds secrets in a text; the path tells files where every assignment counts.
#[must_use]
pub fn find_secrets(path: &Path, text: &[u8]) -> Vec<SecretFinding> {
    let mut found: Vec<SecretFinding> = Vec::new();
    let mut push = |kind, start: usize, end: usize| {
        let overlaps = |it: &SecretFinding| it.place.0 < end && start < it.place.0 + it.place.1;
        if found.len() < MAX_FINDINGS && !found.iter().any(overlaps) {
            let line = text[..start].iter().filter(|&&byte| byte == b'\n').count() + 1;
            found.push(SecretFinding { kind, line, place: (start, end - start) });
        }
    };
    for (kind, rule) in FORMAT_RULES.iter() {
        for hit in rule.find_iter(text).filter(|hit| !is_example(hit.as_bytes())) {
            push(*kind, hit.start(), hit.end());
        }
    }
    let first_group = |captures: &Captures<'_>| {
        captures.iter().skip(1).flatten().next().map(|hit| (hit.start(), hit.end()))
    };
    for captures in URL_PASSWORD.captures_iter(text) {
        if let Some((start, end)) = first_group(&captures)
            && !is_placeholder(&text[start..end])
        {
            push(SecretKind::UrlPassword, start, end);
        }
    }
    let is_env = is_env_file(path);
    for captures in ASSIGNMENT.captures_iter(text) {
        if let Some((start, end)) = first_group(&captures) {
            let value = &text[start..end];
            let is_code = captures.get(3).is_some() && !is_env;
            if looks_secret(value, is_code) {
                push(SecretKind::Assignment, start, end);
            }
        }
    }
    found.sort_by_key(|finding| finding.place);
    found
}

/// Whether a file is known to hold secrets by its name: asked about before it is read.
#[must_use]
pub(crate) fn is_env_file(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase());
    name.is_some_and(|name| {
        name == ".env"
            || (name.starts_with(".env.") && !name.ends_with(".example"))
            || name.ends_with(".env")
    })
}

/// Value that stands for a secret instead of being one.
fn is_placeholder(value: &[u8]) -> bool {
    let lower = value.to_ascii_lowercase();
    let has = |word: &[u8]| lower.windows(word.len()).any(|window| window == word);
    let marks: [&[u8]; 11] = [
        b"example",
        b"changeme",
        b"your",
        b"xxxx",
        b"placeholder",
        b"password",
        b"secret",
        b"dummy",
        b"redacted",
        b"****",
        b"....",
    ];
    let first = value.first().copied().unwrap_or(b'$');
    matches!(first, b'$' | b'<' | b'{' | b'%') || marks.iter().any(|mark| has(mark))
}

fn is_example(value: &[u8]) -> bool {
    value.windows(7).any(|window| window.eq_ignore_ascii_case(b"example"))
}

fn looks_secret(value: &[u8], is_code: bool) -> bool {
    if is_placeholder(value) || !value.is_ascii() {
        return false;
    }
    if is_code && value.iter().any(|byte| b"()[]{}<>$.&|".contains(byte)) {
        // An expression: a call, a field, a variable.
        return false;
    }
    let has = |test: fn(&u8) -> bool| value.iter().any(test);
    let classes = [
        has(u8::is_ascii_lowercase),
        has(u8::is_ascii_uppercase),
        has(u8::is_ascii_digit),
        has(u8::is_ascii_punctuation),
    ];
    let mixed = classes.iter().filter(|it| **it).count() >= 2 && classes[2];
    mixed
        && !value.contains(&b' ')
        && spread_bits(value) >= MIN_SPREAD_BITS.min(max_spread(value.len()))
}

/// Spread that even a random value of this length does not much exceed.
fn max_spread(length: usize) -> f64 {
    f64::from(u32::try_from(length).unwrap_or(u32::MAX)).log2() - 0.5
}

/// Shannon entropy of the bytes, in bits for each.
fn spread_bits(value: &[u8]) -> f64 {
    let mut counts: HashMap<u8, u32> = HashMap::new();
    for &byte in value {
        *counts.entry(byte).or_default() += 1;
    }
    let length = f64::from(u32::try_from(value.len()).unwrap_or(u32::MAX));
    counts.values().map(|&count| f64::from(count) / length).map(|share| -share * share.log2()).sum()
}

#[cfg(test)]
mod tests;
