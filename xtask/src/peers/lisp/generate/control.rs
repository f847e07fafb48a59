//! Control: bindings, functions, exits, conditions, definitions.
//!
//! long: a table of forms.

use super::{ProgramMaker, TYPES, ValueType};

impl ProgramMaker {
    /// A form that gives what an expression inside it gives.
    pub(super) fn control(&mut self, kind: ValueType, depth: u32) -> String {
        let depth = depth - 1;
        match self.random.below(20) {
            0..=3 => self.let_form(kind, depth),
            4..=5 => {
                let test = self.expression(ValueType::Boolean, depth);
                let (yes, no) = (self.expression(kind, depth), self.expression(kind, depth));
                format!("(if {test} {yes} {no})")
            }
            6 => self.flet_form(kind, depth),
            7 => {
                let (one, two) = (self.expression(kind, depth), self.expression(kind, depth));
                let test = self.expression(ValueType::Boolean, depth);
                let name = self.fresh_name("b");
                format!("(block {name} (when {test} (return-from {name} {one})) {two})")
            }
            8 => {
                let (one, two) = (self.expression(kind, depth), self.expression(kind, depth));
                let test = self.expression(ValueType::Boolean, depth);
                let (throw, catch) = (*self.pick(&["'k", "'j"]), *self.pick(&["'k", "'k", "'j"]));
                format!("(catch {catch} (if {test} (throw {throw} {one}) {two}))")
            }
            9 => {
                let one = self.expression(kind, depth);
                let two = self.expression(ValueType::Any, depth);
                format!("(unwind-protect {one} (princ {two}))")
            }
            10..=12 => self.handler_form(kind, depth),
            13 => {
                let clause = self.expression(ValueType::Boolean, depth);
                let (one, two) = (self.expression(kind, depth), self.expression(kind, depth));
                format!("(cond ({clause} {one}) (t {two}))")
            }
            14 => {
                let one = self.expression(kind, depth);
                let two = self.expression(ValueType::Any, depth);
                format!("(prog1 {one} (prin1 {two}))")
            }
            15 => {
                let one = self.expression(kind, depth);
                let two = self.expression(ValueType::Any, depth);
                format!("(progn (print {two}) {one})")
            }
            16 => self.closure_form(kind, depth),
            17 => {
                let (one, two) = (self.expression(kind, depth), self.expression(kind, depth));
                let count = self.random.below(4);
                format!(
                    "(let ((n 0) (v {one})) (tagbody top (if (>= n {count}) (go end)) (incf n) (setq v {two}) (go top) end) v)"
                )
            }
            18 => {
                let one = self.expression(kind, depth);
                let two = self.expression(kind, depth);
                let name = self.fresh_name("m");
                format!(
                    "(macrolet (({name} (x &optional (y 1)) `(let ((z ,x)) (list z ,y) z))) (if ({name} {one} 2) ({name} {two}) ({name} {one})))"
                )
            }
            _ => {
                let one = self.expression(kind, depth);
                let number = self.expression(ValueType::Integer, depth);
                let name = format!("*s{}*", self.number % 50);
                format!("(progn (defvar {name} 0) (let (({name} {number})) (list {name}) {one}))")
            }
        }
    }

    fn let_form(&mut self, kind: ValueType, depth: u32) -> String {
        let count = 1 + self.random.below(3);
        let mut variables = Vec::new();
        let mut bindings = Vec::new();
        for _ in 0..count {
            let of = *self.pick(TYPES);
            let value = self.expression(of, depth);
            let name = self.fresh_name("v");
            bindings.push(format!("({name} {value})"));
            variables.push((name, of));
        }
        let mut body = String::new();
        if self.random.chance(35) {
            let (name, of) = self.pick(&variables).clone();
            let before = self.variables.len();
            self.variables.extend_from_slice(&variables);
            let value = self.expression(of, depth);
            self.variables.truncate(before);
            body = match of {
                ValueType::Integer if self.random.chance(60) => {
                    let operation = *self.pick(&["incf", "decf"]);
                    format!("({operation} {name} {value}) ")
                }
                ValueType::Integers | ValueType::List if self.random.chance(60) => {
                    let call = *self.pick(&[
                        "(push V N)",
                        "(pop N)",
                        "(setf (car N) V)",
                        "(pushnew 1 N)",
                        "(setf (nth 1 N) V)",
                        "(rotatef (first N) (second N))",
                    ]);
                    format!("{} ", call.replace('N', &name).replace('V', &value))
                }
                _ => format!("(setq {name} {value}) "),
            };
        }
        let form = self.with_variables(&variables, kind, depth);
        let word = *self.pick(&["let", "let*"]);
        format!("({word} ({}) {body}{form})", bindings.join(" "))
    }

