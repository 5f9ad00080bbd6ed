//! The agents whose models are scripted in Anthropic's format, and for each the tests that the real program passes.

use hub_agents::Agent;

use crate::clients::{
    gets_news_in_a_turn_and_a_series_of_wakes_by_the_module_loses_and_doubles_none,
    receives_what_is_pending, reports_a_turn_and_receives_what_is_pending,
};
use crate::pane::{a_series_of_wakes_by_the_pane_loses_and_doubles_none, is_woken_by_its_pane};
use crate::questions::{
    asks_for_permissions, closes_a_permission_before_the_command_ends, is_allowed_from_the_hub,
    is_answered_from_the_hub, is_answered_from_the_hub_and_tells_an_interruption,
};
use crate::same_file::alerts_the_other_session_of_its_file;
use crate::support::{Tools, Vendor};

/// Makes a test of each name in an agent's row.
macro_rules! each {
    ($($name:ident = $vendor:ident: $($check:ident),+;)+) => {
        /// Every agent.
        pub(crate) const ALL: [Vendor; [$(stringify!($name)),+].len()] = [$($vendor),+];

        $(mod $name {
            $(#[test]
            fn $check() {
                super::$check(&super::$vendor);
            })+
        })+
    };
}

each! {
    opencode_1 = OPENCODE_1:
        reports_a_turn_and_receives_what_is_pending,
        gets_news_in_a_turn_and_a_series_of_wakes_by_the_module_loses_and_doubles_none,
        a_series_of_wakes_by_the_pane_loses_and_doubles_none, asks_for_permissions,
        is_answered_from_the_hub_and_tells_an_interruption, alerts_the_other_session_of_its_file;
    // On a busy machine `opencode run` ends before its plugin has reported the turn's end. The plugin runs in a server, which is not
    // the program in the foreground of the pane, so the hub pastes nothing there.
    opencode_2 = OPENCODE_2:
        receives_what_is_pending,
        gets_news_in_a_turn_and_a_series_of_wakes_by_the_module_loses_and_doubles_none,
        asks_for_permissions, alerts_the_other_session_of_its_file;
    pi = PI:
        reports_a_turn_and_receives_what_is_pending,
        gets_news_in_a_turn_and_a_series_of_wakes_by_the_module_loses_and_doubles_none,
        a_series_of_wakes_by_the_pane_loses_and_doubles_none,
        alerts_the_other_session_of_its_file;
    qwen = QWEN:
        reports_a_turn_and_receives_what_is_pending, is_answered_from_the_hub,
        closes_a_permission_before_the_command_ends, is_woken_by_its_pane,
        a_series_of_wakes_by_the_pane_loses_and_doubles_none;
    copilot = COPILOT:
        reports_a_turn_and_receives_what_is_pending, is_allowed_from_the_hub, is_answered_from_the_hub,
        alerts_the_other_session_of_its_file, is_woken_by_its_pane,
        a_series_of_wakes_by_the_pane_loses_and_doubles_none;
    kimi = KIMI:
        reports_a_turn_and_receives_what_is_pending, is_answered_from_the_hub,
        closes_a_permission_before_the_command_ends, is_woken_by_its_pane,
        a_series_of_wakes_by_the_pane_loses_and_doubles_none;
    kilo = KILO:
        reports_a_turn_and_receives_what_is_pending,
        gets_news_in_a_turn_and_a_series_of_wakes_by_the_module_loses_and_doubles_none,
        a_series_of_wakes_by_the_pane_loses_and_doubles_none, asks_for_permissions,
        is_answered_from_the_hub_and_tells_an_interruption, alerts_the_other_session_of_its_file;
}

/// The input of the tool with which most agents ask.
pub(crate) const WHICH: &str = r#"{"questions": [{"id": "db", "header": "Database", "question": "Which db?", "options": [
    {"label": "postgres", "description": "big"}, {"label": "sqlite", "description": "small"}]}]}"#;

