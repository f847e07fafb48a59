//! `models.org`: what is read, what is refused and how that is said, what a save changes.

use super::{
    ApprovedSettings, DEFAULT_MODELS_FILE, KeySource, ModelTier, ParsedProviders, PriceSource,
    ProviderDiff, ProviderField, ProviderPrivacy, ProviderSet, read_providers,
};
use crate::codec::{ChatDialect, CodecName};
use crate::price::{CatalogLookup, look_up_price};

/// A provider with these properties more, and one model.
fn file(more: &str) -> String {
    let more = if more.is_empty() { String::new() } else { format!("{more}\n") };
    format!(
        "* cloud\n:PROPERTIES:\n:ADDRESS: https://api.example.org/v1\n:CODEC: openai-chat\n:PRIVACY: remote\n{more}:END:\n\
         ** small :reflex:\n"
    )
}

fn set(text: &str) -> ProviderSet {
    let parsed = read_providers(text);
    assert_eq!(parsed.problems, [], "{text}");
    ProviderSet { providers: parsed.providers }
}

/// The problems as sentences.
#[track_caller]
fn check(text: &str, problems: &[&str]) {
    let parsed = read_providers(text);
    let found: Vec<String> = parsed.problems.iter().map(ToString::to_string).collect();
    assert_eq!(found, problems);
}

#[test]
fn the_default_file_has_every_example_and_switches_nothing_on() {
    assert_eq!(read_providers(DEFAULT_MODELS_FILE), ParsedProviders::default());
    let parsed = read_providers(&DEFAULT_MODELS_FILE.replace("* COMMENT ", "* "));
    assert_eq!((parsed.problems.as_slice(), parsed.notices.as_slice()), (&[][..], &[][..]));
    let names: Vec<&str> = parsed.providers.iter().map(|provider| provider.name.as_str()).collect();
    let expected =
        ["ollama", "llamacpp", "vllm", "openai", "anthropic", "gemini", "openrouter", "groq"];
    assert_eq!(names, expected);
    // A price is known for every model that costs something.
    for provider in &parsed.providers {
        for model in provider.models.iter().filter(|model| model.price == PriceSource::Catalog) {
            let address = provider.address.to_string();
            let (model, at_seconds) = (model.name.as_str(), 1_794_650_000);
            let lookup = CatalogLookup { catalog_name: None, address: &address, model, at_seconds };
            assert!(look_up_price(&lookup).is_some(), "{address} {model}");
        }
    }
}

#[test]
fn a_provider_is_read_with_all_of_its_properties() {
    let text = "* my-cloud\n:PROPERTIES:\n:ADDRESS: https://API.Example.org/v1/\n:codec: anthropic-messages\n:PRIVACY: remote\n\
                :KEY: command:pass show llm/cloud\n:HOSTS: api.example.org, eu.example.org\n:TIMEOUT_FIRST_BYTE: 5m\n:RETRIES: 0\n\
                :PROXY: http://proxy.lan:3128\n:CA_FILE: ~/ca.pem\n:CATALOG: anthropic\n:X_NOTE: mine\n:END:\nProse.\n\
                ** claude-x :cognition:reasoning:\n:PROPERTIES:\n:CONTEXT: 200k\n:OUTPUT: 8192\n:IMAGES: yes\n:TOOLS: no\n\
                :REASONING: budget\n:PRICE_INPUT: 3\n:PRICE_OUTPUT: 15.50\n:END:\n*** Prose below\n** Notes\n** a/b :reflex:\n\
                :PROPERTIES:\n:MODEL: vendor/b:free\n:PRICE: free\n:END:\n";
    let set = set(text);
    let [provider] = set.providers.as_slice() else { panic!("{set:?}") };
    assert_eq!((provider.name.as_str(), provider.line), ("my-cloud", 1));
    assert_eq!(provider.address.to_string(), "https://api.example.org/v1");
    assert_eq!(
        (provider.codec, provider.privacy),
        (CodecName::AnthropicMessages, ProviderPrivacy::Remote)
    );
    let words = ["pass", "show", "llm/cloud"].map(str::to_owned);
    assert_eq!(provider.key, Some(KeySource::Command(words.into())));
    assert!(provider.may_send_key_to("EU.example.org") && !provider.may_send_key_to("example.org"));
    assert_eq!((provider.patience.first_byte.as_secs(), provider.patience.retries), (300, 0));
    let [first, second] = provider.models.as_slice() else { panic!("{provider:?}") };
    assert_eq!(first.tiers, [ModelTier::Cognition, ModelTier::Reasoning]);
    assert_eq!((first.context_tokens, first.max_output_tokens), (Some(200_000), Some(8192)));
    assert!(first.takes_images && !first.takes_tools);
    assert!(matches!(first.price, PriceSource::Stated(price) if price.output.0 == 15_500_000));
    assert_eq!((second.name.as_str(), second.price), ("vendor/b:free", PriceSource::Free));
    assert_eq!(set.model_of_tier(ModelTier::Reasoning).unwrap().1.name, "claude-x");
    assert_eq!(set.model("my-cloud/vendor/b:free").unwrap().1.name, "vendor/b:free");
    assert_eq!(set.model("claude-x").unwrap().0.name, "my-cloud");
    assert_eq!(set.model("nothing"), None);
}

