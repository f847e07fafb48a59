//! The upper layer of an overlay, read as changes: a device without a number is a deletion, an
//! opaque folder hides what was below it.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use super::ChangeContext;
use crate::error::JailError;
use crate::tree::{self, EntryKind};

/// Attribute of a folder that shows nothing of the layer below.
const OPAQUE: &str = "user.overlay.opaque";

pub(super) fn collect(context: &mut ChangeContext<'_>) -> Result<(), JailError> {
    let upper = context.contents.clone();
    let mut present = BTreeSet::new();
    let mut whiteouts = Vec::new();
    let mut opaque = Vec::new();
    tree::walk(&upper, &[], &mut |path, metadata| {
        let kind = metadata.file_type();
        if kind.is_char_device() && metadata.rdev() == 0 {
            whiteouts.push(path.to_owned());
            return Ok(());
        }
        if kind.is_dir() && is_opaque(&upper.join(path)) {
            opaque.push(path.to_owned());
        }
        present.insert(path.to_owned());
        Ok(())
    })?;
    let mut gone = BTreeSet::new();
    for path in &whiteouts {
        gone.extend(with_entries(context, path));
    }
    for folder in &opaque {
        gone.extend(entries_below(context, folder));
    }
    for path in &present {
        // A file where a folder was takes all that was in the folder along.
        let was_folder =
            context.stage.base().get(path).is_some_and(|it| it.kind == EntryKind::Folder);
        if was_folder && !fs::symlink_metadata(upper.join(path)).is_ok_and(|it| it.is_dir()) {
            gone.extend(entries_below(context, path));
        }
    }
    for path in gone.difference(&present) {
        context.remove(path)?;
    }
    for path in &present {
        context.add(path)?;
    }
    Ok(())
}

pub(crate) fn is_opaque(folder: &Path) -> bool {
    let mut value = [0_u8; 4];
    matches!(rustix::fs::lgetxattr(folder, OPAQUE, &mut value[..]), Ok(length) if value[..length] == *b"y")
}

fn with_entries(context: &ChangeContext<'_>, path: &Path) -> Vec<PathBuf> {
    let mut found = entries_below(context, path);
    if context.stage.base().contains_key(path) {
        found.push(path.to_owned());
    }
    found
}

fn entries_below(context: &ChangeContext<'_>, folder: &Path) -> Vec<PathBuf> {
    context
        .stage
        .base()
        .range(folder.to_owned()..)
        .skip_while(|(path, _)| *path == folder)
        .take_while(|(path, _)| path.starts_with(folder))
        .map(|(path, _)| path.clone())
        .collect()
}
