//! Frames and messages of both protocol faces; no tasks, no sockets.
