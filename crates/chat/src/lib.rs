//! Terminal shell: a transcript that grows, a line to type on, questions of the guard.
//!
//! - [`driver`]: the loop around everything: keys, messages and time in, screen out
//! - [`terminal`]: the terminal in raw mode, its keys and signals
//! - [`conversation`]: all that is decided, without IO
//! - [`painter`], [`style`], [`markup`], [`transcript`]: from events to what stands on the screen
//! - [`link`]: the connection, made again when it is lost; [`queries`] asks beside it
//! - [`notebook`]: what is kept between two conversations
pub mod clipboard;
pub mod complete;
pub mod conversation;
pub mod driver;
pub mod error;
pub mod event;
pub mod files;
pub mod heard;
pub mod image;
pub mod input_line;
pub mod link;
pub mod markup;
pub mod message;
pub mod notebook;
pub mod painter;
pub mod queries;
pub mod stream_tail;
pub mod style;
pub mod terminal;
pub mod transcript;

pub use error::ChatError;
