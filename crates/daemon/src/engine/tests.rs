//! Hubs without sockets: what shells are told, and what survives.

mod answers;
mod rig;
