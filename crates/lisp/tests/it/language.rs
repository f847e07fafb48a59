//! The language as a host sees it: values, errors for people, calls, snapshots. What each function
//! does is compared with SBCL by `cargo xtask peers lisp`.

use bridle_lisp::{Instance, InstanceLimits, LispErrorKind};
use bridle_sexp::Value;

use crate::{SMALL, evaluate};

fn gives(text: &str, values: &str) {
    match evaluate(text) {
        Ok(shown) => assert_eq!(shown, values, "{text}"),
        Err(error) => panic!("{text}: {error}"),
    }
}

#[test]
fn forms_that_sbcl_answered() {
    // Answers of SBCL 2.2.9, kept here so that the tests need no SBCL.
    gives("(loop for x in '(1 2 3 4) when (evenp x) collect x else collect (- x))", "(-1 2 -3 4)");
    gives("(format nil \"~{~a~^, ~} ~:d ~,2f\" '(1 2) 1234567 3.14159)", "\"1, 2 1,234,567 3.14\"");
    gives("(multiple-value-list (floor -7 2))", "(-4 1)");
    gives("(handler-case (/ 1 0) (division-by-zero () :dz))", ":DZ");
    gives("(catch 'a (unwind-protect (throw 'a 1) (princ 2)))", "1");
    gives("(expt 2 100)", "1267650600228229401496703205376");
    gives("(list 1/2 0.1 1d0 1e10 1.0e-4)", "(1/2 0.1 1.0d0 1.0e10 1.0e-4)");
    gives("(defstruct p x (y 5)) (make-p :x 1)", "#S(P :X 1 :Y 5)");
    gives("`(1 ,(+ 1 1) ,@(list 3 4) . 5)", "(1 2 3 4 . 5)");
    gives("(sort (vector 3 1 2) #'<)", "#(1 2 3)");
}

#[test]
fn package_bridle() {
    gives("(bridle:json-decode \"{\\\"a\\\": [1, null, true, 2.5]}\")", "(:A #(1 :NULL T 2.5d0))");
    gives(
        "(bridle:json-encode '(:a #(1 :null t :false) :b \"x\\\"\"))",
        "\"{\\\"a\\\":[1,null,true,false],\\\"b\\\":\\\"x\\\\\\\"\\\"}\"",
    );
    gives("(bridle:regex-match \"(a+)(b)?\" \"xaac\")", "#(\"aa\" \"aa\" NIL)");
    gives("(bridle:base64-decode (bridle:base64-encode \"hällo\"))", "\"hällo\"");
    gives("(bridle:url-encode \"a b/c\")", "\"a%20b%2Fc\"");
    gives("(subseq (bridle:sha256 \"abc\") 0 8)", "\"ba7816bf\"");
    gives(
        "(bridle:civil-time 1700000000)",
        "(:YEAR 2023 :MONTH 11 :DAY 14 :HOUR 22 :MINUTE 13 :SECOND 20 :WEEKDAY 1)",
    );
    gives(
        "(mapcar #'bridle:org-type (bridle:org-collect :headline '(:type :org-data :contents ((:type :headline :contents ((:type :headline)))))))",
        "(:HEADLINE :HEADLINE)",
    );
}

#[test]
fn an_error_says_where_and_what_to_do() {
    let text = "(defun half (x)\n  (/ x 0))\n(defun twice (x)\n  (list (half x)))\n(twice 3)";
    let error = evaluate(text).unwrap_err();
    assert_eq!(error.kind, LispErrorKind::Condition("DIVISION-BY-ZERO".into()));
    let shown = error.to_string();
    assert!(shown.starts_with("test.lisp:2:3: DIVISION-BY-ZERO: "), "{shown}");
    assert!(shown.contains("in TWICE at test.lisp:4:9"), "{shown}");
    assert!(shown.contains("hint: "), "{shown}");
}

#[test]
fn a_host_calls_functions_with_data() {
    let mut instance = Instance::new(SMALL);
    instance
        .load("(defun total (plist) (list :sum (reduce #'+ (getf plist :items))))", "t")
        .unwrap();
    let function = instance.function("TOTAL").unwrap();
    let items = Value::list([Value::int(1), Value::int(2)]);
    let answer = instance.call(function, &[Value::plist([("items", items)])]).unwrap();
    assert_eq!(answer, Value::plist([("sum", Value::int(3))]));
    assert!(instance.function("NO-SUCH").is_none());
}

#[test]
fn instances_of_a_snapshot_do_not_share_values() {
    let mut instance = Instance::new(SMALL);
    instance.load("(defvar *n* (list 0)) (defun bump () (incf (car *n*)))", "t").unwrap();
    let snapshot = instance.snapshot();
    let (mut one, mut two) = (snapshot.instance(), snapshot.instance());
    let bump = one.function("BUMP").unwrap();
    assert_eq!(one.call(bump, &[]).unwrap(), Value::int(1));
    assert_eq!(one.call(bump, &[]).unwrap(), Value::int(2));
    assert_eq!(two.call(bump, &[]).unwrap(), Value::int(1));
}

#[test]
fn an_instance_can_move_to_another_thread() {
    fn is_send<T: Send>(_: &T) {}
    is_send(&Instance::new(InstanceLimits::default()));
}

#[test]
fn garbage_is_collected_while_a_program_runs() {
    // 20 times the heap limit in all.
    gives(
        "(let ((l nil)) (dotimes (i 100000) (setq l (list i i i i i i i i i i))) (car l))",
        "99999",
    );
    gives(
        "(let ((h (make-hash-table)) (s 0)) (dotimes (i 20000) (setf (gethash (mod i 100) h) (make-string 100)) (incf s)) (list s (hash-table-count h)))",
        "(20000 100)",
    );
}

#[test]
fn cleanups_run_for_a_condition_that_nobody_handles() {
    let mut instance = Instance::new(SMALL);
    let text = "(unwind-protect (progn (princ 1) (car 5)) (princ 2))";
    let error = instance.evaluate(text, "t", |_| {}).unwrap_err();
    assert_eq!(error.kind, LispErrorKind::Condition("TYPE-ERROR".into()));
    assert_eq!(instance.take_output(), "12");
    // A cleanup that leaves to a place that waits takes the program there.
    gives("(block b (unwind-protect (car 5) (return-from b 3)))", "3");
}

#[test]
fn a_text_is_looked_at_before_it_runs() {
    let mut instance = Instance::new(SMALL);
    let text = "(princ \"never\")\n(defmacro m (x) `(list ,x))\n(defun f () (m (open \"x\")))";
    let error = instance.load(text, "t").unwrap_err();
    assert_eq!(error.to_string(), "outside the subset: OPEN at t:3:16");
    assert_eq!(instance.take_output(), "");
    // What a macro can only tell when variables have values is left to the run.
    instance.load("(defvar *n* 2) (defmacro twice (x) `(* ,*n* ,x)) (twice 3)", "t").unwrap();
}
