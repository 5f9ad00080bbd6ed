//! Random faults under load. The seed and the number of rounds are settings of the environment: `HUB_CLUSTER_SEED` and
//! `HUB_CLUSTER_ROUNDS`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hub_harness::{Client, Hub};

use super::nats::Nats;
use super::support::{
    cluster, hubd, pair, pause, publish_by, setting, stored, until_active, until_follows,
};

/// A fault that ends before the next one begins.
#[derive(Debug, Clone, Copy)]
enum Fault {
    KillActive,
    KillActiveBriefly,
    PauseActive,
    StopActive,
    KillNats,
    PauseNats,
    WipeNats,
}

const FAULTS: [Fault; 7] = [
    Fault::KillActive,
    Fault::KillActiveBriefly,
    Fault::PauseActive,
    Fault::StopActive,
    Fault::KillNats,
    Fault::PauseNats,
    Fault::WipeNats,
];

/// Publishes numbered keys one after another until `done`; returns each with the number that its publisher was told.
async fn publisher(
    name: &'static str,
    client: Client,
    done: Arc<AtomicBool>,
) -> Vec<(u64, String)> {
    let mut acknowledged = Vec::new();
    while !done.load(Ordering::SeqCst) {
        let key = format!("{name}-{}", acknowledged.len());
        acknowledged.push((publish_by(&client, &key, name).await, key));
    }
    acknowledged
}

async fn inflict(fault: Fault, hubs: &mut [Hub; 2], server: &mut Nats) {
    let a_leads = cluster(&hubs[0]).await["role"] == "active";
    let [a, b] = hubs;
    let (active, standby) = if a_leads { (a, &*b) } else { (b, &*a) };
    match fault {
        Fault::KillActive => {
            active.kill_9();
            until_active(standby).await;
            active.start_again();
        }
        Fault::KillActiveBriefly => {
            active.kill_9();
            active.start_again();
        }
        Fault::PauseActive => {
            pause(active, true);
            until_active(standby).await;
            pause(active, false);
        }
        Fault::StopActive => {
            active.stop();
            until_active(standby).await;
            active.start_again();
        }
        Fault::KillNats => {
            server.kill_9();
            server.start_again();
        }
        Fault::PauseNats => {
            server.pause(true);
            // Longer than the timeout of one append.
            tokio::time::sleep(Duration::from_secs(3)).await;
            server.pause(false);
        }
        Fault::WipeNats => {
            server.kill_9();
            server.wipe();
            server.start_again();
        }
    }
}

#[tokio::test]
async fn every_acknowledged_key_is_stored_once_in_order_and_on_all_hubs() {
    let mut seed = setting("HUB_CLUSTER_SEED", 7);
    let rounds = setting("HUB_CLUSTER_ROUNDS", 8);
    let mut servers = Nats::start_three();
    let (a, b) = pair(&servers).await;
    let done = Arc::new(AtomicBool::new(false));
    let publishers = [
        tokio::spawn(publisher("a", a.client(), Arc::clone(&done))),
        tokio::spawn(publisher("b", b.client(), Arc::clone(&done))),
    ];
    let mut hubs = [a, b];
    for round in 0..rounds {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let drawn = usize::try_from(seed >> 40).expect("24 bits");
        let turn = usize::try_from(round).expect("a small number");
        let fault = FAULTS[(turn + drawn) % FAULTS.len()];
        let server = drawn / FAULTS.len() % servers.len();
        println!("round {round}: {fault:?} {server}");
        inflict(fault, &mut hubs, &mut servers[server]).await;
        // The round ends when both hubs accept commits again.
        let (first, second) = (hubs[0].client(), hubs[1].client());
        publish_by(&first, &format!("end-a-{round}"), "end").await;
        publish_by(&second, &format!("end-b-{round}"), "end").await;
    }
    done.store(true, Ordering::SeqCst);
    let mut acknowledged = Vec::new();
    for publisher in publishers {
        acknowledged.push(publisher.await.expect("it ends"));
    }
    let a_leads = cluster(&hubs[0]).await["role"] == "active";
    let (active, standby) = if a_leads {
        ("a", &hubs[1])
    } else {
        ("b", &hubs[0])
    };
    until_follows(standby, active).await;
    let all = stored(&hubs[0]).await;
    assert_eq!(all, stored(&hubs[1]).await, "the copies differ");
    for (name, acknowledged) in ["a-", "b-"].iter().zip(acknowledged) {
        assert!(!acknowledged.is_empty());
        let own = all.iter().filter(|(_, text)| text.starts_with(name));
        assert!(
            own.eq(&acknowledged),
            "a key of {name} is lost, doubled, or out of order"
        );
    }
    // The standby first, so that no hub takes over.
    let [mut a, mut b] = hubs;
    let (first, second) = if a_leads {
        (&mut b, &mut a)
    } else {
        (&mut a, &mut b)
    };
    first.stop();
    second.stop();
    assert_eq!(fold(&a), fold(&b), "the folds differ");
}

/// Returns the hash of the fold of a hub that has stopped.
fn fold(hub: &Hub) -> String {
    let report = hubd(&hub.state_dir(), &[], &["doctor"]).expect("no problem");
    let (_, hash) = report.rsplit_once(' ').expect("a hash");
    hash.to_owned()
}
