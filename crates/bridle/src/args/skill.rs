//! The flags of `bridle skill`.

use std::path::PathBuf;

use clap::{Subcommand, ValueHint};

use crate::args::record::RecordPlace;
use crate::settings::ConfigFile;

/// Text below the help of the verbs.
pub(crate) const EXAMPLES: &str = "A skill is an Org file with properties, blocks of the skill language and tests; \
    docs/skills.md is its tutorial. check and test need no daemon.\n\n\
    Examples:\n  \
    bridle skill new water-plants\n  \
    bridle skill check water-plants.org\n  \
    bridle skill test water-plants.org";

#[derive(Debug, Subcommand)]
pub(crate) enum SkillCommand {
    /// Write the file of a new skill, which works and passes its own tests
    #[command(
        after_help = "Never overwrites a file: exit 73. Save it into the folder `skills` of your Org folder to use it.\n\n\
        Examples:\n  \
        bridle skill new water-plants\n  \
        bridle skill new water-plants --to ~/org/skills"
    )]
    New {
        /// Name: small letters, digits, - _ and .
        name: String,
        /// Folder to write it to
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, default_value = ".")]
        to: PathBuf,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Read and load skills: exit 1 with file, line, column and form of the first fault of each
    #[command(after_help = "Runs no test and does nothing to the outside.\n\n\
        Examples:\n  \
        bridle skill check skills/*.org\n  \
        bridle skill check --json water-plants.org")]
    Check {
        /// Files of skills
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath, required = true)]
        files: Vec<PathBuf>,
        /// Print one JSON object per file, one per line
        #[arg(long)]
        json: bool,
    },
    /// List the skills of your Org folder, and what is wrong with those that are not active
    #[command(
        after_help = "Reads the folder `skills` of the Org folder as the daemon does, tests included; works with or without \
        a running daemon. Exit 1 if a file is not in order.\n\n\
        Examples:\n  \
        bridle skill list\n  \
        bridle skill list --json"
    )]
    List {
        /// Print one JSON object per skill or fault, one per line
        #[arg(long)]
        json: bool,
        /// State directory
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        state: Option<String>,
        #[command(flatten)]
        file: ConfigFile,
    },
    /// Let a skill ask for the actions that its file names; shows them and asks first
    #[command(
        after_help = "Asking is not being allowed: policies judge every action. A skill that later names more waits for \
        this command again, and its version before serves until then.\n\n\
        Examples:\n  \
        bridle skill enable ~/org/skills/water-plants.org\n  \
        bridle skill enable --yes ~/org/skills/water-plants.org"
    )]
    Enable {
        /// File of the skill
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
        skill: PathBuf,
        /// Do not ask
        #[arg(long)]
        yes: bool,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
        /// State directory
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        state: Option<String>,
        #[command(flatten)]
        file: ConfigFile,
    },
    /// Revoke what a skill was allowed to ask for
    #[command(
        after_help = "A skill that asks for something serves no more. One that is a guard vetoes nothing any more, also where \
        its file is gone.\n\n\
        Examples:\n  \
        bridle skill disable water-plants"
    )]
    Disable {
        /// Name of the skill
        name: String,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
        /// State directory
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        state: Option<String>,
        #[command(flatten)]
        file: ConfigFile,
    },
    /// Run the tests of skills: exit 1 if one fails
    #[command(
        after_help = "Each call runs twice: in a live instance, and from the answers that the first run recorded, as after a \
        restart; the two must agree. Nothing is done to the outside: outcomes of actions come from the test.\n\n\
        Examples:\n  \
        bridle skill test skills/*.org\n  \
        bridle skill test --json water-plants.org"
    )]
    Test {
        /// Files of skills
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath, required = true)]
        files: Vec<PathBuf>,
        /// Print one JSON object per test, one per line
        #[arg(long)]
        json: bool,
    },
    /// Show a skill of your Org folder: what it defines, what wakes it, what it may ask for, what it saved
    #[command(after_help = "Works with or without a running daemon.\n\n\
        Examples:\n  \
        bridle skill show agenda\n  \
        bridle skill show --json agenda")]
    Show {
        /// Name of the skill
        name: String,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
        /// State directory
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        state: Option<String>,
        #[command(flatten)]
        file: ConfigFile,
    },
    /// Print the text of a skill that serves, or of a version that a turn ended on
    #[command(after_help = "Examples:\n  \
        bridle skill source agenda\n  \
        bridle skill source agenda --version 3f0a  a hash that `bridle skill trace` prints")]
    Source {
        /// Name of the skill
        name: String,
        /// Hash of a version
        #[arg(long, value_name = "HASH")]
        version: Option<String>,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
        /// State directory
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        state: Option<String>,
        #[command(flatten)]
        file: ConfigFile,
    },
    /// Show the turns of a skill, from the record: what woke it, what it asked for, what it was answered, what it said
    #[command(after_help = "Examples:\n  \
        bridle skill trace agenda\n  \
        bridle skill trace agenda --session work --json")]
    Trace {
        /// Name of the skill
        name: String,
        /// Only turns of this session
        #[arg(long, value_name = "NAME")]
        session: Option<String>,
        /// Print one JSON object per turn, one per line
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        state: RecordPlace,
    },
    /// Show what a changed skill would have done otherwise in the turns of the record: exit 1 if something
    #[command(
        after_help = "Nothing is done and nobody is asked: each turn is run again with the file, and answered as it was.\n\n\
        Examples:\n  \
        bridle skill rehearse ~/org/skills/agenda.org\n  \
        bridle skill rehearse --session work agenda.org"
    )]
    Rehearse {
        /// File of the changed skill
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
        skill: PathBuf,
        /// Only turns of this session
        #[arg(long, value_name = "NAME")]
        session: Option<String>,
        /// Print one JSON object per difference, one per line
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        state: RecordPlace,
    },
    /// Put a file into your folder of skills: its tests run, the change and what it asks for are shown, you are asked
    #[command(
        after_help = "What does not serve is taken back at once. --undo NAME goes back to the file before the last install.\n\n\
        Examples:\n  \
        bridle skill install water-plants.org\n  \
        bridle skill install --undo water-plants"
    )]
    Install {
        /// File of the skill, or its name with --undo
        #[arg(value_name = "FILE")]
        skill: PathBuf,
        /// Go back to the file before the last install
        #[arg(long)]
        undo: bool,
        /// Do not ask
        #[arg(long)]
        yes: bool,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
        /// State directory
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        state: Option<String>,
        #[command(flatten)]
        file: ConfigFile,
    },
    /// Compare your copies of the bundled skills with the originals: exit 1 if one differs
    #[command(
        after_help = "`bridle init` copies them once; from then on they are yours. The diff is what `bridle skill update` would \
        change.\n\n\
        Examples:\n  \
        bridle skill diff\n  \
        bridle skill diff agenda --json"
    )]
    Diff {
        /// Names of skills that come with bridle; all without one
        #[arg(value_name = "NAME")]
        names: Vec<String>,
        /// Print one JSON object per skill, one per line
        #[arg(long)]
        json: bool,
        /// State directory
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        state: Option<String>,
        #[command(flatten)]
        file: ConfigFile,
    },
    /// Replace your copies of the bundled skills with the originals; shows each change and asks first
    #[command(
        after_help = "Without a name it writes those that are missing and those that you never changed. A copy that you edited or \
        deleted is replaced only by its name.\n\n\
        Examples:\n  \
        bridle skill update\n  \
        bridle skill update --yes agenda"
    )]
    Update {
        /// Names of skills that come with bridle
        #[arg(value_name = "NAME")]
        names: Vec<String>,
        /// Do not ask
        #[arg(long)]
        yes: bool,
        /// State directory
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        state: Option<String>,
        #[command(flatten)]
        file: ConfigFile,
    },
}
