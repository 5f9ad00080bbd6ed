//! Forwards of a cluster: only the active hub forwards, and the next one goes on at the same position.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use hub_harness::{Hub, Ntfy, each};
use serde_json::{Value, json};

use super::nats::Nats;
use super::support::{member, publish, until_active, until_follows};

#[tokio::test]
async fn only_the_active_hub_forwards_and_the_next_one_goes_on() {
    let servers = [Nats::start()];
    let ntfy = Ntfy::start();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("config.toml");
    let url = ntfy.url();
    let text = format!(
        "[[forward]]\nname='phone'\nkind='ntfy'\nurl='{url}'\ntopic='phone'\ntypes=['message']"
    );
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
    let start = |node: &str| member(node, &servers).arg("--config").arg(&path).start();
    let mut a = start("a");
    until_active(&a).await;
    let b = start("b");
    until_follows(&b, "a").await;
    let forwards = async |hub: &Hub| hub.client().read("/hub").await["forwards"].clone();
    publish(&b, "first", "x").await;
    ntfy.until_messages("phone", 1);
    assert_eq!(forwards(&b).await, Value::Null);
    a.stop();
    until_active(&b).await;
    publish(&b, "second", "x").await;
    // The first hub may have stopped before its position was in the log; then the next one sends the first message again.
    let mut count = 2;
    let texts = loop {
        let all = ntfy.until_messages("phone", count);
        let texts = each(&json!(all), "message");
        if texts[count - 1] == "second" {
            break texts;
        }
        count += 1;
    };
    assert!(count <= 3 && texts[0] == "first", "{texts}");
    while forwards(&b).await[0]["sent"] != count - 1 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
