//! Text of the policies that a command is about: of a file, of standard input, of the file that the settings
//! name, or the built-in one.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use bridle_daemon::{policy_file, policy_load};
use bridle_loop::{DEFAULT_POLICY, ExampleResult, GuardPolicies, InvalidPolicies};

use super::faults;
use crate::exit::{BridleExit, CommandFailure};
use crate::settings::{GivenFlags, ResolvedSettings};

/// Most bytes that are read of a file: more than a set may have, so that the set says so itself.
const MAX_FILE_BYTES: u64 = (1 << 20) + 1;

/// A text of policies, and the name that messages have for it.
#[derive(Debug)]
pub(super) struct SourceText {
    pub(super) name: String,
    pub(super) text: String,
}

impl SourceText {
    /// The text of the file that is named, else of the one that the settings name, else the built-in one.
    pub(super) fn find(file: Option<&Path>, given: &GivenFlags) -> Result<Self, CommandFailure> {
        if let Some(file) = file {
            return Self::read(file);
        }
        let choice = ResolvedSettings::resolve(given)?.policy();
        let Some(file) = choice.file() else { return Ok(Self::built_in()) };
        match policy_file::read(file) {
            Ok(text) => Ok(Self { name: file.display().to_string(), text }),
            Err(policy_file::PolicyFileError::Missing) if choice.may_be_missing() => {
                Ok(Self::built_in())
            }
            Err(policy_file::PolicyFileError::Missing) => Self::read(file),
            Err(error) => {
                let what = format!("`{}` cannot be installed", file.display());
                Err(CommandFailure::because(BridleExit::Data, what, &error)
                    .hint("it must be a regular file that you own and only you can write"))
            }
        }
    }

    /// The text of a file, or of standard input.
    pub(super) fn read(file: &Path) -> Result<Self, CommandFailure> {
        let is_stdin = file == Path::new("-");
        let mut bytes = Vec::new();
        let got = match is_stdin {
            true => io::stdin().lock().take(MAX_FILE_BYTES).read_to_end(&mut bytes),
            false => {
                File::open(file).and_then(|it| it.take(MAX_FILE_BYTES).read_to_end(&mut bytes))
            }
        };
        got.map_err(|error| {
            CommandFailure::because(
                BridleExit::NoInput,
                format!("cannot read `{}`", file.display()),
                &error,
            )
            .hint("name a policy file, or - for stdin; `bridle policy init` writes one")
        })?;
        let text = String::from_utf8(bytes).map_err(|error| {
            let what = format!("`{}` is not text", file.display());
            CommandFailure::because(BridleExit::Data, what, &error).hint("policies are UTF-8")
        })?;
        let name = if is_stdin { "stdin".to_owned() } else { file.display().to_string() };
        Ok(Self { name, text })
    }

    fn built_in() -> Self {
        Self { name: "built in".to_owned(), text: DEFAULT_POLICY.to_owned() }
    }

    /// The set and how its examples came out, all of them as they should.
    pub(super) fn load(&self) -> Result<(GuardPolicies, Vec<ExampleResult>), CommandFailure> {
        let (set, tried) = self.load_tried()?;
        match InvalidPolicies::of_failed(&tried) {
            None => Ok((set, tried)),
            Some(bad) => Err(faults(&self.name, &bad)),
        }
    }

    /// The set and how its examples came out.
    pub(super) fn load_tried(&self) -> Result<(GuardPolicies, Vec<ExampleResult>), CommandFailure> {
        policy_load::load_tried(&self.text).map_err(|bad| faults(&self.name, &bad))
    }
}
