//! The command line. Every command with its flags and examples; the flags of settings come from
//! the settings table.
//!
//! long: the commands stand in one list.

pub(crate) mod acp;
pub(crate) mod ask;
pub(crate) mod care;
pub(crate) mod chat;
pub(crate) mod conform;
pub(crate) mod effects;
pub(crate) mod forms;
pub(crate) mod groups;
pub(crate) mod guard;
pub(crate) mod jail;
pub(crate) mod lisp;
pub(crate) mod memory;
pub(crate) mod model;
pub(crate) mod notes;
pub(crate) mod org;
pub(crate) mod recall;
pub(crate) mod record;
pub(crate) mod schedules;
pub(crate) mod secret;
pub(crate) mod skill;
pub(crate) mod token;

use std::path::PathBuf;
use std::time::Duration;

use bridle_shell::DaemonAddress;
use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};

pub(crate) use forms::{
    CountArg, DialectArg, DirectionArg, FileVersionArg, FrameCommand, FramingArgs, SchemaArgs,
    SexpArgs,
};

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
        bridle health                              check that it is healthy\n  \
        bridle send '(:type :health-check)'        send it a message\n  \
        bridle log --follow                        watch the record grow\n\n\
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
         bridle health                              check that it is healthy\n  \
         bridle send '(:type :health-check)'        send it a message\n  \
         bridle log --follow                        watch the record grow\n  \
         echo '(:a 1)' | bridle frame encode        a frame for netcat\n\n{}",
        BridleExit::help()
    )
}

