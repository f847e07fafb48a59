//! A request over HTTP, before it is bytes.

use super::url::TargetUrl;

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedRequest {
    /// Method.
    pub method: String,
    /// Target.
    pub path: String,
    /// Names and values, in order.
    pub headers: Vec<(String, String)>,
    /// Body; its length is announced unless a header says how it is sent.
    pub body: Vec<u8>,
    /// Whether the connection is wanted afterwards.
    pub is_kept: bool,
}

impl AskedRequest {
    /// A request without a body.
    pub fn new(method: &str, path: &str) -> AskedRequest {
        let (method, path) = (method.to_owned(), path.to_owned());
        AskedRequest { method, path, headers: Vec::new(), body: Vec::new(), is_kept: false }
    }

    /// Sets a header, in place of one of the same name.
    pub fn set(&mut self, name: &str, value: &str) {
        self.unset(name);
        self.headers.push((name.to_owned(), value.to_owned()));
    }

    /// Takes a header away.
    pub fn unset(&mut self, name: &str) {
        self.headers.retain(|(key, _)| !key.eq_ignore_ascii_case(name));
    }

    /// Adds a header.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> AskedRequest {
        self.set(name, value);
        self
    }

    /// Sends the request on a connection that stays.
    #[must_use]
    pub fn kept(mut self) -> AskedRequest {
        self.is_kept = true;
        self
    }

    /// As it goes over the wire.
    pub fn bytes(&self, url: &TargetUrl) -> Vec<u8> {
        let has = |name: &str| self.headers.iter().any(|(key, _)| key.eq_ignore_ascii_case(name));
        let mut text = format!("{} {} HTTP/1.1\r\n", self.method, self.path);
        if !has("host") {
            text.push_str(&format!("Host: {}\r\n", url.authority()));
        }
        for (name, value) in &self.headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        let has_body = !self.body.is_empty() || self.method == "POST" || self.method == "PUT";
        if has_body && !has("content-length") && !has("transfer-encoding") {
            text.push_str(&format!("Content-Length: {}\r\n", self.body.len()));
        }
        if !self.is_kept && !has("connection") {
            text.push_str("Connection: close\r\n");
        }
        text.push_str("\r\n");
        let mut bytes = text.into_bytes();
        bytes.extend_from_slice(&self.body);
        bytes
    }

    /// For notes: what a credential is stays out of reports.
    pub fn shown(&self) -> String {
        let mut text = format!("{} {}\n", self.method, self.path);
        for (name, value) in &self.headers {
            let is_secret = name.eq_ignore_ascii_case("authorization");
            text.push_str(&format!("{name}: {}\n", if is_secret { "(not shown)" } else { value }));
        }
        text.push('\n');
        text.push_str(&String::from_utf8_lossy(&self.body));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::AskedRequest;

    #[test]
    fn a_request_is_bytes_and_its_notes_hold_no_credential() {
        let url = "http://h:81/x".parse().unwrap();
        let mut asked = AskedRequest::new("POST", "/x").with("Authorization", "Bearer s3cret");
        asked.body = b"{}".to_vec();
        let bytes = String::from_utf8(asked.bytes(&url)).unwrap();
        assert_eq!(
            bytes,
            "POST /x HTTP/1.1\r\nHost: h:81\r\nAuthorization: Bearer s3cret\r\nContent-Length: 2\r\n\
             Connection: close\r\n\r\n{}"
        );
        assert!(!asked.shown().contains("s3cret"));
    }
}
