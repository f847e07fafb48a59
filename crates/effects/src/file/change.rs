//! Files changed: on the stage by small programs in the jail, which is right in every layer, and outside of
//! the project at once, as a commit of one file.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bridle_host::{ActContext, ActIo};
use bridle_jail::{ChangeSet, ChildStdin, JailCommand, JailEnd, JailSpec, read_plain_file};
use bridle_loop::{FileOperation, FileRequest};
use bridle_sexp::Value;

use super::view::FileView;
use crate::error::EffectError;
use crate::exec::spawn;
use crate::payload::count;
use crate::stage::apply_changes;
use crate::workspace::Workspace;

/// Largest file that is patched, in bytes.
const MAX_PATCHED_BYTES: u64 = 8 << 20;

/// Time for a change: the slowest deletes a large folder.
const CHANGE_TIME: Duration = Duration::from_secs(120);

/// Programs of the changes; paths come as arguments, texts as input, so nothing of them is read as a script.
const WRITE: &str = "set -e; case $1 in */*) mkdir -p -- \"${1%/*}\";; esac; cat > \"./$1\"";
const MOVE: &str = "set -e; if [ -e \"./$2\" ] || [ -L \"./$2\" ]; then echo \"$2 is there already\" >&2; exit 1; fi; \
                    case $2 in */*) mkdir -p -- \"${2%/*}\";; esac; mv -- \"./$1\" \"./$2\"";
const DELETE: &str = "set -e; if ! [ -e \"./$1\" ] && ! [ -L \"./$1\" ]; then echo \"$1 is not there\" >&2; exit 1; fi; \
                      rm -r -- \"./$1\"";

/// Makes a change on the stage of the turn.
pub(super) fn on_stage(
    workspace: &Workspace,
    request: &FileRequest,
    io: &ActIo,
) -> Result<Value, EffectError> {
    let project = PathBuf::from(&*request.facts.project);
    let inside = |path: Option<&str>| {
        let path = path.map(Path::new).and_then(|path| path.strip_prefix(&project).ok());
        path.map(ToOwned::to_owned).ok_or_else(|| EffectError::refused("it lies elsewhere"))
    };
    let path = inside(request.facts.paths.first().map(|path| &**path))?;
    let (script, input, arguments) = match &request.operation {
        FileOperation::Write { text } => (WRITE, text.to_string(), vec![path.clone()]),
        FileOperation::Patch { old, new, all } => {
            let view = FileView::of(workspace, request, io)?;
            let (bytes, length) = view.read(&view.path, MAX_PATCHED_BYTES)?;
            let text = String::from_utf8(bytes).ok().filter(|_| length <= MAX_PATCHED_BYTES);
            let text =
                text.ok_or_else(|| EffectError::refused("the file is no text, or too large"))?;
            let text = patched(&text, old, new, *all).map_err(EffectError::Refused)?;
            (WRITE, text, vec![path.clone()])
        }
        FileOperation::Move { .. } => {
            let to = inside(request.facts.paths.get(1).map(|path| &**path))?;
            (MOVE, String::new(), vec![path.clone(), to])
        }
        _ => (DELETE, String::new(), vec![path.clone()]),
    };
    let written = input.len();
    run(workspace, &project, script, &arguments, input, io)?;
    let mut pairs = vec![("path", Value::str(path.to_string_lossy())), ("staged", Value::T)];
    if matches!(request.operation, FileOperation::Write { .. } | FileOperation::Patch { .. }) {
        pairs.push(("bytes", count(written)));
    }
    Ok(Value::plist(pairs))
}

fn run(
    workspace: &Workspace,
    project: &Path,
    script: &str,
    arguments: &[PathBuf],
    input: String,
    io: &ActIo,
) -> Result<(), EffectError> {
    let stage = workspace.stage(io.context.session.as_str(), io.context.turn.0, project)?;
    let words = ["/bin/sh", "-c", script, "file"].map(std::ffi::OsString::from);
    let words = words.into_iter().chain(arguments.iter().map(|path| path.clone().into()));
    let mut spec = JailSpec::new(JailCommand::Argv(words.collect()), project);
    spec.stdin = ChildStdin::Bytes(input.into_bytes());
    spec.deadline = CHANGE_TIME;
    let child = spawn(workspace, &spec, Some(&stage), io)?;
    let (outcome, [_, complaint]) = child.wait_with_output()?;
    match outcome.end {
        JailEnd::Exited(0) => Ok(()),
        end => {
            let complaint = String::from_utf8_lossy(&complaint).trim().to_owned();
            let text = if complaint.is_empty() { format!("{end:?}") } else { complaint };
            Err(EffectError::Refused(text))
        }
    }
}