    fn flet_form(&mut self, kind: ValueType, depth: u32) -> String {
        let name = self.fresh_name("f");
        let of = *self.pick(TYPES);
        let parameter = self.fresh_name("p");
        let body = self.with_variables(&[(parameter.clone(), of)], kind, depth);
        if self.random.chance(30) {
            let limit = self.random.below(5);
            let result = self.expression(kind, depth);
            return format!(
                "(labels (({name} (n acc) (if (<= n 0) acc ({name} (1- n) {result})))) ({name} {limit} {result}))"
            );
        }
        let word = *self.pick(&["flet", "labels"]);
        let list = match self.random.below(4) {
            0 => format!("(&optional ({parameter} {}))", self.leaf(of)),
            _ => format!("({parameter})"),
        };
        self.functions.push((name.clone(), vec![of], kind));
        let form = self.expression(kind, depth);
        self.functions.pop();
        format!("({word} (({name} {list} {body})) {form})")
    }

    fn closure_form(&mut self, kind: ValueType, depth: u32) -> String {
        let one = self.expression(kind, depth);
        let name = self.fresh_name("c");
        let variable = self.fresh_name("v");
        let body = self.with_variables(&[(variable.clone(), kind)], kind, depth);
        match self.random.below(3) {
            0 => format!(
                "(let* (({variable} {one}) ({name} (lambda () (setq {variable} {body}) {variable}))) (funcall {name}) (funcall {name}))"
            ),
            1 => format!(
                "(funcall (lambda (&rest r) (apply (lambda ({variable} &rest s) (list s) {body}) r)) {one} 2)"
            ),
            _ => format!(
                "(let (({variable} {one}) (n 0)) (flet (({name} () (incf n) {variable})) (mapc (lambda (x) (list x) ({name})) (list 1 2)) (princ n) ({name})))"
            ),
        }
    }

    fn handler_form(&mut self, kind: ValueType, depth: u32) -> String {
        let one = self.expression(kind, depth);
        let two = self.expression(kind, depth);
        let class = *self.pick(&[
            "error",
            "type-error",
            "division-by-zero",
            "arithmetic-error",
            "simple-error",
            "condition",
            "program-error",
        ]);
        match self.random.below(7) {
            0..=1 => format!("(handler-case {one} ({class} () {two}))"),
            2 => format!(
                "(handler-case (progn (error \"boom ~a\" 1) {one}) ({class} (c) (princ (typep c 'simple-error)) {two}))"
            ),
            3 => format!(
                "(let ((n 0)) (handler-bind (({class} (lambda (c) (list c) (incf n)))) (prog1 (handler-case {one} (error () {two})) (princ n))))"
            ),
            4 => format!(
                "(multiple-value-bind (v c) (ignore-errors {one}) (princ (typep c 'error)) (or v {two}))"
            ),
            5 => format!(
                "(block h (handler-bind (({class} (lambda (c) (list c) (return-from h {two})))) {one}))"
            ),
            _ => format!(
                "(handler-case (unwind-protect (signal 'simple-condition :format-control \"x\") (princ 'u)) (simple-condition () {two}))"
            ),
        }
    }

    /// A global function, which calls itself in some programs.
    pub(super) fn define_function(&mut self) {
        let name = format!("fn{}", self.number);
        let of = *self.pick(TYPES);
        let result = *self.pick(TYPES);
        let body = self.with_variables(&[("p".to_owned(), of)], result, 3);
        let definition = match self.random.below(3) {
            0 => format!("(defun {name} (p &optional (q 1) &key (r q)) (list q r) {body})"),
            1 => format!("(defun {name} (p &rest q) (list q) {body})"),
            _ => format!("(defun {name} (p) {body})"),
        };
        self.definitions.push(definition);
        self.functions.push((name, vec![of], result));
    }

    pub(super) fn define_structure(&mut self) {
        let name = format!("st{}", self.number);
        let default = self.small_integer();
        self.definitions.push(format!("(defstruct {name} (x {default}) y)"));
        self.definitions.push(format!(
            "(defstruct ({name}b (:include {name}) (:constructor mk{name} (x z))) z)"
        ));
    }

    /// A structure's slots in a list, when the program has a structure.
    pub(super) fn structure_form(&mut self, depth: u32) -> String {
        let name = format!("st{}", self.number);
        if !self.definitions.iter().any(|form| form.contains(&format!("(defstruct {name} "))) {
            return self.call_of("list", &[ValueType::Any], depth);
        }
        let (one, two) =
            (self.expression(ValueType::Any, depth), self.expression(ValueType::Any, depth));
        match self.random.below(3) {
            0 => format!(
                "(let ((s (make-{name} :y {one}))) (setf ({name}-x s) {two}) (list ({name}-x s) ({name}-y s) ({name}-p s)))"
            ),
            1 => format!(
                "(let ((s (mk{name} {one} {two}))) (list ({name}-x s) ({name}b-z s) ({name}-p s) ({name}b-x (copy-{name}b s)) s))"
            ),
            _ => format!("(list (make-{name}) ({name}-y {one}))"),
        }
    }
}
