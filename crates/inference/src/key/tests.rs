//! Keys from every source, and what is refused.

use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

use bridle_models::KeySource;
use zeroize::Zeroizing;

use super::{KeyReader, NoSecrets, SecretLookup};
use crate::error::InferenceError;

struct OneSecret;

impl SecretLookup for OneSecret {
    fn secret(&self, name: &str, host: &str) -> Result<Zeroizing<String>, String> {
        match (name, host) {
            ("openai", "api.example.org") => Ok(Zeroizing::new("word-of-the-store".to_owned())),
            ("openai", host) => Err(format!("the secret `openai` may not be sent to `{host}`")),
            _ => Err(format!("no secret is named `{name}`")),
        }
    }
}

async fn read(source: KeySource) -> Result<String, InferenceError> {
    let reader = KeyReader::new(Arc::new(OneSecret));
    reader.read(&source, "api.example.org").await.map(|key| key.expose().to_owned())
}

#[tokio::test]
async fn keys_come_from_files_programs_and_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    std::fs::write(&path, "word-of-the-file\nsecond line\n").unwrap();
    let of_file = KeySource::File(path.to_str().unwrap().to_owned());
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    let refused = read(of_file.clone()).await.unwrap_err().to_string();
    assert!(refused.ends_with("can be read by others: `chmod 600` makes it yours alone"));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(read(of_file).await.unwrap(), "word-of-the-file");

    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let command = KeySource::Command(words(&["printf", "word-of-a-program\\n"]));
    assert_eq!(read(command).await.unwrap(), "word-of-a-program");
    let secret = KeySource::Secret("openai".to_owned());
    assert_eq!(read(secret).await.unwrap(), "word-of-the-store");
}

#[tokio::test]
async fn what_is_no_key_is_refused_without_showing_it() {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    for (source, expect) in [
        (KeySource::Environment("BRIDLE_NO_SUCH_KEY".to_owned()), "has no `BRIDLE_NO_SUCH_KEY`"),
        (KeySource::File("/nonexistent/key".to_owned()), "cannot be read"),
        (KeySource::File("/dev/zero".to_owned()), "is no plain file"),
        (KeySource::Command(words(&["false"])), "ended with"),
        (KeySource::Command(words(&["/nonexistent/program"])), "cannot be run"),
        (KeySource::Command(words(&["printf", "two words"])), "no line of plain characters"),
        (KeySource::Secret("other".to_owned()), "no secret is named `other`"),
    ] {
        let refused = read(source).await.unwrap_err().to_string();
        assert!(refused.contains(expect) && !refused.contains("two words\n"), "{refused}");
    }
    let reader = KeyReader::new(Arc::new(NoSecrets));
    let source = KeySource::Secret("openai".to_owned());
    assert!(reader.read(&source, "api.example.org").await.is_err());
}

#[tokio::test]
async fn a_program_is_run_once_until_its_key_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let count = folder.path().join("count");
    let script = format!("echo run >> {}; echo word", count.display());
    let source = KeySource::Command(vec!["sh".to_owned(), "-c".to_owned(), script]);
    let reader = KeyReader::new(Arc::new(NoSecrets));
    for _ in 0..3 {
        assert_eq!(reader.read(&source, "x").await.unwrap().expose(), "word");
    }
    reader.forget(&source);
    assert_eq!(format!("{:?}", reader.read(&source, "x").await.unwrap()), "ProviderKey(..)");
    assert_eq!(std::fs::read_to_string(count).unwrap().lines().count(), 2);
}
