//! The reader from outside: against texts that nobody would write.

mod lines;
mod properties;
mod reading;
