//! Programs of the skill language made at random: the same ones for the same seed. Expressions are made by the type
//! of their value, so that most of them run, and now and then of a wrong type, so that errors are compared too.
//!
//! Everything a program says must be said by the standard or by SBCL for every run: no addresses, no texts of
//! conditions, no order of hash tables, no change of constants.

mod control;
mod data;
mod numbers;

use crate::chaos::random::SplitMix;

/// Nesting of the expressions of one program.
const DEPTH: u32 = 5;

/// One expression in so many is of another type than it should be.
const WRONG_TYPE_SHARE: u64 = 60;

/// Type of an expression's value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ValueType {
    Integer,
    Real,
    Text,
    Character,
    Symbol,
    Boolean,
    /// A fresh list of integers, which may be changed.
    Integers,
    /// A fresh list of anything.
    List,
    /// A fresh vector of integers.
    Vector,
    Any,
}

const TYPES: &[ValueType] = &[
    ValueType::Integer,
    ValueType::Real,
    ValueType::Text,
    ValueType::Character,
    ValueType::Symbol,
    ValueType::Boolean,
    ValueType::Integers,
    ValueType::List,
    ValueType::Vector,
];

/// A program that is being made.
struct ProgramMaker {
    random: SplitMix,
    /// Variables in scope.
    variables: Vec<(String, ValueType)>,
    /// Local functions in scope: name, parameters, and the type of the value.
    functions: Vec<(String, Vec<ValueType>, ValueType)>,
    /// Names that were given out, and the program's number, which keeps global names apart.
    names: u32,
    number: u64,
    /// Definitions that come before the program's form.
    definitions: Vec<String>,
}

/// The program of this number, on one line.
pub(super) fn program(seed: u64, number: u64) -> String {
    let mut random = SplitMix::new(seed.wrapping_mul(0x9E37_79B9).wrapping_add(number));
    let random = random.split();
    let mut maker = ProgramMaker {
        random,
        variables: Vec::new(),
        functions: Vec::new(),
        names: 0,
        number,
        definitions: Vec::new(),
    };
    if maker.random.chance(30) {
        maker.define_function();
    }
    if maker.random.chance(8) {
        maker.define_structure();
    }
    let kind = *maker.pick(TYPES);
    let form = maker.expression(kind, DEPTH);
    if maker.definitions.is_empty() {
        return form;
    }
    format!("(progn {} {form})", maker.definitions.join(" "))
}

