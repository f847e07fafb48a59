//! Terminal shell: a transcript that grows, a line to type on, questions of the guard.
pub mod complete;
pub mod conversation;
pub mod event;
pub mod files;
pub mod heard;
pub mod input_line;
pub mod link;
pub mod markup;
pub mod message;
pub mod notebook;
pub mod painter;
pub mod stream_tail;
pub mod style;
pub mod transcript;
