//! What the scripted thinker does in a schedule: one rule for each [`SayingKind`] of saying, and what becomes
//! of it when an effect has its outcome or was refused.
//!
//! [`SayingKind`]: super::shell::SayingKind

/// The file inside the state directory to which each counted effect adds a line.
pub(crate) const TALLY: &str = "tally";

/// The rules. `$1` is what makes a saying unique. A long turn has thirty calls in three rounds.
pub(crate) const RULES: &str = r#"
(rule :when "long *" :depth 0 :pace 2 :stream ("round " "one") :text "round one: $1"
 :propose ((:target :tally :action :tally :file "tally" :key "$1 0-0" :call "0-0")
           (:target :tally :action :tally :file "tally" :key "$1 0-1" :call "0-1")
           (:target :tally :action :tally :file "tally" :key "$1 0-2" :call "0-2")
           (:target :tally :action :tally :file "tally" :key "$1 0-3" :call "0-3")
           (:target :tally :action :tally :file "tally" :key "$1 0-4" :call "0-4")
           (:target :tally :action :tally :file "tally" :key "$1 0-5" :call "0-5")
           (:target :tally :action :tally :file "tally" :key "$1 0-6" :call "0-6")
           (:target :tally :action :tally :file "tally" :key "$1 0-7" :call "0-7")
           (:target :tally :action :tally :file "tally" :key "$1 0-8" :call "0-8")
           (:target :tally :action :tally :file "tally" :key "$1 0-9" :call "0-9")))
(rule :when "long *" :depth 1 :result t :text "round two: $1"
 :propose ((:target :tally :action :tally :file "tally" :key "$1 1-0" :call "1-0")
           (:target :tally :action :tally :file "tally" :key "$1 1-1" :call "1-1")
           (:target :tally :action :tally :file "tally" :key "$1 1-2" :call "1-2")
           (:target :tally :action :tally :file "tally" :key "$1 1-3" :call "1-3")
           (:target :tally :action :tally :file "tally" :key "$1 1-4" :call "1-4")
           (:target :tally :action :tally :file "tally" :key "$1 1-5" :call "1-5")
           (:target :tally :action :tally :file "tally" :key "$1 1-6" :call "1-6")
           (:target :tally :action :tally :file "tally" :key "$1 1-7" :call "1-7")
           (:target :tally :action :tally :file "tally" :key "$1 1-8" :call "1-8")
           (:target :tally :action :tally :file "tally" :key "$1 1-9" :call "1-9")))
(rule :when "long *" :depth 2 :result t :text "round three: $1"
 :propose ((:target :tally :action :tally :file "tally" :key "$1 2-0" :call "2-0")
           (:target :tally :action :tally :file "tally" :key "$1 2-1" :call "2-1")
           (:target :tally :action :tally :file "tally" :key "$1 2-2" :call "2-2")
           (:target :tally :action :tally :file "tally" :key "$1 2-3" :call "2-3")
           (:target :tally :action :tally :file "tally" :key "$1 2-4" :call "2-4")
           (:target :tally :action :tally :file "tally" :key "$1 2-5" :call "2-5")
           (:target :tally :action :tally :file "tally" :key "$1 2-6" :call "2-6")
           (:target :tally :action :tally :file "tally" :key "$1 2-7" :call "2-7")
           (:target :tally :action :tally :file "tally" :key "$1 2-8" :call "2-8")
           (:target :tally :action :tally :file "tally" :key "$1 2-9" :call "2-9")))
(rule :when "long *" :depth 3 :result t :say "long: $1")
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
