//! One exchange: a request to a provider and its answer, with the provider's patience, its retries and its key.
//!
//! Called by the thinker. An attempt is repeated only while nothing of its answer was shown, so no text is said
//! twice; calls are in an answer only when all of it has come. Cancelling ends it at the next wait, whatever it
//! waits for.

use std::sync::Arc;
use std::time::Duration;

use bridle_host::CancelFlag;
use bridle_models::{
    CallIdPrefix, FailureKind, HttpHeaderValue, HttpRequest, ModelRequest, ModelResponse, Provider,
    ProviderFailure, ProviderModel, ResponseAssembler, ResponseHead, StreamDecoder, StreamEvent,
    decode_error, decode_response,
};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Response};
use tokio::time::{Instant, timeout, timeout_at};

use crate::client::{HttpClients, root_cause};
use crate::codec_skill::{self, CodecSkills, EncodedOrder, NoCodecSkills};
use crate::error::{InferenceError, SilentPhase};
use crate::key::{KeyReader, ProviderKey};
use crate::retry;

/// Bytes of an error document that are read.
const MAX_ERROR_BYTES: usize = 1 << 20;

/// Bytes of an answer that came whole.
const MAX_DOCUMENT_BYTES: usize = 64 << 20;

/// Header fields of an answer that are looked at.
const MAX_HEADERS: usize = 128;

/// Maker of exchanges: clients and keys, shared by all thoughts.
#[derive(Clone)]
pub struct ModelExchanger {
    clients: Arc<HttpClients>,
    keys: Arc<KeyReader>,
    skills: Arc<dyn CodecSkills>,
}

/// Request to one model.
#[derive(Clone, Debug)]
pub struct ExchangeOrder {
    /// Provider.
    pub provider: Provider,
    /// Model of it.
    pub model: ProviderModel,
    /// The request.
    pub request: ModelRequest,
    /// Beginning of ids for calls without one.
    pub call_ids: CallIdPrefix,
}

/// Piece of an answer that is being made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExchangePiece<'p> {
    /// Text.
    Text(&'p str),
    /// Reasoning.
    Reasoning(&'p str),
}

/// Answer, and what it took.
#[derive(Clone, Debug)]
pub struct FinishedExchange {
    /// The answer, complete.
    pub response: ModelResponse,
    /// Attempts, from 1.
    pub attempts: u8,
    /// Bytes of the request's body.
    pub request_bytes: usize,
    /// Time from sending the request that was answered to the first byte of its answer.
    pub first_byte: Duration,
}

/// Receiver of pieces.
pub(crate) type PieceSink<'s> = dyn Fn(ExchangePiece<'_>) + Send + Sync + 's;

/// Failure of one attempt.
struct FailedAttempt {
    error: InferenceError,
    /// Whether something of its answer was shown.
    has_shown: bool,
}

impl ModelExchanger {
    /// Makes an exchanger with keys from this reader.
    pub fn new(keys: KeyReader) -> Self {
        Self { clients: Arc::default(), keys: Arc::new(keys), skills: Arc::new(NoCodecSkills) }
    }

    /// Has skills that providers name called by this.
    #[must_use]
    pub fn with_codec_skills(self, skills: Arc<dyn CodecSkills>) -> Self {
        Self { skills, ..self }
    }

    /// The request as it would go out.
    ///
    /// # Errors
    /// The request cannot be written, or the skill of the provider fails.
    pub async fn encode(&self, order: &ExchangeOrder) -> Result<HttpRequest, InferenceError> {
        Ok(self.encoded(order).await?.http)
    }

