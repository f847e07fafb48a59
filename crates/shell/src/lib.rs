//! The faces: client library and the commands that only know the protocol.