pub(crate) const OPENCODE_1: Vendor = Vendor {
    agent: Agent::OpenCode,
    package: "node_modules/opencode-PLATFORM",
    program: "bin/opencode",
    // Kilo Code asks whether to go on without snapshots if they take long, as on a busy machine.
    settings: (
        ".config/opencode/opencode.json",
        r#"{"model": "anthropic/claude-sonnet-4-5", "snapshot": false,
            "provider": {"anthropic": {"options": {"baseURL": "{URL}/v1", "apiKey": "x"}}}}"#,
    ),
    downloads: Some("@opencode-ai/plugin"),
    env: &[
        ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
        ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
    ],
    headless: &["run"],
    interactive: &[],
    ready: "Build · Claude Sonnet 4.5",
    asking: r#"{"model": "anthropic/claude-sonnet-4-5", "snapshot": false, "permission": {"bash": "ask"},
            "provider": {"anthropic": {"options": {"baseURL": "{URL}/v1", "apiKey": "x"}}}}"#,
    dialog: "",
    tools: Tools {
        shell: "bash",
        asks: ("question", WHICH),
        writes: ("write", r#"{"filePath": "FILE", "content": "a fig"}"#),
        delegates: (
            "task",
            r#"{"description": "look", "prompt": "Go and look", "subagent_type": "general"}"#,
        ),
        always: "bash(touch *) until OpenCode is restarted",
        ..Tools::NONE
    },
};

pub(crate) const OPENCODE_2: Vendor = Vendor {
    package: "node_modules/@opencode/cli-PLATFORM-baseline",
    settings: (
        ".config/opencode/opencode.json",
        r#"{"model": "anthropic/claude-sonnet-4-5",
            "providers": {"anthropic": {"settings": {"baseURL": "{URL}/v1", "apiKey": "x"}}}}"#,
    ),
    downloads: None,
    headless: &["run", "--standalone"],
    // Without a background service, which would outlive the test.
    interactive: &["--standalone"],
    asking: r#"{"model": "anthropic/claude-sonnet-4-5",
            "permissions": [{"action": "shell", "resource": "*", "effect": "ask"}],
            "providers": {"anthropic": {"settings": {"baseURL": "{URL}/v1", "apiKey": "x"}}}}"#,
    tools: Tools {
        shell: "shell",
        writes: ("write", r#"{"path": "FILE", "content": "a fig"}"#),
        delegates: (
            "subagent",
            r#"{"description": "look", "prompt": "Go and look", "agent": "general"}"#,
        ),
        denied: "Unable to execute command",
        always: "shell(touch *) in this project, for good",
        ..Tools::NONE
    },
    ..OPENCODE_1
};

pub(crate) const KILO: Vendor = Vendor {
    agent: Agent::Kilo,
    package: "node_modules/@kilocode/cli-PLATFORM-baseline",
    program: "bin/kilo",
    settings: (".config/kilo/kilo.json", OPENCODE_1.settings.1),
    downloads: Some("@kilocode/plugin"),
    env: &[
        ("KILO_DISABLE_MODELS_FETCH", "1"),
        ("KILO_DISABLE_AUTOUPDATE", "1"),
        ("KILO_TELEMETRY_LEVEL", "off"),
    ],
    ready: "· Claude Sonnet 4.5",
    tools: Tools {
        always: "bash(touch *) in all projects, for good",
        ..OPENCODE_1.tools
    },
    ..OPENCODE_1
};

