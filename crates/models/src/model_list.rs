//! The list of models that a server has: the request for it, and what is understood of the answer. Asked for when a
//! provider is added or shown; no thought needs it.

use serde_json::Value;

use crate::codec::{ANTHROPIC_VERSION, CodecName, HttpHeader, HttpHeaderValue, HttpRequest};
use crate::failure::{FailureKind, ProviderFailure};

/// Models of a list that are read: the largest one of today has some hundreds.
const MAX_LISTED_MODELS: usize = 4096;

/// Longest name of a model, in bytes.
const MAX_NAME_BYTES: usize = 256;

/// Model that a server says it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServedModel {
    /// Name, as the server spells it.
    pub name: String,
    /// Tokens of prompt and answer together, where the server says so.
    pub context_tokens: Option<u32>,
    /// Largest answer in tokens, where the server says so.
    pub max_output_tokens: Option<u32>,
}

/// Writes the request for the list of models.
#[must_use]
pub fn model_list_request(codec: CodecName) -> HttpRequest {
    let key = |name, prefix| HttpHeader { name, value: HttpHeaderValue::Key { prefix } };
    let text = |name, text| HttpHeader { name, value: HttpHeaderValue::Text(text) };
    let (path, mut headers) = match codec {
        CodecName::OpenAiChat | CodecName::OpenAiResponses => {
            ("/models", vec![key("authorization", "Bearer ")])
        }
        CodecName::AnthropicMessages => (
            "/models?limit=1000",
            vec![key("x-api-key", ""), text("anthropic-version", ANTHROPIC_VERSION)],
        ),
        CodecName::Gemini => ("/models?pageSize=1000", vec![key("x-goog-api-key", "")]),
    };
    headers.push(text("accept", "application/json"));
    HttpRequest { method: "GET", path: path.to_owned(), headers, body: Vec::new() }
}

/// Reads the answer. What has no name that could stand in `models.org` is passed over.
///
/// # Errors
/// The answer is no list.
pub fn read_model_list(body: &[u8]) -> Result<Vec<ServedModel>, Box<ProviderFailure>> {
    let document: Value = serde_json::from_slice(body).unwrap_or_default();
    let list = ["data", "models"].iter().find_map(|key| document.get(key)?.as_array());
    let list = list.or_else(|| document.as_array()).ok_or_else(|| {
        Box::new(ProviderFailure::local(FailureKind::Malformed, "it is no list of models"))
    })?;
    Ok(list.iter().take(MAX_LISTED_MODELS).filter_map(served).collect())
}

fn served(entry: &Value) -> Option<ServedModel> {
    let name = ["id", "name"].iter().find_map(|key| entry.get(key)?.as_str())?;
    let name = name.strip_prefix("models/").unwrap_or(name);
    let is_name = !name.is_empty()
        && name.len() <= MAX_NAME_BYTES
        && !name.chars().any(|it| it.is_whitespace() || it.is_control());
    let answers = entry.get("supportedGenerationMethods").and_then(Value::as_array);
    let can_answer = answers.is_none_or(|all| all.iter().any(|it| it == "generateContent"));
    (is_name && can_answer).then(|| ServedModel {
        name: name.to_owned(),
        context_tokens: count(
            entry,
            &[
                "/context_length",
                "/max_model_len",
                "/context_window",
                "/inputTokenLimit",
                "/max_input_tokens",
                "/meta/n_ctx",
                "/meta/n_ctx_train",
            ],
        ),
        max_output_tokens: count(
            entry,
            &["/outputTokenLimit", "/max_completion_tokens", "/top_provider/max_completion_tokens"],
        ),
    })
}

/// The first of these numbers that is there, and is a number of tokens.
fn count(entry: &Value, places: &[&str]) -> Option<u32> {
    let counts = places.iter().filter_map(|place| entry.pointer(place)?.as_u64());
    counts.filter_map(|count| u32::try_from(count).ok()).find(|count| *count > 0)
}

#[cfg(test)]
mod tests {
    use super::{model_list_request, read_model_list};
    use crate::codec::CodecName;

    fn told(body: &str) -> Vec<(String, Option<u32>, Option<u32>)> {
        let list = read_model_list(body.as_bytes()).expect("a list");
        let tell = |it: super::ServedModel| (it.name, it.context_tokens, it.max_output_tokens);
        list.into_iter().map(tell).collect()
    }

    #[test]
    fn lists_of_all_servers_are_read() {
        let name = |name: &str| (name.to_owned(), None, None);
        // OpenAI, Ollama; Anthropic has a name for people too.
        assert_eq!(
            told(r#"{"object":"list","data":[{"id":"gpt-5.4-mini","object":"model"}]}"#),
            [name("gpt-5.4-mini")]
        );
        assert_eq!(told(r#"{"data":[{"id":"c","display_name":"C 1"}]}"#), [name("c")]);
        // llama.cpp has two lists.
        let llama = r#"{"models":[{"name":"x"}],"data":[{"id":"m","meta":{"n_ctx_train":8192}}]}"#;
        assert_eq!(told(llama), [("m".to_owned(), Some(8192), None)]);
        let vllm = r#"{"data":[{"id":"Qwen/Qwen3-32B","max_model_len":40960}]}"#;
        assert_eq!(told(vllm), [("Qwen/Qwen3-32B".to_owned(), Some(40_960), None)]);
        let gemini = r#"{"models":[
            {"name":"models/g","inputTokenLimit":1048576,"outputTokenLimit":65536,
             "supportedGenerationMethods":["generateContent"]},
            {"name":"models/embed","supportedGenerationMethods":["embedContent"]}]}"#;
        assert_eq!(told(gemini), [("g".to_owned(), Some(1_048_576), Some(65_536))]);
        let router = r#"{"data":[{"id":"a/b","context_length":9,"top_provider":{"max_completion_tokens":4}}]}"#;
        assert_eq!(told(router), [("a/b".to_owned(), Some(9), Some(4))]);
    }

    #[test]
    fn what_is_no_list_or_no_name_is_not_taken() {
        for body in ["", "{}", "nonsense", r#"{"data":7}"#, r#"{"error":{"message":"no"}}"#] {
            assert!(read_model_list(body.as_bytes()).is_err(), "{body}");
        }
        let odd = "{\"data\":[{\"id\":\"a b\"},{\"id\":\"a\\u001b[31m\"},{\"id\":\"\"},{\"id\":7},{},7,\
                   {\"id\":\"m\",\"context_length\":-1}]}";
        assert_eq!(told(odd), [("m".to_owned(), None, None)]);
    }

    #[test]
    fn every_codec_asks_in_its_own_way() {
        for codec in CodecName::ALL {
            let request = model_list_request(codec);
            assert!(request.method == "GET" && request.path.starts_with("/models"), "{request:?}");
        }
    }
}
