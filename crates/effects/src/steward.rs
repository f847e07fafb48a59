//! Steward of git: commits of the agent's changes on a ref of its own, where the owner wants it for a project.
//!
//! Plumbing alone, with an index of its own: the user's index, branch, work tree and reflog stay as they are. Hooks,
//! filters and signing are off, so nothing of the repository runs. A commit in the project never fails because of it.

use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use bridle_jail::PathState;
use bridle_sexp::Value;

use crate::workspace::Workspace;

/// Ref that has the commits.
pub(crate) const STEWARD_REF: &str = "refs/bridle/agent";

/// Places where git may be.
const GIT_PROGRAMS: [&str; 3] = ["/usr/bin/git", "/usr/local/bin/git", "/bin/git"];

/// Id of no object: the ref is made.
const NO_OBJECT: &str = "0000000000000000000000000000000000000000";

/// One commit at a time: each begins at the end of the one before.
static STEWARDING: Mutex<()> = Mutex::new(());

/// Commits paths of a project as they are now; tells of it for an outcome, or nothing where it is not wanted.
pub(crate) fn record(
    workspace: &Workspace,
    project: &Path,
    paths: &[PathBuf],
    message: &str,
) -> Option<(&'static str, Value)> {
    if !workspace.has_steward(project) {
        return None;
    }
    let _alone = STEWARDING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    Some(match Repository::find(workspace, project).and_then(|it| it.commit(paths, message)) {
        Ok(commit) => ("git", Value::str(format!("{STEWARD_REF} {commit}"))),
        Err(reason) => ("git-fault", Value::str(reason)),
    })
}

/// A repository and the index of the steward.
struct Repository<'p> {
    program: &'static str,
    project: &'p Path,
    index: PathBuf,
}

impl Drop for Repository<'_> {
    fn drop(&mut self) {
        // It is made anew each time.
        let _ = fs::remove_file(&self.index);
    }
}

impl<'p> Repository<'p> {
    fn find(workspace: &Workspace, project: &'p Path) -> Result<Self, String> {
        let program = GIT_PROGRAMS.into_iter().find(|it| Path::new(it).exists());
        let program = program.ok_or("git is not installed")?;
        let index = workspace.setup().folder.join("steward-index");
        let _ = fs::remove_file(&index);
        let repository = Self { program, project, index };
        let top = repository.ask(&["rev-parse", "--show-toplevel"])?;
        match fs::canonicalize(&top).is_ok_and(|top| top == project) {
            true => Ok(repository),
            false => Err("the project is not the top of a git work tree".to_owned()),
        }
    }

    /// Commits the paths on the ref; returns the id.
    fn commit(&self, paths: &[PathBuf], message: &str) -> Result<String, String> {
        let head = self.ask(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]).ok();
        let tip = self.ask(&["rev-parse", "--verify", "--quiet", STEWARD_REF]).ok();
        // On the user's newest commit, with what the agent did before as a second parent.
        let has_head = match (&head, &tip) {
            (Some(head), Some(tip)) => {
                self.ask(&["merge-base", "--is-ancestor", head, tip]).is_ok()
            }
            _ => head.is_none(),
        };
        let parents: Vec<&String> = match has_head {
            true => tip.iter().collect(),
            false => head.iter().chain(&tip).collect(),
        };
        if let Some(base) = parents.first() {
            self.ask(&["read-tree", base])?;
        }
        self.put(paths)?;
        let tree = self.ask(&["write-tree"])?;
        let mut words = vec!["commit-tree", &tree, "-m", message];
        parents.iter().for_each(|parent| words.extend(["-p", parent]));
        let commit = self.ask(&words)?;
        let before = tip.as_deref().unwrap_or(NO_OBJECT);
        self.ask(&["update-ref", "--no-deref", STEWARD_REF, &commit, before])?;
        Ok(commit)
    }

    /// Puts the present state of paths into the index.
    fn put(&self, paths: &[PathBuf]) -> Result<(), String> {
        let mut entries: Vec<u8> = Vec::new();
        let mut gone: Vec<u8> = Vec::new();
        for path in paths.iter().filter(|path| !path.starts_with(".git")) {
            let bytes = path.as_os_str().as_encoded_bytes();
            let whole = self.project.join(path);
            let state = PathState::read(&whole).map_err(|error| error.to_string())?;
            let (mode, content) = match state {
                PathState::File { mode, .. } => {
                    let content = fs::read(&whole).map_err(|error| error.to_string())?;
                    (if mode & 0o100 == 0 { "100644" } else { "100755" }, content)
                }
                PathState::Link { target } => {
                    ("120000", target.as_os_str().as_encoded_bytes().to_vec())
                }
                // Folders are in their files; the rest is nothing for git.
                _ => {
                    gone.extend_from_slice(bytes);
                    gone.push(0);
                    continue;
                }
            };
            let blob = self.run(&["hash-object", "-w", "--no-filters", "--stdin"], &content)?;
            entries.extend_from_slice(format!("{mode} {blob}\t").as_bytes());
            entries.extend_from_slice(bytes);
            entries.push(0);
        }
        self.run(&["update-index", "-z", "--force-remove", "--stdin"], &gone)?;
        self.run(&["update-index", "-z", "--index-info"], &entries)?;
        Ok(())
    }

    fn ask(&self, words: &[&str]) -> Result<String, String> {
        self.run(words, b"")
    }

    fn run(&self, words: &[&str], input: &[u8]) -> Result<String, String> {
        let config = ["core.hooksPath=/dev/null", "core.fsmonitor=false", "commit.gpgSign=false"];
        let config = config.iter().flat_map(|it| ["-c", it]);
        let project = self.project.as_os_str();
        let author = [("NAME", "bridle"), ("EMAIL", "bridle@localhost")];
        let author = author.iter().flat_map(|(key, value)| {
            ["AUTHOR", "COMMITTER"].map(|who| (format!("GIT_{who}_{key}"), *value))
        });
        let mut child = Command::new(self.program)
            .args(config)
            .args([OsStr::new("-C"), project])
            .args(words)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_INDEX_FILE", &self.index)
            .envs(author)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("git does not start: {error}"))?;
        if let Some(mut stdin) = child.stdin.take() {
            // Whoever reads nothing says why when it ends.
            let _ = stdin.write_all(input);
        }
        let done = child.wait_with_output().map_err(|error| format!("git: {error}"))?;
        match done.status.success() {
            true => Ok(String::from_utf8_lossy(&done.stdout).trim().to_owned()),
            false => {
                let said = String::from_utf8_lossy(&done.stderr);
                let verb = words.first().unwrap_or(&"git");
                Err(format!("git {verb}: {}", said.lines().next().unwrap_or("failed")))
            }
        }
    }
}

#[cfg(test)]
mod tests;
