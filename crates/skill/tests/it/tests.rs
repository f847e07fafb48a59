//! The runner of a skill's own tests.

use bridle_skill::test_skill;

use crate::load;

const PROGRAM: &str = "(defskill sample
  (think (context)
    (let ((text (getf context :text)))
      (cond ((equal text \"fail\") (error \"as told\"))
            ((equal text \"log\") (bridle:result (bridle:act :log :action :log :text \"x\")))
            ((equal text \"count\") (format nil \"~a\" (bridle:save-state (1+ (or (bridle:state) 0)))))
            (t (format nil \"You said ~a.\" text)))))
  (decide (proposal context) (if (eq (getf proposal :action) :forget) (list :veto \"never\"))))
(defcommand shout (text) (string-upcase text))
(defun twice (x) (* 2 x))";

fn failures(tests: &str) -> Vec<String> {
    let skill = load(":CAPABILITIES: log/log\n", PROGRAM, tests).unwrap();
    let reports = test_skill(&skill);
    assert!(!reports.is_empty());
    reports.into_iter().filter_map(|report| report.failure).collect()
}

#[test]
fn examples_in_tables_and_forms_pass() {
    let tests = "
| prompt | answer        |
|--------+---------------|
| hello  | You said hello. |

| command     | contains |
| /shout ab c | AB C     |

| form      | value |
| (twice 4) | 8     |

#+begin_src lisp
;; Comments are read over.
(test \"logs\" :prompt \"log\" :results ((:outcome :done :value \"noted\"))
  :acts ((:log :action :log :text \"x\")) :answer \"noted\")
(test \"counts\" :prompt \"count\" :state 4 :saved 5 :answer \"5\")
(test \"fails\" :prompt \"fail\" :fails \"as told\")
(test \"vetoes\" :decide (:action :forget) :answer (:veto \"never\"))
(test \"passes\" :decide (:action :log) :answer nil)
(test \"a form\" :form \"(twice 'x)\" :fails \"TYPE-ERROR\")
#+end_src";
    assert_eq!(failures(tests), [""; 0]);
}

#[test]
fn what_fails_says_what_was_expected_and_what_came() {
    for (test, part) in [
        (":prompt \"a\" :answer \"b\"", "expected \"b\", got \"You said a.\""),
        (":prompt \"a\" :contains \"x\"", "expected text with `x`"),
        (":prompt \"log\" :answer \"x\"", "the test has no result for this action"),
        (":prompt \"a\" :acts ((:log))", "expected the actions ((:log)), got nil"),
        (":prompt \"a\" :saved 1", "saved nothing"),
        (":prompt \"a\" :fails \"x\"", "expected a failure with `x`"),
        (":prompt \"fail\" :answer 1", "SIMPLE-ERROR: as told"),
        (":tool \"none\" :answer 1", "has no tool `none`"),
        (":form (twice 4) :prints \"9\"", "expected 9, got 8"),
    ] {
        let tests = format!("#+begin_src lisp\n(test \"t\" {test})\n#+end_src");
        let failures = failures(&tests);
        assert_eq!(failures.len(), 1, "{test}");
        assert!(failures[0].contains(part), "{test}: {}", failures[0]);
    }
}

#[test]
fn an_action_without_its_capability_is_denied() {
    let tests = "#+begin_src lisp\n(test \"t\" :prompt \"log\" :results ((:outcome :done)) :fails \"no capability log/log\")\n#+end_src";
    let skill = load("", PROGRAM, tests).unwrap();
    assert_eq!(test_skill(&skill)[0].failure, None);
}
