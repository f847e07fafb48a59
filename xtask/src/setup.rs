//! `cargo xtask setup`: installs what `ci` needs and a plain Rust installation lacks. Called first by
//! `ci`. Says what it installs and why; when nothing is missing it touches nothing and needs no network.

use std::path::Path;

use anyhow::{Result, bail};

use crate::console::{ProgramRun, VerbConsole, has_program};

pub(crate) const HELP: &str = "\
usage: cargo xtask setup [--bench]

Installs missing Debian packages with apt-get (through sudo when not root) and missing cargo tools with
`cargo install --locked`. Prints what and why. Does nothing when nothing is missing.

  --bench   also what `cargo xtask bench` measures against (redis-server) and with (wrk)";

/// Sign that something is already here.
enum PresenceSign {
    Program(&'static str),
    /// Any of these programs.
    OneOf(&'static [&'static str]),
    /// A module that `python3` can load.
    PythonModule(&'static str),
    File(&'static str),
    /// The help text of a program mentions this flag.
    Flag(&'static str, &'static str),
}

/// One Debian package.
struct DebianPackage {
    name: &'static str,
    why: &'static str,
    sign: PresenceSign,
}

const PACKAGES: &[DebianPackage] = &[
    DebianPackage {
        name: "sbcl",
        why: "the Lisp peer of the vectors and the wire tests",
        sign: PresenceSign::Program("sbcl"),
    },
    DebianPackage {
        name: "cl-ironclad",
        why: "HMAC-SHA256 for the Lisp peer",
        sign: PresenceSign::File("/usr/share/common-lisp/source/ironclad/ironclad.asd"),
    },
    DebianPackage {
        name: "cl-usocket",
        why: "sockets for the Lisp peer",
        sign: PresenceSign::File("/usr/share/common-lisp/source/usocket/usocket.asd"),
    },
    DebianPackage {
        name: "emacs-nox",
        why: "the Emacs peer, in batch",
        sign: PresenceSign::Program("emacs"),
    },
    DebianPackage {
        name: "python3",
        why: "the Python peer and client",
        sign: PresenceSign::Program("python3"),
    },
    DebianPackage {
        name: "elpa-package-lint",
        why: "the linter of Emacs packages",
        sign: PresenceSign::File(
            "/usr/share/emacs/site-lisp/elpa-src/package-lint-0.16/package-lint.el",
        ),
    },
    DebianPackage {
        name: "texinfo",
        why: "the manual for Emacs",
        sign: PresenceSign::Program("makeinfo"),
    },
    DebianPackage {
        name: "python3-websockets",
        why: "the WebSocket peer",
        sign: PresenceSign::File("/usr/lib/python3/dist-packages/websockets/__init__.py"),
    },
    DebianPackage {
        name: "python3-aiosmtpd",
        why: "the mail server of delivery tests",
        sign: PresenceSign::File("/usr/lib/python3/dist-packages/aiosmtpd/__init__.py"),
    },
    DebianPackage {
        name: "mypy",
        why: "types of the Python client",
        sign: PresenceSign::Program("mypy"),
    },
    DebianPackage {
        name: "valgrind",
        why: "the trace of docs/tour.md",
        sign: PresenceSign::Program("valgrind"),
    },
    DebianPackage {
        name: "nodejs",
        why: "the TypeScript client, and clients of models",
        sign: PresenceSign::Program("node"),
    },
    DebianPackage {
        name: "npm",
        why: "the compiler of the TypeScript client",
        sign: PresenceSign::Program("npm"),
    },
    DebianPackage {
        name: "python3-venv",
        why: "a place for schemathesis and for llama.cpp's server",
        sign: PresenceSign::PythonModule("ensurepip"),
    },
    DebianPackage {
        name: "chromium",
        why: "the browser of the pages",
        // Debian's, or what other systems have: there `apt-get` may know none.
        sign: PresenceSign::OneOf(&["chromium", "google-chrome", "chromium-browser"]),
    },
    DebianPackage {
        name: "tmux",
        why: "the terminal in which `bridle chat` is tested",
        sign: PresenceSign::Program("tmux"),
    },
    DebianPackage {
        name: "netcat-openbsd",
        why: "the conversation of the README",
        sign: PresenceSign::Flag("nc", "-N"),
    },
];

const BENCH_PACKAGES: &[DebianPackage] = &[
    DebianPackage {
        name: "redis-server",
        why: "the rival of the round-trip benchmark",
        sign: PresenceSign::Program("redis-server"),
    },
    DebianPackage {
        name: "wrk",
        why: "a client of the HTTP benchmark",
        sign: PresenceSign::Program("wrk"),
    },
];

/// Pinned: a new release must not change what passes.
const CARGO_DENY: &str = "cargo-deny@0.20.2";

pub(crate) fn run(arguments: &[String], console: &VerbConsole) -> Result<()> {
    match arguments {
        [] => install(PACKAGES.iter(), console)?,
        [flag] if flag == "--bench" => install(PACKAGES.iter().chain(BENCH_PACKAGES), console)?,
        _ => bail!("unexpected arguments `{}`\n\n{HELP}", arguments.join(" ")),
    }
    // Compiles ironclad once, so that tests which start several Lisps at once do not race for it.
    ProgramRun::new("sbcl").args(["--script", "peers/sbcl/harness.lisp", "warm"]).run(console)?;
    if !has_program("cargo-deny") {
        // Unoptimized: it runs for a second, and builds in a third of the time.
        install_cargo_tool(
            &["--debug", CARGO_DENY],
            "licenses, bans and sources of dependencies",
            console,
        )?;
    }
    console.say("setup: everything is here");
    Ok(())
}

/// Installs a cargo subcommand from crates.io.
pub(crate) fn install_cargo_tool(what: &[&str], why: &str, console: &VerbConsole) -> Result<()> {
    console.say(format!("installing {} ({why})", what.join(" ")));
    // Outside of this workspace's target folder settings, with its own lock file.
    ProgramRun::cargo(["install", "--locked"])
        .args(what)
        .without_env("CARGO_TARGET_DIR")
        .run(console)
}

fn install<'p>(
    packages: impl Iterator<Item = &'p DebianPackage>,
    console: &VerbConsole,
) -> Result<()> {
    let missing: Vec<&DebianPackage> = packages.filter(|package| !is_here(&package.sign)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    for package in &missing {
        console.say(format!("missing: {} ({})", package.name, package.why));
    }
    let names: Vec<&str> = missing.iter().map(|package| package.name).collect();
    if !has_program("apt-get") {
        bail!("no `apt-get` here: install by hand what gives {}", names.join(", "));
    }
    apt_get(&["update", "-q"]).run(console)?;
    apt_get(&["install", "-q", "-y", "--no-install-recommends"]).args(&names).run(console)?;
    match missing.iter().find(|package| !is_here(&package.sign)) {
        Some(package) => {
            bail!("`{}` was installed but its files are not where expected", package.name)
        }
        None => Ok(()),
    }
}

fn apt_get(arguments: &[&str]) -> ProgramRun {
    const QUIET: &str = "DEBIAN_FRONTEND=noninteractive";
    // `env` rather than our own environment: sudo drops it.
    let run =
        if is_root() { ProgramRun::new("env") } else { ProgramRun::new("sudo").args(["env"]) };
    run.args([QUIET, "apt-get"]).args(arguments)
}

fn is_root() -> bool {
    ProgramRun::new("id").args(["-u"]).stdout().is_ok_and(|uid| uid.trim() == "0")
}

fn is_here(sign: &PresenceSign) -> bool {
    match sign {
        PresenceSign::Program(program) => has_program(program),
        PresenceSign::OneOf(programs) => programs.iter().any(|program| has_program(program)),
        PresenceSign::PythonModule(module) => {
            let load = format!("import {module}");
            has_program("python3")
                && ProgramRun::new("python3").args(["-c", &load]).stdout().is_ok()
        }
        PresenceSign::File(path) => Path::new(path).exists(),
        PresenceSign::Flag(program, flag) => {
            has_program(program)
                && ProgramRun::new(program).args(["-h"]).output().is_ok_and(|output| {
                    [output.stdout, output.stderr]
                        .iter()
                        .any(|bytes| String::from_utf8_lossy(bytes).contains(flag))
                })
        }
    }
}
