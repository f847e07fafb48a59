//! The command line. Every command with its flags and examples; the flags of settings come from
//! the settings table.

pub(crate) mod ask;
pub(crate) mod conform;
pub(crate) mod groups;
pub(crate) mod guard;
pub(crate) mod jail;
pub(crate) mod lisp;
pub(crate) mod memory;
pub(crate) mod org;
pub(crate) mod recall;
pub(crate) mod record;
pub(crate) mod schedules;
pub(crate) mod token;

use std::path::PathBuf;
use std::time::Duration;

use bridle_shell::DaemonAddress;
use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};

use crate::exit::BridleExit;
use crate::settings::{ConfigFile, GivenFlags};

/// A daemon between shells and an agent engine, and the tools to talk to it.
#[derive(Debug, Parser)]
#[command(
    name = "bridle",
    version,
    // The last one counts, so that scripts may add to a command line.
    args_override_self = true,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "Examples:\n  \
        bridle up                                  run the daemon\n  \
        bridle health                              is it well?\n  \
        bridle send '(:type :health-check)'        ask it something\n  \
        bridle log --follow                        see what happens\n\n\
        `bridle --help` lists the exit codes.",
    after_long_help = long_help(),
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: BridleCommand,
}

fn long_help() -> String {
    format!(
        "Examples:\n  \
         bridle up                                  run the daemon\n  \
         bridle health                              is it well?\n  \
         bridle send '(:type :health-check)'        ask it something\n  \
         bridle log --follow                        see what happens\n  \
         echo '(:a 1)' | bridle frame encode        a frame for netcat\n\n{}",
        BridleExit::help()
    )
}

