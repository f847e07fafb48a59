//! Descriptions of the actions that this crate knows: their arguments stand beside `crate::action`, in words.
//!
//! long: a table with a row for each action.

use super::{ActionSpec, ArgumentShape, ArgumentSpec};

/// A row of the table.
struct KnownAction(&'static str, &'static str, &'static [KnownArgument]);

/// An argument of a row: its name, its shape, whether it is needed, and what it means.
struct KnownArgument(&'static str, KnownShape, bool, &'static str);

/// Shape of an argument of the table.
#[derive(Clone, Copy)]
enum KnownShape {
    Text,
    Integer,
    Flag,
    Texts,
    Plist,
    Choice(&'static [&'static str]),
}

use KnownShape::{Choice, Flag, Integer, Plist, Text, Texts};

const PATH: KnownArgument =
    KnownArgument("path", Text, true, "Absolute path of the file, without `.` and `..`");
const ID: KnownArgument = KnownArgument(
    "id",
    Text,
    false,
    "ID or CUSTOM_ID of the heading; give one of id, outline, line",
);
const OUTLINE: KnownArgument = KnownArgument(
    "outline",
    Texts,
    false,
    "Titles that lead to the heading, from the top; give one of id, outline, line",
);
const LINE: KnownArgument = KnownArgument(
    "line",
    Integer,
    false,
    "Line of the heading, from 1; give one of id, outline, line",
);
const TO: KnownArgument = KnownArgument(
    "to",
    Plist,
    false,
    "Destination: a plist with `:path`, and one of `:id`, `:outline` and `:line`",
);
const URL: KnownArgument =
    KnownArgument("url", Text, true, "Address that begins with `https://` or `http://`");
const HEADERS: KnownArgument =
    KnownArgument("headers", Texts, false, "Headers, each `NAME: VALUE`");
const SECRETS: KnownArgument = KnownArgument(
    "secrets",
    Texts,
    false,
    "Headers with secret values, each `NAME: SECRET`, the name of a secret",
);
const BODY: KnownArgument = KnownArgument("body", Text, false, "Body of the request");
const STAGE: KnownArgument = KnownArgument("stage", Text, true, "Name of the stage");

