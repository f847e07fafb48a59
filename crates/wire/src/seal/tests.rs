//! Unit tests of keys, signers and verifiers, both sides in one process.
