//! The view of a run: a root of its own with the folders of the system, those that were granted, the
//! stage over the project, a `/tmp`, `/proc` and `/dev` of its own, and nothing else.

use std::ffi::{CString, OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, StatVfsMountFlags};
use rustix::mount::{MountFlags, MountPropagationFlags, UnmountFlags};

use super::{SetupFault, at};
use crate::control::{ViewMount, ViewPlan};

/// Folder in the new root where mounts are prepared; gone before the program starts.
const WORKSHOP: &str = ".workshop";

/// Most bytes of what is written into the root itself, which is almost nothing.
const ROOT_OPTIONS: &str = "size=16m,mode=0755";

/// Devices that programs may use.
const DEVICES: [&str; 5] = ["null", "zero", "full", "random", "urandom"];

/// Builds the view and enters it.
pub(super) fn enter(plan: &ViewPlan) -> Result<(), SetupFault> {
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    rustix::mount::mount_change("/", private).map_err(at("private mounts"))?;
    let options = CString::new(ROOT_OPTIONS).map_err(at("new root"))?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    rustix::mount::mount("tmpfs", &plan.base, "tmpfs", flags, options.as_c_str())
        .map_err(at("new root"))?;
    // From here on every path is relative to the new root: no option of a mount has a path of users.
    std::env::set_current_dir(&plan.base).map_err(at("new root"))?;
    make_folder(WORKSHOP.as_ref())?;
    system_links()?;
    for (index, mount) in plan.mounts.iter().enumerate() {
        perform(mount, index)?;
    }
    devices()?;
    make_folder("proc".as_ref())?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    rustix::mount::mount("proc", "proc", "proc", flags, None).map_err(at("proc"))?;
    fs::remove_dir_all(WORKSHOP).map_err(at("workshop"))?;
    rustix::process::pivot_root(".", ".").map_err(at("change of root"))?;
    rustix::mount::unmount(".", UnmountFlags::DETACH).map_err(at("leave of the old root"))?;
    std::env::set_current_dir("/").map_err(at("new root"))?;
    let flags = MountFlags::BIND | MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV;
    rustix::mount::mount_remount("/", flags, c"").map_err(at("read-only root"))
}

/// Links such as `/bin` on systems where it is one.
fn system_links() -> Result<(), SetupFault> {
    for name in ["bin", "sbin", "lib", "lib32", "lib64", "libx32"] {
        if let Ok(target) = fs::read_link(Path::new("/").join(name)) {
            symlink(target, name).map_err(at(format!("link `/{name}`")))?;
        }
    }
    Ok(())
}

fn perform(mount: &ViewMount, index: usize) -> Result<(), SetupFault> {
    match mount {
        ViewMount::Bind { source, target, writable } => bind(source, target, *writable),
        ViewMount::Inert { source, target } => inert(source, target, index),
        ViewMount::Overlay { lower, store, target } => overlay(lower, store, target, index),
        ViewMount::Mask { target } => mask(target, index),
    }
}

fn bind(source: &OsStr, target: &OsStr, writable: bool) -> Result<(), SetupFault> {
    let step = || format!("mount of `{}`", source.display());
    let stat = rustix::fs::stat(source).map_err(at(step()))?;
    let place = relative(target);
    make_place(&place, FileType::from_raw_mode(stat.st_mode).is_dir())?;
    rustix::mount::mount_bind_recursive(source, &place).map_err(at(step()))?;
    tighten(&place, writable)
}

