//! The record: everything that happened, append-only, hash-chained, sealed.
