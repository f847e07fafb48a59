//! The compiler: forms become nodes with resolved variables (`analyze.rs` and beside it), nodes
//! become instructions (`emit.rs`). Macros run while forms are read over, so the compiler calls the
//! machine; the machine never calls the compiler.

pub(crate) mod analyze;
mod backquote;
mod check;
mod destructure;
mod emit;
mod emit_call;
mod emit_control;
mod lambda;
mod special;

use std::collections::HashMap;
use std::sync::Arc;

use crate::code::{CodeTable, SourcePlace};
use crate::machine::Machine;
use crate::trap::{LimitKind, Trap};
use crate::value::{NIL, Word};

pub(crate) type VariableId = usize;
pub(crate) type FunctionId = usize;
pub(crate) type BlockId = usize;

/// Nested forms, macro expansions included.
const COMPILE_DEPTH: usize = 600;

/// Reason that a form was not compiled.
pub(crate) enum CompileFailure {
    /// Not in the subset: what, and where.
    Outside(String, SourcePlace),
    /// A form that SBCL compiles into an error.
    Program(String),
    Limit(LimitKind),
    /// A macro failed.
    Trap(Trap),
}

impl From<Trap> for CompileFailure {
    fn from(trap: Trap) -> Self {
        Self::Trap(trap)
    }
}

pub(crate) type CompileResult<T> = Result<T, CompileFailure>;

/// Operations with an instruction of their own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum InlineOperation {
    Add,
    Subtract,
    Multiply,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    NumbersEqual,
    Eq,
    Eql,
    Not,
    Consp,
    Atom,
    Car,
    Cdr,
    Cons,
    SetCar,
    SetCdr,
    Element,
}

/// Function that a call names.
pub(crate) enum CallTarget {
    Global(u32),
    Native(u32),
    /// A variable that holds a local function.
    Local(VariableId),
    Node(Box<FormNode>),
}

/// A form with everything resolved.
pub(crate) enum FormNode {
    Constant(Word),
    Local(VariableId),
    SetLocal(VariableId, Box<FormNode>),
    Global(u32, SourcePlace),
    SetGlobal(u32, Box<FormNode>),
    If(Box<FormNode>, Box<FormNode>, Box<FormNode>),
    And(Vec<FormNode>),
    Or(Vec<FormNode>),
    Sequence(Vec<FormNode>),
    Let(Vec<VariableBinding>, Box<FormNode>),
    Function(FunctionId),
    Call(CallTarget, Vec<FormNode>, SourcePlace),
    /// The last argument is a list of more.
    Apply(CallTarget, Vec<FormNode>, SourcePlace),
    Inline(InlineOperation, Vec<FormNode>, SourcePlace),
    Slot(u32, u16, Box<FormNode>, SourcePlace),
    Block(BlockId, Box<FormNode>),
    ReturnFrom(BlockId, Box<FormNode>),
    Tagbody(BlockId, Vec<TagbodySegment>),
    Go(BlockId, usize),
    Catch(Box<FormNode>, Box<FormNode>),
    Throw(Box<FormNode>, Box<FormNode>, SourcePlace),
    Cleanup(Box<FormNode>, FunctionId),
    ValuesToList(Box<FormNode>),
    /// The list's elements are the values.
    ListToValues(Box<FormNode>),
    ValuesBind(Vec<VariableId>, Box<FormNode>, Box<FormNode>),
    ValuesFirst(Box<FormNode>, Box<FormNode>),
    /// Local functions that may call each other.
    Labels(Vec<(VariableId, FunctionId)>, Box<FormNode>),
}

/// A variable and its first value.
pub(crate) enum VariableBinding {
    Lexical(VariableId, FormNode),
    Dynamic(u32, FormNode),
}

/// Tag, or a form between tags.
pub(crate) enum TagbodySegment {
    Tag(usize),
    Form(FormNode),
}

/// A lexical variable.
pub(crate) struct LexicalVariable {
    pub(crate) function: FunctionId,
    pub(crate) is_captured: bool,
    pub(crate) is_assigned: bool,
    /// Local function that it holds for good.
    pub(crate) holds: Option<FunctionId>,
}

/// Parameter of a function; bound dynamically when it names a special variable.
#[derive(Clone, Copy)]
pub(crate) struct FunctionParameter {
    pub(crate) variable: VariableId,
    pub(crate) special: Option<u32>,
}

/// Parameter with a default.
pub(crate) struct DefaultedParameter {
    pub(crate) keyword: Word,
    pub(crate) parameter: FunctionParameter,
    pub(crate) default: FormNode,
    pub(crate) supplied: Option<FunctionParameter>,
}

