//! What every trial needs: another user, a folder with a project, a jail, a listing with times.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use bridle_jail::{HelperProgram, Jail, JailCommand, JailOutcome, JailSpec, Stage, StageOptions};

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Starts a copy of this program as another user, since that one may not enter the folder it lies in.
pub(crate) fn again_as_user(id: u32, words: &[String]) -> ExitCode {
    let folder = std::env::temp_dir().join(format!("bridle-trial-{}", std::process::id()));
    let copied = fs::create_dir_all(&folder)
        .and_then(|()| fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)))
        .and_then(|()| fs::copy("/proc/self/exe", folder.join("trial")))
        .and_then(|_| fs::set_permissions(folder.join("trial"), fs::Permissions::from_mode(0o755)));
    if let Err(error) = copied {
        eprintln!("trial: cannot copy this program: {error}");
        return ExitCode::FAILURE;
    }
    let status = Command::new(folder.join("trial"))
        .args(words)
        .uid(id)
        .gid(id)
        .current_dir("/")
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .status();
    drop(fs::remove_dir_all(&folder));
    match status {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("trial: cannot start again as uid {id}: {error}");
            ExitCode::FAILURE
        }
    }
}

/// A folder of its own with a project, what must stay hidden, and a jail.
pub(crate) struct World {
    folder: PathBuf,
    pub(crate) jail: Jail,
}

impl World {
    pub(crate) fn new(name: &str) -> Result<World, String> {
        // Not below `/tmp`, of which every run has its own: there a write outside would succeed, in vain.
        let folder = Path::new("/var/tmp").join(format!("bridle-{name}-{}", std::process::id()));
        drop(bridle_remove(&folder));
        fs::create_dir_all(folder.join("project")).map_err(text)?;
        fs::create_dir_all(folder.join("state")).map_err(text)?;
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).map_err(text)?;
        let folder = fs::canonicalize(folder).map_err(text)?;
        let jail = Jail::new(HelperProgram::own(), folder.join("scratch")).map_err(text)?;
        Ok(World { folder, jail })
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.path("project")
    }

    pub(crate) fn stage(&self) -> Result<Stage, String> {
        let layer = self.jail.capabilities().layer.ok_or("no layer")?;
        Stage::begin(&StageOptions {
            project: self.project(),
            stages: self.path("stages"),
            layer,
            identity: self.jail.identity(),
            hidden: Vec::new(),
        })
        .map_err(text)
    }

    pub(crate) fn script(&self, script: &str) -> JailSpec {
        let mut spec = JailSpec::new(JailCommand::Script(script.into()), self.project());
        spec.deadline = Duration::from_secs(30);
        spec
    }

    /// Runs a script over a stage; the end and what it printed.
    pub(crate) fn run(
        &self,
        spec: &JailSpec,
        stage: Option<&Stage>,
    ) -> Result<(JailOutcome, String), String> {
        let child = self.jail.spawn(spec, stage).map_err(text)?;
        let (outcome, [out, err]) = child.wait_with_output().map_err(text)?;
        let both = [out, err].concat();
        Ok((outcome, String::from_utf8_lossy(&both).into_owned()))
    }
}

impl Drop for World {
    fn drop(&mut self) {
        drop(bridle_remove(&self.folder));
    }
}

/// Removes a folder, also when parts of it have no rights.
pub(crate) fn bridle_remove(folder: &Path) -> std::io::Result<()> {
    if folder.exists() {
        drop(
            Command::new("chmod")
                .args(["-R", "u+rwx"])
                .arg(folder)
                .stderr(std::process::Stdio::null())
                .status(),
        );
        fs::remove_dir_all(folder)?;
    }
    Ok(())
}

/// An error with its causes, in one line.
pub(crate) fn text(error: impl std::error::Error) -> String {
    let mut out = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        out.push_str(&format!(": {inner}"));
        cause = inner.source();
    }
    out
}

/// Entry of a listing: everything that `ls` tells, and the contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) mode: u32,
    pub(crate) content: Vec<u8>,
    pub(crate) inode: u64,
    pub(crate) times: [i64; 4],
    pub(crate) links: u64,
}

/// Everything below a folder, by path.
pub(crate) fn listing(root: &Path) -> Result<BTreeMap<PathBuf, Listed>, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).map_err(text)? {
            let path = entry.map_err(text)?.path();
            let metadata = fs::symlink_metadata(&path).map_err(text)?;
            let content = if metadata.is_symlink() {
                fs::read_link(&path).map_err(text)?.into_os_string().into_encoded_bytes()
            } else if metadata.is_file() {
                fs::read(&path).map_err(text)?
            } else {
                Vec::new()
            };
            let times =
                [metadata.mtime(), metadata.mtime_nsec(), metadata.ctime(), metadata.ctime_nsec()];
            let (mode, inode, links) = (metadata.mode(), metadata.ino(), metadata.nlink());
            found.insert(
                path.strip_prefix(root).map_err(text)?.to_owned(),
                Listed { mode, content, inode, times, links },
            );
            if metadata.is_dir() {
                open.push(path);
            }
        }
    }
    Ok(found)
}

/// Mode, contents and number of links, by path.
pub(crate) type FileEssence = BTreeMap<PathBuf, (u32, Vec<u8>, u64)>;

/// Modes, contents and links: what a commit and its undo must agree on.
pub(crate) fn essence(root: &Path) -> Result<FileEssence, String> {
    let list = listing(root)?;
    let links = |it: &Listed| if it.mode & 0o170_000 == 0o100_000 { it.links } else { 0 };
    Ok(list
        .into_iter()
        .map(|(path, it)| (path, (it.mode, it.content.clone(), links(&it))))
        .collect())
}

/// Value of an option `--name N`.
pub(crate) fn option(words: &[&str], name: &str, default: usize) -> Result<usize, String> {
    match words.iter().position(|word| *word == name) {
        None => Ok(default),
        Some(place) => words
            .get(place + 1)
            .and_then(|word| word.parse().ok())
            .ok_or_else(|| format!("`{name}` needs a number")),
    }
}
