//! Programs that want everything: each is stopped by a limit or a condition, within small budgets,
//! and the instance goes on.

use bridle_lisp::{Instance, LimitKind, LispErrorKind};

use crate::{SMALL, evaluate};

fn stopped(text: &str, limits: &[LimitKind]) {
    let mut instance = Instance::new(SMALL);
    match instance.load(text, "attack") {
        Err(error) => match error.kind {
            LispErrorKind::Limit(kind) if limits.contains(&kind) => {}
            _ => panic!("{text}: {error}"),
        },
        Ok(()) => panic!("{text} was not stopped"),
    }
    let mut shown = String::new();
    instance
        .evaluate("(+ 1 2)", "after", |values| shown = values.join(" "))
        .expect("the instance goes on");
    assert_eq!(shown, "3", "after {text}");
}

#[test]
fn loops_without_an_end() {
    for text in [
        "(loop)",
        "(labels ((f () (f))) (f))",
        "(let ((l (list 1))) (setf (cdr l) l) (length l))",
        "(let ((l (list 1))) (setf (cdr l) l) (equal l (list 1 2)) (member 5 l))",
        "(handler-bind ((error (lambda (e) (loop)))) (error \"x\"))",
        "(unwind-protect (loop) (loop))",
        "(block b (unwind-protect (return-from b 1) (loop)))",
        "(format nil \"~:@{~:}\" 1 2)",
    ] {
        match evaluate(text) {
            Err(error) => assert!(
                matches!(
                    error.kind,
                    LispErrorKind::Limit(LimitKind::Fuel) | LispErrorKind::Outside
                ),
                "{text}: {error}"
            ),
            Ok(value) => panic!("{text} gave {value}"),
        }
    }
}

#[test]
fn memory_bombs() {
    let heap = &[LimitKind::Heap, LimitKind::Fuel];
    stopped("(let ((l nil)) (loop (push l l)))", heap);
    stopped("(let ((s \"abcdefgh\")) (loop (setq s (concatenate 'string s s))))", heap);
    stopped("(let ((n 3)) (loop (setq n (* n n))))", heap);
    stopped("(let ((n 1/3)) (loop (setq n (+ (* n n) 1/7))))", heap);
    stopped("(expt 7 100000000)", heap);
    stopped("(ash 1 100000000000)", heap);
    stopped("(make-array 100000000)", heap);
    stopped("(make-string 100000000)", heap);
    stopped("(make-list 100000000)", heap);
    stopped("(let ((h (make-hash-table))) (dotimes (i 10000000) (setf (gethash i h) i)))", heap);
    stopped(
        "(let ((v (make-array 0 :adjustable t :fill-pointer 0))) (loop (vector-push-extend 1 v)))",
        heap,
    );
    stopped("(with-output-to-string (s) (loop (princ \"abcdefghijkl\" s)))", heap);
    stopped("(format nil \"~100000000d\" 1)", heap);
    stopped("(format nil \"~v%\" 1000000000)", heap);
    stopped("(let ((l (list 1))) (setf (cdr l) l) (princ-to-string l))", heap);
    stopped("(let ((l (list 1))) (setf (car l) l) (princ-to-string l))", heap);
    stopped("(let ((l (list 1))) (setf (cdr l) l) (append l l))", heap);
    stopped("(let ((l (list 1))) (setf (cdr l) l) (copy-list l))", heap);
    // Names are never freed: this instance is full for good.
    let error = evaluate("(loop (intern (princ-to-string (gensym))))").unwrap_err();
    assert_eq!(error.kind, LispErrorKind::Limit(LimitKind::Heap));
}

#[test]
fn depth_is_limited() {
    let depth = &[LimitKind::Depth];
    stopped("(labels ((f (n) (1+ (f n)))) (f 1))", depth);
    stopped("(defmacro m (x) `(m (,x))) (m 1)", depth);
    stopped(&"(".repeat(100_000), depth);
    stopped(&format!("{}x", "'".repeat(100_000)), depth);
    stopped(
        &format!("{}1{}", "(+ 1 ".repeat(390), ")".repeat(390))
            .replace("(+ 1 ", "(list (+ 1 ")
            .replace(')', "))"),
        depth,
    );
    stopped("(let ((x nil)) (dotimes (i 100000) (setq x (list x))) (copy-tree x))", depth);
}

