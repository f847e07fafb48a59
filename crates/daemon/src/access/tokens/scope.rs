//! What a token is limited to: a small closed set, and what each of it means for the guard.

use std::fmt;

use bridle_loop::SessionAccess;

/// One thing that a token is good for. Whoever holds any of them may see the owner's sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum TokenScope {
    /// See sessions and what happens in them.
    Observe = 1,
    /// Say and ask something in them, too.
    Talk = 2,
    /// Answer their questions, too.
    Approve = 4,
    /// All of it, and what only an owner may: forgetting, forking, installing policies.
    Admin = 8,
}

impl TokenScope {
    /// Every scope, from the least to the most.
    pub const ALL: [TokenScope; 4] =
        [TokenScope::Observe, TokenScope::Talk, TokenScope::Approve, TokenScope::Admin];

    /// Reads a scope; `None` if there is none of this name.
    pub fn parse(name: &str) -> Option<TokenScope> {
        TokenScope::ALL.into_iter().find(|scope| scope.name() == name)
    }

    /// The name, as on the command line and in the file.
    pub fn name(self) -> &'static str {
        match self {
            TokenScope::Observe => "observe",
            TokenScope::Talk => "talk",
            TokenScope::Approve => "approve",
            TokenScope::Admin => "admin",
        }
    }

    /// Tells whether the guard may be asked this for whoever holds the scope.
    fn permits(self, access: SessionAccess) -> bool {
        match access {
            SessionAccess::Attach | SessionAccess::Observe => true,
            SessionAccess::Control | SessionAccess::Recall => {
                matches!(self, TokenScope::Talk | TokenScope::Admin)
            }
            SessionAccess::Approve => matches!(self, TokenScope::Approve | TokenScope::Admin),
        }
    }
}

impl fmt::Display for TokenScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of scopes.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct TokenScopes(u8);

impl TokenScopes {
    /// Tells whether there is none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Tells whether this one is among them.
    pub fn contains(self, scope: TokenScope) -> bool {
        self.0 & scope as u8 != 0
    }

    /// Tells whether the guard may be asked this for whoever holds them. What it answers is
    /// another matter.
    pub fn permits(self, access: SessionAccess) -> bool {
        self.iter().any(|scope| scope.permits(access))
    }

    /// Tells whether whoever holds them may ask for what only an owner may.
    pub fn administers(self) -> bool {
        self.contains(TokenScope::Admin)
    }

    /// The scopes, from the least to the most.
    pub fn iter(self) -> impl Iterator<Item = TokenScope> {
        TokenScope::ALL.into_iter().filter(move |scope| self.contains(*scope))
    }
}

impl FromIterator<TokenScope> for TokenScopes {
    fn from_iter<I: IntoIterator<Item = TokenScope>>(scopes: I) -> TokenScopes {
        TokenScopes(scopes.into_iter().fold(0, |set, scope| set | scope as u8))
    }
}

impl fmt::Display for TokenScopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, scope) in self.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma}{scope}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for TokenScopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scopes({self})")
    }
}
