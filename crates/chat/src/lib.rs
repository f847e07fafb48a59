//! x
pub mod complete;
pub mod event;
pub mod heard;
pub mod input_line;
pub mod markup;
pub mod message;
pub mod painter;
pub mod stream_tail;
pub mod style;
pub mod transcript;