#[derive(Debug, Subcommand)]
pub(crate) enum BridleCommand {
    /// Run the daemon in the foreground
    #[command(after_help = "Prints one line beginning with `ready ` once every listener accepts. \
        SIGTERM and SIGINT end it; a second one ends it at once.\n\n\
        Examples:\n  \
        bridle up\n  \
        bridle up --tcp 127.0.0.1:0 --unix off --http off --state /tmp/b    a throw-away daemon\n  \
        bridle up --thinker script:rules.script                  with rules of a file\n  \
        bridle up --stdio --tcp off --unix off --http off                   as a child process\n  \
        bridle up --stdio-json --tcp off --unix off --http off              the same in JSON lines")]
    Up(GivenFlags),
    /// Ask a daemon how it is: exit 0 if healthy, 1 if not, 69 if nobody is there
    #[command(
        after_help = "Examples:\n  bridle health\n  bridle health --wait 10 --addr 127.0.0.1:9105"
    )]
    Health(HealthArgs),
    /// Ask your daemon something, or any Engine of OpenHarness, and carry out what it answers
    #[command(
        after_help = "Your own daemon is asked over its Unix socket, as you. Messages are printed on stdout as they come, everything else on stderr. What needs a yes is \
        asked on\na terminal, about exactly what is wanted; where nobody can be asked it is refused. Types of \
        actions\nthat are not known never act. Exit 1: the Engine answered with an error; 69: it cannot be \
        reached; 75: not\nin time; 76: it is no Engine; 77: it wants another credential.\n\n\
        Examples:\n  \
        bridle ask --session desk what is open?\n  \
        git diff | bridle ask --engine https://engine.example.org --token-file token\n  \
        bridle ask --json help"
    )]
    Ask(ask::AskArgs),
    /// Send forms to a daemon and print its answers; exit 1 if an answer is an error
    #[command(after_help = "Examples:\n  \
        bridle send '(:type :health-check :detail t)' --pretty\n  \
        bridle send --session desk '(:type :EVENT :payload (:sensor :user-prompt :text \"help\"))'\n  \
        bridle send < forms.lisp")]
    Send(SendArgs),
    /// Print the record: everything that happened, one S-expression a line
    #[command(after_help = "Works while the daemon runs and when it does not.\n\n\
        Examples:\n  \
        bridle log --session work --follow\n  \
        bridle log --after 1000 --limit 10 --json\n  \
        bridle log verify")]
    Log(record::LogCommand),
    /// Print the events of a session as shells see them, with their numbers
    #[command(
        after_help = "A line is SEQ TIME KIND TEXT; --json and --lisp give the messages as they came. With \
        --follow it\nattaches again when the daemon goes away, and prints each event once.\n\n\
        Examples:\n  \
        bridle tail --session work\n  \
        bridle tail --session work --after 120 --follow --json"
    )]
    Tail(record::TailArgs),
    /// List the sessions of the record, those first that were used last
    #[command(after_help = "Examples:\n  bridle sessions\n  bridle sessions --all --json")]
    Sessions(record::SessionsArgs),
    /// List what sessions have planned: when it is due, how often, until when; take one back
    #[command(
        after_help = "A session is told the signal of a schedule when it is due. Every schedule ends: after its last run, \
        or at\nits end.\n\n\
        Examples:\n  \
        bridle schedules\n  \
        bridle schedules --json\n  \
        bridle schedules rm tea --session work"
    )]
    Schedules(schedules::SchedulesCommand),
    /// Check whether a peer keeps to the protocol: exit 1 if it does not
    #[command(subcommand)]
    Conform(conform::ConformCommand),
    /// Run the record through the engine again, without effects, and compare: exit 1 at a difference
    #[command(after_help = "Examples:\n  \
        bridle replay\n  \
        bridle replay --session work --from 1000 --to 2000")]
    Replay(record::ReplayArgs),
    /// Start a session from a past point of another; nothing is carried out again
    #[command(after_help = "Example:\n  bridle fork 4711 --name what-if")]
    Fork(record::ForkArgs),
    /// Make a session, or one record, unreadable for ever; the chain of hashes stays whole
    #[command(
        after_help = "Asks first; --yes does not. When no daemon answers where the settings say, it works on \
        their state\ndirectory. A text copy (`bridle log mirror`) is yours to delete.\n\n\
        Examples:\n  \
        bridle forget work\n  \
        bridle forget 4711 --yes\n  \
        bridle forget --before 2026-01-01                        preview, and asks\n  \
        bridle forget --anonymous --yes && bridle record compact  gives the room back"
    )]
    Forget(record::ForgetArgs),
    /// See how large the record is, give room back, repair it
    #[command(subcommand)]
    Record(record::RecordCommand),
    /// See, check, try and install policies: what is done, what is asked for, what is refused
    #[command(subcommand)]
    Policy(guard::PolicyCommand),
    /// Say why something happened: which policies, which facts, who
    #[command(after_help = "Works while the daemon runs and when it does not.\n\n\
        Examples:\n  \
        bridle why 4711\n  \
        bridle why 4711 --json")]
    Why(guard::WhyArgs),
    /// List what was done: intent, start and outcome of each effect
    #[command(
        after_help = "What began and has no known outcome is marked with `!`. Works while the daemon runs and \
        when it does not.\n\n\
        Examples:\n  \
        bridle effects --open\n  \
        bridle effects --session work --json"
    )]
    Effects(guard::EffectsArgs),
    /// List the questions that wait for a yes
    #[command(after_help = "Examples:\n  bridle approvals\n  bridle approvals --json")]
    Approvals(guard::ApprovalsArgs),
    /// Say yes to a question; exit 1 if it is answered or expired, 77 if you may not
    #[command(
        after_help = "The yes is for exactly what was asked, once. With --always it is also written to the \
        file of\npolicies, for exactly that and for a time: the change and what it would have changed in \
        the past\nare shown first.\n\n\
        Examples:\n  \
        bridle approve work-7\n  \
        bridle approve work-7 --always --for 12h"
    )]
    Approve(guard::ApproveArgs),
    /// Say no to a question
    #[command(after_help = "Example:\n  bridle deny work-7")]
    Deny(guard::DenyArgs),
    /// Make, list and revoke the tokens that let programs in over HTTP
    #[command(subcommand)]
    Token(token::TokenCommand),
    /// Let a device in: a code that is good once, for five minutes, for a token of its own
    #[command(
        after_help = "On a terminal it is drawn as a QR code of URL/v1/pair#CODE, too; elsewhere only the code is \
        printed.\nThe device sends {\"code\": CODE} to that URL and gets its token.\n\n\
        Examples:\n  \
        bridle pair --name phone\n  \
        bridle pair --scope observe --expires 7d --url https://home.example.org:8788"
    )]
    Pair(token::PairArgs),
    /// Show frames as they pass: from a file, from a daemon, or between a client and a daemon
    #[command(after_help = "Examples:\n  \
        bridle tap frames.bin\n  \
        bridle tap --connect 127.0.0.1:9105\n  \
        bridle tap --listen 127.0.0.1:9106 --json                 for clients of this daemon")]
    Tap(TapArgs),
    /// Read one form on stdin and print it
    #[command(
        after_help = "Prints the exact source of the form unless told otherwise. Bad text: exit 65 and\n\
        `CATEGORY at LINE:COLUMN (byte N): reason` on stderr.\n\n\
        Examples:\n  \
        echo \"(:a  1)\" | bridle sexp --canonical\n  \
        echo '{\"a\": [1, null]}' | bridle sexp --from-json"
    )]
    Sexp(SexpArgs),
    /// Choose the folder of Org files to remember with: first say what would be read, then do it
    #[command(
        after_help = "Nothing is written before a yes, or --yes; the files themselves are never changed. Then the \
        setting\n`memex` is written and the index is made, by the daemon if one runs.\n\n\
        Examples:\n  \
        bridle init\n  \
        bridle init ~/org --dry-run --json\n  \
        bridle init ~/org --yes"
    )]
    Init(recall::InitArgs),
    /// See how an Org file is read: what it is made of, and that no byte of it is lost
    #[command(subcommand)]
    Org(org::OrgCommand),
    /// See what the jail for programs promises on this system, and what a command starts
    #[command(subcommand)]
    Sandbox(jail::Sandbox),
    /// Run a program in the skill language: a jailed core of Common Lisp
    #[command(
        after_help = "Prints what the program prints, then each value as `~s` prints it. A condition that nobody \
        handles\ngoes to stderr: exit 1. What the language does not have is refused: exit 64. There are no files, \
        sockets,\nprocesses or clock; docs/lisp.md lists what there is.\n\n\
        Examples:\n  \
        bridle lisp -e \"(loop for x in '(1 2 3) sum x)\"\n  \
        bridle lisp skill.lisp\n  \
        bridle lisp --repl"
    )]
    Lisp(lisp::Lisp),
    /// Ask your Org files: find, outline, focus; and see their past: versions, differences, snapshots
    #[command(
        subcommand,
        after_help = "query, outline, focus, get and status ask the daemon, which keeps an index of the folder that\n\
        `bridle init` chose. log, show, diff, at and snapshots read the past, also without a daemon.\n\
        edit changes a file after a yes; snapshot, restore and rollback ask the daemon, too, and so does\n\
        `bridle undo`.\n\n\
        Examples:\n  \
        bridle memory query --tag house --state open\n  \
        bridle memory focus projects/roof.org --budget 2000\n  \
        bridle memory edit projects/roof.org --outline 'Buy a ladder' state DONE\n  \
        bridle memory log projects/roof.org"
    )]
    Memory(memory::MemoryCommand),
    /// Take one change of your files back, and keep what was written since: exit 1 at a conflict
    #[command(
        after_help = "Shows what would change and asks first; --yes does not ask, --dry-run only shows. At a \
        conflict\nnothing is written. An undo is a change, too: it has a record, and can be undone.\n\n\
        Examples:\n  \
        bridle undo 4711\n  \
        bridle undo 4711 --dry-run"
    )]
    Undo(memory::UndoArgs),
    /// Turn forms into frames and frames into payloads, stdin to stdout
    #[command(subcommand)]
    Frame(FrameCommand),
    /// Print the JSON Schema of a protocol, made from the types that read and write it
    #[command(subcommand)]
    Schema(SchemaArgs),
    /// See, check and write settings
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Print a completion script for a shell
    #[command(after_help = "Example:\n  \
        bridle completions bash > ~/.local/share/bash-completion/completions/bridle")]
    Completions {
        /// Shell to write completions for
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write one for each command into a directory
    #[command(after_help = "Example:\n  bridle man ~/.local/share/man/man1")]
    Man {
        /// Directory for the pages; created if missing
        #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
        dir: Option<PathBuf>,
    },
}

