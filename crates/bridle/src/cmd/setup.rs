//! `bridle setup`: the first minutes in one command. Asks for the folder and the policies, writes what was chosen with
//! the commands that anybody could have typed, starts the daemon, and looks at all of it with `doctor`.

use std::io::{self, BufRead as _, Write as _};
use std::path::{Path, PathBuf};

use super::confirm::has_person;
use super::output::print;
use super::{doctor, init, policy};
use crate::args::care::{DoctorArgs, PolicyWish, SetupArgs};
use crate::args::guard::PolicyCommand;
use crate::args::recall::InitArgs;
use crate::exit::{BridleExit, CommandFailure};
use crate::settings::{GivenFlags, ResolvedSettings};

/// Folders in the home where people keep Org files.
const USUAL_FOLDERS: [&str; 4] = ["memex", "org", "notes", "Notes"];

/// Word for no folder.
const NO_FOLDER: &str = "none";

pub(crate) fn run(args: SetupArgs) -> Result<BridleExit, CommandFailure> {
    if !args.yes && !has_person() && (args.memex.is_none() || args.policy.is_none()) {
        return Err(CommandFailure::new(BridleExit::Usage, "nobody is there to be asked")
            .hint("pass --memex DIR and --policy built-in, or --yes, or run this in a terminal"));
    }
    let settings = ResolvedSettings::resolve(&GivenFlags::from(args.peer.file.clone()))?;
    if let Some(folder) = wanted_folder(&args, &settings)? {
        print(&format!("\nMemory: bridle init {} --yes\n", folder.display()))?;
        make_folder(&folder)?;
        let peer = args.peer.clone();
        let (dir, state) = (Some(folder), None);
        init::run(InitArgs {
            dir,
            yes: true,
            dry_run: false,
            no_skills: false,
            json: false,
            peer,
            state,
        })?;
    }
    if wants_own_policies(&args, &settings)? {
        print("\nPolicies: bridle policy init\n")?;
        policy::run(PolicyCommand::Init { file: None, settings: args.peer.file.clone() })?;
    }
    print("\nEverything together: bridle doctor\n")?;
    let fix = !args.no_start;
    let exit = doctor::run(DoctorArgs { fix, json: false, peer: args.peer })?;
    print("\nNext: bridle ask help, bridle search WORDS, bridle capture TEXT\n")?;
    Ok(exit)
}

/// The folder to use, where it is not the one in force.
fn wanted_folder(
    args: &SetupArgs,
    settings: &ResolvedSettings,
) -> Result<Option<PathBuf>, CommandFailure> {
    let present = settings.path("memex").map(Path::to_path_buf);
    let answer = match &args.memex {
        Some(folder) => folder.clone(),
        None if args.yes => return Ok(None),
        None => {
            let guess = present.clone().or_else(usual_folder);
            let shown = guess.as_deref().map_or(NO_FOLDER.into(), Path::to_string_lossy);
            let line = asked(&format!("Folder with your Org files, or `{NO_FOLDER}` [{shown}]: "))?;
            if line.is_empty() { shown.into_owned() } else { line }
        }
    };
    let folder = match answer.strip_prefix("~/") {
        Some(rest) => home().map_or_else(|| PathBuf::from(&answer), |home| home.join(rest)),
        None => PathBuf::from(&answer),
    };
    Ok((answer != NO_FOLDER && present.as_deref() != Some(&*folder)).then_some(folder))
}

/// Makes a folder that is not there yet.
fn make_folder(folder: &Path) -> Result<(), CommandFailure> {
    if folder.is_dir() {
        return Ok(());
    }
    std::fs::create_dir_all(folder).map_err(|error| {
        let what = format!("cannot make `{}`", folder.display());
        CommandFailure::because(BridleExit::CannotCreate, what, &error).hint("name another folder")
    })?;
    print(&format!("made {}\n", folder.display())).map(drop)
}

fn wants_own_policies(
    args: &SetupArgs,
    settings: &ResolvedSettings,
) -> Result<bool, CommandFailure> {
    if policy::file_of(settings).is_ok_and(|file| file.exists()) {
        return Ok(false);
    }
    match args.policy {
        Some(wish) => Ok(wish == PolicyWish::Own),
        None if args.yes => Ok(false),
        None => {
            let line = asked(
                "Policies say what is allowed, asked about and denied.\n\
                 Use those that are built in, or a file of your own to edit? [built-in/own]: ",
            )?;
            Ok(line.eq_ignore_ascii_case("own"))
        }
    }
}

fn asked(question: &str) -> Result<String, CommandFailure> {
    let mut line = String::new();
    let mut out = io::stderr().lock();
    write!(out, "{question}")
        .and_then(|()| out.flush())
        .and_then(|()| io::stdin().lock().read_line(&mut line))
        .map_err(|error| CommandFailure::stream("cannot ask", &error))?;
    Ok(line.trim().to_owned())
}

fn home() -> Option<PathBuf> {
    std::env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from)
}

fn usual_folder() -> Option<PathBuf> {
    let home = home()?;
    USUAL_FOLDERS.iter().map(|name| home.join(name)).find(|folder| folder.is_dir())
}
