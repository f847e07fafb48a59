//! The list of models of a server, asked for with the provider's own patience, key and roads.

use std::time::Duration;

use bridle_models::{Provider, ServedModel, decode_error, model_list_request, read_model_list};
use reqwest::Response;
use tokio::time::timeout;

use crate::error::{InferenceError, SilentPhase};
use crate::exchange::{ModelExchanger, address, head_of};

/// Bytes of a list that are read.
const MAX_LIST_BYTES: usize = 8 << 20;

/// Longest wait for a list: somebody sits in front of it.
const LIST_TIMEOUT: Duration = Duration::from_secs(30);

impl ModelExchanger {
    /// Asks a provider which models it has, once.
    ///
    /// # Errors
    /// Fails on a server that does not answer, that refuses, or whose answer is no list.
    pub async fn served_models(
        &self,
        provider: &Provider,
    ) -> Result<Vec<ServedModel>, InferenceError> {
        let most = provider.patience.total.min(LIST_TIMEOUT);
        let listed = timeout(most, self.ask_for_models(provider)).await;
        listed.map_err(|_| InferenceError::Overlong(most))?
    }

    async fn ask_for_models(
        &self,
        provider: &Provider,
    ) -> Result<Vec<ServedModel>, InferenceError> {
        let response = self.send(provider, &model_list_request(provider.codec)).await?;
        let head = head_of(&response);
        let body = body(response, provider).await?;
        if !(200..300).contains(&head.status) {
            let failure = decode_error(&head, &body);
            self.forget_refused_key(provider, &failure);
            return Err(InferenceError::Provider(Box::new(failure)));
        }
        read_model_list(&body).map_err(InferenceError::Provider)
    }
}

async fn body(mut response: Response, provider: &Provider) -> Result<Vec<u8>, InferenceError> {
    let wait = provider.patience.between_bytes;
    let mut body = Vec::new();
    while body.len() < MAX_LIST_BYTES {
        match timeout(wait, response.chunk()).await {
            Ok(Ok(Some(bytes))) => {
                body.extend_from_slice(&bytes[..bytes.len().min(MAX_LIST_BYTES - body.len())]);
            }
            // What is not whole is no list.
            Ok(Ok(None) | Err(_)) => break,
            Err(_) => {
                let (address, phase) = (address(provider), SilentPhase::WithinAnswer);
                return Err(InferenceError::Silent { address, phase, after: wait });
            }
        }
    }
    Ok(body)
}
