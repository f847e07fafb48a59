//! All that can be asked and proposed, with `NAME` for what it is about and `ROOT` for the folder.

use crate::world::Kind;

/// A question: of which kind of thing, and how it is put. Without a kind it is about nothing in particular.
pub(crate) type Question = (Option<Kind>, &'static str);

/// Payloads of requests to `:context`.
pub(crate) const CONTEXT: &[Question] = &[
    (Some(Kind::File), r#"(:action :resolve-path :path "NAME")"#),
    (Some(Kind::File), r#"(:action :resolve-path :path "ROOT/NAME")"#),
    (Some(Kind::File), r#"(:action :resolve-path :path "$MEMEX/./NAME")"#),
    (Some(Kind::File), r#"(:action :get-ast :file "NAME")"#),
    (Some(Kind::File), r#"(:action :get-ast :file "ROOT/NAME" :shape :plist)"#),
    (Some(Kind::File), r#"(:action :get-object :id "NAME")"#),
    (Some(Kind::File), r#"(:action :outline :under "NAME")"#),
    (Some(Kind::File), r#"(:action :focus :id "NAME")"#),
    (Some(Kind::File), r#"(:action :query :under "NAME")"#),
    (Some(Kind::File), r#"(:action :query :text "openword" :under "NAME")"#),
    (Some(Kind::File), r#"(:action :modified :file "ROOT/NAME")"#),
    (Some(Kind::File), r#"(:action :modified :file "ROOT/NAME/../open.org")"#),
    (Some(Kind::Id), r#"(:action :get-object :id "NAME")"#),
    (Some(Kind::Id), r#"(:action :focus :id "NAME" :budget 500)"#),
    (Some(Kind::Id), r#"(:action :outline :under "NAME" :depth 3)"#),
    (Some(Kind::Id), r#"(:action :query :under "NAME" :limit 3)"#),
    (Some(Kind::Id), r#"(:action :query :property ("ID" "NAME"))"#),
    (Some(Kind::Word), r#"(:action :query :text "NAME")"#),
    (Some(Kind::Word), r#"(:action :query :text "openword NAME")"#),
    (Some(Kind::Word), r#"(:action :query :text "\"NAME\"" :snippets nil)"#),
    (Some(Kind::Word), r#"(:action :query :text "openword -NAME")"#),
    (Some(Kind::Word), r#"(:action :outline :under "NAME")"#),
    (Some(Kind::Tag), r#"(:action :query :tag "NAME")"#),
    (Some(Kind::Tag), r#"(:action :query :tags ("NAME" "private"))"#),
    (Some(Kind::Tag), r#"(:action :query :without "NAME")"#),
    (Some(Kind::Property), r#"(:action :query :property ("KEY" "NAME"))"#),
    (Some(Kind::Property), r#"(:action :query :todo "TODO" :property ("KEY" "NAME"))"#),
    (Some(Kind::Skill), r#"(:action :get-skill-source :name "NAME")"#),
    (Some(Kind::Skill), r#"(:action :get-object :id "skills/NAME.org")"#),
    (Some(Kind::Skill), r#"(:action :query :under "skills/NAME.org")"#),
    (Some(Kind::Session), r#"(:action :get-ast :session "NAME" :file "a.org")"#),
    (None, r#"(:action :memex-status)"#),
    (None, r#"(:action :list-all-skills)"#),
    (None, r#"(:action :get-system-logs :limit 100)"#),
    (None, r#"(:action :query :limit 500)"#),
    (None, r#"(:action :query :todo "TODO" :from "2026-11-01" :to "2026-11-30")"#),
    (None, r#"(:action :query :text "openword")"#),
    (None, r#"(:action :query :tag "private")"#),
    (None, r#"(:action :query :tag "crypt")"#),
    (None, r#"(:action :query :property "KEY")"#),
    (None, r#"(:action :outline :limit 500)"#),
    (None, r#"(:action :outline :under "deep")"#),
    (None, r#"(:action :focus)"#),
    (None, r#"(:action :focus :id "open.org" :budget 20000)"#),
    (None, r#"(:action :focus :id "visible" :budget 20000)"#),
    (None, r#"(:action :get-object :id "visible")"#),
    (None, r#"(:action :get-object :id "open.org")"#),
    (None, r#"(:action :get-ast :file "open.org")"#),
    (None, r#"(:action :get-ast :file "setup.org")"#),
    (None, r#"(:action :resolve-path :path ".bridleignore")"#),
];

/// Payloads of requests to `:memory`.
pub(crate) const MEMORY: &[Question] = &[
    (Some(Kind::File), r#"(:action :set-state :path "ROOT/NAME" :line 2 :state "DONE")"#),
    (Some(Kind::File), r#"(:action :set-state :path "NAME" :line 2 :state "DONE")"#),
    (Some(Kind::File), r#"(:action :delete-subtree :path "ROOT/NAME" :line 2)"#),
    (Some(Kind::File), r#"(:action :append-subtree :path "ROOT/NAME" :text "* x")"#),
    (Some(Kind::File), r#"(:action :insert-subtree :path "ROOT/NAME" :line 1 :text "* x")"#),
    (
        Some(Kind::File),
        r#"(:action :archive :path "ROOT/open.org" :line 2 :to (:path "ROOT/NAME"))"#,
    ),
    (
        Some(Kind::File),
        r#"(:action :refile :path "ROOT/open.org" :line 2 :to (:path "ROOT/NAME"))"#,
    ),
    (
        Some(Kind::File),
        r#"(:action :refile :path "ROOT/NAME" :line 2 :to (:path "ROOT/open.org"))"#,
    ),
    (Some(Kind::File), r#"(:action :toggle-checkbox :path "ROOT/NAME" :line 2)"#),
    (Some(Kind::File), r#"(:action :restore :name "kept" :path "ROOT/NAME")"#),
    (Some(Kind::Id), r#"(:action :set-title :path "ROOT/open.org" :id "NAME" :title "x")"#),
    (Some(Kind::Id), r#"(:action :delete-subtree :path "ROOT/open.org" :id "NAME")"#),
    (Some(Kind::Id), r#"(:action :refile :path "ROOT/open.org" :line 2 :to (:id "NAME"))"#),
    (Some(Kind::Id), r#"(:action :clock-in :path "ROOT/open.org" :id "NAME")"#),
    (
        Some(Kind::Word),
        r#"(:action :set-tags :path "ROOT/open.org" :outline ("NAME") :tags ("x"))"#,
    ),
    (
        Some(Kind::Word),
        r#"(:action :set-property :path "ROOT/open.org" :outline ("Visible" "NAME") :key "A" :value "b")"#,
    ),
    (Some(Kind::Snapshot), r#"(:action :restore :name "NAME")"#),
    (Some(Kind::Snapshot), r#"(:action :snapshot :name "NAME")"#),
    (Some(Kind::Session), r#"(:action :rollback :session "NAME" :turn 1)"#),
    (Some(Kind::Record), "(:action :undo :record NAME)"),
    (None, r#"(:action :snapshot :name "mine")"#),
    (None, r#"(:action :set-state :path "ROOT/open.org" :line 2 :state "DONE")"#),
    (None, r#"(:action :delete-subtree :path "ROOT/open.org" :line 2)"#),
    (None, r#"(:action :append-subtree :path "ROOT/run.sh" :text "echo")"#),
    (None, r#"(:action :append-subtree :path "ROOT/.git/hooks/pre-commit" :text "echo")"#),
];

/// Payloads of requests to `:system`, and one to a shell.
pub(crate) const SYSTEM: &[Question] = &[
    (Some(Kind::Session), r#"(:action :approval :approval "NAME-1")"#),
    (Some(Kind::Session), r#"(:action :approve :approval "NAME-1" :verdict :allow)"#),
    (Some(Kind::Session), r#"(:action :forget :session "NAME")"#),
    (Some(Kind::Record), "(:action :fork :record NAME)"),
    (Some(Kind::Record), "(:action :forget :record NAME)"),
    (Some(Kind::File), r#"(:action :open-memex :path "ROOT/NAME")"#),
    (
        Some(Kind::File),
        r#"(:action :schedule :name "s" :in 1 :payload (:sensor :user-prompt :text "state ROOT/NAME"))"#,
    ),
    (
        Some(Kind::Id),
        r#"(:action :schedule :name "t" :in 1 :payload (:sensor :user-prompt :text "title NAME"))"#,
    ),
    (None, "(:action :sessions)"),
    (None, "(:action :approvals)"),
    (None, "(:action :install-policy)"),
    (None, r#"(:action :unschedule :name "none")"#),
];

/// What a person may say; the script makes proposals of some of it.
pub(crate) const PROMPTS: &[Question] = &[
    (Some(Kind::File), "state ROOT/NAME"),
    (Some(Kind::File), "append ROOT/NAME"),
    (Some(Kind::Id), "title NAME"),
    (Some(Kind::Snapshot), "restore NAME"),
    (Some(Kind::Snapshot), "snapshot NAME"),
    (Some(Kind::Session), "rollback NAME"),
    (Some(Kind::Word), "tell me about NAME"),
    (Some(Kind::File), "read ROOT/NAME"),
    (None, "/help"),
    (None, "/status"),
    (None, "/sessions"),
    (None, "/why"),
    (None, "hello"),
];

/// Whole messages that are no requests.
pub(crate) const MESSAGES: &[Question] = &[
    (
        Some(Kind::File),
        r#"(:type :EVENT :id ID :payload (:sensor :point-update :file "ROOT/NAME" :line 2))"#,
    ),
    (Some(Kind::File), r#"(:type :EVENT :id ID :payload (:sensor :focus :file "ROOT/NAME"))"#),
    (Some(Kind::Word), r#"(:type :LOG :id ID :payload (:text "NAME"))"#),
    (
        Some(Kind::Word),
        r#"(:type :REQUEST :id ID :target :log :payload (:action :log :text "NAME"))"#,
    ),
    (Some(Kind::Word), r#"(:type :REQUEST :id ID :target :NAME :payload (:action :complete))"#),
    (
        Some(Kind::File),
        r#"(:type :REQUEST :id ID :target :emacs :payload (:action :complete :prefix "ROOT/NAME"))"#,
    ),
    (None, "(:type :EVENT :id ID :payload (:sensor :interrupt))"),
];

/// Rules of the thinker: it proposes whatever it is asked for.
pub(crate) const SCRIPT: &str = r#"
(rule :when "state *" :propose ((:target :memory :action :set-state :path "$1" :line 2 :state "DONE")))
(rule :when "append *" :propose ((:target :memory :action :append-subtree :path "$1" :text "* x")))
(rule :when "title *" :propose ((:target :memory :action :set-title :path "open.org" :id "$1" :title "x")))
(rule :when "restore *" :propose ((:target :memory :action :restore :name "$1")))
(rule :when "snapshot *" :propose ((:target :memory :action :snapshot :name "$1")))
(rule :when "rollback *" :propose ((:target :memory :action :rollback :session "$1" :turn 1)))
(rule :when "read *" :propose ((:target :file :action :read :path "$1")))
(default :say "noted")
"#;

/// Requests over HTTP that are no exchange.
pub(crate) const DOCUMENTS: &[Question] = &[
    (Some(Kind::File), "/NAME"),
    (Some(Kind::Word), "/v1/openharness/attachments/NAME"),
    (Some(Kind::Word), "/v1/openharness/NAME"),
    (None, "/health"),
    (None, "/v1/openharness"),
    (None, "/v1/openharness/openapi.json"),
];

/// Attachments of an exchange over HTTP.
pub(crate) const ATTACHMENTS: &[Question] = &[
    (Some(Kind::File), r#"{"uri":"file://ROOT/NAME"}"#),
    (Some(Kind::File), r#"{"uri":"ROOT/NAME"}"#),
    (Some(Kind::Word), r#"{"ref_id":"NAME"}"#),
    (Some(Kind::Word), r#"{"uri":"/v1/openharness/attachments/NAME"}"#),
];
