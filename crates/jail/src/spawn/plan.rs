//! The plan of a run: which mounts, which paths for Landlock, which sockets, which variables; from the
//! request, the stage and what the system can do.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::control::{RunPlan, SocketRule, ViewMount, ViewPlan};
use crate::error::JailError;
use crate::layer::{JailCapabilities, JailLayer};
use crate::spec::{JailSpec, NetworkGrant};
use crate::stage::{Stage, make_private_folder};

/// Folders of the system that every program may read.
const SYSTEM_FOLDERS: [&str; 9] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt"];

/// Devices that may be opened where `/dev` is the system's.
const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// `HOME` inside a view.
const HOME: &str = "/jail/home";

/// Programs are looked for here, unless the request says otherwise.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";

/// Variables that make a program load code or read configuration before it starts: the request cannot
/// set them.
const REFUSED_VARIABLES: [&str; 6] =
    ["LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "BASH_ENV", "ENV", "PROMPT_COMMAND"];

/// Folders for the plan of one run.
pub(super) struct RunFolders<'f> {
    /// Point where the new root is mounted.
    pub(super) base: PathBuf,
    /// Folder of this run alone; made only when something is put into it.
    pub(super) own: &'f Path,
}

/// Real paths of a request, with links resolved.
struct RealPaths {
    read: Vec<PathBuf>,
    write: Vec<PathBuf>,
    hidden: Vec<PathBuf>,
    cwd: PathBuf,
}

pub(super) fn make(
    spec: &JailSpec,
    stage: Option<&Stage>,
    capabilities: &JailCapabilities,
    identity: Option<(u32, u32)>,
    folders: &RunFolders<'_>,
) -> Result<RunPlan, JailError> {
    let layer = capabilities.layer.unwrap_or(JailLayer::Copy);
    if let Some(stage) = stage
        && (stage.layer() != layer || stage.identity() != identity)
    {
        let reason = format!("it was made for layer `{}`, in force is `{layer}`", stage.layer());
        return Err(JailError::StageLost { id: stage.id().to_string(), reason });
    }
    if let Some(name) =
        REFUSED_VARIABLES.iter().find(|name| spec.env.contains_key(OsStr::new(name)))
    {
        return Err(JailError::InvalidSpec(format!(
            "variable `{name}` runs code and cannot be set"
        )));
    }
    let paths = RealPaths::find(spec)?;
    let private = private_folders(stage, identity, folders.own)?;
    let is_apart = capabilities.facts.namespaces && layer != JailLayer::Copy;
    let sockets = socket_rule(&spec.network, is_apart)?;
    let mut plan = RunPlan {
        argv: spec.argv(),
        env: Vec::new(),
        cwd: paths.cwd.clone().into(),
        view: None,
        identity,
        readable: Vec::new(),
        writable: Vec::new(),
        sockets,
        limits: spec.limits.clone(),
        deadline_ms: u64::try_from(spec.deadline.as_millis()).unwrap_or(u64::MAX).min(1 << 40),
        landlock_abi: capabilities.facts.landlock_abi,
    };
    let (home, tmp) = if is_apart {
        let view = view_of(&paths, stage, &private, &folders.base, identity.is_none())?;
        plan.view = Some(view);
        inside_view(&mut plan, &paths, stage);
        (PathBuf::from(HOME), PathBuf::from("/tmp"))
    } else {
        let taken = processes_of_user(identity.map(|(uid, _)| uid));
        plan.limits.processes = plan.limits.processes.saturating_add(taken);
        beside(&mut plan, &paths, stage, &private)?;
        (private.join("home"), private.join("tmp"))
    };
    plan.env = environment(spec, &home, &tmp);
    Ok(plan)
}

fn socket_rule(network: &NetworkGrant, is_apart: bool) -> Result<SocketRule, JailError> {
    let invalid = |what: &str| Err(JailError::InvalidSpec(what.to_owned()));
    match (network, is_apart) {
        (NetworkGrant::Off, true) => Ok(SocketRule::Own),
        (NetworkGrant::Hosts(_), true) => Ok(SocketRule::Proxy),
        (NetworkGrant::Off, false) => Ok(SocketRule::None),
        (NetworkGrant::Open, false) => Ok(SocketRule::Tcp),
        (NetworkGrant::Open, true) => {
            invalid("this layer knows hosts by name: grant hosts instead of everything")
        }
        (NetworkGrant::Hosts(_), false) => invalid("this layer cannot know hosts by name"),
    }
}

