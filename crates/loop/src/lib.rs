//! What to do next: perceive, think, decide, act. Pure.