pub(crate) const PI: Vendor = Vendor {
    agent: Agent::Pi,
    package: "pi/package",
    program: "dist/bundle/cli.js",
    settings: (
        ".pi/agent/models.json",
        r#"{"providers": {"anthropic": {"baseUrl": "{URL}", "apiKey": "x"}}}"#,
    ),
    downloads: None,
    env: &[("PI_OFFLINE", "1")],
    headless: &["--model", "anthropic/claude-sonnet-4-5", "-p"],
    interactive: &["--model", "anthropic/claude-sonnet-4-5"],
    ready: "claude-sonnet-4-5",
    asking: "",
    dialog: "",
    tools: Tools {
        shell: "bash",
        writes: ("write", r#"{"path": "FILE", "content": "a fig"}"#),
        ..Tools::NONE
    },
};

pub(crate) const QWEN: Vendor = Vendor {
    agent: Agent::Qwen,
    package: "node_modules/@qwen-code/qwen-code",
    program: "cli-entry.js",
    settings: (
        ".qwen/settings.json",
        r#"{"security": {"auth": {"selectedType": "anthropic"}, "folderTrust": {"enabled": false}},
            "general": {"enableAutoUpdate": false}, "privacy": {"usageStatisticsEnabled": false},
            "ui": {"enableFollowupSuggestions": false}}"#,
    ),
    downloads: None,
    env: &[
        ("ANTHROPIC_BASE_URL", "{URL}"),
        ("ANTHROPIC_MODEL", "claude-sonnet-4-5"),
    ],
    headless: &["--approval-mode=default", "-p"],
    interactive: &[],
    ready: "Type your message",
    asking: "",
    dialog: "Allow execution of",
    tools: Tools {
        shell: "run_shell_command",
        asks: ("ask_user_question", WHICH),
        ..Tools::NONE
    },
};

pub(crate) const COPILOT: Vendor = Vendor {
    agent: Agent::Copilot,
    package: "node_modules/@github/copilot-PLATFORM",
    program: "copilot",
    settings: (".copilot/unused.json", "{}"),
    downloads: None,
    env: &[
        ("COPILOT_OFFLINE", "true"),
        ("COPILOT_AUTO_UPDATE", "false"),
        ("COPILOT_PROVIDER_BASE_URL", "{URL}"),
        ("COPILOT_PROVIDER_TYPE", "anthropic"),
        ("COPILOT_PROVIDER_API_KEY", "x"),
        ("COPILOT_MODEL", "claude-sonnet-4-5"),
    ],
    headless: &["--allow-all-tools", "-p"],
    interactive: &[],
    ready: "❯",
    asking: "",
    dialog: "",
    tools: Tools {
        shell: "bash",
        asks: (
            "ask_user",
            r#"{"message": "Which db?", "requestedSchema": {"type": "object", "required": ["db"],
                "properties": {"db": {"type": "string", "enum": ["postgres", "sqlite"]}}}}"#,
        ),
        writes: ("create", r#"{"path": "FILE", "file_text": "a fig"}"#),
        ..Tools::NONE
    },
};

pub(crate) const KIMI: Vendor = Vendor {
    agent: Agent::Kimi,
    package: "node_modules/@moonshot-ai/kimi-code",
    program: "dist/main.mjs",
    settings: (
        ".kimi-code/config.toml",
        "default_model = \"scripted\"\ntelemetry = false\n[providers.scripted]\ntype = \"anthropic\"\n\
         base_url = \"{URL}\"\napi_key = \"x\"\n[models.scripted]\nprovider = \"scripted\"\n\
         model = \"claude-sonnet-4-5\"\nmax_context_size = 200000\n",
    ),
    downloads: None,
    env: &[("KIMI_CODE_NO_AUTO_UPDATE", "1")],
    headless: &["-p"],
    interactive: &[],
    ready: "context",
    asking: "",
    dialog: "Run this command?",
    tools: Tools {
        shell: "Bash",
        // Kimi Code refuses fields that it does not know.
        asks: (
            "AskUserQuestion",
            r#"{"questions": [{"header": "Database", "question": "Which db?", "options": [
                {"label": "postgres", "description": "big"}, {"label": "sqlite", "description": "small"}]}]}"#,
        ),
        ..Tools::NONE
    },
};
