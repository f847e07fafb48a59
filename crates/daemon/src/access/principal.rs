//! Who is at the other end of a connection, and what that alone permits.
//!
//! A connection has one [`Principal`] for its whole life. `conversation` knows it from the way in, or has
//! `connection` look it up in the system's table of sockets; the engine asks it before a session is
//! shown or joined, and the record names it. What a principal may have *done* is not decided
//! here: every proposal goes through the loop's `decide`.

pub(crate) mod sockets;

use std::fmt;
use std::sync::Arc;

use crate::access::tls::CertificatePrincipal;
use bridle_host::Readership;
use bridle_loop::{ANONYMOUS, SessionAccess, SignalSender};

use crate::access::tokens::{TokenGrant, TokenId, TokenScopes};
use crate::numbered_names::numbered;

/// The uid that Linux shows for users it has no number for: `nobody`, or anyone of another user
/// namespace. It proves nothing, not even to a daemon that runs under it.
const OVERFLOW_UID: u32 = 65534;

/// The names under which time asks, in the session that it was told to.
const TIME: [&str; 2] = ["schedule", "heartbeat"];

/// Prefix of the name of a local program over HTTP.
const LOCAL_HTTP: &str = "local-http:";

/// Principal of a connection. Its textual form is the one in the record: `uid:1000`, `key:ID`,
/// `local-tcp:1000`, `local-http:1000`, `token:ID`, `cert:SHA256`, `anonymous`, `stdio`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Principal {
    /// A user on the Unix socket; others than the daemon's own and root are not let in.
    Uid(u32),
    /// Holder of a configured secret, by the id of the key.
    Key(Arc<str>),
    /// A program of the daemon's own user on loopback TCP without signatures. Less than the user
    /// itself: a web page in a browser is one, too.
    LocalTcp(u32),
    /// Program of this machine over HTTP without a token; many are web pages.
    LocalHttp(u32),
    /// Holder of a bearer token.
    Token(Arc<TokenBearer>),
    /// Holder of the key of a client certificate that was asked for.
    Certificate(CertificatePrincipal),
    /// Anybody.
    Anonymous,
    /// The process that started the daemon on its standard streams.
    Stdio,
}

/// Holder of a bearer token, and the token's rights.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct TokenBearer {
    id: TokenId,
    scopes: TokenScopes,
    /// Whether it acts for the user who started this daemon.
    for_owner: bool,
}

impl Principal {
    /// Returns the holder of a token, where the daemon runs as `own`.
    pub(crate) fn of_token(grant: TokenGrant, own: u32) -> Principal {
        let TokenGrant { id, owner, scopes } = grant;
        let for_owner = owner.as_str() == Principal::Uid(own).to_string();
        Principal::Token(Arc::new(TokenBearer { id, scopes, for_owner }))
    }

    /// Tells whether the policies may be asked this for it. What they say is another matter.
    pub(crate) fn permits(&self, access: SessionAccess) -> bool {
        match self {
            Principal::Token(bearer) => bearer.scopes.permits(access),
            Principal::Anonymous => false,
            _ => true,
        }
    }

    /// Returns the principal of an unsigned TCP connection whose socket is that of `uid`.
    pub(crate) fn of_socket(uid: Option<u32>, own: u32) -> Principal {
        match uid {
            Some(uid) if uid == own && uid != OVERFLOW_UID => Principal::LocalTcp(uid),
            _ => Principal::Anonymous,
        }
    }

    /// Returns the principal of an HTTP connection without a token.
    pub(crate) fn of_http_socket(uid: Option<u32>, own: u32) -> Principal {
        match Principal::of_socket(uid, own) {
            Principal::LocalTcp(uid) => Principal::LocalHttp(uid),
            other => other,
        }
    }

    /// The token that it holds, if it came in with one.
    pub(crate) fn token(&self) -> Option<&TokenId> {
        match self {
            Principal::Token(bearer) => Some(&bearer.id),
            _ => None,
        }
    }

    /// The name in the record.
    pub(crate) fn name(&self) -> Arc<str> {
        self.text().into()
    }

    /// Returns the name as a text in as much memory as it takes.
    pub(crate) fn text(&self) -> String {
        match self {
            Principal::LocalHttp(uid) => numbered(&[LOCAL_HTTP], (*uid).into()),
            other => other.to_string(),
        }
    }

    /// Tells whether it may ask for all that the owner of this daemon may, the user who started it.
    pub(crate) fn is_owner(&self) -> bool {
        match self {
            Principal::Token(bearer) => bearer.for_owner && bearer.scopes.administers(),
            other => other.is_for_owner(),
        }
    }

    /// Tells whether it acts for that owner, within what [`permits`](Principal::permits) says.
    fn is_for_owner(&self) -> bool {
        match self {
            Principal::Uid(_) | Principal::Key(_) | Principal::Stdio => true,
            Principal::Token(bearer) => bearer.for_owner,
            Principal::LocalTcp(_)
            | Principal::LocalHttp(_)
            | Principal::Certificate(_)
            | Principal::Anonymous => false,
        }
    }

    /// As the policies are told when they are asked for access to a session.
    pub(crate) fn asker(&self) -> SignalSender {
        SignalSender { owner: self.is_for_owner(), ..SignalSender::new(&self.text()) }
    }