#[test]
fn output_is_limited() {
    stopped("(loop (princ \"0123456789012345678901234567890123456789\"))", &[LimitKind::Output]);
}

#[test]
fn deep_data_is_dropped_printed_and_compared_without_the_hosts_stack() {
    let text = "(let ((x nil) (y nil)) (dotimes (i 100000) (setq x (list x) y (list y))) (list (equal x y) (length (prin1-to-string x))))";
    // 100,000 pairs of parentheses and the nil inside.
    assert_eq!(evaluate(text).unwrap(), "(T 200003)");
}

#[test]
fn patterns_and_hashes_cost_no_more_than_their_input() {
    let text = "(bridle:regex-match \"(a*)*b\" (make-string 20000 :initial-element #\\a))";
    assert_eq!(evaluate(text).unwrap(), "NIL");
    let text = "(handler-case (bridle:regex-match \"(a{1000}){1000}\" \"a\") (error () :refused))";
    assert_eq!(evaluate(text).unwrap(), ":REFUSED");
}

#[test]
fn a_program_on_a_small_thread_does_not_overflow_it() {
    let deep = format!("{}1{}", "(1+ ".repeat(300), ")".repeat(300));
    let builder = std::thread::Builder::new().stack_size(2 << 20);
    let thread = builder.spawn(move || evaluate(&deep).unwrap()).unwrap();
    assert_eq!(thread.join().unwrap(), "301");
}

#[test]
fn keys_that_want_to_collide_do_not() {
    // Multiples of a power of two, and strings that differ in one place: far below one step a key and table slot.
    let text = "(let ((h (make-hash-table)) (g (make-hash-table :test 'equal)))
        (dotimes (i 5000) (setf (gethash (ash i 40) h) i (gethash (list 0 0 0 (ash i 20)) g) i))
        (list (hash-table-count h) (hash-table-count g)))";
    assert_eq!(evaluate(text).unwrap(), "(5000 5000)");
}

#[test]
fn macros_that_grow_are_stopped() {
    stopped(
        "(defmacro grow (x) `(grow (,x ,x))) (grow 1)",
        &[LimitKind::Depth, LimitKind::Heap, LimitKind::Fuel],
    );
    stopped(
        "(defmacro wide (n) (if (= n 0) 1 `(+ (wide ,(1- n)) (wide ,(1- n))))) (wide 40)",
        &[LimitKind::Fuel, LimitKind::Heap, LimitKind::Depth],
    );
    stopped("(defmacro spin () (loop)) (spin)", &[LimitKind::Fuel]);
    stopped("(symbol-macrolet ((x (car x))) x)", &[LimitKind::Depth]);
}

#[test]
fn reading_and_formatting_bombs_are_stopped() {
    let heap = &[LimitKind::Heap, LimitKind::Fuel];
    stopped("(format nil \"~{~a~:*~}\" '(1))", heap);
    stopped("(format nil \"~1000000000a\" 1)", heap);
    stopped("(format nil \"~,,1000000000,a\" 1)", heap);
    stopped(
        "(let ((s \"()\")) (loop (setq s (concatenate 'string \"(\" s \")\")) (read-from-string s)))",
        &[LimitKind::Depth, LimitKind::Fuel, LimitKind::Heap],
    );
    stopped("(loop for i from 1 collect (princ-to-string (expt 3 (* i 1000))))", heap);
}

#[test]
fn cleanups_do_not_escape_limits() {
    stopped("(unwind-protect (error \"x\") (loop))", &[LimitKind::Fuel]);
    stopped(
        "(labels ((f () (unwind-protect (error \"x\") (f)))) (f))",
        &[LimitKind::Depth, LimitKind::Fuel],
    );
}
