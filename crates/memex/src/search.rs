//! Questions to the index of the Memex: queries, outline, and focus, each answered from one [`MemexCatalog`].
//!
//! [`catalog`] opens the index for reading and has the objects; [`query`] is what is searched for and `find` how;
//! `question_words` reads a whole question, `question_dates` the days in it, and `question` finds what may answer it;
//! [`outline`] lists headings below a place; [`focus`] shows one place in full and the rest in outline;
//! [`agenda`] lists what is planned on days.

pub mod agenda;
pub mod catalog;
pub mod focus;
pub mod outline;
pub mod query;

mod find;
mod question;
mod question_dates;
mod question_words;

pub use agenda::{AgendaEntry, AgendaPage, AgendaRequest, AgendaStanding};
pub use catalog::{
    DuplicateId, IndexCompleteness, IndexStatus, MemexCatalog, MemexObject, ObjectKind,
};
pub use focus::{FocusRequest, FocusView, OmittedObject, ShownAmount};
pub use outline::{OutlinePage, OutlineRequest};
pub use query::{
    HitReason, MemexQuery, QueryCursor, QueryHit, QueryMode, QueryPage, ReasonPlace, SearchText,
};
pub use question_words::looks_like_question;
