//! The five judges of a message.

use anyhow::{Context as _, Result, anyhow};
use bridle_wire::openharness::{
    MessageLimits, ReadMode, SchemaDirection, read_response, receive, schema,
};
use jsonschema::Validator;
use serde_json::{Value, json};

/// Whether each judge takes a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Verdicts {
    pub(crate) published: bool,
    pub(crate) schema_strict: bool,
    pub(crate) schema_lenient: bool,
    pub(crate) reader_strict: bool,
    pub(crate) reader_lenient: bool,
}

/// The validators of one direction.
struct Side {
    published: Validator,
    strict: Validator,
    lenient: Validator,
}

pub(crate) struct Judges {
    request: Side,
    response: Side,
}

impl Judges {
    /// Takes the text of the published schema. Messages are judged by direction: its root asks for
    /// exactly one of both, which a message with an unknown field of the other direction is not.
    pub(crate) fn new(published: &str) -> Result<Self> {
        let published: Value = serde_json::from_str(published).context("the schema is not JSON")?;
        let side = |name: &str, direction| -> Result<Side> {
            let mut root = published.clone();
            let object = root.as_object_mut().context("the schema is no object")?;
            object.remove("oneOf");
            object.insert("$ref".into(), json!(format!("#/$defs/{name}")));
            let ours = |mode| -> Result<Validator> {
                let text = schema(Some(direction), mode).to_text();
                compile(&serde_json::from_str(&text).context("our schema is not JSON")?)
            };
            Ok(Side {
                published: compile(&root)?,
                strict: ours(ReadMode::Strict)?,
                lenient: ours(ReadMode::Lenient)?,
            })
        };
        Ok(Self {
            request: side("requestMessage", SchemaDirection::Request)?,
            response: side("responseMessage", SchemaDirection::Response)?,
        })
    }

    pub(crate) fn judge(&self, direction: SchemaDirection, text: &str) -> Verdicts {
        let side = match direction {
            SchemaDirection::Request => &self.request,
            SchemaDirection::Response => &self.response,
        };
        let reader = |mode| {
            let limits = MessageLimits { mode, ..MessageLimits::default() };
            match direction {
                SchemaDirection::Request => receive(text.as_bytes(), &limits).is_ok(),
                SchemaDirection::Response => read_response(text.as_bytes(), &limits).is_ok(),
            }
        };
        // What is no JSON to the validator's reader is no message to it.
        let value: Option<Value> = serde_json::from_str(text).ok();
        let valid = |validator: &Validator| value.as_ref().is_some_and(|it| validator.is_valid(it));
        Verdicts {
            published: valid(&side.published),
            schema_strict: valid(&side.strict),
            schema_lenient: valid(&side.lenient),
            reader_strict: reader(ReadMode::Strict),
            reader_lenient: reader(ReadMode::Lenient),
        }
    }
}

fn compile(schema: &Value) -> Result<Validator> {
    jsonschema::validator_for(schema).map_err(|error| anyhow!("not a schema: {error}"))
}