impl RealPaths {
    fn find(spec: &JailSpec) -> Result<RealPaths, JailError> {
        let real = |path: &PathBuf| fs::canonicalize(path).map_err(JailError::io("find", path));
        let all = |list: &[PathBuf]| list.iter().map(real).collect::<Result<Vec<_>, _>>();
        // A hidden path that is not there hides nothing.
        let hidden = spec.hidden.iter().filter_map(|path| fs::canonicalize(path).ok()).collect();
        // The folder to start in may be one that only the stage has.
        let cwd = real(&spec.cwd).unwrap_or_else(|_| spec.cwd.clone());
        let paths =
            RealPaths { read: all(&spec.read_roots)?, write: all(&spec.write_roots)?, hidden, cwd };
        if paths.read.iter().chain(&paths.write).any(|path| path == Path::new("/")) {
            return Err(JailError::InvalidSpec("`/` cannot be granted".into()));
        }
        for write in &paths.write {
            if let Some(hidden) = paths.hidden.iter().find(|it| write.starts_with(it)) {
                let what = format!("`{}` is hidden and cannot be granted", hidden.display());
                return Err(JailError::InvalidSpec(what));
            }
        }
        Ok(paths)
    }
}

/// `HOME` and `/tmp` of the run, or of the turn when there is a stage.
fn private_folders(
    stage: Option<&Stage>,
    identity: Option<(u32, u32)>,
    folder: &Path,
) -> Result<PathBuf, JailError> {
    if let Some(stage) = stage {
        return Ok(stage.private());
    }
    let private = folder.join("private");
    for name in ["home", "tmp"] {
        let path = private.join(name);
        make_private_folder(&path)?;
        if let Some((uid, gid)) = identity {
            for owned in [&private, &path] {
                std::os::unix::fs::chown(owned, Some(uid), Some(gid))
                    .map_err(JailError::io("give away", owned))?;
            }
        }
    }
    Ok(private)
}

fn view_of(
    paths: &RealPaths,
    stage: Option<&Stage>,
    private: &Path,
    base: &Path,
    user_namespace: bool,
) -> Result<ViewPlan, JailError> {
    let mut mounts = Vec::new();
    let bind = |source: PathBuf, target: PathBuf, writable: bool| ViewMount::Bind {
        source: source.into(),
        target: target.into(),
        writable,
    };
    for name in SYSTEM_FOLDERS {
        // Links are made anew, not mounted.
        if fs::symlink_metadata(name).is_ok_and(|it| it.is_dir()) {
            mounts.push(bind(name.into(), name.into(), false));
        }
    }
    mounts.push(bind(private.join("tmp"), "/tmp".into(), true));
    mounts.push(bind(private.join("home"), HOME.into(), true));
    let project = stage.map(Stage::project);
    let mut roots: Vec<(PathBuf, Option<bool>)> = Vec::new();
    for read in &paths.read {
        let is_system = SYSTEM_FOLDERS.iter().any(|name| read.starts_with(name));
        if !is_system && project != Some(read) && !paths.write.contains(read) {
            roots.push((read.clone(), Some(false)));
        }
    }
    roots.extend(paths.write.iter().map(|path| (path.clone(), Some(true))));
    if let Some(project) = project {
        roots.push((project.to_owned(), None));
    }
    // Parents first, so that what is in them is mounted over them.
    roots.sort();
    roots.dedup();
    for (path, kind) in roots {
        mounts.push(match (kind, stage) {
            (Some(true), _) => bind(path.clone(), path, true),
            (None, Some(stage)) if stage.layer() == JailLayer::Full => ViewMount::Overlay {
                lower: path.clone().into(),
                store: stage.store().into(),
                target: path.into(),
            },
            (None, Some(stage)) => bind(stage.contents(), path, true),
            _ => ViewMount::Inert { source: path.clone().into(), target: path.into() },
        });
    }
    let masks = masks_of(paths, stage).into_iter();
    mounts.extend(masks.map(|path| ViewMount::Mask { target: path.into() }));
    Ok(ViewPlan { base: base.into(), user_namespace, mounts })
}

/// Hidden paths of the request and of the stage, without those that others cover.
fn masks_of(paths: &RealPaths, stage: Option<&Stage>) -> Vec<PathBuf> {
    let staged = stage.map(|stage| {
        stage.hidden().into_iter().map(|path| stage.project().join(path)).collect::<Vec<_>>()
    });
    let mut masks: Vec<PathBuf> =
        paths.hidden.iter().cloned().chain(staged.unwrap_or_default()).collect();
    masks.sort();
    masks.dedup();
    let is_covered =
        |path: &PathBuf| masks.iter().any(|other| other != path && path.starts_with(other));
    masks.iter().filter(|path| !is_covered(path)).cloned().collect()
}

