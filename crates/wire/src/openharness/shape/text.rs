//! `text!`: a string of its own type, with bounds on its characters. A `hidden` one does not show in
//! `Debug`, since people put secrets and personal things there. Of a `blankable` one, the empty string
//! counts as absent. Copies share the text: an id goes to many places.

/// A text is shorter or longer than its type allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{length} characters, expected {least} to {most}")]
pub struct TextLengthError {
    /// Characters there are.
    pub length: usize,
    /// Characters there must be.
    pub least: usize,
    /// Characters there may be.
    pub most: usize,
}

/// Counts characters, and asks whether there are too many or too few.
pub(in crate::openharness) fn bounds(
    text: &str,
    least: usize,
    most: usize,
) -> Result<(), TextLengthError> {
    // So many bytes are no more characters, and a short text is most of them.
    if text.len() >= least && text.len() <= most && least <= 1 {
        return Ok(());
    }
    let length = text.chars().count();
    if (least..=most).contains(&length) {
        return Ok(());
    }
    Err(TextLengthError { length, least, most })
}

/// Description of a text with bounds, for refusals.
pub(in crate::openharness) fn expected(least: usize, most: usize) -> String {
    match (least, most) {
        (0, usize::MAX) => "a string".to_owned(),
        (0, most) => format!("a string of at most {most} characters"),
        (least, usize::MAX) => format!("a string of at least {least} characters"),
        (least, most) => format!("a string of {least} to {most} characters"),
    }
}

/// Declares a string: `Name: least..=most, shown`, `hidden` or `blankable`.
macro_rules! text {
    ($(#[doc = $doc:literal])+ $name:ident: $least:literal..=$most:expr, $($how:ident),+) => {
        $(#[doc = $doc])+
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(std::sync::Arc<str>);

        impl $name {
            /// Takes a text.
            ///
            /// # Errors
            /// The text is too short or too long.
            pub fn new(
                text: impl Into<std::sync::Arc<str>>,
            ) -> Result<Self, $crate::openharness::shape::TextLengthError> {
                let text = text.into();
                $crate::openharness::shape::text::bounds(&text, $least, $most)?;
                Ok($name(text))
            }

            /// Returns the text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                if [$(stringify!($how)),+].contains(&"hidden") {
                    return f.write_str(concat!(stringify!($name), "(..)"));
                }
                write!(f, concat!(stringify!($name), "({:?})"), &self.0)
            }
        }

        impl $crate::openharness::shape::JsonShape for $name {
            fn is_blank(node: $crate::openharness::json::JsonNode<'_>) -> bool {
                [$(stringify!($how)),+].contains(&"blankable")
                    && node.as_str().is_some_and(|text| text.is_empty())
            }

            fn expected() -> std::borrow::Cow<'static, str> {
                $crate::openharness::shape::text::expected($least, $most).into()
            }

            fn read(
                node: $crate::openharness::json::JsonNode<'_>,
                at: &$crate::openharness::shape::ReadPosition<'_>,
            ) -> Result<Self, $crate::openharness::shape::ShapeError> {
                let text = node.as_str().ok_or_else(|| at.unlike::<Self>(node))?;
                $name::new(&*text).map_err(|out| {
                    let got = if out.length < out.least { "fewer" } else { "more" };
                    at.invalid(Self::expected(), got)
                })
            }

            fn write(&self, out: &mut $crate::openharness::json::JsonWriter) {
                out.string(&self.0);
            }

            fn schema(
                _: &mut $crate::openharness::schema::SchemaBook,
            ) -> $crate::openharness::json::Json {
                $crate::openharness::schema::text($least, $most)
            }
        }
    };
}

pub(in crate::openharness) use text;
