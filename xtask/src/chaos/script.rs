//! What the scripted thinker does in a schedule: one rule for each [`SayingKind`] of saying, and what becomes
//! of it when an effect has its outcome or was refused.
//!
//! [`SayingKind`]: super::shell::SayingKind

/// The file inside the state directory to which each counted effect adds a line.
pub(crate) const TALLY: &str = "tally";

/// The rules. `$1` is what makes a saying unique.
pub(crate) const RULES: &str = r#"
(rule :when "* *" :rejected t :say "refused: $1 $2")
(rule :when "* *" :result t :say "then: $1 $2")
(rule :when "echo *" :say "echo: $1")
(rule :when "slow *" :delay 10 :pace 4 :stream ("slow: " "one, " "two, " "$1"))
(rule :when "tally *"
 :propose ((:target :tally :action :tally :file "tally" :key "$1")
           (:action :message :text "tally: $1")))
(rule :when "chain *"
 :propose ((:target :tally :action :tally :file "tally" :key "$1" :then-think t)))
(rule :when "pair *" :delay 3
 :propose ((:target :tally :action :tally :file "tally" :key "$1 a")
           (:target :tally :action :tally :file "tally" :key "$1 b")
           (:action :message :text "pair: $1")))
(rule :when "fail *" :delay 2 :error "as it was asked to")
(rule :when "ring *"
 :propose ((:target :bell :action :message :text "$1" :then-think t)))
(default :say "nothing fits")
"#;
