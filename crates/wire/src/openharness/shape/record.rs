//! `record!`: an object with declared fields. Fields are written in the order of their declaration;
//! what is not declared is dropped, or kept in the field behind `..` and written last.

/// Declares an object: `pub struct Name as "schemaName" { doc, field: MessageType = "key", ..rest }`.
macro_rules! record {
    (
        $(#[doc = $doc:literal])+
        pub struct $name:ident as $title:literal {
            $( $(#[doc = $field_doc:literal])+ $field:ident: $type:ty = $key:literal, )*
            $( ..$rest:ident )?
        }
    ) => {
        $(#[doc = $doc])+
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $name {
            $( $(#[doc = $field_doc])+ pub $field: $type, )*
            $(
                /// Other fields of the object, as they came.
                pub $rest: $crate::openharness::json::JsonObject,
            )?
        }

        impl $crate::openharness::shape::JsonShape for $name {
            fn expected() -> std::borrow::Cow<'static, str> {
                "an object".into()
            }

            fn read(
                node: $crate::openharness::json::JsonNode<'_>,
                at: &$crate::openharness::shape::ReadPosition<'_>,
            ) -> Result<Self, $crate::openharness::shape::ShapeError> {
                let object = at.object(node)?;
                Ok(Self {
                    $( $field: at.field(object, $key)?, )*
                    $( $rest: at.rest(object, <Self as $crate::openharness::shape::FlattenedShape>::KEYS)?, )?
                })
            }

            fn write(&self, out: &mut $crate::openharness::json::JsonWriter) {
                out.open('{');
                $crate::openharness::shape::FlattenedShape::write_fields(self, out);
                out.close('}');
            }

            fn schema(
                book: &mut $crate::openharness::schema::SchemaBook,
            ) -> $crate::openharness::json::Json {
                let doc = [$($doc),+];
                book.define($title, &doc, |book, object| {
                    $( object.property::<$type>(book, $key, &[$($field_doc),+]); )*
                })
            }
        }

        impl $crate::openharness::shape::FlattenedShape for $name {
            const KEYS: &[&str] = &[$($key),*];

            fn write_fields(&self, out: &mut $crate::openharness::json::JsonWriter) {
                $(
                    if !$crate::openharness::shape::JsonShape::is_absent(&self.$field) {
                        const { assert!($crate::openharness::json::is_plain($key)) };
                        out.quoted_key(concat!("\"", $key, "\":"));
                        $crate::openharness::shape::JsonShape::write(&self.$field, out);
                    }
                )*
                $(
                    // A declared field is said above, whatever stands among the others.
                    for (key, value) in self.$rest.iter().filter(|(key, _)| !Self::KEYS.contains(key)) {
                        out.key(key);
                        value.write(out);
                    }
                )?
            }
        }
    };
}

pub(in crate::openharness) use record;
