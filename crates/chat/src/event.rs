//! What goes into a conversation and what comes out of it. Everything between is pure.

use std::path::PathBuf;

use crate::image::PromptImage;
use crate::style::StyledLine;

/// Key as the conversation knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChatKey {
    /// A letter without Ctrl or Alt.
    Letter(char),
    /// A letter with Ctrl.
    Ctrl(char),
    /// A letter with Alt.
    Alt(char),
    /// Return.
    Enter,
    /// Return with Alt or Shift: a new line.
    NewLine,
    /// Tab.
    Tab,
    /// Escape.
    Escape,
    /// Backspace.
    Backspace,
    /// Backspace with Alt or Ctrl.
    BackspaceWord,
    /// Delete.
    Delete,
    /// Arrows.
    Up,
    /// Arrows.
    Down,
    /// Arrows.
    Left,
    /// Arrows.
    Right,
    /// Arrow with Ctrl or Alt.
    WordLeft,
    /// Arrow with Ctrl or Alt.
    WordRight,
    /// Home.
    Home,
    /// End.
    End,
    /// Page up.
    PageUp,
    /// Page down.
    PageDown,
}

/// Input of the conversation: a key, a message, a lost link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChatEvent {
    /// A key.
    Key(ChatKey),
    /// A bracketed paste.
    Paste(String),
    /// The terminal has another size: columns and rows.
    Resize(usize, usize),
    /// A connection is there, attached to a session whose last number is this.
    Attached {
        /// Name of the session.
        session: String,
        /// Number of its last event.
        head: u64,
        /// Number behind which events follow.
        cursor: u64,
        /// State of the engine.
        state: String,
    },
    /// A message of the daemon.
    Frame(String),
    /// The connection is lost, or could not be made, for this reason; it is tried again.
    Lost(String),
    /// The session cannot be joined, for this reason; it is not tried again.
    Refused(String),
    /// Paths below the folder, for completion.
    Files(Vec<String>),
    /// Sessions to pick from.
    Sessions(Vec<SessionEntry>),
    /// A picture for the prompt, or why there is none.
    Image(Result<PromptImage, String>),
    /// Lines for the other screen, with their title, or why there are none.
    Page(Result<(String, Vec<StyledLine>), String>),
    /// Preview of a lasting grant, or why there is none.
    Grant(Result<GrantOffer, String>),
    /// A lasting grant was written, or why not.
    Granted(Result<String, String>),
    /// Time passed.
    Tick,
}

/// A session to pick.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionEntry {
    /// Name.
    pub name: String,
    /// Its first prompt, as far as it is known.
    pub title: String,
    /// Last use, in milliseconds since 1970.
    pub at: i64,
    /// Events in it.
    pub events: u64,
}

/// Scopes in which a question could be allowed from now on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantOffer {
    /// The question.
    pub approval: String,
    /// Hash of what is shown: a yes counts for nothing else.
    pub hash: Option<String>,
    /// Scopes, the narrowest first.
    pub scopes: Vec<GrantScopeOffer>,
}

/// A scope, and what it would have allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantScopeOffer {
    /// Word of the protocol.
    pub scope: String,
    /// Sentence that says what is allowed, and until when.
    pub sentence: String,
    /// Recorded decisions that it would have answered.
    pub matched: i64,
    /// Recorded decisions that were looked at.
    pub decisions: i64,
    /// Some of them.
    pub examples: Vec<String>,
}

/// Order of the conversation to its host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChatEffect {
    /// Send a form to the daemon.
    Send(String),
    /// Print lines above the live area, for good.
    Print(Vec<StyledLine>),
    /// Remember a prompt.
    Remember(String),
    /// Note the title of a session.
    Title(String, String),
    /// Put a text on the clipboard.
    Copy(String),
    /// Look for files to complete.
    FindFiles,
    /// Ask for the sessions.
    ListSessions,
    /// Read a picture that was dropped; if it is none, paste the text.
    ReadImage {
        /// File.
        path: PathBuf,
    },
    /// Read the picture of the clipboard.
    ReadClipboard,
    /// Show a session from its beginning, on lines of so many columns.
    Replay(String, usize),
    /// Attach to another session; without a name, to a new one.
    Switch(Option<String>),
    /// Preview a lasting grant for an approval.
    PreviewGrant(String),
    /// Write the lasting grant that was previewed.
    WriteGrant {
        /// The question.
        approval: String,
        /// The chosen scope.
        scope: String,
        /// Hash of what was shown.
        hash: Option<String>,
    },
    /// Ring the bell of the terminal.
    Bell,
    /// Paint everything anew.
    Repaint,
    /// Stop the program until the shell goes on with it.
    Suspend,
    /// End.
    Leave,
}
