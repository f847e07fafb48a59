//! Skills of a home: the folder and its table, turns with a thinker, restarts in the middle.
#![expect(clippy::unwrap_used, reason = "a helper of a test fails like the test itself")]

mod edits;
mod many;
mod registry;
mod shipped;
mod turns;

use std::path::PathBuf;
use std::sync::Arc;

use bridle_skill_host::{SkillRegistry, SkillStorage};
use tempfile::TempDir;

/// A home with a folder of skills.
struct Home {
    folder: TempDir,
}

impl Home {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        std::fs::create_dir(folder.path().join("skills")).unwrap();
        Self { folder }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join("skills").join(name)
    }

    /// Writes a file of another length than before: two saves may be in the same tick of the clock.
    fn write(&self, name: &str, text: &str) {
        let path = self.file(name);
        let before = std::fs::metadata(&path).map_or(0, |facts| facts.len());
        let pad = if before == text.len() as u64 { "\n" } else { "" };
        std::fs::write(path, format!("{text}{pad}")).unwrap();
    }

    fn storage(&self) -> SkillStorage {
        SkillStorage::new(&self.folder.path().join("state"))
    }

    /// A registry that has read the folder.
    fn registry(&self) -> Arc<SkillRegistry> {
        let folder = self.folder.path().join("skills");
        let registry = Arc::new(SkillRegistry::new(Some(folder), self.storage()));
        registry.refresh();
        registry
    }
}

/// A skill with a command `hello` that says this.
fn hello(id: &str, head: &str, says: &str) -> String {
    format!(
        ":PROPERTIES:\n:ID: {id}\n{head}:END:\n* P\n#+begin_src lisp\n(defcommand hello (text) \"{says}\")\n#+end_src\n\
         * Tests\n| command | contains |\n| hello | {says} |\n"
    )
}
