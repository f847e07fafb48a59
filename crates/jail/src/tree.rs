//! Files as the stage sees them: what is at a path, stamps to tell that it changed, copies that keep
//! links, holes, modes and times. For `stage`, `change` and `commit`. Never follows a link.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{
    FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, symlink,
};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, SeekFrom, Timespec, Timestamps};
use serde::{Deserialize, Serialize};

use crate::error::JailError;

/// Most files, folders and links of a project.
pub(crate) const MAX_ENTRIES: usize = 1_000_000;

/// Folders in one another.
const MAX_DEPTH: usize = 256;

/// Bits of a mode that a commit carries over.
pub(crate) const MODE_MASK: u32 = 0o777;

/// Text of a path in files of ours: UTF-8, with `%XX` for bytes that are not, controls and `%`.
pub(crate) mod path_text {
    use std::ffi::OsString;
    use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
    use std::path::{Path, PathBuf};

    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(crate) fn escape(path: &Path) -> String {
        let mut out = String::new();
        for chunk in path.as_os_str().as_bytes().utf8_chunks() {
            for character in chunk.valid().chars() {
                if character == '%' || character.is_control() {
                    let mut space = [0; 4];
                    push_bytes(&mut out, character.encode_utf8(&mut space).as_bytes());
                } else {
                    out.push(character);
                }
            }
            push_bytes(&mut out, chunk.invalid());
        }
        out
    }

    fn push_bytes(out: &mut String, bytes: &[u8]) {
        for byte in bytes {
            out.push_str(&format!("%{byte:02X}"));
        }
    }

    pub(crate) fn unescape(text: &str) -> Option<PathBuf> {
        let mut bytes = Vec::with_capacity(text.len());
        let mut rest = text.as_bytes();
        while let Some((&first, tail)) = rest.split_first() {
            if first == b'%' {
                let digits = std::str::from_utf8(tail.get(..2)?).ok()?;
                bytes.push(u8::from_str_radix(digits, 16).ok()?);
                rest = &tail[2..];
            } else {
                bytes.push(first);
                rest = tail;
            }
        }
        Some(OsString::from_vec(bytes).into())
    }

    pub(crate) fn serialize<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&escape(path))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
        let text = String::deserialize(from)?;
        unescape(&text).ok_or_else(|| D::Error::custom("a path that is no escaped text"))
    }
}

/// State of one path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PathState {
    /// Nothing is there.
    Absent,
    /// File with these contents.
    File {
        /// BLAKE3 of the contents, in hex.
        hash: String,
        /// Length.
        bytes: u64,
        /// Permission bits.
        mode: u32,
    },
    /// Symbolic link.
    Link {
        /// Text of the link.
        #[serde(with = "path_text")]
        target: PathBuf,
    },
    /// Folder, without its contents.
    Folder {
        /// Permission bits.
        mode: u32,
    },
    /// Socket, pipe or device: neither staged nor committed.
    Special,
}

impl PathState {
    /// Reads what is at a path now.
    ///
    /// # Errors
    ///
    /// What cannot be looked at or read is an error.
    pub fn read(path: &Path) -> Result<PathState, JailError> {
        let metadata = match fs::symlink_metadata(path) {
            Ok(metadata) => metadata,
            Err(error) if is_absent(&error) => return Ok(PathState::Absent),
            Err(error) => return Err(JailError::io("look at", path)(error)),
        };
        let kind = metadata.file_type();
        if kind.is_symlink() {
            let target = fs::read_link(path).map_err(JailError::io("read link", path))?;
            return Ok(PathState::Link { target });
        }
        if kind.is_dir() {
            return Ok(PathState::Folder { mode: metadata.mode() & MODE_MASK });
        }
        if !kind.is_file() {
            return Ok(PathState::Special);
        }
        let file = open_file(path).map_err(JailError::io("open", path))?;
        let (hash, bytes) = hash_file(&file).map_err(JailError::io("read", path))?;
        Ok(PathState::File { hash, bytes, mode: metadata.mode() & MODE_MASK })
    }

    /// Length of a file; zero for anything else.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        match self {
            PathState::File { bytes, .. } => *bytes,
            _ => 0,
        }
    }
}

pub(crate) fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Opens a regular file for reading: no link, and no wait for the other end of a pipe.
pub(crate) fn open_file(path: &Path) -> io::Result<File> {
    let flags = (rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK).bits();
    let file = OpenOptions::new().read(true).custom_flags(flags.cast_signed()).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    Ok(file)
}

/// BLAKE3 in hex, and the length.
pub(crate) fn hash_file(mut file: &File) -> io::Result<(String, u64)> {
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; 128 << 10];
    let mut bytes = 0;
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok((hasher.finalize().to_hex().to_string(), bytes));
        }
        hasher.update(&buffer[..read]);
        bytes += read as u64;
    }
}

/// Kind of an entry, as far as a stamp tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum EntryKind {
    File,
    Folder,
    Link,
    Special,
}

