//! Completion of commands and files.

/// Suggestions shown at a time.
pub const MAX_SHOWN: usize = 6;

/// Commands of this program: name and use.
pub const LOCAL_COMMANDS: &[(&str, &str)] = &[
    ("/keys", "the keys of this program"),
    ("/copy", "copies the last answer"),
    ("/model", "chooses the model of further prompts"),
    ("/new", "begins a new session"),
    ("/pick", "picks another session"),
    ("/replay", "the session from its beginning"),
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
    /// Text that is shown.
    pub text: String,
    /// Text that replaces the word, where that is another one.
    pub insert: Option<String>,
    /// Description for people.
    pub about: String,
}

impl CompletionEntry {
    fn plain(text: String, about: String) -> CompletionEntry {
        CompletionEntry { text, insert: None, about }
    }

    /// Text that replaces the word.
    pub fn inserted(&self) -> &str {
        self.insert.as_deref().unwrap_or(&self.text)
    }
}

/// Heading of the memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeadingPlace {
    /// Title.
    pub title: String,
    /// File, relative to the memory.
    pub path: String,
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
    fitting.map(|(text, about)| CompletionEntry::plain(text, about)).collect()
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
    let entry = |path: &String| CompletionEntry::plain(format!("@{path}"), String::new());
    shown.map(|(_, _, path)| entry(path)).collect()
}

/// Headings that have a word which begins so, as links of Org.
pub fn headings(word: &str, known: &[HeadingPlace]) -> Vec<CompletionEntry> {
    let wanted = word.to_lowercase();
    let has = |title: &str| {
        let title = title.to_lowercase();
        title.split(|it: char| !it.is_alphanumeric()).any(|it| it.starts_with(&wanted))
    };
    let entry = |place: &HeadingPlace| {
        // What would end a link early is left out of it.
        let title = place.title.replace(['[', ']'], "");
        CompletionEntry {
            text: format!("@{}", place.title),
            insert: Some(format!("[[file:{}::*{title}][{title}]]", place.path)),
            about: place.path.clone(),
        }
    };
    known.iter().filter(|place| has(&place.title)).map(entry).collect()
}

/// Models whose name holds a word.
pub fn models(word: &str, known: &[String]) -> Vec<CompletionEntry> {
    let all = known.iter().map(String::as_str).chain([AUTO_MODEL]);
    let fitting = all.filter(|name| name.contains(word) && *name != word);
    fitting.map(|name| CompletionEntry::plain(name.to_owned(), String::new())).collect()
}

/// Word for the daemon's own choice of a model.
pub const AUTO_MODEL: &str = "auto";

/// Files first, then headings, then the rest of the files: few of each are seen at once.
pub fn mixed(files: Vec<CompletionEntry>, headings: Vec<CompletionEntry>) -> Vec<CompletionEntry> {
    let mut out = files;
    let at = out.len().min(MAX_SHOWN / 2);
    out.splice(at..at, headings);
    out
}

#[cfg(test)]
mod tests {
    use super::{CompletionMenu, HeadingPlace, commands, files, headings, mixed};

    #[test]
    fn headings_become_links() {
        let place =
            |title: &str| HeadingPlace { title: title.to_owned(), path: "g.org".to_owned() };
        let known = [place("Water the [beds]"), place("Tax")];
        assert!(headings("rent", &known).is_empty());
        let found = headings("BED", &known);
        assert_eq!(found[0].inserted(), "[[file:g.org::*Water the beds][Water the beds]]");
        let paths: Vec<String> = (0..5).map(|it| format!("w{it}")).collect();
        let all = mixed(files("w", &paths), found);
        assert_eq!(all[3].text, "@Water the [beds]");
        assert_eq!(all.len(), 6);
    }

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
