//! `models.org` as the verbs change it: read once, written beside and then in its place, and only over what was read.

use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use bridle_model_host::MODELS_FILE;
use bridle_models::DEFAULT_MODELS_FILE;

use crate::exit::{BridleExit, CommandFailure};

/// Bytes of the file that are read: as many as its reader takes.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// The file and its text.
pub(super) struct ModelsFile {
    path: PathBuf,
    pub(super) text: String,
    is_there: bool,
}

impl ModelsFile {
    /// Reads the file of a folder; one that is not there has the text of a new one.
    pub(super) fn open(folder: &Path) -> Result<ModelsFile, CommandFailure> {
        let named = folder.join(MODELS_FILE);
        // A link is followed once, so that what it leads to is replaced and not the link.
        let path = named.canonicalize().unwrap_or(named);
        match read(&path) {
            Ok(text) => Ok(ModelsFile { path, text, is_there: true }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Ok(ModelsFile { path, text: DEFAULT_MODELS_FILE.to_owned(), is_there: false })
            }
            Err(error) => {
                let what = format!("cannot read `{}`", path.display());
                Err(CommandFailure::because(BridleExit::NoInput, what, &error)
                    .hint("make it a readable text file of at most 1 MiB"))
            }
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Puts a text in the place of what was read.
    pub(super) fn replace(&self, text: &str) -> Result<(), CommandFailure> {
        self.check_unchanged()?;
        let beside = self.path.with_extension("org.bridle-new");
        let write = || -> io::Result<()> {
            let mut options = std::fs::OpenOptions::new();
            let mut out = options.write(true).create_new(true).open(&beside)?;
            let mode = std::fs::metadata(&self.path).map(|facts| facts.permissions());
            // Names of servers and keys are nobody else's business.
            out.set_permissions(mode.unwrap_or_else(|_| std::fs::Permissions::from_mode(0o600)))?;
            out.write_all(text.as_bytes())?;
            out.sync_all()?;
            std::fs::rename(&beside, &self.path)
        };
        write().map_err(|error| {
            let _ = std::fs::remove_file(&beside);
            let what = format!("cannot write `{}`", self.path.display());
            CommandFailure::because(BridleExit::CannotCreate, what, &error)
                .hint("check the free disk space and who owns the folder")
        })
    }

    fn check_unchanged(&self) -> Result<(), CommandFailure> {
        let is_same = match read(&self.path) {
            Ok(text) => self.is_there && text == self.text,
            Err(error) => !self.is_there && error.kind() == io::ErrorKind::NotFound,
        };
        if is_same {
            return Ok(());
        }
        let what = format!("`{}` was saved by somebody else meanwhile", self.path.display());
        Err(CommandFailure::new(BridleExit::Temporary, what).hint("run the command again"))
    }
}

fn read(path: &Path) -> io::Result<String> {
    let file = std::fs::File::open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    let mut text = String::new();
    file.take(MAX_FILE_BYTES + 1).read_to_string(&mut text)?;
    match text.len() as u64 <= MAX_FILE_BYTES {
        true => Ok(text),
        false => Err(io::Error::other("it is larger than 1 MiB")),
    }
}
