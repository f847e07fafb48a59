//! What a token is limited to: a small closed set, and what each of it means for the guard.

use std::fmt;

use bridle_loop::Access;

/// One thing that a token is good for. Whoever holds any of them may see the owner's sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Scope {
    /// See sessions and what happens in them.
    Observe = 1,
    /// Say and ask something in them, too.
    Talk = 2,
    /// Answer their questions, too.
    Approve = 4,
    /// All of it, and what only an owner may: forgetting, forking, installing policies.
    Admin = 8,
}

impl Scope {
    /// Every scope, from the least to the most.
    pub const ALL: [Scope; 4] = [Scope::Observe, Scope::Talk, Scope::Approve, Scope::Admin];

    /// Reads a scope; `None` if there is none of this name.
    pub fn parse(name: &str) -> Option<Scope> {
        Scope::ALL.into_iter().find(|scope| scope.name() == name)
    }

    /// The name, as on the command line and in the file.
    pub fn name(self) -> &'static str {
        match self {
            Scope::Observe => "observe",
            Scope::Talk => "talk",
            Scope::Approve => "approve",
            Scope::Admin => "admin",
        }
    }

    /// Tells whether the guard may be asked this for whoever holds the scope.
    fn permits(self, access: Access) -> bool {
        match access {
            Access::Attach | Access::Observe => true,
            Access::Control | Access::Recall => matches!(self, Scope::Talk | Scope::Admin),
            Access::Approve => matches!(self, Scope::Approve | Scope::Admin),
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of scopes.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Scopes(u8);

impl Scopes {
    /// Tells whether there is none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Tells whether this one is among them.
    pub fn contains(self, scope: Scope) -> bool {
        self.0 & scope as u8 != 0
    }

    /// Tells whether the guard may be asked this for whoever holds them. What it answers is
    /// another matter.
    pub fn permits(self, access: Access) -> bool {
        self.iter().any(|scope| scope.permits(access))
    }

    /// Tells whether whoever holds them may ask for what only an owner may.
    pub fn administers(self) -> bool {
        self.contains(Scope::Admin)
    }

    /// The scopes, from the least to the most.
    pub fn iter(self) -> impl Iterator<Item = Scope> {
        Scope::ALL.into_iter().filter(move |scope| self.contains(*scope))
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<I: IntoIterator<Item = Scope>>(scopes: I) -> Scopes {
        Scopes(scopes.into_iter().fold(0, |set, scope| set | scope as u8))
    }
}

impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, scope) in self.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma}{scope}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scopes({self})")
    }
}
