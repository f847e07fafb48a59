//! The lossless mapping between values and JSON text.