    /// Sends a request and reads its answer. `show` gets the pieces as they come.
    ///
    /// # Errors
    /// There is no complete answer; says why.
    pub async fn exchange(
        &self,
        order: &ExchangeOrder,
        cancel: &CancelFlag,
        show: &PieceSink<'_>,
    ) -> Result<FinishedExchange, InferenceError> {
        let answered = async {
            let encoded = self.encoded(order).await?;
            self.attempts(order, &encoded, show).await
        };
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(InferenceError::Canceled),
            done = answered => done,
        }
    }

    async fn encoded(&self, order: &ExchangeOrder) -> Result<EncodedOrder, InferenceError> {
        let ExchangeOrder { provider, model, request, .. } = order;
        codec_skill::encode(&*self.skills, provider, model, request).await
    }

    async fn attempts(
        &self,
        order: &ExchangeOrder,
        encoded: &EncodedOrder,
        show: &PieceSink<'_>,
    ) -> Result<FinishedExchange, InferenceError> {
        let patience = order.provider.patience;
        let end = Instant::now() + patience.total;
        let mut failed = 0;
        loop {
            let attempt = timeout_at(end, self.attempt(order, encoded, show)).await;
            let overlong = |_| InferenceError::Overlong(patience.total);
            let attempt = attempt.map_err(overlong)?;
            let FailedAttempt { error, has_shown } = match attempt {
                Ok((response, first_byte)) => {
                    let (attempts, request_bytes) = (failed + 1, encoded.http.body.len());
                    return Ok(FinishedExchange { response, attempts, request_bytes, first_byte });
                }
                Err(attempt) => attempt,
            };
            failed += 1;
            if has_shown || failed > patience.retries || !error.is_retryable() {
                return Err(error);
            }
            let asked = match &error {
                InferenceError::Provider(failure) => failure.retry_after,
                _ => None,
            };
            let Some(wait) = retry::wait(failed, asked, retry::jitter()) else { return Err(error) };
            if Instant::now() + wait >= end {
                return Err(error);
            }
            tracing::info!(provider = %order.provider.name, attempt = failed, %error, "asking the model again");
            tokio::time::sleep(wait).await;
        }
    }

    async fn attempt(
        &self,
        order: &ExchangeOrder,
        encoded: &EncodedOrder,
        show: &PieceSink<'_>,
    ) -> Result<(ModelResponse, Duration), FailedAttempt> {
        let early = |error| FailedAttempt { error, has_shown: false };
        let begun = Instant::now();
        let response = self.send(&order.provider, &encoded.http).await.map_err(early)?;
        let first_byte = begun.elapsed();
        let head = head_of(&response);
        let answer = AnswerReader { order, response, skills: &*self.skills };
        if !(200..300).contains(&head.status) {
            let failure = answer.error(&head).await;
            self.forget_refused_key(&order.provider, &failure);
            return Err(early(InferenceError::Provider(Box::new(failure))));
        }
        let response = match (&encoded.reader, head.is_event_stream()) {
            (None, true) => answer.stream(show).await?,
            (reader, _) => answer.document(&head, reader.as_deref(), show).await?,
        };
        Ok((response, first_byte))
    }

    /// Has a key of a program made anew after a refusal.
    pub(crate) fn forget_refused_key(&self, provider: &Provider, failure: &ProviderFailure) {
        if let (FailureKind::Authentication, Some(source)) = (failure.kind, &provider.key) {
            self.keys.forget(source);
        }
    }

    /// Sends the request; returns when the head of the answer is there.
    pub(crate) async fn send(
        &self,
        provider: &Provider,
        http: &HttpRequest,
    ) -> Result<Response, InferenceError> {
        let client = self.clients.client(provider).await?;
        let key = self.key(provider).await?;
        let method = Method::from_bytes(http.method.as_bytes());
        let method = method.map_err(|error| InferenceError::Client(error.to_string()))?;
        let url = format!("{}{}", provider.address, http.path);
        let request = client.request(method, url).headers(headers(http, key.as_ref())?);
        let sent = request.body(http.body.clone()).send();
        let after = provider.patience.first_byte;
        match timeout(after, sent).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => {
                let reason = root_cause(&error.without_url());
                Err(InferenceError::Connect { address: address(provider), reason })
            }
            Err(_) => {
                let (address, phase) = (address(provider), SilentPhase::BeforeAnswer);
                Err(InferenceError::Silent { address, phase, after })
            }
        }
    }

    async fn key(&self, provider: &Provider) -> Result<Option<ProviderKey>, InferenceError> {
        let Some(source) = &provider.key else { return Ok(None) };
        let host = &provider.address.host;
        if !provider.may_send_key_to(host) {
            return Err(InferenceError::KeyHost(host.clone()));
        }
        self.keys.read(source, host).await.map(Some)
    }
}

/// Answer whose head has come.
struct AnswerReader<'o> {
    order: &'o ExchangeOrder,
    response: Response,
    skills: &'o dyn CodecSkills,
}

