//! The one table that says what an event's sensor does to its session.
//!
//! Read by `perceive`, by the thinkers that are built in, by the daemon for the size of a message and for buffers.
//! What fields a sensor has is the protocol's business; one that is not listed here makes a turn.

/// Effect of a sensor on the session that perceives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SensorClass {
    /// Words of a person, who expects an answer.
    Prompt,
    /// Command of a person, who expects an answer.
    Command,
    /// Place where the user is; makes no turn.
    Place,
    /// Place and contents of a buffer; makes no turn.
    Buffer,
    /// Stop of the current turn; makes none.
    Interrupt,
    /// Report of a tool; makes no turn.
    ToolReport,
    /// Sensor that nothing here knows: its turn is for skills.
    Other,
}

/// Every sensor that has an effect of its own, by its name.
const SENSOR_CLASSES: [(&str, SensorClass); 10] = [
    ("user-prompt", SensorClass::Prompt),
    ("user-input", SensorClass::Prompt),
    ("chat-message", SensorClass::Prompt),
    ("user-command", SensorClass::Command),
    ("focus", SensorClass::Place),
    ("point-update", SensorClass::Place),
    ("buffer-update", SensorClass::Buffer),
    ("interrupt", SensorClass::Interrupt),
    ("tool-output", SensorClass::ToolReport),
    ("tool-error", SensorClass::ToolReport),
];

impl SensorClass {
    /// Returns the class of the sensor whose name `is_named` accepts; names are in lower case.
    pub fn matching(is_named: impl Fn(&str) -> bool) -> SensorClass {
        let row = SENSOR_CLASSES.iter().find(|(name, _)| is_named(name));
        row.map_or(SensorClass::Other, |(_, class)| *class)
    }

    /// Tells whether an event of this class waits for a turn of its session.
    pub fn makes_turn(self) -> bool {
        match self {
            SensorClass::Prompt | SensorClass::Command | SensorClass::Other => true,
            SensorClass::Place
            | SensorClass::Buffer
            | SensorClass::Interrupt
            | SensorClass::ToolReport => false,
        }
    }

    /// Tells whether a person expects words in answer.
    pub fn expects_words(self) -> bool {
        matches!(self, SensorClass::Prompt | SensorClass::Command)
    }
}