#[derive(Debug, Subcommand)]
pub(crate) enum BridleCommand {
    /// Run the daemon in the foreground
    #[command(
        after_help = "Prints one line that begins with `ready ` once every listener accepts connections. \
        SIGTERM or SIGINT stops it; a second one stops it at once.\n\n\
        Examples:\n  \
        bridle up\n  \
        bridle up --tcp 127.0.0.1:0 --unix off --http off --state ./b    a throw-away daemon\n  \
        bridle up --thinker script:rules.script                  answer by the rules in a file\n  \
        bridle up --stdio --tcp off --unix off --http off                   as a child process\n  \
        bridle up --stdio-json --tcp off --unix off --http off              the same with JSON lines"
    )]
    Up(GivenFlags),
    /// Check that the daemon is healthy: exit 0 if it is, 1 if not, 69 if it does not run
    #[command(
        after_help = "Examples:\n  bridle health\n  bridle health --wait 10 --addr 127.0.0.1:9105"
    )]
    Health(HealthArgs),
    /// Show what is going on: daemon, sessions, open questions, memory, jail
    #[command(
        after_help = "Exit 69 if no daemon answers, 1 if it is not healthy. --watch shows it again whenever something \
        changed; Ctrl-C ends it.\n\n\
        Examples:\n  \
        bridle status\n  \
        bridle status --json"
    )]
    Status(notes::OverviewArgs),
    /// Choose Org folder and policies, start the daemon, check everything
    #[command(
        after_help = "Asks two questions, or none with flags; runs `init`, `policy init` and `doctor --fix`, and shows each.\n\n\
        Examples:\n  \
        bridle setup\n  \
        bridle setup --memex ~/org --policy built-in --yes"
    )]
    Setup(care::SetupArgs),
    /// Check everything: settings, permissions, disk, record, daemon, policies, jail, memory, models
    #[command(
        after_help = "Each check ends as ok, warning, fault, skipped or repaired, with what to do. Exit 1 if there is a fault.\n\n\
        Examples:\n  \
        bridle doctor\n  \
        bridle doctor --json\n  \
        bridle doctor --fix                                        permissions, directories, a daemon that does not run"
    )]
    Doctor(care::DoctorArgs),
    /// Copy record, memory versions and settings into a folder, while the daemon runs
    #[command(
        after_help = "Your Org files are not in it; back them up as you always do. Secrets stay sealed; without \
        --with-keys nobody can open them with the backup alone, and tokens have to be made again. What was written is \
        read again and checked.\n\n\
        Examples:\n  \
        bridle backup bridle-backup\n  \
        bridle backup --with-keys --json bridle-backup-with-keys"
    )]
    Backup(care::BackupArgs),
    /// Check a backup, or put it into an empty state directory
    #[command(
        after_help = "Every file is compared with its hash and the record with its hash chain first. Overwrites nothing. \
        Needs a state directory that no daemon uses.\n\n\
        Examples:\n  \
        bridle restore --verify bridle-backup\n  \
        bridle restore --state ./restored bridle-backup"
    )]
    Restore(care::RestoreArgs),
    /// Write a note: a heading in the inbox of your Org folder
    #[command(
        after_help = "The first line is the title, the rest the text below it. The daemon writes it, so every note has a \
        version and `bridle undo` takes it back; when no daemon runs, one is started. A template is a heading of \
        `templates.org` in your Org folder: its text, or the source block in it, with %? for the title, %i for \
        the rest, %t %T %u %U for the time; its properties FILE and HEADING say where the note goes.\n\n\
        Examples:\n  \
        bridle capture Buy a ladder\n  \
        date | bridle capture -\n  \
        bridle capture --file garden.org --dry-run Water the beds"
    )]
    Capture(notes::CaptureArgs),
    /// List what is planned, overdue or due soon, day by day
    #[command(
        after_help = "Headings with SCHEDULED, DEADLINE or an active timestamp, repeats included; what is done or \
        archived is left out. Works with or without a running daemon.\n\n\
        Examples:\n  \
        bridle agenda\n  \
        bridle agenda --week\n  \
        bridle agenda --from 2026-11-15 --to +30 --json"
    )]
    Agenda(notes::AgendaArgs),
    /// Search your notes: words, or a whole question
    #[command(
        after_help = "Five words or more, or a question mark, make a question: the notes with most of its rarest words come first. \
        With fewer words a note must contain all of them; \"a phrase\", a prefix* and, after `--`, an -excluded word \
        work too. The output says which of the two it was. Works with or without a running daemon.\n\n\
        Examples:\n  \
        bridle search roof\n  \
        bridle search --why 'where does the roof leak?'\n  \
        bridle search --words --limit 3 --json roof"
    )]
    Search(notes::SearchArgs),
    /// Talk with your daemon in this terminal
    #[command(after_help = chat::CHAT_HELP)]
    Chat(chat::ChatArgs),
    /// Connect standard input and output to the daemon, for a chat from another host
    #[command(after_help = chat::RELAY_HELP)]
    Relay(chat::RelayArgs),
    /// Send a prompt to your daemon, or to any OpenHarness Engine, and carry out the answer
    #[command(
        after_help = "Connects to your own daemon over its Unix socket, as you. Prints messages on stdout as they arrive \
        and everything else on stderr. An action that needs approval is shown exactly on the terminal and waits \
        for your answer; without a terminal it is not carried out. Actions of unknown types are never carried out. \
        Exit 1: the Engine answered with an error, or an action failed; 69: no connection; 75: timed out; 76: not an \
        Engine; 77: wrong credential, or an action was denied.\n\n\
        Examples:\n  \
        bridle ask --session desk what is open?\n  \
        git diff | bridle ask --engine https://engine.example.org --token-file token\n  \
        bridle ask --json help"
    )]
    Ask(ask::AskArgs),
    /// Serve an editor over the Agent Client Protocol: Zed, JetBrains, agent-shell, Neovim
    #[command(
        after_help = "Your editor starts this command; docs/editors.md has its settings. It speaks version 1 of the \
        protocol on stdin and stdout, starts the daemon when none runs, and reconnects when it restarts. \
        Approval requests appear in the editor, and stay open when it is closed.\n\n\
        Examples:\n  \
        bridle acp --setup                                         start the daemon, list what is left to configure\n  \
        bridle conform acp -- bridle acp                           test that it keeps to the protocol"
    )]
    Acp(acp::AcpArgs),
    /// Send forms to the daemon and print its answers; exit 1 if an answer is an error
    #[command(after_help = "Examples:\n  \
        bridle send '(:type :health-check :detail t)' --pretty\n  \
        bridle send --session desk '(:type :EVENT :payload (:sensor :user-prompt :text \"help\"))'\n  \
        bridle send < forms.lisp")]
    Send(SendArgs),
    /// Print the record: everything that happened, one S-expression per line
    #[command(after_help = "Works with or without a running daemon.\n\n\
        Examples:\n  \
        bridle log --session work --follow\n  \
        bridle log --after 1000 --limit 10 --json\n  \
        bridle log verify")]
    Log(record::LogCommand),
    /// Print the numbered events of a session, as shells see them
    #[command(
        after_help = "Each line is SEQ TIME KIND TEXT; --json and --lisp print the messages as received. With --follow \
        it reconnects when the daemon restarts, and prints each event once.\n\n\
        Examples:\n  \
        bridle tail --session work\n  \
        bridle tail --session work --after 120 --follow --json"
    )]
    Tail(record::TailArgs),
    /// List the sessions in the record, most recently used first
    #[command(after_help = "Examples:\n  bridle sessions\n  bridle sessions --all --json")]
    Sessions(record::SessionsArgs),
    /// List, add, pause and remove schedules: prompts that are sent to sessions later
    #[command(
        visible_alias = "schedules",
        after_help = "A schedule sends its session a signal when it is due. Every schedule ends, by count or by date.\n\n\
        Examples:\n  \
        bridle schedule\n  \
        bridle schedule add brief --cron '0 7 * * 1-5' 'what is on today?'\n  \
        bridle schedule pause brief\n  \
        bridle schedule rm brief"
    )]
    Schedule(schedules::ScheduleCommand),
    /// Test that a program conforms to the protocol: exit 1 if it does not
    #[command(subcommand)]
    Conform(conform::ConformCommand),
    /// Run the recorded events again, without effects, and compare: exit 1 on a difference
    #[command(after_help = "Examples:\n  \
        bridle replay\n  \
        bridle replay --session work --from 1000 --to 2000\n  \
        bridle replay --with-model box/qwen3:8b --session work")]
    Replay(record::ReplayArgs),
    /// Start a new session from a past record; repeats no action
    #[command(after_help = "Example:\n  bridle fork 4711 --name what-if")]
    Fork(record::ForkArgs),
    /// Make a session or a record unreadable for ever; the hash chain stays intact
    #[command(
        after_help = "Asks for confirmation unless you pass --yes. Without a running daemon it works on the state \
        directory itself. Text copies (`bridle log mirror`) are not touched: delete them yourself.\n\n\
        Examples:\n  \
        bridle forget work\n  \
        bridle forget 4711 --yes\n  \
        bridle forget --before 2026-01-01                        previews and asks\n  \
        bridle forget --anonymous --yes && bridle record compact  frees the disk space"
    )]
    Forget(record::ForgetArgs),
    /// Show the size of the record, free disk space, repair damage
    #[command(subcommand)]
    Record(record::RecordCommand),
    /// Show, check, test and install policies: what is allowed, needs approval or is denied
    #[command(subcommand)]
    Policy(guard::PolicyCommand),
    /// Explain why something happened: which policies, which facts, who
    #[command(after_help = "Works with or without a running daemon.\n\n\
        Examples:\n  \
        bridle why 4711\n  \
        bridle why 4711 --json\n  \
        bridle why --prompt 4711                                   what the model was told, and what was left out")]
    Why(guard::WhyArgs),
    /// List effects: the intent, start and outcome of each
    #[command(
        after_help = "`!` marks an effect that started and has no known outcome. Works with or without a running daemon.\n\n\
        Examples:\n  \
        bridle effects --open\n  \
        bridle effects --session work --json"
    )]
    Effects(guard::EffectsArgs),
    /// List pending approvals
    #[command(after_help = "Examples:\n  bridle approvals\n  bridle approvals --json")]
    Approvals(guard::ApprovalsArgs),
    /// Approve a pending action; exit 1 if already answered or expired, 77 if not permitted
    #[command(
        after_help = "Approves exactly the action shown, once. --always also adds a grant to the policy file: it allows \
        that action for a limited time. You first see the change, and which past decisions it would have changed.\n\n\
        Examples:\n  \
        bridle approve work-7\n  \
        bridle approve work-7 --always --for 12h"
    )]
    Approve(guard::ApproveArgs),
    /// Deny a pending action
    #[command(after_help = "Example:\n  bridle deny work-7")]
    Deny(guard::DenyArgs),
    /// List grants: what is allowed without approval since somebody approved it; revoke one
    #[command(after_help = "`bridle approve --always` makes grants. Each one has an end.\n\n\
        Examples:\n  \
        bridle grants\n  \
        bridle grants rm grant-9f2c01d4aa37-file-1794749858")]
    Grants(guard::GrantsCommand),
    /// Create, list and revoke bearer tokens for programs that connect over HTTP
    #[command(subcommand)]
    Token(token::TokenCommand),
    /// Add, list, test and choose language models
    #[command(subcommand, after_help = model::EXAMPLES)]
    Model(model::ModelCommand),
    /// Show what a model would be told
    #[command(subcommand)]
    Prompt(model::PromptCommand),
    /// Show what models cost: tokens and money by model, session, day or skill
    #[command(
        after_help = "A token count or price that is not known is printed as unknown, never as 0. Works with or without a \
        running daemon.\n\n\
        Examples:\n  \
        bridle cost\n  \
        bridle cost --by day --since 2026-11-01\n  \
        bridle cost --by session --json"
    )]
    Cost(model::CostArgs),
    /// Keep secrets for programs and models: API keys, passwords; never shown again
    #[command(subcommand)]
    Secret(secret::SecretCommand),
    /// Pair a device: print a one-time code, valid for five minutes, for a token of its own
    #[command(
        after_help = "A terminal also shows a QR code of URL/v1/pair#CODE; elsewhere only the code is printed. \
        The device sends {\"code\": CODE} to that URL and gets its token.\n\n\
        Examples:\n  \
        bridle pair --name phone\n  \
        bridle pair --scope observe --expires 7d --url https://home.example.org:8788"
    )]
    Pair(token::PairArgs),
    /// Show frames: from a file, from a daemon, or between a client and a daemon
    #[command(after_help = "Examples:\n  \
        bridle tap frames.bin\n  \
        bridle tap --connect 127.0.0.1:9105\n  \
        bridle tap --listen 127.0.0.1:9106 --json                 a proxy to your daemon")]
    Tap(TapArgs),
    /// Read one form from stdin and print it
    #[command(
        after_help = "Prints the exact source of the form by default. On invalid text: exit 65 and \
        `CATEGORY at LINE:COLUMN (byte N): reason` on stderr.\n\n\
        Examples:\n  \
        echo \"(:a  1)\" | bridle sexp --canonical\n  \
        echo '{\"a\": [1, null]}' | bridle sexp --from-json"
    )]
    Sexp(SexpArgs),
    /// Choose the Org folder that bridle uses as memory; shows first what it would read
    #[command(
        after_help = "Asks before it writes anything, unless you pass --yes. Then it writes the setting `memex` and builds \
        the index, in the daemon if one runs. Your Org files are not changed.\n\n\
        Examples:\n  \
        bridle init\n  \
        bridle init ~/org --dry-run --json\n  \
        bridle init ~/org --yes"
    )]
    Init(recall::InitArgs),
    /// Show how bridle parses an Org file, and check that it loses no byte
    #[command(subcommand)]
    Org(org::OrgCommand),
    /// Show or choose the folder in which a session works
    #[command(
        after_help = "The agent reads files of the project without approval. Its changes reach your files only after you \
        approve their diff, once per turn. A folder inside a git work tree stands for the whole tree.\n\n\
        Examples:\n  \
        bridle project .\n  \
        bridle project ~/src/app --session app\n  \
        bridle project"
    )]
    Project(effects::ProjectArgs),
    /// List the actuators of the daemon: everything that it can do
    #[command(after_help = "Examples:\n  bridle actuators\n  bridle actuators --json")]
    Actuators(effects::ActuatorsArgs),
    /// Show what a commit changed in your files
    #[command(
        after_help = "The record is the one that `bridle effects` lists for the commit; `bridle undo` takes the same.\n\n\
        Examples:\n  \
        bridle diff 4711\n  \
        bridle diff 4711 src/main.rs"
    )]
    Diff(effects::DiffArgs),
    /// Show what the sandbox for programs guarantees on this system, and what a command starts
    #[command(subcommand)]
    Sandbox(jail::Sandbox),
    /// Run a program in the skill language: a sandboxed subset of Common Lisp
    #[command(
        after_help = "Prints what the program prints, then each value as `~s` prints it. An unhandled condition goes to \
        stderr: exit 1. A program that uses anything outside the language ends with exit 64. There are no \
        files, sockets, processes or clock; docs/lisp.md lists the language.\n\n\
        Examples:\n  \
        bridle lisp -e \"(loop for x in '(1 2 3) sum x)\"\n  \
        bridle lisp skill.lisp\n  \
        bridle lisp --repl"
    )]
    Lisp(lisp::Lisp),
    /// Write, check and test skills: Org files that teach the daemon something
    #[command(subcommand, after_help = skill::EXAMPLES)]
    Skill(skill::SkillCommand),
    /// Search, outline and edit your Org files; list versions, differences and snapshots
    #[command(
        subcommand,
        after_help = "query, outline, focus, get and status need the daemon, which indexes the folder that `bridle init` \
        chose. log, show, diff, at and snapshots read past versions and need no daemon. edit, snapshot, \
        restore, rollback and `bridle undo` need the daemon; edit changes a file only after approval.\n\n\
        Examples:\n  \
        bridle memory query --tag house --state open\n  \
        bridle memory focus projects/roof.org --budget 2000\n  \
        bridle memory edit projects/roof.org --outline 'Buy a ladder' state DONE\n  \
        bridle memory log projects/roof.org"
    )]
    Memory(memory::MemoryCommand),
    /// Undo a change, a turn or a session and keep later edits: exit 1 on a conflict
    #[command(
        after_help = "Shows the change and asks for confirmation; --yes does not ask, --dry-run only shows. On a conflict \
        it writes nothing. An undo is recorded as a change and can itself be undone.\n\n\
        Examples:\n  \
        bridle undo 4711\n  \
        bridle undo 4711 --dry-run\n  \
        bridle undo 4711 src/main.rs\n  \
        bridle undo --session work --turn 12\n  \
        bridle undo --session work"
    )]
    Undo(memory::UndoArgs),
    /// Encode forms as frames, or decode frames to payloads, from stdin to stdout
    #[command(subcommand)]
    Frame(FrameCommand),
    /// Print the JSON Schema of a protocol
    #[command(subcommand)]
    Schema(SchemaArgs),
    /// Show, check and write settings
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Print a completion script for a shell
    #[command(after_help = "Example:\n  \
        bridle completions bash > ~/.local/share/bash-completion/completions/bridle")]
    Completions {
        /// Shell that reads the script
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Print words for a completion script
    #[command(name = "__complete", hide = true)]
    CompleteWords {
        /// Kind of the words
        #[arg(value_enum)]
        kind: CompletionKind,
    },
    /// Print the manual page, or write one per command into a directory
    #[command(after_help = "Example:\n  bridle man ~/.local/share/man/man1")]
    Man {
        /// Directory for the pages; created if missing
        #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
        dir: Option<PathBuf>,
    },
}

