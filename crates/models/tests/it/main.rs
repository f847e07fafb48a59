//! Tests of the public face of `bridle-models`: requests and streams against the vectors, cuts anywhere, answers
//! that lie. What real servers answer is in `cargo xtask models`.

mod codec_skill;
mod event_text;
mod properties;
mod requests;
mod samples;
mod streams;
