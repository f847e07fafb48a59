//! A hint for people whose program speaks another protocol to our port.

/// First bytes of other protocols, and what to say about them.
const OTHERS: [(&[u8], &str); 10] = [
    (b"GET ", HTTP),
    (b"POST ", HTTP),
    (b"PUT ", HTTP),
    (b"HEAD ", HTTP),
    (b"OPTIONS ", HTTP),
    (b"DELETE ", HTTP),
    (b"PATCH ", HTTP),
    (b"CONNECT ", HTTP),
    (b"PRI * HTTP", HTTP),
    (b"SSH-", "this looks like SSH, and this port speaks frames of S-expressions"),
];

const HTTP: &str = "this looks like HTTP, and this port speaks frames of S-expressions";
const TLS: &str = "this looks like TLS, and this port speaks frames without it";

/// Returns a hint when `input` begins like a protocol that is often sent to a wrong port.
pub(super) fn other_protocol(input: &[u8]) -> Option<&'static str> {
    // A TLS record: type handshake, then version 3.x.
    if let [0x16, 0x03, ..] = input {
        return Some(TLS);
    }
    OTHERS.iter().find(|(start, _)| input.starts_with(start)).map(|(_, hint)| *hint)
}

#[cfg(test)]
mod tests {
    use super::{HTTP, TLS, other_protocol};

    #[test]
    fn common_strangers_are_recognized() {
        assert_eq!(other_protocol(b"GET / HTTP/1.1\r\n"), Some(HTTP));
        assert_eq!(other_protocol(b"PRI * HTTP/2.0\r\n"), Some(HTTP));
        assert_eq!(other_protocol(&[0x16, 0x03, 0x01, 0x02]), Some(TLS));
        assert!(other_protocol(b"SSH-2.0-x").is_some_and(|hint| hint.contains("SSH")));
    }

    #[test]
    fn everything_else_is_left_unguessed() {
        for bytes in [&b"hello"[..], b"", b"G", &[0x16], b"00001x"] {
            assert_eq!(other_protocol(bytes), None, "{bytes:?}");
        }
    }
}
