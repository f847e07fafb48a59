//! Effects of an agent on files and programs: what is proposed is looked at, what was decided is carried
//! out on a stage in a jail, what was changed is shown, committed by one yes and taken back.
//!
//! The jail carries out and decides nothing; the loop decides and knows no file. Here both meet: facts
//! for the policies before, outcomes after. No record, no daemon. Layout, in reading order:
//!
//! - [`workspace`]: jail, projects and stages of one owner
//! - `projects`: folders in which sessions work
//! - `steward`: commits on a ref of git
//! - `turn_stages`: stages of turns
//! - `place`: paths as the system knows them, and whether they lie in the project
//! - `key_files`: files that look like keys
//! - `payload`: proposals with facts put in
//! - [`exec`]: `:exec`, which runs programs
//! - [`mod@file`]: `:file`, which reads and changes files
//! - [`stage`]: `:stage`, which commits, drops and takes back

mod error;
mod key_files;
mod payload;
mod place;
mod projects;
mod steward;
mod turn_stages;
pub mod workspace;

pub mod exec;
pub mod file;
pub mod stage;

pub use bridle_jail::{HelperProgram, PromiseState, RecoveryVerdict, find_secrets};
pub use error::EffectError;
pub use exec::ExecActuator;
pub use file::FileActuator;
pub use payload::label_of;
pub use projects::{ProjectOrigin, SessionProject};
pub use stage::StageActuator;
pub use workspace::{EffectsSetup, Workspace};