impl ProgramMaker {
    fn pick<'t, T>(&mut self, from: &'t [T]) -> &'t T {
        &from[self.random.index(from.len())]
    }

    /// A name that nothing else in the program has.
    fn fresh_name(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }

    /// An expression whose value is of this type, most of the time.
    fn expression(&mut self, kind: ValueType, depth: u32) -> String {
        if kind == ValueType::Any {
            let kind = *self.pick(TYPES);
            return self.expression(kind, depth);
        }
        if self.random.below(WRONG_TYPE_SHARE) == 0 {
            let kind = *self.pick(TYPES);
            return self.of_type(kind, depth);
        }
        self.of_type(kind, depth)
    }

    fn of_type(&mut self, kind: ValueType, depth: u32) -> String {
        if depth == 0 || self.random.chance(12) {
            return self.leaf(kind);
        }
        if self.random.chance(22) {
            return self.control(kind, depth);
        }
        if self.random.chance(10)
            && let Some(call) = self.call(kind, depth)
        {
            return call;
        }
        match kind {
            ValueType::Integer => self.integer(depth),
            ValueType::Real => self.real(depth),
            ValueType::Text => self.text(depth),
            ValueType::Character => self.character(depth),
            ValueType::Symbol => self.symbol(depth),
            ValueType::Boolean => self.boolean(depth),
            ValueType::Integers => self.integers(depth),
            ValueType::List | ValueType::Any => self.list(depth),
            ValueType::Vector => self.vector(depth),
        }
    }

    /// A variable or a constant.
    fn leaf(&mut self, kind: ValueType) -> String {
        let known: Vec<String> = self
            .variables
            .iter()
            .filter(|(_, of)| *of == kind)
            .map(|(name, _)| name.clone())
            .collect();
        if !known.is_empty() && self.random.chance(65) {
            let name = self.pick(&known).clone();
            // What may be changed is copied: a variable is read again.
            return match kind {
                ValueType::Integers | ValueType::List => format!("(copy-list {name})"),
                ValueType::Vector => format!("(copy-seq {name})"),
                _ => name,
            };
        }
        match kind {
            ValueType::Integer => self.integer_constant(),
            ValueType::Real => self.real_constant(),
            ValueType::Text => self.pick(TEXTS).to_string(),
            ValueType::Character => self.pick(CHARACTERS).to_string(),
            ValueType::Symbol => self.pick(SYMBOLS).to_string(),
            ValueType::Boolean => self.pick(&["t", "nil"]).to_string(),
            ValueType::Integers => {
                let count = self.random.below(6);
                let words: Vec<String> = (0..count).map(|_| self.small_integer()).collect();
                format!("(list {})", words.join(" "))
            }
            ValueType::Vector => {
                let count = self.random.below(6);
                let words: Vec<String> = (0..count).map(|_| self.small_integer()).collect();
                format!("(vector {})", words.join(" "))
            }
            ValueType::List | ValueType::Any => self.pick(LISTS).to_string(),
        }
    }

    /// A call of a local or global function whose value is of this type.
    fn call(&mut self, kind: ValueType, depth: u32) -> Option<String> {
        let known: Vec<_> =
            self.functions.iter().filter(|(_, _, of)| *of == kind).cloned().collect();
        if known.is_empty() {
            return None;
        }
        let (name, parameters, _) = self.pick(&known).clone();
        let arguments: Vec<String> =
            parameters.into_iter().map(|of| self.expression(of, depth - 1)).collect();
        Some(format!("({name} {})", arguments.join(" ")))
    }

    /// An expression in which some more variables are known.
    fn with_variables(
        &mut self,
        variables: &[(String, ValueType)],
        kind: ValueType,
        depth: u32,
    ) -> String {
        let before = self.variables.len();
        self.variables.extend_from_slice(variables);
        let form = self.expression(kind, depth);
        self.variables.truncate(before);
        form
    }
}

const TEXTS: &[&str] = &[
    "\"\"",
    "\"a\"",
    "\"abc\"",
    "\"Hello World\"",
    "\"b a c\"",
    "\"12\"",
    "\"xyzzy\"",
    "\"  trim \"",
    "\"aXbXc\"",
    "\"lisp\"",
];
const CHARACTERS: &[&str] = &["#\\a", "#\\b", "#\\Z", "#\\0", "#\\9", "#\\Space", "#\\-", "#\\x"];
const SYMBOLS: &[&str] = &["'a", "'b", "'foo", ":key", ":a", "nil", "t", "'x", "'car"];
const LISTS: &[&str] = &[
    "nil",
    "(list 1 2 3)",
    "(list 'a 'b 'c)",
    "(list (cons 'a 1) (cons 'b 2) (cons 'c 3))",
    "(list :a 1 :b 2)",
    "(list \"x\" #\\y 'z 1.5)",
    "(list (list 1 2) (list 3 (list 4)))",
    "(list 1 (list 2 nil) nil)",
    "(list 3 1 2 1)",
];

#[cfg(test)]
mod tests {
    use super::program;

    #[test]
    fn the_same_seed_is_the_same_program() {
        assert_eq!(program(1, 7), program(1, 7));
        assert_ne!(program(1, 7), program(2, 7));
    }

    #[test]
    fn programs_are_single_balanced_lines() {
        for number in 0..500 {
            let text = program(3, number);
            let count = |letter: char| text.matches(letter).count();
            assert!(!text.contains('\n'), "{text}");
            assert_eq!(count('('), count(')'), "{text}");
        }
    }
}