/// Traces of a file by which a change is noticed without reading it. The time of change cannot be
/// set by programs, so equal stamps mean equal contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct EntryStamp {
    pub(crate) kind: EntryKind,
    pub(crate) mode: u32,
    pub(crate) inode: u64,
    pub(crate) bytes: u64,
    pub(crate) links: u64,
    pub(crate) modified_ns: i64,
    pub(crate) changed_ns: i64,
}

impl EntryStamp {
    pub(crate) fn new(metadata: &Metadata) -> EntryStamp {
        let kind = metadata.file_type();
        let kind = if kind.is_file() {
            EntryKind::File
        } else if kind.is_dir() {
            EntryKind::Folder
        } else if kind.is_symlink() {
            EntryKind::Link
        } else {
            EntryKind::Special
        };
        let in_ns = |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000) + rest;
        EntryStamp {
            kind,
            mode: metadata.mode() & 0o7777,
            inode: metadata.ino(),
            bytes: metadata.len(),
            links: metadata.nlink(),
            modified_ns: in_ns(metadata.mtime(), metadata.mtime_nsec()),
            changed_ns: in_ns(metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Same contents, mode and place on disk. The count of links and the times of a folder change
    /// with its entries, which have stamps of their own.
    pub(crate) fn is_same(&self, other: &EntryStamp) -> bool {
        if self.kind == EntryKind::Folder {
            return other.kind == EntryKind::Folder && self.mode == other.mode;
        }
        self.kind == other.kind
            && self.mode == other.mode
            && self.inode == other.inode
            && self.bytes == other.bytes
            && self.modified_ns == other.modified_ns
            && self.changed_ns == other.changed_ns
    }
}

/// All entries of a folder, by path relative to it, in order.
pub(crate) type TreeStamps = BTreeMap<PathBuf, EntryStamp>;

/// Stamps of everything below a folder; paths of `left_out` (relative) are passed over.
pub(crate) fn stamp_tree(root: &Path, left_out: &[PathBuf]) -> Result<TreeStamps, JailError> {
    let mut stamps = TreeStamps::new();
    walk(root, left_out, &mut |relative, metadata| {
        stamps.insert(relative.to_owned(), EntryStamp::new(metadata));
        Ok(())
    })?;
    Ok(stamps)
}

/// Calls for each entry below a folder, a folder before what is in it.
pub(crate) fn walk(
    root: &Path,
    left_out: &[PathBuf],
    visit: &mut dyn FnMut(&Path, &Metadata) -> Result<(), JailError>,
) -> Result<(), JailError> {
    let mut open = vec![PathBuf::new()];
    let mut count = 0_usize;
    while let Some(folder) = open.pop() {
        if folder.components().count() > MAX_DEPTH {
            return Err(JailError::TooLarge { what: "depth of folders", limit: MAX_DEPTH as u64 });
        }
        let path = root.join(&folder);
        let entries = match fs::read_dir(&path) {
            Ok(entries) => entries,
            Err(error) if is_absent(&error) && count > 0 => continue,
            Err(error) => return Err(JailError::io("list", path)(error)),
        };
        for entry in entries {
            let entry = entry.map_err(JailError::io("list", &path))?;
            let relative = folder.join(entry.file_name());
            if left_out.contains(&relative) {
                continue;
            }
            let metadata = match entry.metadata() {
                Ok(metadata) => metadata,
                Err(error) if is_absent(&error) => continue,
                Err(error) => return Err(JailError::io("look at", entry.path())(error)),
            };
            count += 1;
            if count > MAX_ENTRIES {
                return Err(JailError::TooLarge {
                    what: "number of files",
                    limit: MAX_ENTRIES as u64,
                });
            }
            visit(&relative, &metadata)?;
            if metadata.is_dir() {
                open.push(relative);
            }
        }
    }
    Ok(())
}

/// Copies a tree: contents, holes, modes, times, links of both kinds. Sockets, pipes and devices
/// are left out. `owner` gives everything to a uid and gid.
pub(crate) fn copy_tree(
    from: &Path,
    to: &Path,
    left_out: &[PathBuf],
    owner: Option<(u32, u32)>,
) -> Result<(), JailError> {
    let mut links: HashMap<(u64, u64), PathBuf> = HashMap::new();
    let mut folders = Vec::new();
    let own = |path: &Path| match owner {
        None => Ok(()),
        Some((uid, gid)) => std::os::unix::fs::lchown(path, Some(uid), Some(gid))
            .map_err(JailError::io("give away", path)),
    };
    walk(from, left_out, &mut |relative, metadata| {
        let (source, target) = (from.join(relative), to.join(relative));
        let kind = metadata.file_type();
        if kind.is_dir() {
            fs::create_dir(&target).map_err(JailError::io("make folder", &target))?;
            folders.push((target, metadata.clone()));
            return Ok(());
        }
        if kind.is_symlink() {
            let text = fs::read_link(&source).map_err(JailError::io("read link", &source))?;
            symlink(text, &target).map_err(JailError::io("make link", &target))?;
            set_times(&target, metadata)?;
            return own(&target);
        }
        if kind.is_fifo() || !kind.is_file() {
            return Ok(());
        }
        let key = (metadata.dev(), metadata.ino());
        if let Some(first) = links.get(&key) {
            return fs::hard_link(first, &target).map_err(JailError::io("link", &target));
        }
        copy_file(&source, &target)?;
        own(&target)?;
        set_mode(&target, metadata.mode() & 0o7777)?;
        set_times(&target, metadata)?;
        if metadata.nlink() > 1 {
            links.insert(key, target);
        }
        Ok(())
    })?;
    own(to)?;
    for (folder, metadata) in folders.into_iter().rev() {
        own(&folder)?;
        set_mode(&folder, metadata.mode() & 0o7777)?;
        set_times(&folder, &metadata)?;
    }
    Ok(())
}

/// Copies the contents of a file into a new one, sharing blocks where the file system can, and
/// leaving holes as they are.
pub(crate) fn copy_file(from: &Path, to: &Path) -> Result<File, JailError> {
    let source = open_file(from).map_err(JailError::io("open", from))?;
    let target = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(to)
        .map_err(JailError::io("make", to))?;
    copy_contents(&source, &target).map_err(JailError::io("copy", from))?;
    Ok(target)
}

fn copy_contents(source: &File, target: &File) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    if rustix::fs::ioctl_ficlone(target, source).is_ok() {
        return Ok(());
    }
    let length = source.metadata()?.len();
    target.set_len(length)?;
    let mut place = 0;
    while place < length {
        let start = match rustix::fs::seek(source, SeekFrom::Data(place)) {
            Ok(start) => start,
            Err(rustix::io::Errno::NXIO) => break,
            Err(error) => return Err(error.into()),
        };
        let end = rustix::fs::seek(source, SeekFrom::Hole(start))?.min(length);
        rustix::fs::seek(source, SeekFrom::Start(start))?;
        rustix::fs::seek(target, SeekFrom::Start(start))?;
        let copied = io::copy(&mut source.take(end - start), &mut &*target)?;
        if copied < end - start {
            // Somebody shortens it under our hands: the copy ends there, too.
            target.set_len(start + copied)?;
            break;
        }
        place = end;
    }
    Ok(())
}

pub(crate) fn set_mode(path: &Path, mode: u32) -> Result<(), JailError> {
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
        .map_err(JailError::io("set mode of", path))
}

fn set_times(path: &Path, metadata: &Metadata) -> Result<(), JailError> {
    let stamp = |seconds: i64, nanos: i64| Timespec { tv_sec: seconds, tv_nsec: nanos as _ };
    let times = Timestamps {
        last_access: stamp(metadata.atime(), metadata.atime_nsec()),
        last_modification: stamp(metadata.mtime(), metadata.mtime_nsec()),
    };
    rustix::fs::utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW)
        .map_err(|error| JailError::io("set times of", path)(error.into()))
}