/// A function that is being compiled.
pub(crate) struct FunctionNode {
    pub(crate) name: Word,
    pub(crate) code: u32,
    pub(crate) required: Vec<FunctionParameter>,
    pub(crate) optional: Vec<DefaultedParameter>,
    pub(crate) rest: Option<FunctionParameter>,
    pub(crate) keys: Option<Vec<DefaultedParameter>>,
    pub(crate) allows_other_keys: bool,
    pub(crate) auxiliary: Vec<(FunctionParameter, FormNode)>,
    pub(crate) body: Option<FormNode>,
    /// Variables of functions around it that it or a function inside it uses.
    pub(crate) captures: Vec<VariableId>,
    pub(crate) parent: Option<FunctionId>,
}

/// A block or tagbody.
pub(crate) struct BlockNode {
    pub(crate) function: FunctionId,
    /// Holds the token where exits come from afar.
    pub(crate) token: VariableId,
    pub(crate) has_far_exits: bool,
    /// Cleanups around it, to tell exits that cross one.
    pub(crate) cleanups: usize,
}

/// Meaning of a name in the scope that is being compiled.
pub(crate) enum ScopeEntry {
    Variable(u32, VariableId),
    Special(u32),
    SymbolMacro(u32, Word),
    Function(Word, VariableId),
    Macro(Word, Word),
    Block(u32, BlockId),
    Tag(Word, BlockId, usize),
}

/// State of compiling one top-level form.
pub(crate) struct FormCompiler<'m> {
    pub(crate) machine: &'m mut Machine,
    pub(crate) codes: &'m mut CodeTable,
    pub(crate) places: &'m HashMap<u32, SourcePlace>,
    pub(crate) file: Arc<str>,
    pub(crate) is_prelude: bool,
    place: SourcePlace,
    depth: usize,
    cleanups: usize,
    variables: Vec<LexicalVariable>,
    functions: Vec<FunctionNode>,
    blocks: Vec<BlockNode>,
    scope: Vec<ScopeEntry>,
    current: FunctionId,
}

impl<'m> FormCompiler<'m> {
    pub(crate) fn new(
        machine: &'m mut Machine,
        codes: &'m mut CodeTable,
        places: &'m HashMap<u32, SourcePlace>,
        file: Arc<str>,
        is_prelude: bool,
    ) -> Self {
        Self {
            machine,
            codes,
            places,
            file,
            is_prelude,
            place: SourcePlace::default(),
            depth: 0,
            cleanups: 0,
            variables: Vec::new(),
            functions: Vec::new(),
            blocks: Vec::new(),
            scope: Vec::new(),
            current: 0,
        }
    }

    /// Compiles a form into a function without parameters, and returns that function.
    pub(crate) fn compile_form(&mut self, form: Word) -> CompileResult<Word> {
        self.current = self.new_function(NIL, None);
        let body = self.analyze(form)?;
        self.functions[0].body = Some(body);
        self.emit_all()?;
        Ok(Word::code(self.functions[0].code))
    }

    pub(crate) fn place(&self) -> SourcePlace {
        self.place
    }

    fn new_function(&mut self, name: Word, parent: Option<FunctionId>) -> FunctionId {
        let code = self.codes.push(emit::empty_code(name, self.file.clone()));
        self.functions.push(FunctionNode {
            name,
            code,
            required: Vec::new(),
            optional: Vec::new(),
            rest: None,
            keys: None,
            allows_other_keys: false,
            auxiliary: Vec::new(),
            body: None,
            captures: Vec::new(),
            parent,
        });
        self.functions.len() - 1
    }

    fn new_variable(&mut self) -> VariableId {
        self.variables.push(LexicalVariable {
            function: self.current,
            is_captured: false,
            is_assigned: false,
            holds: None,
        });
        self.variables.len() - 1
    }

    /// Notes that the current function uses a variable, and who must capture it for that.
    fn use_variable(&mut self, variable: VariableId) {
        let home = self.variables[variable].function;
        let mut function = self.current;
        while function != home {
            self.variables[variable].is_captured = true;
            let captures = &mut self.functions[function].captures;
            if !captures.contains(&variable) {
                captures.push(variable);
            }
            match self.functions[function].parent {
                Some(parent) => function = parent,
                None => break,
            }
        }
    }

    fn list(&mut self, words: &[Word]) -> Word {
        self.machine.heap.list(words)
    }

    fn elements(&mut self, list: Word) -> CompileResult<Vec<Word>> {
        let mut elements = Vec::new();
        let mut rest = list;
        while rest.is_cons() {
            let pair = self.machine.heap.pair(rest);
            elements.push(pair.car);
            rest = pair.cdr;
            self.machine.charge(1)?;
        }
        if rest.is_nil() {
            return Ok(elements);
        }
        Err(self.malformed(list))
    }

    fn malformed(&mut self, form: Word) -> CompileFailure {
        let text = self.machine.print_to_string(form);
        CompileFailure::Program(format!("malformed form: {text}"))
    }

    fn outside<T>(&self, name: impl Into<String>) -> CompileResult<T> {
        Err(CompileFailure::Outside(name.into(), self.place))
    }

    fn program<T>(&self, text: impl Into<String>) -> CompileResult<T> {
        Err(CompileFailure::Program(text.into()))
    }
}
