//! Completion of commands and files.

/// Suggestions shown at a time.
pub const MAX_SHOWN: usize = 6;

/// Commands of this program: name and use.
pub const LOCAL_COMMANDS: &[(&str, &str)] = &[
    ("/keys", "the keys of this program"),
    ("/copy", "copies the last answer"),
    ("/new", "begins a new session"),
    ("/pick", "picks another session"),
    ("/log", "the messages of this connection"),
    ("/details", "the open question in full"),
    ("/quit", "leaves; the daemon goes on"),
];

/// Commands that every daemon answers itself.
pub const DAEMON_COMMANDS: &[(&str, &str)] = &[
    ("/help", "what the daemon can do"),
    ("/status", "state of the daemon"),
    ("/sessions", "its sessions"),
    ("/why", "why something happened"),
];

/// A way to go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompletionEntry {
    /// Text that replaces the word.
    pub text: String,
    /// Description for people.
    pub about: String,
}

/// Menu of ways to go on, one of them chosen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CompletionMenu {
    /// Ways, the best first.
    pub entries: Vec<CompletionEntry>,
    /// The chosen one.
    pub chosen: usize,
}

impl CompletionMenu {
    /// Moves the choice, around the ends.
    pub fn go(&mut self, down: bool) {
        let count = self.entries.len().max(1);
        self.chosen = if down { self.chosen + 1 } else { self.chosen + count - 1 } % count;
    }

    /// The chosen way.
    pub fn entry(&self) -> Option<&CompletionEntry> {
        self.entries.get(self.chosen)
    }
}

/// Commands that begin with a word.
pub fn commands(word: &str, skills: &[(String, String)]) -> Vec<CompletionEntry> {
    let fixed = LOCAL_COMMANDS.iter().chain(DAEMON_COMMANDS);
    let fixed = fixed.map(|(name, about)| ((*name).to_owned(), (*about).to_owned()));
    let all = fixed.chain(skills.iter().cloned());
    let fitting = all.filter(|(name, _)| name.starts_with(word) && name != word);
    fitting.map(|(text, about)| CompletionEntry { text, about }).collect()
}

/// Files whose path holds a word, ignoring case: those first whose name begins with it.
pub fn files(word: &str, paths: &[String]) -> Vec<CompletionEntry> {
    let wanted = word.to_lowercase();
    let rank = |path: &String| {
        let path = path.to_lowercase();
        let name = path.rsplit('/').next().unwrap_or_default();
        match () {
            () if path.starts_with(&wanted) => Some(0),
            () if name.starts_with(&wanted) => Some(1),
            () if path.contains(&wanted) => Some(2),
            () => None,
        }
    };
    let mut found: Vec<(u8, usize, &String)> =
        paths.iter().filter_map(|path| rank(path).map(|rank| (rank, path.len(), path))).collect();
    found.sort();
    let shown = found.into_iter().take(64);
    let entry = |path: &String| CompletionEntry { text: format!("@{path}"), about: String::new() };
    shown.map(|(_, _, path)| entry(path)).collect()
}

#[cfg(test)]
mod tests {
    use super::{CompletionMenu, commands, files};

    #[test]
    fn the_best_come_first() {
        let paths = ["docs/main.md", "src/main.rs", "main.rs", "x"].map(str::to_owned);
        let found: Vec<String> = files("Main", &paths).into_iter().map(|it| it.text).collect();
        assert_eq!(found, ["@main.rs", "@src/main.rs", "@docs/main.md"]);
        let skills = [("/weekly".to_owned(), "review".to_owned())];
        assert_eq!(commands("/we", &skills)[0].text, "/weekly");
        assert!(commands("/copy", &[]).is_empty());
    }

    #[test]
    fn a_choice_goes_around() {
        let mut menu = CompletionMenu { entries: files("", &["a".into(), "b".into()]), chosen: 0 };
        menu.go(false);
        assert_eq!(menu.chosen, 1);
        menu.go(true);
        assert_eq!(menu.chosen, 0);
        CompletionMenu::default().go(true);
    }
}