/// Heading of the flags that say where the daemon is; they come last in every help text.
pub(crate) const CONNECTION: &str = "Connection";

/// Address of the daemon, and proof of who asks.
#[derive(Debug, Args)]
pub(crate) struct PeerArgs {
    /// HOST:PORT, unix:PATH or a path [default: $BRIDLE_ADDR, else the settings' unix, then tcp]
    #[arg(long, value_name = "ADDR", help_heading = CONNECTION)]
    pub(crate) addr: Option<DaemonAddress>,
    #[command(flatten)]
    pub(crate) file: ConfigFile,
    /// Longest wait for a connection and for each answer
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds, help_heading = CONNECTION)]
    pub(crate) timeout: Duration,
    #[command(flatten)]
    pub(crate) seal: PeerSealArgs,
}

/// Signatures on a connection.
#[derive(Debug, Args)]
pub(crate) struct PeerSealArgs {
    /// Sign with the bytes of this file, as they are
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = CONNECTION)]
    pub(crate) key_file: Option<PathBuf>,
    /// Name of that key at the daemon
    #[arg(long, value_name = "ID", default_value = "default", requires = "key_file", help_heading = CONNECTION)]
    pub(crate) key_id: String,
    /// Version of the signatures
    #[arg(long, value_name = "VERSION", default_value = "v2", requires = "key_file", help_heading = CONNECTION)]
    pub(crate) hmac: SealVersionArg,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SealVersionArg {
    /// Old peers; a recorded frame can be sent again
    V1,
    /// Bound to the connection and to the order of frames
    V2,
}

