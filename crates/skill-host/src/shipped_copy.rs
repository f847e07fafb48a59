//! Copies of the skills that come with the program in a user's folder. A copy is the user's: it is written once, enabled
//! with it, and replaced only when its owner asks for that.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use bridle_skill::{MAX_SKILL_BYTES, SHIPPED_SKILLS, ShippedSkill, SkillSource};

use crate::storage::{SkillStorage, StorageError};

/// Standing of a user's copy beside the text that comes with the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyStanding {
    /// There is none, and there never was.
    New,
    /// File that was there and that its owner deleted.
    Deleted,
    /// Copy with the text of this program.
    Same,
    /// A text that came with an earlier program, as it came.
    Outdated,
    /// A text of the user's own.
    Edited,
}

impl CopyStanding {
    /// Word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Deleted => "deleted",
            Self::Same => "same",
            Self::Outdated => "outdated",
            Self::Edited => "edited",
        }
    }
}

/// A user's copy of a shipped skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShippedCopy {
    /// The skill.
    pub shipped: ShippedSkill,
    /// Its file in the user's folder.
    pub path: PathBuf,
    /// Text of that file, where there is one.
    pub text: Option<String>,
    /// Standing.
    pub standing: CopyStanding,
}

/// Copies of all shipped skills in a folder, by name.
///
/// # Errors
/// A file cannot be read.
pub fn shipped_copies(
    folder: &Path,
    storage: &SkillStorage,
) -> Result<Vec<ShippedCopy>, StorageError> {
    SHIPPED_SKILLS.iter().map(|shipped| copy_of(*shipped, folder, storage)).collect()
}

fn copy_of(
    shipped: ShippedSkill,
    folder: &Path,
    storage: &SkillStorage,
) -> Result<ShippedCopy, StorageError> {
    let path = folder.join(format!("{}.org", shipped.name));
    let text = user_text(&path)?;
    let given = storage.given(shipped.name)?;
    let standing = match &text {
        None if given.is_some() => CopyStanding::Deleted,
        None => CopyStanding::New,
        Some(text) if text == shipped.text => CopyStanding::Same,
        Some(text) if given.as_deref() == Some(text) => CopyStanding::Outdated,
        Some(_) => CopyStanding::Edited,
    };
    Ok(ShippedCopy { shipped, path, text, standing })
}

/// Text of a user's file. What is no file of text counts as the user's own, with nothing in it.
fn user_text(path: &Path) -> Result<Option<String>, StorageError> {
    let failed = |source| StorageError::File { path: path.to_owned(), source };
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
        Ok(facts) if !facts.is_file() || facts.len() > MAX_SKILL_BYTES as u64 => {
            return Ok(Some(String::new()));
        }
        Ok(_) => {}
    }
    let bytes = fs::read(path).map_err(failed)?;
    Ok(Some(String::from_utf8(bytes).unwrap_or_default()))
}

impl ShippedCopy {
    /// Writes the text that comes with the program, and enables what its file asks for. A file that is there is
    /// replaced only if it still has the text of this copy.
    ///
    /// # Errors
    /// The file has changed meanwhile, or cannot be written.
    pub fn write(&self, storage: &SkillStorage) -> Result<(), StorageError> {
        let failed = |source| StorageError::File { path: self.path.clone(), source };
        let folder = self.path.parent().unwrap_or_else(|| Path::new("."));
        fs::create_dir_all(folder).map_err(failed)?;
        if user_text(&self.path)? != self.text {
            return Err(failed(io::Error::other("the file has changed meanwhile")));
        }
        let write = |path: &Path| -> io::Result<()> {
            let mut options = fs::OpenOptions::new();
            let mut file = options.write(true).create_new(true).mode(0o644).open(path)?;
            file.write_all(self.shipped.text.as_bytes())?;
            file.sync_all()
        };
        match self.text {
            // Whoever makes the file in this moment wins.
            None => write(&self.path).map_err(failed)?,
            Some(_) => {
                let beside = self.path.with_extension("org.new");
                write(&beside).and_then(|()| fs::rename(&beside, &self.path)).map_err(failed)?;
            }
        }
        self.adopt(storage)
    }

    /// Takes a file that has the text of this program for a copy of it, and enables what it asks for.
    ///
    /// # Errors
    /// The state directory cannot be written.
    pub fn adopt(&self, storage: &SkillStorage) -> Result<(), StorageError> {
        storage.give(self.shipped.name, self.shipped.text)?;
        // A test reads all of them.
        let Ok(source) = SkillSource::read(self.shipped.text, self.shipped.name) else {
            return Ok(());
        };
        storage.enable(&source.manifest.id, &source.manifest.capabilities)
    }
}
