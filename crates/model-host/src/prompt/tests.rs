//! Prompts for models of all reaches.
