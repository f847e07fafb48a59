//! Skills that come with the program: the texts of the folder `skills`, for whoever copies them into a folder of Org
//! files. A copy is the user's own from then on.

/// A skill that comes with the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShippedSkill {
    /// Name of its file, without `.org`; also its id.
    pub name: &'static str,
    /// The text of its file.
    pub text: &'static str,
}

/// An entry of the list: the name, and the file of that name.
macro_rules! shipped {
    ($($name:literal),* $(,)?) => {
        &[$(ShippedSkill { name: $name, text: include_str!(concat!("../../../skills/", $name, ".org")) }),*]
    };
}

/// All of them, by name.
pub const SHIPPED_SKILLS: &[ShippedSkill] = shipped![
    "agenda",
    "capture",
    "chat-codec",
    "delivery",
    "foundry",
    "gardener",
    "gtd",
    "help",
    "protocol",
    "scribe",
    "search",
    "summary",
    "telegram",
];

impl ShippedSkill {
    /// The one of this name.
    pub fn find(name: &str) -> Option<Self> {
        SHIPPED_SKILLS.iter().find(|shipped| shipped.name == name).copied()
    }
}
