//! Keys for objects that have none of their own.

use std::collections::HashMap;

use super::super::file_sheet::{Digest, FileSheet};

/// Keys for objects that declare none: the same each time a file is read, as long as nobody has them.
pub(super) struct GeneratedNames<'s> {
    path: &'s str,
    sheet: &'s FileSheet,
    /// The hash of what each item is called with all that it is below.
    paths: Vec<Digest>,
    /// Times that each name was asked for.
    asked: HashMap<Digest, u64>,
}

impl<'s> GeneratedNames<'s> {
    pub(super) fn new(path: &'s str, sheet: &'s FileSheet) -> Self {
        Self { path, sheet, paths: Vec::new(), asked: HashMap::new() }
    }

    pub(super) fn next(&mut self, index: usize) -> String {
        for item in self.sheet.items.iter().take(index + 1).skip(self.paths.len()) {
            let mut hasher = blake3::Hasher::new_derive_key("bridle 2026 memex key");
            match item.parent {
                None => {
                    hasher.update(self.path.as_bytes());
                }
                Some(parent) => {
                    hasher.update(&self.paths[parent]);
                    hasher.update(item.title.as_bytes());
                }
            }
            self.paths.push(hasher.finalize().into());
        }
        let path = self.paths[index];
        let asked = self.asked.entry(path).or_insert(0);
        *asked += 1;
        let mut hasher = blake3::Hasher::new_derive_key("bridle 2026 memex key of one");
        hasher.update(&path);
        hasher.update(&asked.to_le_bytes());
        // 80 bits: nobody has so many headings that two of them meet.
        format!("o-{}", &hasher.finalize().to_hex()[..20])
    }
}