#[test]
fn the_dialect_follows_the_host_unless_it_is_written() {
    let dialect = |text: &str| set(text).providers[0].dialect;
    assert_eq!(dialect(&file("")), ChatDialect::Compatible);
    assert_eq!(
        dialect(&file("").replace("api.example.org", "api.openai.com")),
        ChatDialect::OpenAi
    );
    assert_eq!(dialect(&file(":DIALECT: openai")), ChatDialect::OpenAi);
}

#[test]
fn faults_name_their_line_the_reason_and_what_to_write() {
    check(&file(""), &[]);
    check(&file(":ADRESS: x"), &["line 6: `:ADRESS:` is no property here; write `:ADDRESS:`"]);
    check(
        &file("").replace(":CODEC: openai-chat", ":CODEC: chat"),
        &[
            "line 4: `:CODEC:` `chat` is not understood; write `:CODEC:` and openai-chat, openai-responses, anthropic-messages or gemini",
        ],
    );
    check(
        &file("").replace(":PRIVACY: remote\n", ""),
        &[
            "line 1: `cloud` has no `:PRIVACY:`; write `:PRIVACY: remote`, or `local` for a server of your own",
        ],
    );
    check(
        &file(":RETRIES: many\n:TIMEOUT_TOTAL: 5"),
        &[
            "line 6: `:RETRIES:` `many` is not understood; write a number from 0 to 10",
            "line 7: `:TIMEOUT_TOTAL:` `5` is not understood; write a time such as `500ms`, `30s` or `5m`, at most a day",
        ],
    );
}

#[test]
fn faults_between_properties_are_told_too() {
    check(
        &file("").replace("/v1", "/v1/chat/completions"),
        &[
            "line 3: the codec adds `/chat/completions` by itself; write `https://api.example.org/v1`",
        ],
    );
    check(
        &file(":KEY: env:K").replace("https", "http"),
        &["line 3: the key would be sent unencrypted; write `https://`"],
    );
    check(
        &file(":HOSTS: other.example.org"),
        &[
            "line 6: the address's host `api.example.org` is not among the hosts; add it, or leave `:HOSTS:` out",
        ],
    );
    check(&file(":CODEC: gemini"), &["line 6: `:CODEC:` is written twice; keep one of them"]);
    check(
        &file("").replace("* cloud", "* My cloud"),
        &[
            "line 1: `My cloud` is no name of a provider; write 1 to 64 letters, digits, `-`, `_` or `.`, such as `* openai`",
        ],
    );
    check(
        &file("").replace("** small :reflex:\n", ""),
        &[
            "line 1: the provider has no models; write a heading below it for each, such as `** gpt-5.4-mini :cognition:`",
        ],
    );
    check(
        &format!("{}:PROPERTIES:\n:PRICE_INPUT: 2\n:END:\n", file("")),
        &[
            "line 7: the price is not complete; write `:PRICE_INPUT:` and `:PRICE_OUTPUT:`, or `:PRICE: free`, or none of them",
        ],
    );
    check(
        &format!("{0}{0}", file("")),
        &["line 8: a second provider is named `cloud`; give it another name"],
    );
    check(
        &format!("{}** small :cognition:\n", file("")),
        &["line 8: a second model is named `small`; remove one of them"],
    );
}

