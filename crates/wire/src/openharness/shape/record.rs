//! `record!`: an object with declared fields. Fields are written in the order of their declaration;
//! what is not declared is dropped, or kept in the field behind `..` and written last.

/// Declares an object: `pub struct Name as "schemaName" { doc, field: Type = "key", ..rest }`.
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
                /// What else the object holds, as it came.
                pub $rest: $crate::openharness::json::Object,
            )?
        }

        impl $crate::openharness::shape::Shape for $name {
            fn expected() -> std::borrow::Cow<'static, str> {
                "an object".into()
            }

            fn read(
                node: $crate::openharness::json::Node<'_>,
                at: &$crate::openharness::shape::At<'_>,
            ) -> Result<Self, $crate::openharness::shape::Invalid> {
                let object = at.object(node)?;
                Ok(Self {
                    $( $field: at.field(object, $key)?, )*
                    $( $rest: at.rest(object, <Self as $crate::openharness::shape::Record>::KEYS)?, )?
                })
            }

            fn write(&self, out: &mut $crate::openharness::json::Writer) {
                out.open('{');
                $crate::openharness::shape::Record::write_fields(self, out);
                out.close('}');
            }

            fn schema(
                book: &mut $crate::openharness::schema::Book,
            ) -> $crate::openharness::json::Json {
                let doc = [$($doc),+];
                book.define($title, &doc, |book, object| {
                    $( object.property::<$type>(book, $key, &[$($field_doc),+]); )*
                })
            }
        }

        impl $crate::openharness::shape::Record for $name {
            const KEYS: &[&str] = &[$($key),*];

            fn write_fields(&self, out: &mut $crate::openharness::json::Writer) {
                $(
                    if !$crate::openharness::shape::Shape::is_absent(&self.$field) {
                        const { assert!($crate::openharness::json::is_plain($key)) };
                        out.quoted_key(concat!("\"", $key, "\":"));
                        $crate::openharness::shape::Shape::write(&self.$field, out);
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
