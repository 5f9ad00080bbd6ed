//! Checks whether Codex trusts the installed hooks, by asking Codex's app-server over its standard streams.
//!
//! `codex app-server` is a process of its own, which ends with its input. Only the person trusts hooks: hubctl sends no
//! request that changes anything.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use hub_agents::Agent;
use serde::Deserialize;
use serde_json::json;

use super::finding::Finding;
use crate::commands::hooks::is_ours;
use crate::identity::Context;

/// How long Codex may take to answer.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The number of the request whose answer lists the hooks.
const LIST: u64 = 2;

/// An answer of the app-server.
#[derive(Deserialize)]
struct Answer {
    id: Option<u64>,
    result: Option<HookList>,
}

#[derive(Default, Deserialize)]
struct HookList {
    #[serde(default)]
    data: Vec<HooksOfDirectory>,
}

#[derive(Deserialize)]
struct HooksOfDirectory {
    hooks: Vec<CodexHook>,
}

/// A hook as `hooks/list` shows it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CodexHook {
    #[serde(default)]
    command: String,
    enabled: bool,
    trust_status: String,
}

/// The finding about the trust in Codex's installed hooks.
pub(super) async fn check(context: &Context) -> Finding {
    match hooks(context).await {
        Ok(hooks) => judge(&hooks),
        Err(why) => Finding::warn(
            format!("could not ask Codex whether it trusts the hooks: {why}"),
            "run codex, and look at the hooks with /hooks",
        ),
    }
}

fn judge(hooks: &[CodexHook]) -> Finding {
    let own = hooks.iter().filter(|it| is_ours(&it.command, Agent::Codex));
    let own: Vec<&CodexHook> = own.collect();
    let count = |untrusted: &str| own.iter().filter(|it| it.trust_status == untrusted).count();
    let (new, modified) = (count("untrusted"), count("modified"));
    let disabled = own.iter().filter(|it| !it.enabled).count();
    let all = own.len();
    if new + modified > 0 {
        return Finding::problem(
            format!(
                "codex runs only {} of the hub's {all} hooks: not trusted are {new}, changed since you trusted them {modified}",
                all - new - modified
            ),
            "start codex; at \"Hooks need review\" press 1 and Enter to read them, or 2 and Enter to trust all; later: /hooks",
        );
    }
    if disabled > 0 {
        return Finding::problem(
            format!(
                "codex runs only {} of the hub's {all} hooks: disabled are {disabled}",
                all - disabled
            ),
            "start codex, and enable them with /hooks",
        );
    }
    if all == 0 {
        return Finding::problem(
            "codex does not read the installed hooks here",
            "start codex in this directory, and trust the directory; then hubctl hooks status codex",
        );
    }
    Finding::ok(format!("codex trusts the hub's {all} hooks"))
}

/// The hooks that apply in this directory.
async fn hooks(context: &Context) -> Result<Vec<CodexHook>, String> {
    let mut codex = Command::new("codex")
        .arg("app-server")
        .current_dir(&context.env.cwd)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("codex: {error}"))?;
    let output = codex.stdout.take().map(BufReader::new);
    let input = codex.stdin.take();
    let (Some(output), Some(mut input)) = (output, input) else {
        return Err("codex has no pipes".into());
    };
    let asked = input.write_all(requests(context).as_bytes());
    let answer = tokio::task::spawn_blocking(move || {
        let lines = output.lines().map_while(Result::ok);
        let mut answers = lines.filter_map(|line| serde_json::from_str::<Answer>(&line).ok());
        answers.find(|it| it.id == Some(LIST))
    });
    let answer = tokio::time::timeout(TIMEOUT, answer).await;
    end(codex, input, answer.is_err());
    asked.map_err(|error| format!("codex app-server: {error}"))?;
    let answer = answer.map_err(|_| "codex app-server does not answer")?;
    let list = answer.ok().flatten().and_then(|it| it.result);
    let list = list.ok_or("codex app-server does not list them")?;
    Ok(list.data.into_iter().flat_map(|it| it.hooks).collect())
}

fn requests(context: &Context) -> String {
    let client = json!({ "name": "hubctl", "version": env!("CARGO_PKG_VERSION") });
    let params = json!({ "clientInfo": client, "capabilities": null });
    let cwd = context.env.cwd.display().to_string();
    let requests = [
        json!({ "id": 1, "method": "initialize", "params": params }),
        json!({ "method": "initialized" }),
        json!({ "id": LIST, "method": "hooks/list", "params": { "cwds": [cwd] } }),
    ];
    requests.map(|it| format!("{it}\n")).concat()
}

/// Closes the process's input, at which it ends.
fn end(mut codex: Child, input: ChildStdin, hangs: bool) {
    drop(input);
    if hangs {
        let _ = codex.kill();
    }
    let _ = codex.wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hook_that_codex_does_not_run_is_a_problem() {
        let hook = |trust: &str, enabled| CodexHook {
            command: "/bin/hubctl hook codex".into(),
            enabled,
            trust_status: trust.into(),
        };
        let foreign = || CodexHook {
            command: "lint".into(),
            ..hook("untrusted", true)
        };
        for (hooks, is_problem) in [
            (vec![hook("trusted", true), foreign()], false),
            (vec![hook("managed", true)], false),
            (vec![hook("trusted", true), hook("modified", true)], true),
            (vec![hook("untrusted", true)], true),
            (vec![hook("trusted", false)], true),
            (vec![foreign()], true),
        ] {
            let finding = judge(&hooks);
            assert_eq!(finding.is_problem(), is_problem, "{finding:?}");
        }
    }
}