/// Remounts with fewer rights; those that the system has locked stay.
fn tighten(place: &Path, writable: bool) -> Result<(), SetupFault> {
    let step = || format!("rights of `{}`", place.display());
    let stat = rustix::fs::statvfs(place).map_err(at(step()))?;
    let mut flags = MountFlags::BIND | MountFlags::NOSUID | MountFlags::NODEV;
    if !writable || stat.f_flag.contains(StatVfsMountFlags::RDONLY) {
        flags |= MountFlags::RDONLY;
    }
    let locked = [
        (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
        (StatVfsMountFlags::NOATIME, MountFlags::NOATIME),
        (StatVfsMountFlags::NODIRATIME, MountFlags::NODIRATIME),
        (StatVfsMountFlags::RELATIME, MountFlags::RELATIME),
    ];
    for (seen, flag) in locked {
        if stat.f_flag.contains(seen) {
            flags |= flag;
        }
    }
    rustix::mount::mount_remount(place, flags, c"").map_err(at(step()))
}

/// Read-only overlay without an upper layer: its sockets and pipes lead nowhere. Folders that the
/// kernel does not take as a layer (mounts below them) are refused, not shown as they are.
fn inert(source: &OsStr, target: &OsStr, index: usize) -> Result<(), SetupFault> {
    let stat =
        rustix::fs::stat(source).map_err(at(format!("read folder `{}`", source.display())))?;
    if !FileType::from_raw_mode(stat.st_mode).is_dir() {
        let kind = FileType::from_raw_mode(stat.st_mode);
        return match kind {
            FileType::RegularFile => bind(source, target, false),
            _ => Err(at(format!("read path `{}`", source.display()))("neither file nor folder")),
        };
    }
    let lower = workshop(index, "lower");
    let empty = workshop(index, "empty");
    make_folder(&lower)?;
    make_folder(&empty)?;
    let step = || format!("mount of `{}`", source.display());
    rustix::mount::mount_bind(source, &lower)
        .or_else(|_| rustix::mount::mount_bind_recursive(source, &lower))
        .map_err(at(step()))?;
    let options = format!("userxattr,lowerdir={}:{}", lower.display(), empty.display());
    mount_overlay(&options, target).map_err(at(step()))?;
    rustix::mount::unmount(&lower, UnmountFlags::DETACH).map_err(at(step()))
}

fn overlay(lower: &OsStr, store: &OsStr, target: &OsStr, index: usize) -> Result<(), SetupFault> {
    let step = || format!("stage over `{}`", lower.display());
    let (below, beside) = (workshop(index, "lower"), workshop(index, "store"));
    make_folder(&below)?;
    make_folder(&beside)?;
    rustix::mount::mount_bind_recursive(lower, &below).map_err(at(step()))?;
    rustix::mount::mount_bind(store, &beside).map_err(at(step()))?;
    let (below_text, beside_text) = (below.display(), beside.display());
    let options = format!(
        "userxattr,volatile,lowerdir={below_text},upperdir={beside_text}/upper,workdir={beside_text}/work"
    );
    mount_overlay(&options, target).map_err(at(step()))?;
    rustix::mount::unmount(&beside, UnmountFlags::DETACH).map_err(at(step()))?;
    rustix::mount::unmount(&below, UnmountFlags::DETACH).map_err(at(step()))
}

fn mount_overlay(options: &str, target: &OsStr) -> Result<(), String> {
    let place = relative(target);
    make_place(&place, true).map_err(|fault| fault.reason)?;
    let options = CString::new(options).map_err(|error| error.to_string())?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    rustix::mount::mount("overlay", &place, "overlay", flags, options.as_c_str())
        .map_err(|error| error.to_string())
}

/// Lays an empty file or folder without rights over a path, if there is something.
fn mask(target: &OsStr, index: usize) -> Result<(), SetupFault> {
    let place = relative(target);
    let Ok(stat) = rustix::fs::lstat(&place) else { return Ok(()) };
    let step = || format!("hidden path `{}`", target.display());
    let cover = workshop(index, "cover");
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Symlink => {
            return Err(at(step())("it is a symbolic link: name what it leads to"));
        }
        FileType::Directory => {
            fs::DirBuilder::new().mode(0o000).create(&cover).map_err(at(step()))?;
        }
        _ => drop(new_file(&cover, 0).map_err(at(step()))?),
    }
    rustix::mount::mount_bind(&cover, &place).map_err(at(step()))?;
    tighten(&place, false)
}

fn devices() -> Result<(), SetupFault> {
    make_folder("dev".as_ref())?;
    for name in DEVICES {
        let source = OsString::from(format!("/dev/{name}"));
        let place = PathBuf::from(format!("dev/{name}"));
        make_place(&place, false)?;
        rustix::mount::mount_bind(&source, &place).map_err(at(format!("device `{name}`")))?;
    }
    let links =
        [("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")];
    for (name, target) in links {
        symlink(target, Path::new("dev").join(name)).map_err(at("links in `/dev`"))?;
    }
    make_folder("dev/shm".as_ref())?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    rustix::mount::mount("tmpfs", "dev/shm", "tmpfs", flags, c"size=256m,mode=1777")
        .map_err(at("dev/shm"))
}

fn workshop(index: usize, name: &str) -> PathBuf {
    PathBuf::from(format!("{WORKSHOP}/{index}-{name}"))
}

/// The same path below the folder that becomes the root.
fn relative(path: &OsStr) -> PathBuf {
    let bytes = path.as_bytes();
    let start = bytes.iter().position(|&byte| byte != b'/').unwrap_or(bytes.len());
    let rest = OsStr::from_bytes(&bytes[start..]);
    if rest.is_empty() { PathBuf::from(".") } else { rest.into() }
}

/// Makes the point of a mount: it may be there already, in something mounted before.
fn make_place(place: &Path, is_folder: bool) -> Result<(), SetupFault> {
    if is_folder {
        return make_folder(place);
    }
    if let Some(parent) = place.parent() {
        make_folder(parent)?;
    }
    if rustix::fs::lstat(place).is_ok() {
        return Ok(());
    }
    new_file(place, 0o644).map(drop).map_err(at(format!("place `{}`", place.display())))
}

/// Makes a folder with its parents. Folders are opened one by one, never through a link: a link in
/// a stage could lead a mount elsewhere.
fn make_folder(path: &Path) -> Result<(), SetupFault> {
    let step = || format!("place `{}`", path.display());
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut folder = rustix::fs::open(".", flags, Mode::empty()).map_err(at(step()))?;
    for part in path.components() {
        let name = part.as_os_str();
        match rustix::fs::mkdirat(&folder, name, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(rustix::io::Errno::EXIST | rustix::io::Errno::ROFS) => {}
            Err(error) => return Err(at(step())(error)),
        }
        folder = match rustix::fs::openat(&folder, name, flags, Mode::empty()) {
            Ok(opened) => opened,
            // A link of the system (`/bin`) leads into the new root as well.
            Err(rustix::io::Errno::NOTDIR | rustix::io::Errno::LOOP) => {
                return Err(at(step())("a link or a file is in the way"));
            }
            Err(error) => return Err(at(step())(error)),
        };
    }
    Ok(())
}

fn new_file(path: &Path, mode: u32) -> std::io::Result<fs::File> {
    fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(path)
}
