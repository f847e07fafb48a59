//! The daemon's own actions as tools, in few words: all of them go with every request. What they take is described in
//! the catalog of actions; here stands which of it a model is told, and under which name.
//!
//! long: a table with a row for each tool.

/// Tool for one or several actions of the daemon.
#[derive(Debug)]
pub(super) struct BriefTool {
    pub(super) target: &'static str,
    pub(super) name: &'static str,
    pub(super) actions: &'static [&'static str],
    pub(super) about: &'static str,
    /// Arguments that are told, each with what has to be said about it.
    pub(super) arguments: &'static [(&'static str, &'static str)],
}

/// Actuators of the daemon whose actions are offered by this table alone.
pub(super) const OWN_TARGETS: [&str; 10] =
    ["context", "memory", "file", "exec", "shell", "http", "stage", "system", "log", "tally"];

/// Tools in the order in which they are offered.
pub(super) const TOOLS: &[BriefTool] = &[
    BriefTool {
        target: "context",
        name: "context_query",
        actions: &["query"],
        about: "Search the user's notes and tasks.",
        arguments: &[
            ("text", ""),
            ("mode", "question: best hits"),
            ("tags", ""),
            ("todo", ""),
            ("state", ""),
            ("under", "folder or file"),
            ("from", "day 2026-01-31"),
            ("to", ""),
            ("limit", ""),
        ],
    },
    BriefTool {
        target: "context",
        name: "context_get_object",
        actions: &["get-object"],
        about: "A note in full.",
        arguments: &[("id", "id of a hit, or path")],
    },
    BriefTool {
        target: "context",
        name: "context_outline",
        actions: &["outline"],
        about: "Files, or headings of one.",
        arguments: &[("under", ""), ("depth", "")],
    },
    BriefTool {
        target: "context",
        name: "context_agenda",
        actions: &["agenda"],
        about: "Plans and deadlines by day.",
        arguments: &[("from", ""), ("to", "")],
    },
    BriefTool {
        target: "context",
        name: "context_look",
        actions: &[
            "focus",
            "get-ast",
            "resolve-path",
            "memex-status",
            "list-all-skills",
            "get-skill-source",
            "get-system-logs",
        ],
        about: "Other looks at memory and daemon.",
        arguments: &[("id", ""), ("file", ""), ("path", ""), ("name", "")],
    },
    BriefTool {
        target: "context",
        name: "context_get_result",
        actions: &["get-result"],
        about: "More of a result that was cut.",
        arguments: &[("seq", ""), ("from", ""), ("length", "")],
    },
    BriefTool {
        target: "memory",
        name: "memory_edit",
        actions: &[
            "set-title",
            "set-state",
            "set-priority",
            "set-tags",
            "set-property",
            "set-planning",
            "insert-subtree",
            "append-subtree",
            "move-up",
            "refile",
            "archive",
            "delete-subtree",
            "toggle-checkbox",
            "clock-in",
            "clock-out",
        ],
        about: "Edit a note; name its heading by id, outline or line.",
        arguments: &[
            ("path", "absolute"),
            ("id", ""),
            ("outline", ""),
            ("line", ""),
            ("title", ""),
            ("state", "TODO word"),
            ("priority", ""),
            ("tags", ""),
            ("key", ""),
            ("value", ""),
            ("plan", ""),
            ("stamp", "<2026-01-31 Sat>"),
            ("text", "Org"),
            ("to", ""),
        ],
    },
    BriefTool {
        target: "memory",
        name: "memory_undo",
        actions: &["undo", "snapshot"],
        about: "Undo a record, or keep all notes under a name.",
        arguments: &[("record", ""), ("name", "")],
    },
    BriefTool {
        target: "file",
        name: "file_read",
        actions: &["read"],
        about: "Read a file.",
        arguments: &[("path", "absolute"), ("from", "line"), ("lines", "")],
    },
    BriefTool {
        target: "file",
        name: "file_list",
        actions: &["list"],
        about: "List a folder.",
        arguments: &[("path", ""), ("depth", "")],
    },
    BriefTool {
        target: "file",
        name: "file_search",
        actions: &["search"],
        about: "Find lines in files.",
        arguments: &[("path", ""), ("pattern", "regex")],
    },
    BriefTool {
        target: "file",
        name: "file_write",
        actions: &["write"],
        about: "Write a whole file.",
        arguments: &[("path", ""), ("text", "")],
    },
    BriefTool {
        target: "file",
        name: "file_patch",
        actions: &["patch"],
        about: "Replace text in a file.",
        arguments: &[("path", ""), ("old", "unique"), ("new", ""), ("all", "")],
    },
    BriefTool {
        target: "file",
        name: "file_change",
        actions: &["move", "delete"],
        about: "Move or delete a file.",
        arguments: &[("path", ""), ("to", "")],
    },
    BriefTool {
        target: "exec",
        name: "exec_run",
        actions: &["exec"],
        about: "Run a program (argv) or a /bin/sh script in a jail.",
        arguments: &[
            ("argv", ""),
            ("script", ""),
            ("cwd", ""),
            ("stdin", ""),
            ("seconds", ""),
            ("network", "hosts"),
        ],
    },
    BriefTool {
        target: "http",
        name: "http_request",
        actions: &["get", "head", "post", "put"],
        about: "Ask a web address.",
        arguments: &[("url", ""), ("headers", "NAME: VALUE"), ("body", "")],
    },
    BriefTool {
        target: "system",
        name: "system_schedule",
        actions: &["schedule"],
        about: "Signal this session later.",
        arguments: &[
            ("name", ""),
            ("in", "ms"),
            ("every", "ms"),
            ("payload", r#"{"sensor":":user-prompt","text":".."}"#),
            ("times", ""),
        ],
    },
    BriefTool {
        target: "system",
        name: "system_unschedule",
        actions: &["unschedule"],
        about: "Drop a schedule.",
        arguments: &[("name", "")],
    },
];
