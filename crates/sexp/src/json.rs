//! The lossless mapping between values and JSON text, both ways.
//!
//! JSON has a value for each of its own things; every other value is an object with one tag:
//!
//! | value | JSON |
//! |---|---|
//! | `t`, `:false`, `:null` | `true`, `false`, `null` |
//! | integers; floats that JSON can write | numbers, digit for digit |
//! | strings, vectors | strings, arrays |
//! | `(:object)` | `{}` |
//! | `("key" 1 ..)`: strings in all key places | `{"key":1,..}`, order and duplicates kept |
//! | `(:key 1 ..)`: keywords in all key places | `{":key":1,..}` |
//! | other lists, `nil` | `{"#list":[..]}` |
//! | dotted lists, the tail last | `{"#dotted":[..]}` |
//! | symbols, keywords, ratios, other floats, by their canonical text | `{"#symbol":".."}`, `{"#keyword":".."}`, `{"#ratio":".."}`, `{"#float":".."}` |
//! | characters, by what stands after `#\` | `{"#char":".."}` |
//! | propertized strings | `{"#propertized":["text",0,4,..]}` |
//!
//! An object that only looks like one of these (its key is a tag, and its value is what this tag
//! takes) is kept apart by one more `#`; one whose keys all look like keywords by one more `:` on
//! each. Reading takes one away under the same condition, so each side maps onto all of the
//! other. Two texts are not kept: `-0`, which comes back as `-0.0`, and string escapes that JSON
//! does not need.

mod read;
mod tag;
mod write;

pub use read::from_json;
pub use write::to_json;
