//! HTTP clients: one for each way to reach a server, so that connections and sessions of TLS are used again.
//!
//! Redirects are not followed, because a key must not travel on; proxies are those of the provider's settings and
//! never of the environment, because both decide who can read what is sent. A server without TLS gets a client that
//! trusts nobody, which spares the certificates of the system.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bridle_models::{AddressScheme, Provider};
use reqwest::{Certificate, Client, ClientBuilder, Proxy};
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};

use crate::error::InferenceError;

/// Largest file of certificates, in bytes.
const MAX_CA_FILE_BYTES: u64 = 4 << 20;

/// Clients that are kept; one more empties the table.
const MAX_CLIENTS: usize = 64;

/// Connections without work that are kept for one server.
const MAX_IDLE_CONNECTIONS: usize = 8;

/// Name that servers are told.
const USER_AGENT: &str = concat!("bridle/", env!("CARGO_PKG_VERSION"));

/// Clients by the way to reach a server.
#[derive(Default)]
pub struct HttpClients {
    made: Mutex<HashMap<ClientRoute, Client>>,
}

/// Settings that make a client another one.
#[derive(Clone, PartialEq, Eq, Hash)]
struct ClientRoute {
    is_encrypted: bool,
    proxy: Option<String>,
    ca_file: Option<String>,
    connect: Duration,
}

impl HttpClients {
    /// Returns the client for a provider.
    ///
    /// # Errors
    /// Its certificates cannot be read, or its proxy is none.
    pub async fn client(&self, provider: &Provider) -> Result<Client, InferenceError> {
        let route = ClientRoute {
            is_encrypted: provider.address.scheme == AddressScheme::Https,
            proxy: provider.proxy.as_ref().map(ToString::to_string),
            ca_file: provider.ca_file.clone(),
            connect: provider.patience.connect,
        };
        let made = self.made.lock().unwrap_or_else(PoisonError::into_inner).get(&route).cloned();
        if let Some(client) = made {
            return Ok(client);
        }
        let own = route.clone();
        // Reads certificates.
        let client = tokio::task::spawn_blocking(move || own.build());
        let broken = |_| InferenceError::Client("its maker broke off".to_owned());
        let client = client.await.map_err(broken)??;
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if made.len() >= MAX_CLIENTS {
            made.clear();
        }
        made.insert(route, client.clone());
        Ok(client)
    }
}

impl ClientRoute {
    fn build(&self) -> Result<Client, InferenceError> {
        let fault = |error: reqwest::Error| InferenceError::Client(root_cause(&error));
        let mut builder = Client::builder()
            .user_agent(USER_AGENT)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .connect_timeout(self.connect)
            .pool_max_idle_per_host(MAX_IDLE_CONNECTIONS);
        builder = match self.is_encrypted {
            true => {
                // Another part of the process may have chosen before; any choice will do.
                let _ = ring::default_provider().install_default();
                self.with_authorities(builder.https_only(true))?
            }
            false => builder.tls_backend_preconfigured(trusting_nobody()?),
        };
        if let Some(proxy) = &self.proxy {
            builder = builder.proxy(Proxy::all(proxy).map_err(fault)?);
        }
        builder.build().map_err(fault)
    }

    fn with_authorities(&self, builder: ClientBuilder) -> Result<ClientBuilder, InferenceError> {
        let Some(path) = &self.ca_file else { return Ok(builder) };
        let fault = |why: String| InferenceError::Client(format!("`{path}` {why}"));
        let whole = match path.strip_prefix("~/") {
            Some(rest) => PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(rest),
            None => PathBuf::from(path),
        };
        let facts =
            std::fs::metadata(&whole).map_err(|error| fault(format!("cannot be read: {error}")))?;
        if !facts.is_file() || facts.len() > MAX_CA_FILE_BYTES {
            return Err(fault("is no file of certificates".to_owned()));
        }
        let pem =
            std::fs::read(&whole).map_err(|error| fault(format!("cannot be read: {error}")))?;
        let all = Certificate::from_pem_bundle(&pem).ok().filter(|all| !all.is_empty());
        let all = all.ok_or_else(|| fault("has no certificates".to_owned()))?;
        Ok(builder.tls_certs_merge(all))
    }
}

/// TLS that no server satisfies.
fn trusting_nobody() -> Result<ClientConfig, InferenceError> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| InferenceError::Client(error.to_string()))?;
    Ok(builder.with_root_certificates(RootCertStore::empty()).with_no_client_auth())
}

/// The innermost reason of an error: those around it repeat the address.
pub(crate) fn root_cause(error: &dyn std::error::Error) -> String {
    let mut inner = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    inner.to_string()
}
