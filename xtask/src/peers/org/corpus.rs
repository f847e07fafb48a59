//! Real Org files: from the packages that `peers/org-corpus.txt` pins, fetched once, checked against the hash that is
//! pinned with them, and unpacked below `target`.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::console::{ProgramRun, VerbConsole, root};

/// Number of different files that a verdict needs; a registry may no longer have some of the packages.
const FILES: usize = 500;

/// Fetches what is missing and returns all Org files, each content once.
pub(super) fn fetched(console: &VerbConsole) -> Result<Vec<PathBuf>> {
    let list = fs::read_to_string(root().join("peers/org-corpus.txt"))
        .context("cannot read the list of packages")?;
    let corpus = root().join("target/org-corpus");
    let mut pool = None;
    for line in list.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let Some((file, hash)) = line.split_once(' ') else {
            bail!("`{line}`, expected a path in the pool and a hash")
        };
        let folder = corpus.join(file.replace('/', "_"));
        if folder.join("done").exists() {
            continue;
        }
        fs::create_dir_all(&folder)
            .with_context(|| format!("cannot make `{}`", folder.display()))?;
        let pool: &String = match &pool {
            Some(pool) => pool,
            None => pool.insert(mirror()?),
        };
        let result = unpack(&format!("{pool}/{file}"), hash, &folder);
        match result {
            Ok(()) => {
                fs::write(folder.join("done"), "").context("cannot mark a package as fetched")?;
            }
            // A registry that no longer has one of them must not hide what the others show.
            Err(error) => console.say(format!("peers: without {file}: {error:#}")),
        }
    }
    let files = different(super::org_files(&corpus)?)?;
    if files.len() < FILES {
        console.say(format!("peers: {} files of packages, expected at least {FILES}", files.len()));
    }
    Ok(files)
}

/// The files without those that have the same contents as another.
fn different(files: Vec<PathBuf>) -> Result<Vec<PathBuf>> {
    let mut known = HashSet::new();
    let mut kept = Vec::new();
    for file in files {
        let bytes = fs::read(&file).with_context(|| format!("cannot read `{}`", file.display()))?;
        if known.insert(bytes) {
            kept.push(file);
        }
    }
    Ok(kept)
}

/// Mirror from which this machine gets packages of Debian.
fn mirror() -> Result<String> {
    let sites = ProgramRun::new("apt-get")
        .args(["indextargets", "--format", "$(SITE)", "Created-By: Packages", "Label: Debian"])
        .stdout()?;
    let site = sites.lines().next().context("apt knows no site with packages of Debian")?;
    Ok(site.to_owned())
}

/// Fetches a file, checks it, and leaves nothing of it but Org files, none of them packed. What patches are in a source
/// package is not applied.
fn unpack(address: &str, hash: &str, folder: &Path) -> Result<()> {
    let script = r#"cd "$1" && rm -rf tree file && mkdir tree &&
        /usr/lib/apt/apt-helper download-file "$2" file "SHA256:$3" >/dev/null &&
        case "$2" in
        *.deb) dpkg-deb -x file tree ;;
        *) tar -xf file -C tree --no-same-owner --wildcards '*.org' 2>/dev/null || true ;;
        esac &&
        rm file &&
        find tree -name '*.org.gz' -exec gunzip -f {} + &&
        find tree ! -name '*.org' ! -type d -delete"#;
    let folder = folder.to_str().context("a path that is no text")?;
    ProgramRun::new("sh").args(["-c", script, "sh", folder, address, hash]).stdout().map(drop)
}