/// Paths for Landlock where the view has only what was granted.
fn inside_view(plan: &mut RunPlan, paths: &RealPaths, stage: Option<&Stage>) {
    plan.readable.push("/".into());
    plan.writable.extend(["/tmp", HOME, "/dev/shm"].map(OsString::from));
    plan.writable.extend(DEVICES.map(OsString::from));
    plan.writable.extend(paths.write.iter().map(OsString::from));
    plan.writable.extend(stage.map(|stage| OsString::from(stage.project())));
}

/// Paths for Landlock where the view is the system's own; the stage is another folder.
fn beside(
    plan: &mut RunPlan,
    paths: &RealPaths,
    stage: Option<&Stage>,
    private: &Path,
) -> Result<(), JailError> {
    plan.readable.extend(SYSTEM_FOLDERS.map(OsString::from));
    plan.readable.extend(DEVICES.map(OsString::from));
    plan.readable.extend(["/proc", "/dev/fd"].map(OsString::from));
    plan.writable.extend(DEVICES.map(OsString::from));
    for root in paths.read.iter().filter(|path| stage.is_none_or(|it| it.project() != *path)) {
        plan.readable.extend(around(root, &paths.hidden)?.into_iter().map(OsString::from));
    }
    let mut writable = vec![private.to_owned()];
    for root in &paths.write {
        if let Some(hidden) = paths.hidden.iter().find(|path| path.starts_with(root)) {
            let what = format!(
                "`{}` is hidden inside `{}`, which this layer cannot grant in part",
                hidden.display(),
                root.display()
            );
            return Err(JailError::InvalidSpec(what));
        }
        writable.push(root.clone());
    }
    if let Some(stage) = stage {
        writable.push(stage.contents());
        if let Ok(rest) = paths.cwd.strip_prefix(stage.project()) {
            plan.cwd = stage.contents().join(rest).into();
        }
    }
    plan.readable.extend(writable.iter().map(OsString::from));
    plan.writable.extend(writable.into_iter().map(OsString::from));
    Ok(())
}

/// Most entries that a folder with something hidden is taken apart into.
const MAX_SIBLINGS: usize = 10_000;

/// A folder without what is hidden in it: everything beside the way to it, one by one.
fn around(root: &Path, hidden: &[PathBuf]) -> Result<Vec<PathBuf>, JailError> {
    let inside: Vec<&PathBuf> = hidden.iter().filter(|path| path.starts_with(root)).collect();
    if inside.is_empty() && !hidden.iter().any(|path| root.starts_with(path)) {
        return Ok(vec![root.to_owned()]);
    }
    if hidden.iter().any(|path| root.starts_with(path)) {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(root).map_err(JailError::io("list", root))? {
        let entry = entry.map_err(JailError::io("list", root))?;
        // A link is followed when it is granted: what it leads to is granted by its own path or not.
        if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
            found.extend(around(&entry.path(), hidden)?);
        }
        if found.len() > MAX_SIBLINGS {
            return Err(JailError::TooLarge {
                what: "entries beside hidden paths",
                limit: MAX_SIBLINGS as u64,
            });
        }
    }
    Ok(found)
}

/// Clean variables, then those of the request.
fn environment(spec: &JailSpec, home: &Path, tmp: &Path) -> Vec<(OsString, OsString)> {
    let mut env: Vec<(OsString, OsString)> = vec![
        ("PATH".into(), PATH.into()),
        ("HOME".into(), home.into()),
        ("TMPDIR".into(), tmp.into()),
        ("LANG".into(), "C.UTF-8".into()),
        ("TERM".into(), "dumb".into()),
        ("USER".into(), "agent".into()),
        ("LOGNAME".into(), "agent".into()),
        ("SHELL".into(), "/bin/sh".into()),
        ("PAGER".into(), "cat".into()),
        ("GIT_TERMINAL_PROMPT".into(), "0".into()),
    ];
    env.retain(|(name, _)| !spec.env.contains_key(name));
    env.extend(spec.env.iter().map(|(name, value)| (name.clone(), value.clone())));
    env.retain(|(name, _)| !name.is_empty() && !name.as_bytes().contains(&b'='));
    env
}

/// Threads that a user has already: the limit of processes counts them, too, where there is no
/// namespace.
fn processes_of_user(uid: Option<u32>) -> u64 {
    use std::os::unix::fs::MetadataExt as _;

    let uid = uid.unwrap_or_else(|| rustix::process::geteuid().as_raw());
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter(|entry| {
            entry.file_name().to_string_lossy().bytes().all(|byte| byte.is_ascii_digit())
        })
        .filter(|entry| entry.metadata().is_ok_and(|it| it.uid() == uid))
        .map(|entry| {
            fs::read_dir(entry.path().join("task")).map_or(1, |tasks| tasks.count() as u64)
        })
        .sum()
}
