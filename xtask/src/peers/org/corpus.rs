//! Real Org files: from the packages that `peers/org-corpus.txt` pins, fetched once, checked against the hash that is
//! pinned with them, and unpacked below `target`.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::console::{Console, Run, root};

/// How many different files there must be for a verdict; a registry may no longer have some of the packages.
const FILES: usize = 500;

/// Fetches what is missing and returns all Org files, each content once.
pub(super) fn fetched(console: &Console) -> Result<Vec<PathBuf>> {
    let list = fs::read_to_string(root().join("peers/org-corpus.txt"))
        .context("cannot read the list of packages")?;
    let corpus = root().join("target/org-corpus");
    let mut pool = None;
    for line in list.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let [kind, package, hash] = line.split(' ').collect::<Vec<_>>()[..] else {
            bail!("`{line}`, expected a registry, a package and a hash")
        };
        let folder = corpus.join(package.replace(['=', ':', '/'], "_"));
        if folder.join("done").exists() {
            continue;
        }
        fs::create_dir_all(&folder)
            .with_context(|| format!("cannot make `{}`", folder.display()))?;
        let result = match kind {
            "deb" => debian(package, hash, &folder),
            "src" => {
                let pool: &String = match &pool {
                    Some(pool) => pool,
                    None => pool.insert(mirror()?),
                };
                source(&format!("{pool}/{package}"), hash, &folder)
            }
            _ => bail!("no registry `{kind}`, expected `deb` or `src`"),
        };
        match result {
            Ok(()) => {
                fs::write(folder.join("done"), "").context("cannot mark a package as fetched")?;
            }
            // A registry that no longer has one of them must not hide what the others show.
            Err(error) => console.say(format!("peers: without {package}: {error:#}")),
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

/// Where this machine gets packages of Debian from.
fn mirror() -> Result<String> {
    let sites = Run::new("apt-get")
        .args(["indextargets", "--format", "$(SITE)", "Created-By: Packages", "Label: Debian"])
        .stdout()?;
    let site = sites.lines().next().context("apt knows no site with packages of Debian")?;
    Ok(site.to_owned())
}

fn debian(package: &str, hash: &str, folder: &Path) -> Result<()> {
    let script = "apt-get download -qq \"$2\" && set -- \"$1\" \"$2\" \"$3\" *.deb && \
        echo \"$3  $4\" | sha256sum -c --quiet && dpkg-deb -x \"$4\" tree && rm \"$4\"";
    unpack(script, package, hash, folder)
}

/// A file of a source package: what patches are in it is not applied.
fn source(address: &str, hash: &str, folder: &Path) -> Result<()> {
    let script = "/usr/lib/apt/apt-helper download-file \"$2\" file.tar \"SHA256:$3\" && mkdir -p tree && \
        { tar -xf file.tar -C tree --no-same-owner --wildcards '*.org' 2>/dev/null || true; } && rm file.tar";
    unpack(script, address, hash, folder)
}

/// Runs the script in the folder, and leaves nothing but Org files, none of them packed.
fn unpack(script: &str, package: &str, hash: &str, folder: &Path) -> Result<()> {
    let keep = "find tree -name '*.org.gz' -exec gunzip -f {} + && find tree ! -name '*.org' ! -type d -delete";
    let whole =
        format!("cd \"$1\" && rm -rf tree *.deb file.tar && ({script}) >/dev/null && {keep}");
    let folder = folder.to_str().context("a path that is no text")?;
    Run::new("sh").args(["-c", &whole, "sh", folder, package, hash]).stdout().map(drop)
}