#[derive(Debug, Args)]
pub(crate) struct HealthArgs {
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
    /// Ask for everything the daemon says about itself
    #[arg(long)]
    pub(crate) detail: bool,
    /// Print the answer as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Keep trying for so long until it is healthy
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) wait: Option<Duration>,
}

#[derive(Debug, Args)]
pub(crate) struct SendArgs {
    /// The form; without it, forms are read from stdin
    #[arg(value_name = "PLIST", allow_hyphen_values = true)]
    pub(crate) form: Option<String>,
    /// Send in this session, which begins if there is none of this name [default: one of its own for
    /// each connection]
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<String>,
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
    /// Send the text as it is, without reading it first; stdin is then one text
    #[arg(long)]
    pub(crate) raw: bool,
    /// Print each answer as JSON, one a line
    #[arg(long)]
    pub(crate) json: bool,
    /// Lay each answer out for people
    #[arg(long, conflicts_with = "json")]
    pub(crate) pretty: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TapArgs {
    /// File of frames, or - for stdin [default: -]
    #[arg(value_hint = ValueHint::FilePath, conflicts_with_all = ["connect", "listen"])]
    pub(crate) file: Option<PathBuf>,
    /// Connect to a daemon and show what it says
    #[arg(long, value_name = "ADDR")]
    pub(crate) connect: Option<DaemonAddress>,
    /// Listen for clients and connect each to the daemon, by default the one that `health` would
    /// ask; says `ready ADDR` on stderr
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<DaemonAddress>,
    /// Settings file that says where that daemon is
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[arg(requires = "listen", conflicts_with = "connect")]
    pub(crate) config: Option<PathBuf>,
    /// One JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) framing: FramingArgs,
}

#[derive(Debug, Args)]
pub(crate) struct SexpArgs {
    /// The one canonical spelling
    #[arg(long, group = "output")]
    pub(crate) canonical: bool,
    /// The lossless JSON mapping
    #[arg(long, group = "output")]
    pub(crate) json: bool,
    /// Laid out for people
    #[arg(long, group = "output")]
    pub(crate) pretty: bool,
    /// Dialect of the text's escapes
    #[arg(long, value_enum, default_value = "lisp", conflicts_with = "from_json")]
    pub(crate) dialect: DialectArg,
    /// Allow and skip comments
    #[arg(long, conflicts_with = "from_json")]
    pub(crate) comments: bool,
    /// Read JSON and print it as a form
    #[arg(long)]
    pub(crate) from_json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DialectArg {
    /// Common Lisp, and the wire
    Lisp,
    /// Emacs Lisp
    Emacs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum FrameCommand {
    /// Read forms, write a frame for each
    #[command(
        after_help = "Example:\n  echo '(:type :health-check)' | bridle frame encode | nc -q1 127.0.0.1 9105"
    )]
    Encode(FramingArgs),
    /// Read frames, write the payload of each and a newline
    #[command(
        after_help = "A bad frame: exit 65 and `CODE at byte N: reason` on stderr; the payloads before it\n\
        are written."
    )]
    Decode(FramingArgs),
}

