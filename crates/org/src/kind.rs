//! The types of elements and objects, under the names that Org gives them.
//!
//! long: a flat table.

macro_rules! types {
    ($($(#[$doc:meta])* $variant:ident $name:literal,)*) => {
        /// Type of a node.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Type {
            $($(#[$doc])* $variant,)*
        }

        impl Type {
            /// The name that Org has for it.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

types! {
    /// The whole text.
    OrgData "org-data",
    /// Text between a headline, or the beginning, and the next headline.
    Section "section",
    /// A headline and all below it.
    Headline "headline",
    /// The line of `SCHEDULED:` and the like.
    Planning "planning",
    /// The drawer of properties.
    PropertyDrawer "property-drawer",
    /// One line of it.
    NodeProperty "node-property",
    /// Any other drawer.
    Drawer "drawer",
    /// `CLOCK:`.
    Clock "clock",
    /// A list.
    PlainList "plain-list",
    /// An item of a list.
    Item "item",
    /// A table.
    Table "table",
    /// A row of a table.
    TableRow "table-row",
    /// `#+begin_center`.
    CenterBlock "center-block",
    /// `#+begin_quote`.
    QuoteBlock "quote-block",
    /// `#+begin_anything`.
    SpecialBlock "special-block",
    /// `#+begin: name`.
    DynamicBlock "dynamic-block",
    /// `#+begin_src`.
    SrcBlock "src-block",
    /// `#+begin_example`.
    ExampleBlock "example-block",
    /// `#+begin_export`.
    ExportBlock "export-block",
    /// `#+begin_verse`.
    VerseBlock "verse-block",
    /// `#+begin_comment`.
    CommentBlock "comment-block",
    /// `#+key: value`.
    Keyword "keyword",
    /// `#+call: name()`.
    BabelCall "babel-call",
    /// Lines of `# comment`.
    Comment "comment",
    /// Lines of `: text`.
    FixedWidth "fixed-width",
    /// `-----`.
    HorizontalRule "horizontal-rule",
    /// `%%(sexp)`.
    DiarySexp "diary-sexp",
    /// `\begin{name}`.
    LatexEnvironment "latex-environment",
    /// `[fn:name] text`.
    FootnoteDefinition "footnote-definition",
    /// Text.
    Paragraph "paragraph",
    /// `*bold*`.
    Bold "bold",
    /// `/italic/`.
    Italic "italic",
    /// `_underline_`.
    Underline "underline",
    /// `+strike+`.
    StrikeThrough "strike-through",
    /// `=verbatim=`.
    Verbatim "verbatim",
    /// `~code~`.
    Code "code",
    /// A link of any format.
    Link "link",
    /// A timestamp or a range of them.
    Timestamp "timestamp",
    /// `[fn:name]`.
    FootnoteReference "footnote-reference",
    /// `[cite:@key]`.
    Citation "citation",
    /// One key of a citation.
    CitationReference "citation-reference",
    /// `\alpha`.
    Entity "entity",
    /// `$x$`, `\(x\)`, `\command{x}`.
    LatexFragment "latex-fragment",
    /// `{{{name(arguments)}}}`.
    Macro "macro",
    /// `src_lisp{code}`.
    InlineSrcBlock "inline-src-block",
    /// `call_name(arguments)`.
    InlineBabelCall "inline-babel-call",
    /// `@@html:text@@`.
    ExportSnippet "export-snippet",
    /// `a_b`.
    Subscript "subscript",
    /// `a^b`.
    Superscript "superscript",
    /// `<<target>>`.
    Target "target",
    /// `<<<target>>>`.
    RadioTarget "radio-target",
    /// `[1/2]`, `[50%]`.
    StatisticsCookie "statistics-cookie",
    /// `\\` at the end of a line.
    LineBreak "line-break",
    /// A cell of a row.
    TableCell "table-cell",
}

impl Type {
    /// Whether it is an object: inside a paragraph, a title, a cell.
    #[must_use]
    pub fn is_object(self) -> bool {
        self as u8 >= Self::Bold as u8
    }
}
