//! Words of a person, without what they quote.
//!
//! Editors put files and selections into a prompt between fences, and people paste mails behind `>`: that is
//! text of others, whoever sends it.

/// Shortest fence.
const MIN_FENCE: usize = 3;

/// The text without blocks between fences, Org blocks and quoted lines.
pub fn own_words(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut open: Option<BlockEnd> = None;
    for line in text.lines() {
        let bare = line.trim_start();
        match &open {
            Some(end) => {
                if end.is_at(bare) {
                    open = None;
                }
            }
            None => match BlockEnd::of(bare) {
                Some(end) => open = Some(end),
                None if bare.starts_with('>') => {}
                None => {
                    kept.push_str(line);
                    kept.push('\n');
                }
            },
        }
    }
    kept
}

/// Line that ends a block.
enum BlockEnd {
    /// So many of this character, and nothing else.
    Fence(char, usize),
    /// `#+end_` and this name.
    Org(String),
}

impl BlockEnd {
    /// End of the block that a line begins.
    fn of(line: &str) -> Option<Self> {
        let lower = line.to_ascii_lowercase();
        if let Some(name) = lower.strip_prefix("#+begin_") {
            return Some(Self::Org(name.split_whitespace().next().unwrap_or_default().to_owned()));
        }
        let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
        let count = line.chars().take_while(|it| *it == mark).count();
        (count >= MIN_FENCE).then_some(Self::Fence(mark, count))
    }

    fn is_at(&self, line: &str) -> bool {
        match self {
            Self::Fence(mark, least) => {
                let line = line.trim_end();
                line.chars().count() >= *least && line.chars().all(|it| it == *mark)
            }
            Self::Org(name) => {
                let lower = line.trim_end().to_ascii_lowercase();
                lower.strip_prefix("#+end_").is_some_and(|end| end == name)
            }
        }
    }
}