/// Words that only an installation knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompletionKind {
    /// Names of sessions
    Sessions,
    /// Ids of open approvals
    Approvals,
    /// Models, with their providers
    Models,
    /// Names of secrets
    Secrets,
}

/// Heading of the flags that say where the daemon is; they come last in every help text.
pub(crate) const CONNECTION: &str = "Connection";

/// Address of the daemon, and proof of who asks.
#[derive(Debug, Clone, Args)]
pub(crate) struct PeerArgs {
    /// Address of the daemon: HOST:PORT, unix:PATH or a path [default: $BRIDLE_ADDR, else the
    /// settings `unix`, then `tcp`]
    #[arg(long, value_name = "ADDR", help_heading = CONNECTION)]
    pub(crate) addr: Option<DaemonAddress>,
    #[command(flatten)]
    pub(crate) file: ConfigFile,
    /// Timeout for the connection and for each answer
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds, help_heading = CONNECTION)]
    pub(crate) timeout: Duration,
    #[command(flatten)]
    pub(crate) seal: PeerSealArgs,
}

/// Signatures on a connection.
#[derive(Debug, Clone, Args)]
pub(crate) struct PeerSealArgs {
    /// Sign frames with the key in this file: its bytes, unchanged
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = CONNECTION)]
    pub(crate) key_file: Option<PathBuf>,
    /// Id of that key in the daemon's settings
    #[arg(long, value_name = "ID", default_value = "default", requires = "key_file", help_heading = CONNECTION)]
    pub(crate) key_id: String,
    /// Signature version
    #[arg(long, value_name = "VERSION", default_value = "v2", requires = "key_file", help_heading = CONNECTION)]
    pub(crate) hmac: SealVersionArg,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SealVersionArg {
    /// For old peers; a captured frame can be replayed
    V1,
    /// Bound to the connection and the order of frames
    V2,
}

