//! Codex in a terminal, with its own scripted model. Its threads run in an app-server, which the terminal starts.

use std::path::PathBuf;
use std::time::Duration;

use hub_harness::model::{Reply, Request};
use hub_harness::{Model, Pane, within};

use super::{Sandbox, installed};

/// A Codex in a terminal.
pub(crate) struct Codex {
    /// The model that answers it.
    pub(crate) model: Model,
    /// The terminal that it runs in.
    pub(crate) pane: Pane,
    /// Codex's own directory.
    dir: PathBuf,
}

impl Sandbox {
    /// Writes Codex's settings: the scripted model without retries, a trusted project, and no dialog about another model.
    /// Commands cannot write to `/tmp`, because a command that Codex kills leaves a `.git` in each directory that it can write to.
    pub(crate) fn codex_settings(&self, model: &Model) {
        let config = format!(
            "model = \"gpt-5.5\"\nmodel_provider = \"scripted\"\ncheck_for_update_on_startup = false\n\
             [model_providers.scripted]\nname = \"scripted\"\nbase_url = \"{}/v1\"\nwire_api = \"responses\"\n\
             env_key = \"SCRIPTED_KEY\"\nrequest_max_retries = 0\nstream_max_retries = 0\n[notice.model_migrations]\n\"gpt-5.5\" = \"gpt-6-sol\"\n\
             [sandbox_workspace_write]\nexclude_slash_tmp = true\nexclude_tmpdir_env_var = true\n\
             [projects.\"{}\"]\ntrust_level = \"trusted\"\n",
            model.url(),
            self.project().display(),
        );
        self.write_home(".codex/config.toml", &config);
    }

    /// Starts Codex in a terminal, trusts its hooks as a person does if Codex asks, and waits until it is ready.
    pub(crate) fn codex_terminal(
        &self,
        args: &[&str],
        script: impl Fn(&Request) -> Reply + Send + Sync + 'static,
    ) -> Codex {
        self.codex_terminal_with(args, &[], script)
    }

    /// Starts it as [`Sandbox::codex_terminal`] does, with more variables.
    pub(crate) fn codex_terminal_with(
        &self,
        args: &[&str],
        env: &[(&str, &str)],
        script: impl Fn(&Request) -> Reply + Send + Sync + 'static,
    ) -> Codex {
        let model = Model::start(script);
        self.codex_settings(&model);
        let pane = self.codex_pane("codex", args, env);
        let dir = self.home().join(".codex");
        Codex { model, pane, dir }
    }

    /// Starts another Codex in a terminal, with the settings that are there.
    pub(crate) fn codex_pane(&self, name: &str, args: &[&str], env: &[(&str, &str)]) -> Pane {
        let mut command = vec![installed::linked("codex").display().to_string()];
        command.extend(args.iter().map(|&arg| arg.to_owned()));
        let env = [&[("SCRIPTED_KEY", "x")], env].concat();
        let env: Vec<(String, String)> = env
            .iter()
            .map(|(a, b)| ((*a).into(), (*b).into()))
            .collect();
        let pane = self.tmux().start(name, &self.project(), &env, &command);
        pane.until("Codex is ready or asks", |it| is_ready(it) || asks(it));
        if asks(&pane.text()) {
            trust_hooks(&pane);
        }
        pane
    }
}

fn is_ready(shown: &str) -> bool {
    shown.contains("GPT-5.5 default")
}

/// Whether Codex asks whether it may run the hooks.
fn asks(shown: &str) -> bool {
    shown.contains("Trust all and continue")
}

/// Answers Codex's question about the hooks. Rarely it reads no key after a start on a busy machine, and is started again.
fn trust_hooks(pane: &Pane) {
    // It may show the dialog before it reads keys, and Enter would choose to review the hooks.
    let press = || {
        pane.press(&["2"]);
        let chosen = || pane.text().contains("› 2. Trust all").then_some(());
        within(Duration::from_secs(1), chosen)
    };
    for _ in 0..3 {
        if within(Duration::from_secs(20), press).is_some() {
            pane.press(&["Enter"]);
            pane.until("Codex is ready", is_ready);
            return;
        }
        pane.tmux("respawn-pane -k -t", &[pane.id()]);
        pane.until("Codex asks again", asks);
    }
    panic!("Codex reads no key:\n{}", pane.text());
}

impl Codex {
    /// Types a prompt and sends it. No other text that the model gets may contain it.
    pub(crate) fn submit(&self, text: &str) {
        self.pane.type_in(text);
        // Codex takes Enter in a burst of keys for a part of pasted text.
        let is_sent = |_: &str| self.requests_with(text) > 0;
        self.pane
            .press_until("Enter", "the prompt is sent", is_sent);
    }

    /// Returns in how many requests of the conversation this text was new. Codex also asks for a title, with the prompt
    /// and with fewer tools.
    pub(crate) fn requests_with(&self, text: &str) -> usize {
        let all = self.model.requests().into_iter();
        let converses = |it: &Request| it.body["tools"].as_array().is_some_and(|it| it.len() > 1);
        let own = all.filter(|it| converses(it) && it.count_new(text) > 0);
        own.count()
    }
}

impl Drop for Codex {
    /// Prints the terminal's content when the test fails. Removes the app-server's sockets, which are links to files
    /// outside of the sandbox, each with a lock beside it.
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the terminal:\n{}", self.pane.text().trim());
        }
        for link in [
            "app-server-control/app-server-control.sock",
            "app-server-daemon/daemon-updater.sock",
        ] {
            if let Ok(socket) = std::fs::read_link(self.dir.join(link)) {
                let _ = std::fs::remove_file(socket.with_extension("lock"));
                let _ = std::fs::remove_file(socket);
            }
        }
    }
}
