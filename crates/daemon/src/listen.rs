//! Places where peers arrive: TCP, a Unix socket, standard input and output.
//!
//! `run` binds all of them before it says that it is ready, then gives each
//! its own accept loop. The faces, `oacp` and `http`, serve what arrives.

mod accept;
mod stdio;
mod tcp;
mod unix;

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

pub(crate) use accept::accept_each;
pub(crate) use stdio::StdioStreams;
pub(crate) use tcp::{bind as bind_tcp, bind_http, prepare as prepare_tcp};
pub(crate) use unix::{SocketFile, admits, bind as bind_unix, peer_uid};

/// Connections that the kernel keeps for us until we accept them. A thousand peers that
/// connect at once must all be served; the kernel caps it at its own `somaxconn`.
const BACKLOG: u32 = 4096;

/// Addresses of a daemon that listens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BoundAddresses {
    /// The TCP address, with the port that the system chose if 0 was asked for.
    pub tcp: Option<SocketAddr>,
    /// The address of HTTP, likewise.
    pub http: Option<SocketAddr>,
    /// The address for pairing alone, likewise.
    pub pair_alias: Option<SocketAddr>,
    /// Path of the Unix socket.
    pub unix: Option<PathBuf>,
    /// Path of the Unix socket that serves HTTP.
    pub http_unix: Option<PathBuf>,
    /// Whether standard input and output are served.
    pub stdio: bool,
    /// Whether lines are served there instead.
    pub stdio_json: bool,
}

impl fmt::Display for BoundAddresses {
    /// Writes `tcp=ADDR http=ADDR pair=ADDR unix=PATH http-unix=PATH stdio stdio-json`, only what is
    /// there.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut blank = "";
        if let Some(addr) = self.tcp {
            write!(f, "tcp={addr}")?;
            blank = " ";
        }
        if let Some(addr) = self.http {
            write!(f, "{blank}http={addr}")?;
            blank = " ";
        }
        if let Some(addr) = self.pair_alias {
            write!(f, "{blank}pair={addr}")?;
            blank = " ";
        }
        if let Some(path) = &self.unix {
            write!(f, "{blank}unix={}", path.display())?;
            blank = " ";
        }
        if let Some(path) = &self.http_unix {
            write!(f, "{blank}http-unix={}", path.display())?;
            blank = " ";
        }
        if self.stdio {
            write!(f, "{blank}stdio")?;
            blank = " ";
        }
        if self.stdio_json {
            write!(f, "{blank}stdio-json")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::BoundAddresses;

    #[test]
    fn bound_addresses_are_one_line() {
        let bound = BoundAddresses {
            tcp: Some("127.0.0.1:9105".parse().unwrap()),
            http: Some("127.0.0.1:8788".parse().unwrap()),
            pair_alias: Some("127.0.0.1:8790".parse().unwrap()),
            unix: Some("/run/b.sock".into()),
            http_unix: Some("/run/b.http".into()),
            stdio: true,
            stdio_json: true,
        };
        assert_eq!(
            bound.to_string(),
            "tcp=127.0.0.1:9105 http=127.0.0.1:8788 pair=127.0.0.1:8790 unix=/run/b.sock \
             http-unix=/run/b.http stdio stdio-json"
        );
        assert_eq!(
            BoundAddresses { stdio: true, ..BoundAddresses::default() }.to_string(),
            "stdio"
        );
    }
}
