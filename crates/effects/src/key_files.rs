//! Files that look like keys: asked about before they are read, hidden from programs otherwise.

use std::path::Path;

/// Names that are keys, in lower case.
const NAMES: [&str; 18] = [
    ".env",
    ".envrc",
    ".netrc",
    ".pgpass",
    ".pypirc",
    ".npmrc",
    ".git-credentials",
    ".htpasswd",
    ".vault_pass",
    "credentials",
    "credentials.json",
    "credentials.toml",
    "service-account.json",
    "secrets.json",
    "secrets.yaml",
    "secrets.yml",
    "secrets.toml",
    "kubeconfig",
];

/// Endings of names that are keys.
const ENDINGS: [&str; 9] =
    [".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".asc", ".ppk"];

/// Names whose beginning says it.
const BEGINNINGS: [&str; 5] = ["id_rsa", "id_ed25519", "id_ecdsa", "id_dsa", ".env."];

/// Endings that say that it is none: an example, a public half.
const HARMLESS: [&str; 6] = [".example", ".sample", ".template", ".dist", ".pub", ".md"];

/// Folders that hold keys, anywhere on the way.
const FOLDERS: [&str; 6] = [".ssh", ".gnupg", ".aws", ".kube", ".docker", ".password-store"];

/// Whether a path looks like a key.
pub(crate) fn looks_like_key(path: &Path) -> bool {
    let lower = |part: &std::ffi::OsStr| part.to_string_lossy().to_lowercase();
    let Some(name) = path.file_name().map(lower) else { return false };
    if HARMLESS.iter().any(|ending| name.ends_with(ending)) {
        return false;
    }
    let in_folder =
        || path.components().any(|part| FOLDERS.contains(&lower(part.as_os_str()).as_str()));
    NAMES.contains(&name.as_str())
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
        || BEGINNINGS.iter().any(|start| name.starts_with(start))
        || in_folder()
}

/// Whether a word of a command names one, whole or behind `=`, `@` or `:`.
pub(crate) fn names_key(word: &str) -> bool {
    word.split(['=', '@', ':', ',']).any(|part| !part.is_empty() && looks_like_key(Path::new(part)))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{looks_like_key, names_key};

    #[test]
    fn keys_are_told_from_examples() {
        let is_key = |path: &str| looks_like_key(Path::new(path));
        for path in [".env", "a/.env.local", "deploy/id_ed25519", "tls/server.PEM", ".ssh/config"] {
            assert!(is_key(path), "{path}");
        }
        for path in [".env.example", "id_rsa.pub", "src/key.rs", "environment", "keys.md"] {
            assert!(!is_key(path), "{path}");
        }
    }

    #[test]
    fn words_are_looked_into() {
        assert!(names_key("--env-file=.env") && names_key("@id_rsa") && names_key("a.key"));
        assert!(!names_key("--key=a") && !names_key("src/main.rs"));
    }
}
