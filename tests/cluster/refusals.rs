//! What a hub refuses at its start in a cluster.

use std::os::unix::fs::{PermissionsExt, symlink};

use hub_harness::Hub;

use super::nats::Nats;
use super::support::{member, until_active};

fn refusal(builder: hub_harness::HubBuilder) -> String {
    builder.try_start().expect_err("it starts").stderr
}

#[test]
fn a_server_beyond_this_machine_without_tls_is_refused() {
    let refused = refusal(
        Hub::builder()
            .set("journal=jetstream")
            .set("cluster.urls=['nats://192.0.2.1:4222']"),
    );
    assert!(refused.contains("must begin with tls://"), "{refused}");
}

#[test]
fn credentials_that_other_users_can_read_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (file, link) = (dir.path().join("creds"), dir.path().join("link"));
    std::fs::write(&file, "SUA").unwrap();
    symlink(&file, &link).unwrap();
    let with = |path: &std::path::Path| {
        refusal(
            Hub::builder()
                .set("journal=jetstream")
                .set("cluster.urls=['nats://127.0.0.1:1']")
                .set(&format!("cluster.creds={}", path.display())),
        )
    };
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o640)).unwrap();
    assert!(with(&file).contains("is open to other users"));
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
    assert!(with(&link).contains("is a symbolic link"));
}

#[tokio::test]
async fn a_copy_is_not_opened_as_a_log_of_its_own() {
    let servers = [Nats::start()];
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("state");
    let a = member("a", &servers).state_dir(&state).start();
    until_active(&a).await;
    drop(a);
    let refused = refusal(Hub::builder().state_dir(&state));
    assert!(refused.contains("copy of a cluster's log"), "{refused}");
}

#[test]
fn a_log_of_its_own_does_not_join() {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("state");
    drop(Hub::builder().state_dir(&state).start());
    let servers = [Nats::start()];
    let refused = refusal(member("a", &servers).state_dir(&state));
    assert!(refused.contains("hubd cluster init"), "{refused}");
}