#[derive(Debug, Args)]
pub(crate) struct HealthArgs {
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
    /// Include everything the daemon reports about itself
    #[arg(long)]
    pub(crate) detail: bool,
    /// Print the answer as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Retry for up to this long until the daemon is healthy
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) wait: Option<Duration>,
}

#[derive(Debug, Args)]
pub(crate) struct SendArgs {
    /// Form to send; without it, read forms from stdin
    #[arg(value_name = "PLIST", allow_hyphen_values = true)]
    pub(crate) form: Option<String>,
    /// Send to this session; created if missing [default: a new session per connection]
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<String>,
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
    /// Send the text unchanged and unchecked; stdin is one message
    #[arg(long)]
    pub(crate) raw: bool,
    /// Print each answer as JSON, one per line
    #[arg(long)]
    pub(crate) json: bool,
    /// Print each answer indented
    #[arg(long, conflicts_with = "json")]
    pub(crate) pretty: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TapArgs {
    /// File of frames, or - for stdin [default: -]
    #[arg(value_hint = ValueHint::FilePath, conflicts_with_all = ["connect", "listen"])]
    pub(crate) file: Option<PathBuf>,
    /// Connect to a daemon and show what it sends
    #[arg(long, value_name = "ADDR")]
    pub(crate) connect: Option<DaemonAddress>,
    /// Listen for clients and forward each to the daemon in the settings; prints `ready ADDR` on
    /// stderr
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<DaemonAddress>,
    /// Settings file that says where that daemon is
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[arg(requires = "listen", conflicts_with = "connect")]
    pub(crate) config: Option<PathBuf>,
    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) framing: FramingArgs,
}

