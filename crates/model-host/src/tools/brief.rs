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

/// Actuators of the daemon whose actions are offered by this table alone. Mail is for skills, which know the server.
pub(super) const OWN_TARGETS: [&str; 12] = [
    "context", "memory", "file", "exec", "shell", "http", "stage", "system", "log", "mail",
    "tally", "notify",
];

/// Tools in the order in which they are offered.
pub(super) const TOOLS: &[BriefTool] = &[
    BriefTool {
        target: "context",
        name: "context_query",
        actions: &["query"],
        about: "Search the user's notes and tasks.",
        arguments: &[
            ("text", ""),
            ("mode", ""),
            ("tags", ""),
            ("state", ""),
            ("under", "folder or file"),
            ("from", "2026-01-31"),
            ("to", ""),
        ],
    },
    BriefTool {
        target: "context",
        name: "context_look",
        actions: &[
            "get-object",
            "outline",
            "agenda",
            "get-result",
            "focus",
            "resolve-path",
            "memex-status",
            "list-all-skills",
            "get-skill-source",
            "get-system-logs",
        ],
        about: "Notes by id, outline, agenda of days, more of a cut result.",
        arguments: &[
            ("id", ""),
            ("under", ""),
            ("from", ""),
            ("to", ""),
            ("seq", ""),
            ("path", ""),
            ("name", ""),
        ],
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
            "undo",
            "snapshot",
        ],
        about: "Edit notes; heading by id, outline or line.",
        arguments: &[
            ("path", ""),
            ("id", ""),
            ("outline", ""),
            ("line", ""),
            ("title", ""),
            ("state", ""),
            ("priority", ""),
            ("tags", ""),
            ("key", ""),
            ("value", ""),
            ("plan", ""),
            ("stamp", ""),
            ("text", ""),
            ("to", ""),
            ("record", ""),
            ("name", ""),
        ],
    },
    BriefTool {
        target: "file",
        name: "file_read",
        actions: &["read"],
        about: "Read a file.",
        arguments: &[("path", ""), ("from", ""), ("lines", "")],
    },
    BriefTool {
        target: "file",
        name: "file_write",
        actions: &["write"],
        about: "Write a file.",
        arguments: &[("path", ""), ("text", "")],
    },
    BriefTool {
        target: "file",
        name: "file_patch",
        actions: &["patch"],
        about: "Replace text.",
        arguments: &[("path", ""), ("old", ""), ("new", ""), ("all", "")],
    },
    BriefTool {
        target: "file",
        name: "file_more",
        actions: &["list", "search", "move", "delete"],
        about: "Folders and files.",
        arguments: &[("path", ""), ("pattern", "regex"), ("depth", ""), ("to", "")],
    },
    BriefTool {
        target: "exec",
        name: "exec_run",
        actions: &["exec"],
        about: "Run argv or a /bin/sh script, jailed.",
        arguments: &[("argv", ""), ("script", ""), ("cwd", ""), ("network", "hosts")],
    },
    BriefTool {
        target: "http",
        name: "http_request",
        actions: &["get", "head", "post", "put"],
        about: "Ask the web.",
        arguments: &[("url", ""), ("headers", ""), ("body", "")],
    },
    BriefTool {
        target: "notify",
        name: "notify",
        actions: &["notify"],
        about: "Show the user a notice now.",
        arguments: &[("text", "")],
    },
    BriefTool {
        target: "system",
        name: "system_file",
        actions: &["write", "patch"],
        about: "Change policies, settings, skills, models.",
        arguments: &[("path", ""), ("text", ""), ("old", ""), ("new", "")],
    },
    BriefTool {
        target: "system",
        name: "system_schedule",
        actions: &["schedule", "unschedule"],
        about: "Signal this session later.",
        arguments: &[
            ("name", ""),
            ("in", "ms"),
            ("every", "ms"),
            ("payload", r#"{"sensor":":user-prompt","text":".."}"#),
        ],
    },
];
