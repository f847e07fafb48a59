//! What is kept per user between two conversations: prompts, and which session belongs to which
//! folder. Two small files in the state folder, readable by their owner alone.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// Prompts kept.
const MAX_PROMPTS: usize = 1_000;

/// Sessions kept.
const MAX_SESSIONS: usize = 500;

/// Bytes of a file that are read.
const MAX_FILE_BYTES: u64 = 8 << 20;

/// Longest prompt that is kept, in bytes.
const MAX_PROMPT_BYTES: usize = 16 << 10;

/// A session and the folder where it was used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderSession {
    /// Name of the session.
    pub session: String,
    /// The folder.
    pub folder: String,
    /// First prompt.
    pub title: String,
    /// Last use, in milliseconds since 1970.
    pub at: i64,
}

/// The files.
#[derive(Debug)]
pub struct ChatNotebook {
    dir: PathBuf,
}

impl ChatNotebook {
    /// A notebook in a state folder, which need not be there yet.
    pub fn new(dir: &Path) -> ChatNotebook {
        ChatNotebook { dir: dir.to_path_buf() }
    }

    /// Prompts, the oldest first.
    pub fn prompts(&self) -> Vec<String> {
        let lines = self.lines("chat-history");
        let from = lines.len().saturating_sub(MAX_PROMPTS);
        lines[from..].iter().map(|line| unescaped(line)).collect()
    }

    /// Keeps a prompt. One that begins with a blank, or is very long, is not kept.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn keep_prompt(&self, text: &str) -> io::Result<()> {
        if text.starts_with(' ') || text.len() > MAX_PROMPT_BYTES {
            return Ok(());
        }
        let lines = self.lines("chat-history");
        if lines.len() >= 2 * MAX_PROMPTS {
            let kept: Vec<String> = lines[lines.len() - MAX_PROMPTS..].to_vec();
            self.replace("chat-history", &kept)?;
        }
        let mut file = self.open("chat-history", OpenOptions::new().append(true))?;
        file.write_all(format!("{}\n", escaped(text)).as_bytes())
    }

    /// Sessions, the latest first.
    pub fn sessions(&self) -> Vec<FolderSession> {
        let read = |line: &String| {
            let mut parts = line.splitn(4, '\t').map(unescaped);
            let (session, folder, title) = (parts.next()?, parts.next()?, parts.next()?);
            let at = parts.next().and_then(|at| at.parse().ok()).unwrap_or_default();
            Some(FolderSession { session, folder, title, at })
        };
        self.lines("chat-sessions").iter().rev().filter_map(read).collect()
    }

    /// Notes that a session is used in a folder; an empty title keeps the one that it has.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn keep_session(&self, used: &FolderSession) -> io::Result<()> {
        let mut sessions = self.sessions();
        let old = sessions.iter().find(|it| it.session == used.session);
        let title = match (used.title.is_empty(), old) {
            (true, Some(old)) => old.title.clone(),
            _ => used.title.clone(),
        };
        sessions.retain(|it| it.session != used.session);
        sessions.truncate(MAX_SESSIONS - 1);
        sessions.insert(0, FolderSession { title, ..used.clone() });
        let line = |it: &FolderSession| {
            let texts = [&it.session, &it.folder, &it.title].map(|text| escaped(text));
            format!("{}\t{}", texts.join("\t"), it.at)
        };
        let lines: Vec<String> = sessions.iter().rev().map(line).collect();
        self.replace("chat-sessions", &lines)
    }

    fn lines(&self, name: &str) -> Vec<String> {
        let mut text = Vec::new();
        let read = File::open(self.dir.join(name))
            .and_then(|file| file.take(MAX_FILE_BYTES).read_to_end(&mut text));
        // A file that is not there yet, or not readable, is an empty one.
        if read.is_err() {
            return Vec::new();
        }
        String::from_utf8_lossy(&text).lines().map(str::to_owned).collect()
    }

    fn replace(&self, name: &str, lines: &[String]) -> io::Result<()> {
        let fresh = format!("{name}.{}.new", std::process::id());
        let mut options = OpenOptions::new();
        let mut file = self.open(&fresh, options.write(true).truncate(true))?;
        let mut text = lines.join("\n");
        text.push('\n');
        file.write_all(text.as_bytes())?;
        drop(file);
        fs::rename(self.dir.join(&fresh), self.dir.join(name))
    }

    fn open(&self, name: &str, options: &mut OpenOptions) -> io::Result<File> {
        fs::create_dir_all(&self.dir)?;
        options.create(true).mode(0o600).open(self.dir.join(name))
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n").replace('\t', "\\t").replace('\r', "\\r")
}

fn unescaped(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match (letter, letter == '\\') {
            (_, false) => out.push(letter),
            _ => match letters.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some('r') => out.push('\r'),
                Some(other) => out.push(other),
                None => {}
            },
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::{ChatNotebook, FolderSession};

    #[test]
    fn prompts_come_back_as_they_were() {
        let dir = tempfile::tempdir().expect("a folder");
        let book = ChatNotebook::new(&dir.path().join("new"));
        for text in ["one", "two\nlines \\n \t", " secret", "日本"] {
            book.keep_prompt(text).expect("written");
        }
        assert_eq!(book.prompts(), ["one", "two\nlines \\n \t", "日本"]);
        let file = dir.path().join("new/chat-history");
        let mode = std::fs::metadata(file).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn the_latest_session_of_a_folder_is_found_with_its_title() {
        let dir = tempfile::tempdir().expect("a folder");
        let book = ChatNotebook::new(dir.path());
        let used = |session: &str, folder: &str, title: &str| FolderSession {
            session: session.to_owned(),
            folder: folder.to_owned(),
            title: title.to_owned(),
            at: 1_794_744_600_000,
        };
        for it in [used("a", "/x", "first"), used("b", "/y", ""), used("a", "/x", "")] {
            book.keep_session(&it).expect("written");
        }
        assert_eq!(book.sessions(), [used("a", "/x", "first"), used("b", "/y", "")]);
    }
}
