//! Skills that wrap or replace a codec: what goes out is what they made of the request, what came in is read as they say.
//!
//! The native codec is asked first, so a skill that changes one field need not write the rest. Where the request goes,
//! its method and its headers, among them the key, stay those of the provider.

use bridle_host::HostFuture;
use bridle_models::{
    DeliveryMode, HttpRequest, ModelRequest, Provider, ProviderModel, ResponseHead, encode_request,
    request_value,
};
use bridle_sexp::Value;

use crate::error::InferenceError;

/// Bytes of a body that a skill makes or is given.
const MAX_BODY_BYTES: usize = 8 << 20;

/// Stage of a skill that is a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodecStage {
    /// A request is made into one of the server.
    Encode,
    /// An answer of the server is read.
    Decode,
}

/// Whoever calls skills that are providers.
pub trait CodecSkills: Send + Sync {
    /// Whether a skill has this stage; `None` when no skill of this name serves.
    fn has(&self, skill: &str, stage: CodecStage) -> Option<bool>;

    /// Calls a stage of a skill.
    fn call<'a>(
        &'a self,
        skill: &'a str,
        stage: CodecStage,
        value: Value,
    ) -> HostFuture<'a, Result<Value, String>>;
}

/// Nobody: a provider that names a skill fails.
pub struct NoCodecSkills;

impl CodecSkills for NoCodecSkills {
    fn has(&self, _: &str, _: CodecStage) -> Option<bool> {
        None
    }

    fn call<'a>(
        &'a self,
        _: &'a str,
        _: CodecStage,
        _: Value,
    ) -> HostFuture<'a, Result<Value, String>> {
        Box::pin(async { Err("no skill is called here".to_owned()) })
    }
}

/// A request as it goes out, and whether its answer is read by the skill.
pub(crate) struct EncodedOrder {
    pub(crate) http: HttpRequest,
    /// Skill that reads the answer, which then comes whole.
    pub(crate) reader: Option<String>,
}

/// Writes a request, by the codec of its provider and the skill that the provider names.
///
/// # Errors
/// The request cannot be written, or the skill fails.
pub(crate) async fn encode(
    skills: &dyn CodecSkills,
    provider: &Provider,
    model: &ProviderModel,
    request: &ModelRequest,
) -> Result<EncodedOrder, InferenceError> {
    let settings = provider.codec_settings(model);
    let Some(name) = &provider.codec_skill else {
        let http = encode_request(provider.codec, &settings, request)?;
        return Ok(EncodedOrder { http, reader: None });
    };
    let failed = |reason: String| InferenceError::Skill { skill: name.clone(), reason };
    let has = |stage| skills.has(name, stage).ok_or_else(|| failed("it does not serve".to_owned()));
    let reader = has(CodecStage::Decode)?.then(|| name.clone());
    let request = match &reader {
        Some(_) => ModelRequest { delivery: DeliveryMode::Whole, ..request.clone() },
        None => request.clone(),
    };
    let mut http = encode_request(provider.codec, &settings, &request)?;
    if has(CodecStage::Encode)? {
        let value = request_value(provider.codec, &settings, &request, &http);
        let made = skills.call(name, CodecStage::Encode, value).await.map_err(failed)?;
        take(&made, &mut http).map_err(|reason| failed(reason.to_owned()))?;
    }
    Ok(EncodedOrder { http, reader })
}

/// Takes what a skill made of a request: nil for what the native codec made, `(:body .. [:path ..])` otherwise.
fn take(made: &Value, http: &mut HttpRequest) -> Result<(), &'static str> {
    if made.is_nil() {
        return Ok(());
    }
    let body = made.get("body").and_then(Value::as_str);
    let body = body.ok_or("it answered neither nil nor (:body TEXT [:path TEXT])")?;
    if body.len() > MAX_BODY_BYTES {
        return Err("its body is larger than 8 MiB");
    }
    if let Some(path) = made.get("path") {
        let path = path.as_str().filter(|path| is_path(path));
        http.path = path.ok_or("its path is none")?.to_owned();
    }
    http.body = body.as_bytes().to_vec();
    Ok(())
}

/// Whether a text is a path behind an address: it leads nowhere else.
fn is_path(path: &str) -> bool {
    let fits = |c: char| c.is_ascii_graphic() && !matches!(c, '\\' | '#' | '@');
    path.starts_with('/')
        && !path.starts_with("//")
        && path.len() <= 2_000
        && path.chars().all(fits)
        && path.split(['/', '?']).all(|part| part != "..")
}

/// The body of an answer, as the codec is to read it.
///
/// # Errors
/// The skill fails, or says what is no text.
pub(crate) async fn decode(
    skills: &dyn CodecSkills,
    name: &str,
    head: &ResponseHead,
    body: Vec<u8>,
) -> Result<Vec<u8>, InferenceError> {
    let failed = |reason: String| InferenceError::Skill { skill: name.to_owned(), reason };
    if body.len() > MAX_BODY_BYTES {
        return Err(failed("the answer is larger than 8 MiB".to_owned()));
    }
    let value = Value::plist([
        ("status", Value::int(i64::from(head.status))),
        ("body", Value::str(String::from_utf8_lossy(&body).into_owned())),
    ]);
    let read = skills.call(name, CodecStage::Decode, value).await.map_err(failed)?;
    match read.as_str() {
        _ if read.is_nil() => Ok(body),
        Some(text) => Ok(text.as_bytes().to_vec()),
        None => Err(failed("it answered neither nil nor a text".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::is_path;

    #[test]
    fn a_path_leads_nowhere_else() {
        for good in ["/chat/completions", "/v1/x?key=1&b=c", "/models/a:generate"] {
            assert!(is_path(good), "{good}");
        }
        for bad in ["", "x", "//evil.org/x", "/a/../b", "/a b", "/a#b", "@evil", "/x@evil", "/é"] {
            assert!(!is_path(bad), "{bad}");
        }
    }
}
