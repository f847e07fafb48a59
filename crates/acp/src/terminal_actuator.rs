//! The actuator for the editor's terminals, as a hello describes it to the daemon.

use bridle_sexp::Value;

/// Name of the actuator.
pub(crate) const TERMINAL_ACTUATOR: &str = "editor-terminal";

/// Word of its action.
pub(crate) const RUN: &str = "run";

/// Actions of the actuator, as a hello describes them.
pub(crate) fn actions() -> Value {
    let argument = |name: &str, shape: &str, about: &str, is_required: bool| {
        let mut pairs = vec![
            ("name", Value::keyword(name)),
            ("shape", Value::keyword(shape)),
            ("about", Value::str(about)),
        ];
        pairs.extend(is_required.then(|| ("required", Value::bool(true))));
        Value::plist(pairs)
    };
    let arguments = [
        argument("command", "text", "Program", true),
        argument("args", "texts", "Its arguments", false),
        argument("cwd", "text", "Absolute folder; that of the session unless said", false),
    ];
    let about = "Run a program in a terminal of the user's editor: not jailed, no undo.";
    Value::list([Value::plist([
        ("name", Value::keyword(RUN)),
        ("about", Value::str(about)),
        ("arguments", Value::list(arguments)),
    ])])
}
