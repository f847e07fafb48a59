//! Connections, listeners and limits: the daemon itself.
