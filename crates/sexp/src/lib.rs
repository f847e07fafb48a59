//! The data language of bridle: read, print and walk S-expressions.