/// Options for reading or writing frames.
#[derive(Debug, Args)]
pub(crate) struct FramingArgs {
    /// Frames are signed
    #[arg(long, value_name = "VERSION", requires = "key_file")]
    pub(crate) hmac: Option<FileVersionArg>,
    /// The key: the bytes of this file, as they are, any number of them
    #[arg(long, value_name = "FILE", requires = "hmac", value_hint = ValueHint::FilePath)]
    pub(crate) key_file: Option<PathBuf>,
    /// Unit of lengths [default: bytes when writing, whatever fits when reading]
    #[arg(long, value_enum)]
    pub(crate) count: Option<CountArg>,
}

/// Version 2 binds a frame to its connection, so a file of frames knows only version 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FileVersionArg {
    /// A signature of the payload alone
    V1,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CountArg {
    /// Bytes of UTF-8
    Bytes,
    /// Characters, as Lisp peers count
    Chars,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SchemaArgs {
    /// The messages of the OpenHarness Protocol
    #[command(
        after_help = "Without a direction, the root of the schema is either message. It describes \
        what is right to send;\n--lenient describes all that is accepted: nulls, and words that \
        are not in their list.\n\n\
        Examples:\n  \
        bridle schema openharness > openharness.schema.json\n  \
        bridle schema openharness --direction request"
    )]
    Openharness {
        /// Only what travels this way
        #[arg(long, value_enum)]
        direction: Option<DirectionArg>,
        /// All that is accepted, instead of what is right to send
        #[arg(long)]
        lenient: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DirectionArg {
    /// From a shell to the engine
    Request,
    /// From the engine to a shell
    Response,
}

/// Seconds above zero, with or without a fraction.
fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().filter(|&seconds| seconds > 0.0);
    seconds
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        // A clock counts no further than this without overflow.
        .filter(|&span| span <= MAX_WAIT)
        .ok_or_else(|| format!("expected seconds above 0 and at most {}", MAX_WAIT.as_secs()))
}

/// Longest wait that may be asked for: a day.
const MAX_WAIT: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print every setting, its value and where the value came from
    #[command(after_help = "Flags are those of `up`, to see what a command line would mean.\n\n\
        Example:\n  bridle config show --tcp off")]
    Show(ConfigShowArgs),
    /// Print the path of the settings file
    Path(ConfigFile),
    /// Read a settings file and say whether it is good
    Check {
        /// The file [default: the one that `bridle config path` prints]
        #[arg(value_hint = ValueHint::FilePath)]
        file: Option<PathBuf>,
    },
    /// Write an example file with every setting commented out; never overwrites
    Init(ConfigFile),
}

#[derive(Debug, Args)]
pub(crate) struct ConfigShowArgs {
    /// One JSON object, by name: value, source, origin, doc
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) given: GivenFlags,
}
