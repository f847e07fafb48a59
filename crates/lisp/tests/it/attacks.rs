//! Programs that want everything: each is stopped by a limit or a condition, within small budgets,
//! and the instance goes on.

use bridle_lisp::{Instance, InstanceLimits, LimitKind, LispErrorKind};

use crate::{SMALL, evaluate};

fn stopped(text: &str, limits: &[LimitKind]) {
    stopped_within(SMALL.fuel, text, limits);
}

fn stopped_within(fuel: u64, text: &str, limits: &[LimitKind]) {
    let mut instance = Instance::new(InstanceLimits { fuel, ..SMALL });
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
        "(format nil \"~@{~:}\" \"\" 1)",
        "(progv '(*a*) '(1) (loop))",
    ] {
        match evaluate(text) {
            Err(error) => {
                assert_eq!(error.kind, LispErrorKind::Limit(LimitKind::Fuel), "{text}: {error}");
            }
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
fn numbers_of_many_digits_cost_what_they_take() {
    let fuel = &[LimitKind::Fuel, LimitKind::Heap];
    // A divisor of one needs no search, however long the other number.
    let text = "(integer-length (expt 3 100000))";
    assert_eq!(evaluate(text).unwrap(), "158497");
    let big = |form: &str| format!("(let ((n (expt 3 100000)) (m (expt 5 90000))) (loop {form}))");
    for form in [
        "(gcd n m)",
        "(lcm n m)",
        "(mod n m)",
        "(isqrt n)",
        "(< (/ n m) (/ m n))",
        "(= 0.5d0 (/ n m))",
        "(princ-to-string n)",
        "(princ-to-string (/ n 7))",
        "(evenp n)",
        "(logand n m)",
        "(eql n m)",
        "(equal (list n) (list m))",
        "(equalp n m)",
        "(member n (list m m m))",
        "(float (/ n m) 1d0)",
    ] {
        stopped_within(1_000_000, &big(form), fuel);
    }
    let table = |test: &str| {
        format!(
            "(let ((h (make-hash-table :test '{test})) (n (expt 3 50000))) (loop (gethash (make-list 900 :initial-element n) h)))"
        )
    };
    stopped_within(300_000, &table("equal"), fuel);
    stopped_within(300_000, &table("equalp"), fuel);
}

#[test]
fn long_texts_cost_what_they_take() {
    let fuel = &[LimitKind::Fuel, LimitKind::Heap];
    let text = |form: &str| {
        format!(
            "(let ((s (make-string 500000 :initial-element #\\a)) (u (make-string 500000 :initial-element #\\a))) (loop {form}))"
        )
    };
    for form in [
        "(string= s u)",
        "(string-equal s u)",
        "(equalp s u)",
        "(string-trim u s)",
        "(search \"aab\" s)",
        "(bridle:regex-find-all \".*b|a\" s)",
        "(bridle:regex-split \".*b|a\" s)",
        "(bridle:regex-replace-all \"a\" s u)",
        "(bridle:sha256 s)",
    ] {
        stopped_within(300_000, &text(form), fuel);
    }
    stopped_within(
        300_000,
        "(loop for i from 1 do (bridle:regex-match (format nil \"\\\\w{9}~d\" i) \"a\"))",
        fuel,
    );
}

#[test]
fn conditions_inside_conditions_cost_no_stack_of_the_host() {
    let depth = &[LimitKind::Depth];
    let nested = |control: &str, arguments: &str| {
        format!(
            "(let ((c nil)) (dotimes (i 30000) (setq c (make-condition 'simple-error :format-control \"{control}\" :format-arguments {arguments}))) (princ-to-string c))"
        )
    };
    stopped(&nested("~a", "(list c)"), depth);
    stopped(&nested("~{~{~?~}~}", "(list (list (list \"~a\" (list c))))"), depth);
    stopped("(let ((a (list \"~?\" nil))) (setf (cadr a) a) (format nil \"~?\" \"~?\" a))", depth);
}

#[test]
fn a_host_is_not_handed_more_than_the_heap_holds() {
    for (text, limit) in [
        ("(let ((s (make-string 1000000))) (make-list 1000 :initial-element s))", LimitKind::Heap),
        ("(let ((x 1)) (dotimes (i 40) (setq x (list x x))) x)", LimitKind::Heap),
        ("(let ((n (expt 3 100000))) (make-list 1000 :initial-element n))", LimitKind::Fuel),
        ("(let ((l (list 1))) (setf (cdr l) l) l)", LimitKind::Heap),
        ("(let ((l (list 1))) (setf (car l) l) l)", LimitKind::Depth),
    ] {
        let mut instance = Instance::new(SMALL);
        instance.load(&format!("(defun bomb () {text})"), "attack").unwrap();
        let bomb = instance.function("BOMB").unwrap();
        let error = instance.call(bomb, &[]).unwrap_err();
        assert_eq!(error.kind, LispErrorKind::Limit(limit), "{text}: {error}");
    }
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
    let deep = |wrap: &str, last: &str| {
        format!("(let ((x 'y)) (dotimes (i 30000) (setq x {wrap})) {last})")
    };
    for expansion in [
        deep("(list 'list x)", "x"),
        deep("(list 'progn x)", "x"),
        deep("(list 'let nil x)", "x"),
        deep("(list x)", "(list 'destructuring-bind x nil 1)"),
    ] {
        stopped(&format!("(defmacro m () {expansion}) (m)"), &[LimitKind::Depth]);
        stopped(&format!("(macrolet ((m () {expansion})) (list (m)))"), &[LimitKind::Depth]);
    }
    for circle in [
        "(list 'list 1)",
        "(list 'progn 1)",
        "(list 'let nil)",
        "(list 'destructuring-bind '(a) nil)",
    ] {
        stopped(
            &format!("(defmacro m () (let ((x {circle})) (setf (cddr x) x) x)) (m)"),
            &[LimitKind::Fuel, LimitKind::Heap, LimitKind::Depth],
        );
    }
    stopped(
        "(defmacro m () (let ((x (list 'a))) (setf (cdr x) x) (list 'destructuring-bind x nil 1))) (m)",
        &[LimitKind::Fuel, LimitKind::Heap],
    );
}

#[test]
fn reading_and_formatting_bombs_are_stopped() {
    let heap = &[LimitKind::Heap, LimitKind::Fuel];
    stopped("(format nil \"~{~a~:*~}\" '(1))", heap);
    stopped("(format nil \"~1000000000a\" 1)", heap);
    stopped("(format nil \"~1000000000f\" 1.5)", heap);
    stopped("(format nil \"~,,1000000000$\" 1.5)", heap);
    stopped("(format nil \"~1000000000@t\")", heap);
    stopped("(format nil \"~1000000000,,,,'xf\" 1.5)", heap);
    stopped("(loop for i from 1 do (format nil \"~1200f\" 1d-300))", heap);
    stopped("(dpb 1 (byte 1 100000000000) 0)", heap);
    stopped("(make-sequence 'vector 100000000)", heap);
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
