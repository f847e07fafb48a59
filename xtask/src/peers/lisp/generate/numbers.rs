//! Integers, reals and truth values.
//!
//! long: tables of forms.

use super::{ProgramMaker, ValueType};

impl ProgramMaker {
    pub(super) fn small_integer(&mut self) -> String {
        let number = i64::try_from(self.random.below(20)).unwrap_or(0) - 6;
        number.to_string()
    }

    pub(super) fn integer_constant(&mut self) -> String {
        if self.random.chance(75) {
            return self.small_integer();
        }
        let large = [
            "100",
            "-1000",
            "4611686018427387903",
            "-4611686018427387904",
            "4611686018427387904",
            "123456789012345678901234567890",
            "65536",
            "255",
            "-1",
            "1000003",
        ];
        self.pick(&large).to_string()
    }

    pub(super) fn real_constant(&mut self) -> String {
        let constants = [
            "1/2", "-3/4", "7/3", "1.5", "-2.25", "0.5", "10.0", "2.5d0", "-1d0", "0.0", "3", "1d3",
        ];
        self.pick(&constants).to_string()
    }

    pub(super) fn integer(&mut self, depth: u32) -> String {
        let depth = depth - 1;
        match self.random.below(30) {
            0..=5 => {
                let name = *self.pick(&["+", "-", "*", "max", "min", "logand", "logior", "logxor"]);
                self.call_of(name, &[ValueType::Integer, ValueType::Integer], depth)
            }
            6 => {
                let name = *self.pick(&["+", "*", "gcd", "lcm", "max"]);
                let kinds = [ValueType::Integer; 3];
                self.call_of(name, &kinds, depth)
            }
            7..=8 => {
                let name = *self.pick(&["mod", "rem", "floor", "ceiling", "truncate", "round"]);
                let form = self.call_of(name, &[ValueType::Integer, ValueType::Integer], depth);
                format!("(values {form})")
            }
            9 => {
                let name = *self.pick(&["floor", "ceiling", "truncate", "round"]);
                let form = self.call_of(name, &[ValueType::Real], depth);
                format!("(nth-value {} {form})", self.random.below(2))
            }
            10 => {
                let name = *self.pick(&[
                    "1+",
                    "1-",
                    "abs",
                    "-",
                    "signum",
                    "integer-length",
                    "logcount",
                    "lognot",
                    "isqrt",
                ]);
                self.call_of(name, &[ValueType::Integer], depth)
            }
            11 => {
                let amount = i64::try_from(self.random.below(90)).unwrap_or(0) - 40;
                let form = self.expression(ValueType::Integer, depth);
                format!("(ash {form} {amount})")
            }
            12 => {
                let form = self.expression(ValueType::Integer, depth);
                format!("(expt {form} {})", self.random.below(6))
            }
            13 => self.call_of("length", &[ValueType::Text], depth),
            14 => self.call_of("length", &[ValueType::List], depth),
            15 => self.call_of("length", &[ValueType::Vector], depth),
            16 => self.call_of("char-code", &[ValueType::Character], depth),
            17 => {
                let form = self.expression(ValueType::Integers, depth);
                let name = *self.pick(&["first", "car", "second", "third"]);
                format!("(or ({name} {form}) 0)")
            }
            18 => {
                let form = self.expression(ValueType::Integers, depth);
                let name = *self.pick(&["+", "*", "max", "min", "-"]);
                let options = *self.pick(&[
                    "",
                    " :initial-value 0",
                    " :from-end t",
                    " :key #'1+",
                    " :initial-value 1 :from-end t",
                ]);
                format!("(reduce #'{name} {form}{options})")
            }
            19 => {
                let form = self.expression(ValueType::Integers, depth);
                format!("(apply #'+ {form})")
            }
            20 => {
                let vector = self.expression(ValueType::Vector, depth);
                let index = self.random.below(5);
                let name = *self.pick(&["aref", "svref", "elt"]);
                format!("({name} {vector} {index})")
            }
            21 => {
                let test = self.predicate();
                let form = self.expression(ValueType::Integers, depth);
                let options = self.bounds();
                format!("(count-if {test} {form}{options})")
            }
            22 => {
                let test = self.predicate();
                let form = self.expression(ValueType::Integers, depth);
                let name =
                    *self.pick(&["find-if", "position-if", "find-if-not", "position-if-not"]);
                let options =
                    *self.pick(&["", " :from-end t", " :start 1", " :key #'1+", " :key #'-"]);
                format!("(or ({name} {test} {form}{options}) -1)")
            }
            23 => {
                let item = self.expression(ValueType::Integer, depth);
                let form = self.expression(ValueType::Vector, depth);
                let name = *self.pick(&["position", "count", "find"]);
                format!("({name} {item} {form})")
            }
            24 => {
                let text = self.expression(ValueType::Text, depth);
                let options = *self.pick(&[
                    "",
                    " :junk-allowed t",
                    " :radix 16 :junk-allowed t",
                    " :start 1 :junk-allowed t",
                ]);
                format!("(parse-integer {text}{options})")
            }
            25 => {
                let one = self.expression(ValueType::Text, depth);
                let two = self.expression(ValueType::Text, depth);
                let name = *self.pick(&["search", "mismatch", "string<", "string>=", "string/="]);
                format!("({name} {one} {two})")
            }
            26 => {
                let plist = self.expression(ValueType::List, depth);
                format!("(getf {plist} :a 7)")
            }
            27 => {
                let item = self.expression(ValueType::Integer, depth);
                let place = self.random.below(4);
                format!("(logand {item} (ash 1 {place}))")
            }
            28 => {
                let text = self.expression(ValueType::Text, depth);
                let test = *self.pick(&["#\\a", "#\\Space", "#\\X"]);
                format!("(count {test} {text})")
            }
            _ => {
                let form = self.expression(ValueType::Integers, depth);
                let loops = [
                    "(loop for v in L sum v)",
                    "(loop for v in L maximize v)",
                    "(loop for v in L for i from 0 sum (* i v))",
                    "(loop for v in L count (evenp v))",
                    "(loop for v in L until (> v 5) sum v)",
                    "(loop with s = 0 for v in L do (incf s v) finally (return s))",
                    "(loop for (a b) on L by #'cddr sum (if b (- a b) a))",
                    "(loop for v in L when (oddp v) minimize (* v v))",
                    "(let ((s 0)) (dolist (v L s) (setq s (+ v (* 2 s)))))",
                ];
                self.pick(&loops).replace('L', &form)
            }
        }
    }

