//! `words!`: a closed list of strings. Behind `else` stands what an unknown word counts as in lenient
//! mode: the reading that does least harm.

/// Declares a list: `pub enum Name as "schemaName" { doc, Variant = "word" } else Variant`.
macro_rules! words {
    (
        $(#[doc = $doc:literal])+
        pub enum $name:ident as $title:literal {
            $( $(#[doc = $word_doc:literal])+ $variant:ident = $word:literal, )+
        } else $otherwise:ident
    ) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $( $(#[doc = $word_doc])+ $variant, )+
        }

        impl $name {
            /// All of them, in the order of the schema.
            pub const ALL: &[$name] = &[$($name::$variant),+];

            /// Returns the word on the wire.
            pub fn as_str(self) -> &'static str {
                match self {
                    $( $name::$variant => $word, )+
                }
            }

            /// Finds a word, exactly as written.
            pub fn parse(text: &str) -> Option<Self> {
                match text {
                    $( $word => Some($name::$variant), )+
                    _ => None,
                }
            }
        }

        impl $crate::openharness::shape::JsonShape for $name {
            fn expected() -> std::borrow::Cow<'static, str> {
                concat!("one of", $( " `", $word, "`" ),+).into()
            }

            fn read(
                node: $crate::openharness::json::JsonNode<'_>,
                at: &$crate::openharness::shape::ReadPosition<'_>,
            ) -> Result<Self, $crate::openharness::shape::ShapeError> {
                let text = node.as_str().ok_or_else(|| at.unlike::<Self>(node))?;
                match (Self::parse(&text), at.mode()) {
                    (Some(word), _) => Ok(word),
                    (None, $crate::openharness::shape::ReadMode::Lenient) => Ok($name::$otherwise),
                    (None, $crate::openharness::shape::ReadMode::Strict) => {
                        Err(at.invalid(Self::expected(), "another string"))
                    }
                }
            }

            fn write(&self, out: &mut $crate::openharness::json::JsonWriter) {
                out.word(match self {
                    $( $name::$variant => {
                        const { assert!($crate::openharness::json::is_plain($word)) };
                        concat!("\"", $word, "\"")
                    } )+
                });
            }

            fn schema(
                book: &mut $crate::openharness::schema::SchemaBook,
            ) -> $crate::openharness::json::Json {
                book.words($title, &[$($doc),+], &[$($word),+], $name::$otherwise.as_str())
            }
        }
    };
}

pub(in crate::openharness) use words;
