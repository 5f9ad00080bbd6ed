//! Codex CLI and Gemini CLI in their headless modes, each with its own scripted model.

use hub_harness::Model;
use serde_json::{Map, Value, json};

use super::{Sandbox, installed};

impl Sandbox {
    /// Runs `codex exec` for one prompt; returns its stdout.
    pub(crate) fn codex(&self, model: &Model, more: &[&str], prompt: &str) -> String {
        let config = format!(
            "model = \"gpt-5.5\"\nmodel_provider = \"scripted\"\n[model_providers.scripted]\nname = \"scripted\"\n\
             base_url = \"{}/v1\"\nwire_api = \"responses\"\nenv_key = \"SCRIPTED_KEY\"\n",
            model.url()
        );
        self.write_home(".codex/config.toml", &config);
        let args = ["exec", "--dangerously-bypass-hook-trust"];
        let args = [&args, more, &[prompt]].concat();
        self.run(&installed::linked("codex"), &args, &[("SCRIPTED_KEY", "x")])
    }

    /// Writes the settings of Gemini CLI, with these hooks.
    pub(crate) fn gemini_settings(&self, hooks: &Map<String, Value>) {
        let settings = json!({
            "hooks": hooks,
            "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": false}},
            "general": {"enableAutoUpdate": false},
            "privacy": {"usageStatisticsEnabled": false},
        });
        self.write_home(".gemini/settings.json", &settings.to_string());
    }

    /// Runs `gemini -p` for one prompt; returns its stdout.
    pub(crate) fn gemini(&self, model: &Model, more: &[&str], prompt: &str) -> String {
        let url = model.url();
        let env = [("GEMINI_API_KEY", "x"), ("GOOGLE_GEMINI_BASE_URL", &url)];
        // With an explicit model, Gemini CLI does not ask another model to choose one.
        let args = ["--model=gemini-2.5-pro", "--skip-trust"];
        let args = [&args, more, &["-p", prompt]].concat();
        self.run(&installed::linked("gemini"), &args, &env)
    }
}
