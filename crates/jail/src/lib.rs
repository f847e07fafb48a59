//! Programs in a jail, their changes on a stage, commits that can be undone; hosts by name, scripts
//! by their simple commands, secrets under seal. For the host, which carries out what was decided:
//! nothing here decides. No runtime, no message, no record: threads may block, values come back.
//! The child side is the helper, the program itself started again ([`run_helper`]), so that nothing
//! happens between fork and exec of a process with threads.

mod error;
mod layer;
mod probe;
mod spec;

#[cfg(target_os = "linux")]
mod child;
#[cfg(not(target_os = "linux"))]
#[path = "child_missing.rs"]
mod child;
mod control;
mod spawn;

mod change;
mod commit;
mod stage;
mod tree;

mod proxy;
mod redact;
mod script;
mod sealed;
mod secret_scan;
mod secret_store;

pub use change::{
    ChangeFacts, ChangeKind, ChangeSet, FileChange, LaterRun, PathConflict, TextDiff, diff_texts,
};
pub use child::run_helper;
pub use commit::{
    CommitError, CommitId, CommitJournal, CommitOutcome, CommitPoint, CommittedChanges,
    PreparedCommit, RecoveredCommit, RecoveryVerdict,
};
pub use error::JailError;
pub use layer::{JailCapabilities, JailLayer, JailPromise, KernelFacts, PromiseState};
pub use probe::HelperProgram;
pub use proxy::{HostProxy, HostRefusal, HostRule, RefusalReason};
pub use redact::{SecretRedactor, StreamRedactor};
pub use script::{
    CommandRisk, ScriptCommand, ScriptError, ScriptReading, ScriptWord, read_argv, read_script,
    variable_runs_code,
};
pub use sealed::{SealKey, SealedSecrets, SecretError, SecretValue};
pub use secret_scan::{SecretFinding, SecretKind, find_secrets};
pub use secret_store::{SECRETS_FILE, SECRETS_KEY_FILE, SecretStore};
pub use spawn::{ChildInput, Jail, JailEnd, JailOutcome, JailedChild, OutputPiece, OutputStream};
pub use spec::{ChildStdin, JailCommand, JailSpec, NetworkGrant, ResourceLimits};
pub use stage::{Stage, StageId, StageOptions, read_plain_file};
pub use tree::PathState;
