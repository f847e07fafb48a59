//! Programs that have a file open for writing. Asked by `file_swap` after a file has changed places with its
//! successor, and by `late` before what was written into such a file is taken for whole. A program that has it
//! open is about to write, and its text would go to a file without a name. Who has found the file and is still
//! on the way into it cannot be seen; that is what `late` is for.
//!
//! Known from `/proc`, so of programs of this user alone, and not of memory that is mapped.

use std::fs;
use std::path::Path;

use rustix::fs::Stat;

/// Descriptors that are looked at: a busy desktop has some ten thousand. Those beyond are taken not to be
/// about the file.
const MAX_SCANNED_DESCRIPTORS: usize = 200_000;

/// The bits of the flags of a descriptor that say whether it reads, writes, or does both.
const ACCESS_MODE_BITS: u32 = 0o3;

/// The number of a process that has this file open for writing, if one can be told.
pub(super) fn writer(file: &Stat) -> Option<u32> {
    let mut looked_at = 0;
    let processes = fs::read_dir("/proc").ok()?.filter_map(Result::ok);
    for process in processes {
        let Some(pid) = process.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        // Processes of others, and those that have just ended.
        let Ok(open) = fs::read_dir(process.path().join("fd")) else { continue };
        for descriptor in open.filter_map(Result::ok) {
            looked_at += 1;
            if looked_at > MAX_SCANNED_DESCRIPTORS {
                return None;
            }
            let is_it = rustix::fs::stat(descriptor.path())
                .is_ok_and(|it| (it.st_dev, it.st_ino) == (file.st_dev, file.st_ino));
            let info = process.path().join("fdinfo").join(descriptor.file_name());
            if is_it && writes(&info) {
                return Some(pid);
            }
        }
    }
    None
}

/// Whether the flags of a descriptor let it write.
fn writes(info: &Path) -> bool {
    let text = fs::read_to_string(info).unwrap_or_default();
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"));
    flags
        .and_then(|it| u32::from_str_radix(it.trim(), 8).ok())
        .is_some_and(|it| it & ACCESS_MODE_BITS != 0)
}