#[test]
fn a_key_is_never_read_and_never_repeated() {
    let key = "sk-proj-abcdefgh12345678";
    for property in ["KEY", "API_KEY", "HOSTS", "ADDRESS", "X_KEY"] {
        let text = file(&format!(":{property}: {key}"));
        let parsed = read_providers(&text);
        let said = format!("{parsed:?}");
        assert!(!said.contains("abcdefgh"), "{property}: {said}");
        assert_eq!(parsed.notices.len(), 1, "{property}");
        assert_eq!(parsed.problems.is_empty(), property == "X_KEY", "{property}: {said}");
    }
    let parsed = read_providers(&file(&format!(":KEY: {key}")));
    assert!(parsed.problems[0].instead.starts_with("this looks like a key itself"));
    let prose = read_providers(&format!("My key is {key}.\n"));
    assert_eq!((prose.notices[0].line, prose.problems.len()), (1, 0));
}

#[test]
fn what_is_commented_out_or_archived_is_not_there() {
    let text = file(":KEY: nonsense");
    for off in
        [text.replace("* cloud", "* COMMENT cloud"), text.replace("* cloud", "* cloud :ARCHIVE:")]
    {
        assert_eq!(read_providers(&off), ParsedProviders::default());
    }
    let nested =
        format!("* COMMENT all\n{}", text.replace("** ", "*** ").replace("* cloud", "** cloud"));
    assert_eq!(read_providers(&nested), ParsedProviders::default());
    let model = read_providers(&format!("{}** COMMENT large :cognition:\n", file("")));
    assert_eq!(model.providers[0].models.len(), 1);
}

#[test]
fn local_with_a_public_name_is_remarked() {
    let local = |host: &str| {
        let text = file("").replace("remote", "local").replace("https://api.example.org", host);
        read_providers(&text).notices.len()
    };
    assert_eq!(
        [local("http://127.0.0.1:8080"), local("http://nas.lan"), local("https://llm.example.org")],
        [0, 0, 1]
    );
}

#[test]
fn a_fault_keeps_its_provider_as_it_was() {
    let before = set(&file(":RETRIES: 5"));
    let broken = read_providers(&file(":RETRIES: x"));
    assert_eq!(broken.over(&before), before);
    assert_eq!(read_providers("").over(&before), ProviderSet::default());
    let nameless = read_providers(&file("").replace("* cloud", "* My cloud"));
    assert_eq!(nameless.over(&before), before);
    let good = read_providers(&file(":RETRIES: 1"));
    assert_eq!(good.over(&before).providers[0].patience.retries, 1);
}