/// Removes a tree, also folders that their owner may not enter; never follows a link.
pub(crate) fn remove_tree(root: &Path) -> Result<(), JailError> {
    let metadata = match fs::symlink_metadata(root) {
        Ok(metadata) => metadata,
        Err(error) if is_absent(&error) => return Ok(()),
        Err(error) => return Err(JailError::io("look at", root)(error)),
    };
    if !metadata.is_dir() {
        return fs::remove_file(root).map_err(JailError::io("remove", root));
    }
    let mut open = vec![(root.to_owned(), Visit::First)];
    while let Some((folder, visit)) = open.pop() {
        if visit == Visit::Last {
            fs::remove_dir(&folder).map_err(JailError::io("remove", &folder))?;
            continue;
        }
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if is_absent(&error) => continue,
            Err(_) => {
                set_mode(&folder, 0o700)?;
                fs::read_dir(&folder).map_err(JailError::io("list", &folder))?
            }
        };
        open.push((folder.clone(), Visit::Last));
        let mut is_writable = false;
        for entry in entries {
            let entry = entry.map_err(JailError::io("list", &folder))?;
            let kind = entry.file_type().map_err(JailError::io("look at", entry.path()))?;
            if kind.is_dir() {
                if !is_writable {
                    set_mode(&folder, 0o700)?;
                    is_writable = true;
                }
                open.push((entry.path(), Visit::First));
                continue;
            }
            if let Err(error) = fs::remove_file(entry.path()) {
                if error.kind() != io::ErrorKind::PermissionDenied {
                    return Err(JailError::io("remove", entry.path())(error));
                }
                set_mode(&folder, 0o700)?;
                is_writable = true;
                fs::remove_file(entry.path()).map_err(JailError::io("remove", entry.path()))?;
            }
        }
    }
    Ok(())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Visit {
    First,
    Last,
}

/// Hidden or special parts of a relative path that no change may name.
pub(crate) fn is_inside(relative: &Path) -> bool {
    !relative.as_os_str().is_empty()
        && relative.components().all(|part| matches!(part, std::path::Component::Normal(_)))
        && !relative.as_os_str().as_bytes().contains(&0)
}