impl AnswerReader<'_> {
    /// The next bytes of the body; `None` at its end, also at an end in the middle.
    async fn chunk(&mut self, wait: Duration) -> Result<Option<Vec<u8>>, InferenceError> {
        match timeout(wait, self.response.chunk()).await {
            Ok(Ok(chunk)) => Ok(chunk.map(|bytes| bytes.to_vec())),
            // What was sent decides whether the answer is complete.
            Ok(Err(_)) => Ok(None),
            Err(_) => Err(InferenceError::Silent {
                address: address(&self.order.provider),
                phase: SilentPhase::WithinAnswer,
                after: wait,
            }),
        }
    }

    /// Reads a stream of events.
    async fn stream(mut self, show: &PieceSink<'_>) -> Result<ModelResponse, FailedAttempt> {
        let (codec, call_ids) = (self.order.provider.codec, self.order.call_ids.clone());
        let mut decoder = StreamDecoder::new(codec, &self.order.model.name, call_ids);
        let mut answer = ResponseAssembler::default();
        let mut has_shown = false;
        let patience = self.order.provider.patience;
        let mut wait = patience.first_byte;
        while !decoder.has_ended() {
            let chunk =
                self.chunk(wait).await.map_err(|error| FailedAttempt { error, has_shown })?;
            let Some(bytes) = chunk else { break };
            wait = patience.between_bytes;
            for event in decoder.feed(&bytes) {
                has_shown |= show_event(&event, show);
                answer.add(event);
            }
        }
        for event in decoder.finish() {
            has_shown |= show_event(&event, show);
            answer.add(event);
        }
        self.complete(answer.finish(), has_shown)
    }

    /// Reads an answer that comes whole.
    async fn document(
        mut self,
        head: &ResponseHead,
        reader: Option<&str>,
        show: &PieceSink<'_>,
    ) -> Result<ModelResponse, FailedAttempt> {
        let early = |error| FailedAttempt { error, has_shown: false };
        let mut body = self.body(MAX_DOCUMENT_BYTES + 1).await.map_err(early)?;
        if let Some(skill) = reader {
            let read = codec_skill::decode(self.skills, skill, head, body).await;
            body = read.map_err(early)?;
        }
        let (codec, call_ids) = (self.order.provider.codec, self.order.call_ids.clone());
        let response = decode_response(codec, &self.order.model.name, call_ids, head, &body);
        let response = self.complete(Some(response), false)?;
        if !response.reasoning.is_empty() {
            show(ExchangePiece::Reasoning(&response.reasoning));
        }
        let text = response.message.text();
        if !text.is_empty() {
            show(ExchangePiece::Text(&text));
        }
        Ok(response)
    }

    /// Reads what a server says about a failure.
    async fn error(mut self, head: &ResponseHead) -> ProviderFailure {
        // Half of a reason is better than none.
        let body = self.body(MAX_ERROR_BYTES).await.unwrap_or_default();
        decode_error(head, &body)
    }

    async fn body(&mut self, most: usize) -> Result<Vec<u8>, InferenceError> {
        let mut body = Vec::new();
        let patience = self.order.provider.patience;
        let mut wait = patience.first_byte;
        while body.len() < most {
            let Some(bytes) = self.chunk(wait).await? else { break };
            wait = patience.between_bytes;
            body.extend_from_slice(&bytes[..bytes.len().min(most - body.len())]);
        }
        Ok(body)
    }

    fn complete(
        &self,
        response: Option<ModelResponse>,
        has_shown: bool,
    ) -> Result<ModelResponse, FailedAttempt> {
        let mut response = response.expect("every stream of events ends");
        response.correct_stop(self.order.request.max_output_tokens);
        match response.end {
            Ok(_) => Ok(response),
            Err(failure) => {
                Err(FailedAttempt { error: InferenceError::Provider(Box::new(failure)), has_shown })
            }
        }
    }
}

/// Shows what can be shown; whether it was.
fn show_event(event: &StreamEvent, show: &PieceSink<'_>) -> bool {
    match event {
        StreamEvent::Text(piece) if !piece.is_empty() => show(ExchangePiece::Text(piece)),
        StreamEvent::Reasoning(piece) if !piece.is_empty() => show(ExchangePiece::Reasoning(piece)),
        _ => return false,
    }
    true
}

fn headers(http: &HttpRequest, key: Option<&ProviderKey>) -> Result<HeaderMap, InferenceError> {
    let mut map = HeaderMap::new();
    for header in &http.headers {
        let value = match (&header.value, key) {
            (HttpHeaderValue::Text(text), _) => HeaderValue::from_static(text),
            (HttpHeaderValue::Key { .. }, None) => continue,
            (HttpHeaderValue::Key { prefix }, Some(key)) => {
                let text = zeroize::Zeroizing::new(format!("{prefix}{}", key.expose()));
                let unfit = |_| InferenceError::Key("it does not fit a header".to_owned());
                let mut value = HeaderValue::from_str(&text).map_err(unfit)?;
                value.set_sensitive(true);
                value
            }
        };
        map.insert(HeaderName::from_static(header.name), value);
    }
    Ok(map)
}

pub(crate) fn head_of(response: &Response) -> ResponseHead {
    let fields = response.headers().iter().take(MAX_HEADERS).filter_map(|(name, value)| {
        Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
    });
    ResponseHead { status: response.status().as_u16(), headers: fields.collect() }
}

/// Scheme, host and port: the path says nothing about who does not answer.
pub(crate) fn address(provider: &Provider) -> String {
    let bare = bridle_models::ProviderAddress { path: String::new(), ..provider.address.clone() };
    bare.to_string()
}

#[cfg(test)]
mod tests;
