//! Files below a folder, for completion: the first ones, without what version control and builds
//! leave.

use std::path::Path;

/// Paths collected at most.
const MAX_PATHS: usize = 20_000;

/// Folders looked into at most.
const MAX_FOLDERS: usize = 4_000;

/// Folders that hold nothing that a person names.
const PASSED_OVER: [&str; 5] = ["target", "node_modules", "__pycache__", "dist", "build"];

/// Paths of files and folders below a folder, relative to it; those near the top first. Links are
/// not followed.
pub fn below(folder: &Path) -> Vec<String> {
    let mut paths = Vec::new();
    let mut open = std::collections::VecDeque::from([folder.to_path_buf()]);
    let mut looked = 0;
    while let Some(dir) = open.pop_front() {
        looked += 1;
        if looked > MAX_FOLDERS {
            break;
        }
        let Ok(entries) = std::fs::read_dir(&dir) else { continue };
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let Ok(kind) = entry.file_type() else { continue };
            if name.starts_with('.') || name.contains(char::is_whitespace) {
                continue;
            }
            let path = entry.path();
            let Ok(relative) = path.strip_prefix(folder) else { continue };
            if kind.is_dir() && !PASSED_OVER.contains(&name.as_str()) {
                open.push_back(path.clone());
            }
            if kind.is_file() {
                paths.push(relative.to_string_lossy().into_owned());
            }
            if paths.len() >= MAX_PATHS {
                return paths;
            }
        }
    }
    paths.sort_by_key(String::len);
    paths
}
