//! Hubs without sockets: what shells are told, and what survives.

mod answers;
mod control;
mod record;
mod requests;
mod rig;
mod stream;