/// Seconds above zero, with or without a fraction.
fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().filter(|&seconds| seconds > 0.0);
    seconds
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        // A clock counts no further than this without overflow.
        .filter(|&span| span <= MAX_WAIT)
        .ok_or_else(|| {
            format!("expected a number of seconds above 0 and at most {}", MAX_WAIT.as_secs())
        })
}

/// Longest wait that may be asked for: a day.
const MAX_WAIT: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print every setting, its value and the source of the value
    #[command(after_help = "Accepts the flags of `bridle up`, to show their effect.\n\n\
        Example:\n  bridle config show --tcp off")]
    Show(ConfigShowArgs),
    /// Print the path of the settings file
    #[command(after_help = "Example:\n  bridle config path")]
    Path(ConfigFile),
    /// Check a settings file
    #[command(after_help = "Examples:\n  bridle config check\n  bridle config check new.toml")]
    Check {
        /// File to check [default: the one that `bridle config path` prints]
        #[arg(value_hint = ValueHint::FilePath)]
        file: Option<PathBuf>,
    },
    /// Write an example file with every setting commented out; never overwrites
    #[command(after_help = "Example:\n  bridle config init --config example.toml")]
    Init(ConfigFile),
}

#[derive(Debug, Args)]
pub(crate) struct ConfigShowArgs {
    /// Print one JSON object: value, source, origin and doc of each setting
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) given: GivenFlags,
}