/// The text with one text in the place of another.
pub(super) fn patched(text: &str, old: &str, new: &str, all: bool) -> Result<String, String> {
    if old.is_empty() {
        return Err("`:old` is empty: use `:write` for a new file".to_owned());
    }
    match text.matches(old).count() {
        0 => Err("`:old` is not in the file: read it again".to_owned()),
        1 => Ok(text.replacen(old, new, 1)),
        _ if all => Ok(text.replace(old, new)),
        several => Err(format!(
            "`:old` is there {several} times: give more of the text around it, or `:all t`"
        )),
    }
}

/// Makes a change outside of the project: a commit of one file, so it is finished or rolled back after a crash, and
/// can be taken back.
pub(super) fn in_place(
    workspace: &Workspace,
    request: &FileRequest,
    io: &ActIo,
) -> Result<Value, EffectError> {
    let path = request.facts.paths.first().map(|path| PathBuf::from(&**path));
    let path = path.ok_or_else(|| EffectError::refused("nobody has looked at the path"))?;
    let new = match &request.operation {
        FileOperation::Write { text } => text.to_string(),
        FileOperation::Patch { old, new, all } => {
            let (bytes, _) = read_plain_file(&path, MAX_PATCHED_BYTES)?;
            let text = String::from_utf8(bytes);
            let text = text.map_err(|_| EffectError::refused("the file is no text"))?;
            patched(&text, old, new, *all).map_err(EffectError::Refused)?
        }
        _ => return Err(EffectError::refused("outside of the project files are only written")),
    };
    replace(workspace, &path, &new, &io.context)
}

/// Replaces a file outside of every project, as a commit of that one file.
pub(super) fn replace(
    workspace: &Workspace,
    path: &Path,
    new: &str,
    context: &ActContext,
) -> Result<Value, EffectError> {
    let place = path.parent().zip(path.file_name().map(Path::new));
    let (folder, name) = place.ok_or_else(|| EffectError::refused("it has no folder"))?;
    // A link may have come since it was looked at.
    let real = fs::canonicalize(folder).map_err(EffectError::io("find", folder))?;
    let is_link = fs::symlink_metadata(path).is_ok_and(|it| !it.is_file());
    if real != folder || is_link {
        return Err(EffectError::refused("something else is there by now"));
    }
    let fresh = FreshFile::keep(workspace, name, new.as_bytes())?;
    let set = ChangeSet::of_file(folder, name, &fresh.0)?;
    let pairs = vec![
        ("path", Value::str(path.to_string_lossy())),
        ("bytes", count(new.len())),
        ("record", count(context.record)),
    ];
    if !set.is_empty() {
        apply_changes(workspace, &set, &set.hash(), context)?;
    }
    Ok(Value::plist(pairs))
}

/// Folder with one new file, which goes with the act.
struct FreshFile(PathBuf);

impl FreshFile {
    fn keep(workspace: &Workspace, name: &Path, text: &[u8]) -> Result<Self, EffectError> {
        let hash = blake3::hash(&[name.as_os_str().as_encoded_bytes(), b"\0", text].concat());
        let (thread, process) = (std::thread::current().id(), std::process::id());
        let folder = format!("fresh-{}-{process}-{thread:?}", &hash.to_hex()[..16]);
        let folder = workspace.setup().folder.join(folder);
        fs::create_dir_all(&folder).map_err(EffectError::io("make folder", &folder))?;
        let fresh = Self(folder);
        let path = fresh.0.join(name);
        let mut options = fs::OpenOptions::new();
        let made = options.write(true).create(true).truncate(true).mode(0o600).open(&path);
        let written = made.and_then(|mut file| file.write_all(text));
        written.map_err(EffectError::io("write", &path))?;
        Ok(fresh)
    }
}

impl Drop for FreshFile {
    fn drop(&mut self) {
        // What cannot be removed lies in the folder of the state, which is private.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::patched;

    #[test]
    fn a_patch_says_which_place_it_means() {
        assert_eq!(patched("a b a", "b", "c", false), Ok("a c a".into()));
        assert_eq!(patched("a b a", "a", "c", true), Ok("c b c".into()));
        assert!(patched("a b a", "a", "c", false).is_err_and(|why| why.contains("2 times")));
        assert!(patched("a", "x", "c", false).is_err() && patched("a", "", "c", false).is_err());
    }
}