    /// Readers of what is recorded in a session that `session_owner` began, while it is done for `asker`. Those of
    /// a session are its owner and the owners of the daemon; a token may have been given to a program that is not to
    /// see everything, so its session is the owner's alone only if it administers, and asks itself.
    pub(crate) fn readership(asker: &SignalSender, session_owner: &str) -> Readership {
        let is_of_owner = ["uid:", "key:"].iter().any(|way| session_owner.starts_with(way))
            || session_owner == "stdio";
        let is_time = TIME.contains(&&*asker.principal);
        let asks_itself = asker.owner && *asker.principal == *session_owner;
        match asks_itself || (is_of_owner && (asker.owner || is_time)) {
            true => Readership::Owners,
            false => Readership::Others,
        }
    }

    /// Tells whether a session that the principal named `began` began is the owner's alone.
    pub(crate) fn is_owners_alone(began: &str) -> bool {
        ["uid:", "key:", "token:"].iter().any(|way| began.starts_with(way)) || began == "stdio"
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Principal::Uid(uid) => write!(f, "uid:{uid}"),
            Principal::Key(id) => write!(f, "key:{id}"),
            Principal::LocalTcp(uid) => write!(f, "local-tcp:{uid}"),
            Principal::LocalHttp(uid) => write!(f, "{LOCAL_HTTP}{uid}"),
            Principal::Token(bearer) => write!(f, "token:{}", bearer.id),
            Principal::Certificate(certificate) => write!(f, "{certificate}"),
            Principal::Anonymous => f.write_str(ANONYMOUS),
            Principal::Stdio => f.write_str("stdio"),
        }
    }
}

#[cfg(test)]
mod tests {
    use bridle_host::Readership;
    use bridle_loop::SignalSender;

    use super::{OVERFLOW_UID, Principal};
    use crate::access::tokens::{TokenGrant, TokenId, TokenOwner, TokenScope};

    #[test]
    fn only_a_known_socket_of_the_own_user_is_local() {
        let check = |uid, own, name: &str| {
            assert_eq!(Principal::of_socket(uid, own).to_string(), name, "{uid:?} {own}");
        };
        check(Some(1000), 1000, "local-tcp:1000");
        check(Some(0), 0, "local-tcp:0");
        check(Some(1001), 1000, "anonymous");
        check(Some(0), 1000, "anonymous");
        check(None, 1000, "anonymous");
        check(Some(OVERFLOW_UID), OVERFLOW_UID, "anonymous");
    }

    #[test]
    fn a_name_is_its_textual_form() {
        for uid in [0, 1000, u32::MAX] {
            let all = [Principal::Uid(uid), Principal::LocalTcp(uid), Principal::LocalHttp(uid)];
            for who in all {
                assert_eq!(*who.name(), *who.to_string());
            }
        }
    }

    #[test]
    fn who_acts_for_the_owner() {
        let (user, key) = (Principal::Uid(1000), Principal::Key("laptop".into()));
        for who in [user, key, Principal::Stdio] {
            assert!(who.is_owner() && who.asker().owner, "{who}");
            assert!(Principal::is_owners_alone(&who.name()), "{who}");
        }
        for who in [Principal::LocalTcp(1000), Principal::LocalHttp(1000), Principal::Anonymous] {
            assert!(!who.is_owner() && !who.asker().owner, "{who}");
            assert!(!Principal::is_owners_alone(&who.name()), "{who}");
        }
    }

    #[test]
    fn only_owners_read_an_owners_session() {
        let check = |asker: &str, owner: bool, session: &str, expect: Readership| {
            let asker = SignalSender { owner, ..SignalSender::new(asker) };
            let readers = Principal::readership(&asker, session);
            assert_eq!(readers, expect, "{asker:?} in a session of {session}");
        };
        let (owners, others) = (Readership::Owners, Readership::Others);
        check("uid:1000", true, "uid:1000", owners);
        check("key:laptop", true, "uid:1000", owners);
        check("stdio", true, "stdio", owners);
        check("schedule", false, "uid:1000", owners);
        check("heartbeat", false, "key:laptop", owners);
        check("token:0123456789", true, "token:0123456789", owners);
        // Who may not administer does not see everything, and what it began is read by it.
        check("token:0123456789", false, "token:0123456789", others);
        check("token:0123456789", false, "uid:1000", others);
        check("schedule", false, "token:0123456789", others);
        check("uid:1000", true, "token:0123456789", others);
        check("uid:1000", true, "local-tcp:1000", others);
        check("schedule", false, "local-tcp:1000", others);
        check("local-tcp:1000", false, "local-tcp:1000", others);
        check("local-http:1000", false, "uid:1000", others);
        check("anonymous", false, "anonymous", others);
    }

    #[test]
    fn a_token_asks_for_its_owner_and_administers_only_where_it_may() {
        let check = |owner: &str, scope: TokenScope, asks: bool, administers: bool| {
            let id = TokenId::parse("0123456789").unwrap();
            let owner = TokenOwner::parse(owner).unwrap();
            let grant = TokenGrant { id, owner, scopes: [scope].into_iter().collect() };
            let who = Principal::of_token(grant, 1000);
            assert_eq!((who.asker().owner, who.is_owner()), (asks, administers), "{scope}");
        };
        check("uid:1000", TokenScope::Talk, true, false);
        check("uid:1000", TokenScope::Approve, true, false);
        check("uid:1000", TokenScope::Admin, true, true);
        check("uid:1001", TokenScope::Admin, false, false);
    }
}
