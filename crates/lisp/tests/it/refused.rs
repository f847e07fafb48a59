//! What is outside the subset: refused with its name and place, never answered with a wrong value.
//! Escapes from the jail are such names, and names that nobody can spell.

use bridle_lisp::LispErrorKind;

use crate::evaluate;

fn refused(text: &str) -> String {
    match evaluate(text) {
        Err(error) if error.kind == LispErrorKind::Outside => error.to_string(),
        Err(error) => panic!("{text}: {error}"),
        Ok(values) => panic!("{text} gave {values}"),
    }
}

#[test]
fn the_place_is_named() {
    assert_eq!(refused("(list 1\n  (open \"x\"))"), "outside the subset: OPEN at test.lisp:2:3");
    assert_eq!(
        refused("sb-ext:run-program"),
        "outside the subset: SB-EXT:RUN-PROGRAM at test.lisp:1:19"
    );
}

#[test]
fn no_handler_sees_it() {
    refused("(ignore-errors (sqrt -4))");
    refused("(handler-case (funcall (intern \"OPEN\") \"x\") (t () 1))");
    refused("(handler-case (format nil (concatenate 'string \"~\" \"e\") 1.0) (error () 1))");
}

#[test]
fn escape_attempts_fail() {
    let names = "open close load eval compile compile-file require provide delete-file rename-file \
        probe-file directory ensure-directories-exist file-write-date truename machine-instance \
        software-type room dribble ed inspect break invoke-debugger disassemble trace step sleep \
        get-universal-time get-internal-real-time random make-random-state read read-line read-char \
        read-byte write-byte with-open-file y-or-n-p find-package make-package use-package import \
        export unexport shadow delete-package do-symbols defclass defmethod defgeneric make-instance \
        slot-value find-class change-class add-method class-of set-macro-character set-dispatch-macro-character \
        copy-readtable make-two-way-stream make-concatenated-stream make-broadcast-stream open-stream-p \
        function-lambda-expression lisp-implementation-version user-homedir-pathname merge-pathnames \
        make-pathname parse-namestring namestring proclaim unintern fmakunbound rename-package \
        compiler-macro-function load-logical-pathname-translations";
    let mut count = 0;
    for name in names.split_whitespace() {
        refused(&format!("({name} \"x\")"));
        count += 1;
    }
    for text in [
        "#.(+ 1 2)",
        "#+sbcl 1",
        "sb-sys:int-sap",
        "*features*",
        "*package*",
        "*readtable*",
        "(setq *package* 1)",
        "sys::%struct-set",
        "#p\"x\"",
        "(defun car (x) x)",
        "(flet ((car (x) x)) 1)",
        "(defmacro when (x) x)",
        "(defstruct error a)",
        "(in-package :sb-impl)",
        "(read-from-string \"#.(+ 1 2)\")",
        "(read-from-string \"sb-ext:quit\")",
    ] {
        refused(text);
        count += 1;
    }
    assert!(count >= 80, "{count} attempts");
}

#[test]
fn names_of_the_prelude_cannot_be_spelled() {
    // The same letters are another symbol, without a function.
    let error = evaluate("(%set-global 'pi 3)").unwrap_err();
    assert_eq!(error.kind, LispErrorKind::Condition("UNDEFINED-FUNCTION".into()));
    let error = evaluate("(funcall (intern \"%STRUCT-SET\") 1 2 3 4)").unwrap_err();
    assert_eq!(error.kind, LispErrorKind::Condition("UNDEFINED-FUNCTION".into()));
}