#[test]
fn changes_of_where_prompts_and_keys_go_wait_for_a_yes() {
    let fields = |before: &ProviderSet, after: &ProviderSet| -> Vec<(ProviderField, bool)> {
        let diff = ProviderDiff::between(before, after);
        diff.changes.iter().map(|change| (change.field, change.needs_approval())).collect()
    };
    let before = set(&file(":KEY: env:A"));
    assert_eq!(fields(&before, &before), []);
    let cases = [
        (file(":KEY: env:B"), ProviderField::Key, true),
        (file(":KEY: command:sh -c x"), ProviderField::Key, true),
        (file(":KEY: env:A\n:HOSTS: api.example.org b.example.org"), ProviderField::Hosts, true),
        (file(":KEY: env:A").replace("remote", "local"), ProviderField::Privacy, true),
        (file(":KEY: env:A").replace("/v1", "/v2"), ProviderField::Address, true),
        (
            file(":KEY: env:A").replace("openai-chat", "openai-responses"),
            ProviderField::Codec,
            true,
        ),
        (file(":KEY: env:A\n:PROXY: http://p"), ProviderField::Proxy, true),
        (file(":KEY: env:A\n:CA_FILE: /ca"), ProviderField::CaFile, true),
        (file(":KEY: env:A\n:DIALECT: openai"), ProviderField::Dialect, false),
        (file(":KEY: env:A\n:RETRIES: 7"), ProviderField::Patience, false),
        (file(":KEY: env:A\n:CATALOG: openai"), ProviderField::Catalog, false),
        (file(":KEY: env:A").replace("small", "large"), ProviderField::Models, false),
    ];
    for (text, field, needs) in cases {
        let after = set(&text);
        assert_eq!(fields(&before, &after), [(field, needs)], "{text}");
        let meanwhile = before.before_approval(&after);
        let left = ProviderDiff::between(&meanwhile, &after);
        assert_eq!(left.to_approve().count(), usize::from(needs), "{text}");
        assert_eq!(left.changes.len(), usize::from(needs), "{text}");
        assert_eq!(ProviderDiff::between(&before, &meanwhile).to_approve().count(), 0, "{text}");
    }
    // A line more above moves every line and changes nothing.
    assert_eq!(fields(&before, &set(&format!("Prose.\n{}", file(":KEY: env:A")))), []);
}

#[test]
fn a_new_provider_waits_and_one_that_is_gone_does_not() {
    let (none, some) = (ProviderSet::default(), set(&file("")));
    assert_eq!(none.before_approval(&some), none);
    assert!(ProviderDiff::between(&none, &some).to_approve().count() > 0);
    let gone = ProviderDiff::between(&some, &none);
    assert_eq!((gone.changes.len(), gone.to_approve().count()), (1, 0));
    assert_eq!(some.before_approval(&none), none);
}

#[test]
fn approved_settings_are_written_read_and_put_in_the_place_of_saved_ones() {
    let text = |address: &str, more: &str| {
        format!(
            "* lab\n:PROPERTIES:\n:ADDRESS: {address}\n:CODEC: openai-chat\n:PRIVACY: remote\n{more}:END:\n** m :reflex:\n"
        )
    };
    let one = |text: &str| read_providers(text).providers.remove(0);
    let more = ":KEY: command:pass show \"a b\"\n:HOSTS: a.example b.example\n:PROXY: http://p:1\n:CA_FILE: ~/ca\n";
    let known = one(&text("https://a.example/v1", more));
    let kept: Vec<(ProviderField, String)> = known.approval_texts().collect();
    let find = |field| kept.iter().find(|(it, _)| *it == field).map(|(_, text)| text.as_str());
    let approved = ApprovedSettings::read(find).expect("what was written is read");
    assert_eq!(approved, ApprovedSettings::of(&known));
    assert_eq!(
        ApprovedSettings::read(|field| find(field).filter(|_| field != ProviderField::Hosts)),
        None
    );
    let saved = one(&text("https://c.example/v1", ""));
    let fields: Vec<&str> = approved.changes(&saved).iter().map(|it| it.field.as_str()).collect();
    assert_eq!(fields, ["ADDRESS", "KEY", "HOSTS", "PROXY", "CA_FILE"]);
    assert_eq!(approved.over(&saved).address, known.address);
    assert!(approved.changes(&known).is_empty());
    let new: Vec<&str> = saved.new_settings().iter().map(|it| it.field.as_str()).collect();
    assert_eq!(new, ["ADDRESS", "HOSTS", "PRIVACY", "CODEC"]);
    assert!(
        !saved.is_harmless() && !one(&text("http://127.0.0.1/v1", ":KEY: env:A\n")).is_harmless()
    );
    assert!(one(&text("http://[::1]:8080/v1", "")).is_harmless());
}