    pub(super) fn real(&mut self, depth: u32) -> String {
        let depth = depth - 1;
        match self.random.below(10) {
            0..=4 => {
                let name = *self.pick(&["+", "-", "*", "/", "max", "min"]);
                self.call_of(name, &[ValueType::Real, ValueType::Real], depth)
            }
            5 => {
                let name = *self.pick(&["abs", "-", "1+", "1-", "float", "rational", "signum"]);
                self.call_of(name, &[ValueType::Real], depth)
            }
            6 => {
                let name = *self.pick(&["mod", "rem"]);
                self.call_of(name, &[ValueType::Real, ValueType::Real], depth)
            }
            7 => self.call_of("/", &[ValueType::Integer, ValueType::Integer], depth),
            8 => {
                let form = self.expression(ValueType::Real, depth);
                let kind = *self.pick(&["'single-float", "'double-float", "'float"]);
                format!("(coerce {form} {kind})")
            }
            _ => self.expression(ValueType::Integer, depth),
        }
    }

    pub(super) fn boolean(&mut self, depth: u32) -> String {
        let depth = depth - 1;
        let any = ValueType::Any;
        match self.random.below(16) {
            0..=2 => {
                let name = *self.pick(&["<", ">", "<=", ">=", "=", "/="]);
                self.call_of(name, &[ValueType::Real, ValueType::Real], depth)
            }
            3 => self.call_of("<", &[ValueType::Integer; 3], depth),
            4 => {
                let name = *self.pick(&["evenp", "oddp", "zerop", "plusp", "minusp"]);
                self.call_of(name, &[ValueType::Integer], depth)
            }
            5..=6 => {
                let name = *self.pick(&[
                    "null",
                    "atom",
                    "consp",
                    "listp",
                    "symbolp",
                    "stringp",
                    "numberp",
                    "integerp",
                    "characterp",
                    "vectorp",
                    "functionp",
                    "not",
                    "floatp",
                    "rationalp",
                    "keywordp",
                ]);
                self.call_of(name, &[any], depth)
            }
            7 => {
                let kind = *self.pick(&[
                    "integer",
                    "(integer 0 10)",
                    "(or null symbol)",
                    "string",
                    "(and list (not null))",
                    "cons",
                    "(member 1 a :key)",
                    "number",
                    "(cons integer t)",
                    "fixnum",
                    "atom",
                    "(not symbol)",
                    "real",
                    "(eql 1)",
                    "sequence",
                    "vector",
                    "(satisfies evenp)",
                    "bit",
                    "(unsigned-byte 8)",
                    "keyword",
                ]);
                let form = self.expression(any, depth);
                format!("(typep {form} '{kind})")
            }
            8 => {
                let name = *self.pick(&["equal", "equalp", "eql"]);
                self.call_of(name, &[any, any], depth)
            }
            9 => {
                let name = *self.pick(&["some", "every", "notany", "notevery"]);
                let test = self.predicate();
                let form = self.expression(ValueType::Integers, depth);
                format!("({name} {test} {form})")
            }
            10 => {
                let name = *self.pick(&["string=", "string-equal"]);
                self.call_of(name, &[ValueType::Text, ValueType::Text], depth)
            }
            11 => {
                let name = *self.pick(&[
                    "alpha-char-p",
                    "upper-case-p",
                    "lower-case-p",
                    "alphanumericp",
                    "both-case-p",
                ]);
                self.call_of(name, &[ValueType::Character], depth)
            }
            12 => {
                let name = *self.pick(&["char<", "char=", "char-equal", "char>="]);
                self.call_of(name, &[ValueType::Character, ValueType::Character], depth)
            }
            13 => self.call_of("logbitp", &[ValueType::Integer, ValueType::Integer], depth),
            14 => self.call_of("subsetp", &[ValueType::Integers, ValueType::Integers], depth),
            _ => {
                let name = *self.pick(&["and", "or"]);
                self.call_of(name, &[ValueType::Boolean, ValueType::Boolean], depth)
            }
        }
    }

    /// A function of an integer that gives a truth value.
    pub(super) fn predicate(&mut self) -> String {
        let known = [
            "#'evenp",
            "#'oddp",
            "#'plusp",
            "'minusp",
            "#'zerop",
            "(lambda (v) (> v 2))",
            "(lambda (v) (= 1 (mod v 3)))",
            "(complement #'evenp)",
            "(constantly t)",
            "(constantly nil)",
            "#'identity",
        ];
        self.pick(&known).to_string()
    }

    /// Keyword arguments of a part.
    pub(super) fn bounds(&mut self) -> String {
        let known = [
            "",
            "",
            "",
            " :start 1",
            " :end 2",
            " :start 1 :end 3",
            " :end nil",
            " :from-end t",
            " :start 3",
        ];
        self.pick(&known).to_string()
    }

    /// A call with arguments of these types.
    pub(super) fn call_of(&mut self, name: &str, kinds: &[ValueType], depth: u32) -> String {
        let arguments: Vec<String> =
            kinds.iter().map(|kind| self.expression(*kind, depth)).collect();
        format!("({name} {})", arguments.join(" "))
    }
}
