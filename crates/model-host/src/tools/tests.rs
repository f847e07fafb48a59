//! Calls of the daemon's own actions and of those that others describe.