const ACTIONS: &[KnownAction] = &[
    KnownAction(
        "message",
        "Say something to the user.",
        &[KnownArgument("text", Text, true, "Text")],
    ),
    KnownAction("notify", "Show a notice aside.", &[KnownArgument("text", Text, true, "Text")]),
    KnownAction(
        "complete",
        "Give completions of a text.",
        &[KnownArgument("prefix", Text, true, "Text before point")],
    ),
    KnownAction(
        "eval",
        "Evaluate code in the shell.",
        &[KnownArgument("code", Text, true, "Code")],
    ),
    KnownAction("log", "Note a line in the record.", &[KnownArgument("text", Text, true, "Line")]),
    KnownAction(
        "insert-at-end",
        "Append text to a buffer of the editor.",
        &[
            KnownArgument("text", Text, true, "Text"),
            KnownArgument("buffer", Text, false, "Name of the buffer; the current one if absent"),
        ],
    ),
    KnownAction(
        "refactor-subtree",
        "Change the properties of an Org subtree in the editor.",
        &[KnownArgument("target-id", Text, true, "ID of the heading")],
    ),
    KnownAction(
        "schedule",
        "Send this session a signal later, once or again and again.",
        &[
            KnownArgument("name", Text, true, "Name; a schedule of the same name is replaced"),
            KnownArgument("in", Integer, false, "Milliseconds until it fires once"),
            KnownArgument("every", Integer, false, "Milliseconds between firings"),
            KnownArgument(
                "cron",
                Text,
                false,
                "Cron expression of five fields, such as `0 7 * * 1-5`",
            ),
            KnownArgument(
                "zone",
                Text,
                false,
                "Time zone of the expression; the daemon's if absent",
            ),
            KnownArgument(
                "missed",
                Choice(&["once", "skip"]),
                false,
                "What to do about runs while the daemon did not run: one of them later, or none",
            ),
            KnownArgument("payload", Plist, true, "Payload of the signal, with a `:sensor`"),
            KnownArgument("times", Integer, false, "Firings at most"),
            KnownArgument("until", Integer, false, "Last moment, in milliseconds since 1970"),
        ],
    ),
    KnownAction(
        "unschedule",
        "Forget a schedule.",
        &[KnownArgument("name", Text, true, "Name of the schedule")],
    ),
    KnownAction(
        "pause-schedule",
        "Have a schedule wait until it is resumed.",
        &[KnownArgument("name", Text, true, "Name of the schedule")],
    ),
    KnownAction(
        "resume-schedule",
        "Have a paused schedule go on.",
        &[KnownArgument("name", Text, true, "Name of the schedule")],
    ),
    KnownAction("restart", "End the daemon and start it anew.", &[]),
    KnownAction(
        "compact",
        "Put a summary in the place of older exchanges of this session; the record keeps them.",
        &[
            KnownArgument("text", Text, true, "Summary"),
            KnownArgument("keep", Integer, false, "Latest exchanges that stay; 4 if absent"),
        ],
    ),
    KnownAction(
        "release",
        "Ask the user to let models elsewhere see a secret exchange.",
        &[KnownArgument("exchange", Integer, true, "Number of the exchange, the oldest is 1")],
    ),
    KnownAction(
        "forget",
        "Destroy what a session or a record holds.",
        &[
            KnownArgument("session", Text, false, "Name of the session"),
            KnownArgument("record", Integer, false, "Number of the record"),
        ],
    ),
    KnownAction(
        "fork",
        "Begin a session from a past point of another.",
        &[
            KnownArgument("record", Integer, true, "Number of the last record that counts"),
            KnownArgument("name", Text, false, "Name of the new session"),
        ],
    ),
    KnownAction(
        "set-title",
        "Set the title of a heading.",
        &[PATH, ID, OUTLINE, LINE, KnownArgument("title", Text, true, "Title")],
    ),
    KnownAction(
        "set-state",
        "Set the TODO keyword of a heading, or take it away.",
        &[
            PATH,
            ID,
            OUTLINE,
            LINE,
            KnownArgument("state", Text, false, "Keyword; absent takes it away"),
            KnownArgument("note", Text, false, "Note for the log, where the file asks for one"),
        ],
    ),
    KnownAction(
        "set-priority",
        "Set the priority of a heading, or take it away.",
        &[
            PATH,
            ID,
            OUTLINE,
            LINE,
            KnownArgument("priority", Text, false, "One letter or digit; absent takes it away"),
        ],
    ),
    KnownAction(
        "set-tags",
        "Set the tags of a heading.",
        &[PATH, ID, OUTLINE, LINE, KnownArgument("tags", Texts, true, "Tags")],
    ),
    KnownAction(
        "set-property",
        "Set a property of a heading, or take it away.",
        &[
            PATH,
            ID,
            OUTLINE,
            LINE,
            KnownArgument("key", Text, true, "Name of the property"),
            KnownArgument("value", Text, false, "Value; absent takes it away"),
        ],
    ),
    KnownAction(
        "set-planning",
        "Plan a heading: when it is scheduled, due or closed.",
        &[
            PATH,
            ID,
            OUTLINE,
            LINE,
            KnownArgument(
                "plan",
                Choice(&["scheduled", "deadline", "closed"]),
                true,
                "Time to set",
            ),
            KnownArgument("stamp", Text, false, "Org timestamp; absent takes it away"),
        ],
    ),
    KnownAction(
        "insert-subtree",
        "Put text behind the subtree of a heading, on the same level.",
        &[PATH, ID, OUTLINE, LINE, KnownArgument("text", Text, true, "Org text")],
    ),
    KnownAction(
        "append-subtree",
        "Put text at the end of a subtree, one level below; without a heading, at the end of the file.",
        &[PATH, ID, OUTLINE, LINE, KnownArgument("text", Text, true, "Org text")],
    ),
    KnownAction("move-up", "Move a subtree before the one above it.", &[PATH, ID, OUTLINE, LINE]),
    KnownAction("refile", "Move a subtree to another place.", &[PATH, ID, OUTLINE, LINE, TO]),
    KnownAction(
        "archive",
        "Mark a subtree as archived, or move it to an archive file.",
        &[PATH, ID, OUTLINE, LINE, TO],
    ),
    KnownAction("delete-subtree", "Take a subtree away.", &[PATH, ID, OUTLINE, LINE]),
    KnownAction(
        "toggle-checkbox",
        "Check or uncheck the box of a list item.",
        &[PATH, KnownArgument("line", Integer, true, "Line of the item, from 1")],
    ),
    KnownAction("clock-in", "Start the clock of a heading.", &[PATH, ID, OUTLINE, LINE]),
    KnownAction("clock-out", "Stop the clock of a heading.", &[PATH, ID, OUTLINE, LINE]),
    KnownAction(
        "undo",
        "Take back the changes of a record.",
        &[KnownArgument("record", Integer, true, "Number of the record")],
    ),
    KnownAction(
        "rollback",
        "Take back the changes of a turn, or of a whole session.",
        &[
            KnownArgument("session", Text, true, "Name of the session"),
            KnownArgument("turn", Integer, false, "Number of the turn; all of them unless said"),
        ],
    ),
    KnownAction(
        "restore",
        "Take back all changes since a snapshot.",
        &[
            KnownArgument("name", Text, true, "Name of the snapshot"),
            KnownArgument("path", Text, false, "Absolute path of one file; all files if absent"),
        ],
    ),
    KnownAction(
        "snapshot",
        "Keep all files of the memory under a name.",
        &[KnownArgument("name", Text, true, "Name")],
    ),
    KnownAction(
        "read",
        "Give the text of a file, or some lines of it.",
        &[
            PATH,
            KnownArgument("from", Integer, false, "First line, from 1"),
            KnownArgument("lines", Integer, false, "Number of lines"),
        ],
    ),
    KnownAction(
        "list",
        "Name what is in a folder.",
        &[PATH, KnownArgument("depth", Integer, false, "Levels below the folder")],
    ),
    KnownAction(
        "search",
        "Find lines that match in the files of a folder.",
        &[PATH, KnownArgument("pattern", Text, true, "Regular expression")],
    ),
    KnownAction(
        "write",
        "Put text in the place of a file's content; the file is made if it is not there.",
        &[PATH, KnownArgument("text", Text, true, "Whole content")],
    ),
    KnownAction(
        "patch",
        "Replace a text in a file by another.",
        &[
            PATH,
            KnownArgument("old", Text, true, "Text that is there, once unless `all` is set"),
            KnownArgument("new", Text, true, "Text in its place"),
            KnownArgument("all", Flag, false, "Whether each of several places is changed"),
        ],
    ),
    KnownAction(
        "move",
        "Give a file another path.",
        &[PATH, KnownArgument("to", Text, true, "The other path, absolute")],
    ),
    KnownAction("delete", "Take a file or a folder away.", &[PATH]),
    KnownAction(
        "exec",
        "Run a program or a script.",
        &[
            KnownArgument("argv", Texts, false, "Program and arguments; give argv or script"),
            KnownArgument("script", Text, false, "Text for /bin/sh; give argv or script"),
            KnownArgument("cwd", Text, false, "Absolute path of the folder to run in"),
            KnownArgument("env", Texts, false, "Variables, each `NAME=VALUE`"),
            KnownArgument("stdin", Text, false, "Text for standard input"),
            KnownArgument("seconds", Integer, false, "Longest time, 1 to 86400"),
            KnownArgument("network", Texts, false, "Hosts to reach, each `HOST` or `HOST:PORT`"),
        ],
    ),
    KnownAction("get", "Fetch an address.", &[URL, HEADERS, SECRETS]),
    KnownAction("head", "Fetch the headers of an address.", &[URL, HEADERS, SECRETS]),
    KnownAction("post", "Send a body to an address.", &[URL, HEADERS, SECRETS, BODY]),
    KnownAction("put", "Put a body at an address.", &[URL, HEADERS, SECRETS, BODY]),
    KnownAction(
        "query",
        "Search the user's memory: Org files with notes, tasks and dates.",
        &[
            KnownArgument("text", Text, false, "Words to look for"),
            KnownArgument(
                "mode",
                Choice(&["words", "question"]),
                false,
                "`words`: all of them must be there; `question`: the best hits for a question",
            ),
            KnownArgument("tags", Texts, false, "Tags that a heading must have"),
            KnownArgument("without", Texts, false, "Tags that it must not have"),
            KnownArgument("todo", Texts, false, "TODO keywords, one of which it must have"),
            KnownArgument("state", Choice(&["open", "done"]), false, "Whether it is done"),
            KnownArgument("under", Text, false, "Folder, file or heading to search below"),
            KnownArgument("from", Text, false, "First day of its dates, as 2026-01-31"),
            KnownArgument("to", Text, false, "Last day of its dates, as 2026-01-31"),
            KnownArgument("limit", Integer, false, "Hits at most"),
            KnownArgument("cursor", Text, false, "Cursor of the answer before, for more hits"),
        ],
    ),
    KnownAction(
        "outline",
        "List the files of the memory, or the headings of one.",
        &[
            KnownArgument("under", Text, false, "Folder, file or heading; everything if absent"),
            KnownArgument("depth", Integer, false, "Levels of headings"),
            KnownArgument("limit", Integer, false, "Entries at most"),
            KnownArgument("cursor", Text, false, "Cursor of the answer before, for more entries"),
        ],
    ),
    KnownAction(
        "focus",
        "Read one heading or file in full, with the rest of its file in outline.",
        &[
            KnownArgument("id", Text, true, "Id of the object, as a hit names it, or a path"),
            KnownArgument("budget", Integer, false, "Tokens at most"),
        ],
    ),
    KnownAction(
        "agenda",
        "What is planned, overdue or due soon, day by day.",
        &[
            KnownArgument("from", Text, false, "First day, as 2026-01-31"),
            KnownArgument("to", Text, false, "Last day"),
        ],
    ),
    KnownAction(
        "get-object",
        "One heading or file of the memory: its title, text, tags, dates and properties.",
        &[KnownArgument("id", Text, true, "Id of the object, as a hit names it")],
    ),
    KnownAction(
        "get-ast",
        "The parsed Org text of a file of the memory.",
        &[KnownArgument("file", Text, true, "Path of the file")],
    ),
    KnownAction(
        "resolve-path",
        "Find the file of the memory that a short path or name means.",
        &[KnownArgument("path", Text, true, "Path or name")],
    ),
    KnownAction(
        "create-skill",
        "Make a skill of an Org text; its tests run first, and the owner is shown the change.",
        &[
            KnownArgument("filename", Text, true, "File in the folder of skills, such as a.org"),
            KnownArgument("content", Text, true, "Whole text"),
        ],
    ),
    KnownAction("memex-status", "How many files and headings the memory has.", &[]),
    KnownAction("list-all-skills", "List the user's skills.", &[]),
    KnownAction(
        "get-skill-source",
        "The text of a skill.",
        &[KnownArgument("name", Text, true, "Name of the skill")],
    ),
    KnownAction(
        "get-system-logs",
        "The latest that the daemon recorded about itself.",
        &[KnownArgument("limit", Integer, false, "Entries at most")],
    ),
    KnownAction(
        "get-result",
        "A part of a long result of an earlier call, by the number that stands in its place.",
        &[
            KnownArgument("seq", Integer, true, "Number under which it is stored"),
            KnownArgument("from", Integer, false, "First character, from 0"),
            KnownArgument("length", Integer, false, "Characters, at most 32768"),
        ],
    ),
    KnownAction("commit", "Put the changes of a stage into the project.", &[STAGE]),
    KnownAction("discard", "Throw the changes of a stage away.", &[STAGE]),
    KnownAction("changes", "Show the changes of a stage.", &[STAGE]),
];

/// The description of an action of this name.
pub(super) fn find(name: &str) -> Option<ActionSpec> {
    let KnownAction(name, about, arguments) = ACTIONS.iter().find(|known| known.0 == name)?;
    let argument = |known: &KnownArgument| {
        let KnownArgument(name, shape, required, about) = known;
        let (name, about) = ((*name).into(), (*about).into());
        ArgumentSpec { name, shape: shape.shape(), required: *required, about }
    };
    Some(ActionSpec::new(name, about, arguments.iter().map(argument).collect()))
}

impl KnownShape {
    fn shape(self) -> ArgumentShape {
        match self {
            Text => ArgumentShape::Text,
            Integer => ArgumentShape::Integer,
            Flag => ArgumentShape::Flag,
            Texts => ArgumentShape::Texts,
            Plist => ArgumentShape::Plist,
            Choice(words) => ArgumentShape::Choice(words.iter().map(|it| (*it).into()).collect()),
        }
    }
}
