//! Random faults under load. The seed and the number of rounds are settings of the environment: `HUB_CLUSTER_SEED` and
//! `HUB_CLUSTER_ROUNDS`.

use hub_harness::pause;
use hub_harness::{Hub, repetitions};
use tokio::time::{Duration, sleep};

use super::load::Load;
use super::network::{Lines, Network, roles};
use super::support::{
    cluster, hubd, publish_by, setting, stored, until_active, until_follows, until_same,
};

/// A fault that ends before the next one begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fault {
    KillActive,
    KillActiveBriefly,
    PauseActive,
    CutOffActive,
    StopActive,
    KillLeader,
    PauseLeader,
    WipeLeader,
    KillActiveAndLeader,
    KillAllServers,
    /// The routes of the server to which the active hub is connected are cut; the hubs are connected as before.
    CutRoutes,
    /// The active hub and its server are cut off from the other servers, and the standby from that server.
    CutOffActiveAndServer,
}

const FAULTS: [Fault; 12] = [
    Fault::KillActive,
    Fault::KillActiveBriefly,
    Fault::PauseActive,
    Fault::CutOffActive,
    Fault::StopActive,
    Fault::KillLeader,
    Fault::PauseLeader,
    Fault::WipeLeader,
    Fault::KillActiveAndLeader,
    Fault::KillAllServers,
    Fault::CutRoutes,
    Fault::CutOffActiveAndServer,
];

/// Draws the faults: all of them in a random order, then all of them again.
struct Deck {
    seed: u64,
    rest: Vec<Fault>,
}

impl Deck {
    fn draw(&mut self) -> Fault {
        if self.rest.is_empty() {
            self.rest = FAULTS.to_vec();
        }
        self.seed = self
            .seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let drawn = usize::try_from(self.seed >> 40).expect("24 bits");
        self.rest.swap_remove(drawn % self.rest.len())
    }
}

/// Two hubs on three servers.
struct World {
    network: Network,
    hubs: [Hub; 2],
    lines: [Lines; 2],
}

impl World {
    async fn inflict(&mut self, fault: Fault) {
        let (active, standby) = roles(&self.hubs).await;
        match fault {
            Fault::KillActive => {
                self.hubs[active].kill_9();
                until_active(&self.hubs[standby]).await;
                self.hubs[active].start_again();
            }
            Fault::KillActiveBriefly => {
                self.hubs[active].kill_9();
                self.hubs[active].start_again();
            }
            Fault::PauseActive => {
                pause(self.hubs[active].pid(), true);
                until_active(&self.hubs[standby]).await;
                pause(self.hubs[active].pid(), false);
            }
            Fault::CutOffActive => {
                self.lines[active].cut(|_| true, true);
                until_active(&self.hubs[standby]).await;
                self.lines[active].cut(|_| true, false);
            }
            Fault::StopActive => {
                self.hubs[active].stop();
                until_active(&self.hubs[standby]).await;
                self.hubs[active].start_again();
            }
            Fault::KillActiveAndLeader => {
                let leader = self.network.leader().await;
                self.hubs[active].kill_9();
                self.network.servers[leader].kill_9();
                until_active(&self.hubs[standby]).await;
                self.network.servers[leader].start_again();
                self.hubs[active].start_again();
            }
            Fault::CutRoutes | Fault::CutOffActiveAndServer => {
                self.divide(fault, (active, standby)).await;
            }
            _ => self.hit_servers(fault).await,
        }
    }

    async fn hit_servers(&mut self, fault: Fault) {
        let leader = self.network.leader().await;
        let servers = &mut self.network.servers;
        match fault {
            Fault::PauseLeader => {
                servers[leader].pause(true);
                // Longer than the timeout of one append.
                sleep(Duration::from_secs(3)).await;
                servers[leader].pause(false);
            }
            Fault::KillAllServers => {
                servers.iter_mut().for_each(super::nats::Nats::kill_9);
                servers.iter_mut().for_each(super::nats::Nats::start_again);
            }
            _ => {
                servers[leader].kill_9();
                if fault == Fault::WipeLeader {
                    servers[leader].wipe();
                }
                servers[leader].start_again();
            }
        }
    }

    /// Divides the network until the majority accepts commits.
    async fn divide(&self, fault: Fault, (active, standby): (usize, usize)) {
        let minority = self.lines[active].server().await;
        let with_hubs = fault == Fault::CutOffActiveAndServer;
        let cut = |cut: bool| {
            self.network.isolate(minority, cut);
            if with_hubs {
                self.lines[active].cut(|it| it != minority, cut);
                self.lines[standby].cut(|it| it == minority, cut);
            }
        };
        cut(true);
        if with_hubs {
            until_active(&self.hubs[standby]).await;
        } else {
            // Longer than the stream keeps a leader that has lost the others.
            sleep(Duration::from_secs(12)).await;
            // Both hubs find their way to the majority.
            for hub in &self.hubs {
                publish_by(
                    &hub.client(),
                    &format!("divided-{}-{minority}", hub.port()),
                    "end",
                )
                .await;
            }
        }
        cut(false);
    }

    /// Waits until both hubs accept commits.
    async fn heal(&self, round: u64) {
        for (name, hub) in ["a", "b"].iter().zip(&self.hubs) {
            publish_by(&hub.client(), &format!("end-{name}-{round}"), "end").await;
        }
    }

    /// Waits until both copies are equal; returns the active hub and the notifications.
    async fn settle(&self) -> (usize, Vec<(u64, String)>) {
        let (active, standby) = roles(&self.hubs).await;
        until_follows(&self.hubs[standby], ["a", "b"][active]).await;
        until_same(&self.hubs[0], &self.hubs[1]).await;
        (active, stored(&self.hubs[0]).await)
    }

    /// Stops both hubs, the standby first so that no hub takes over, and compares their folds.
    fn compare_folds(mut self, active: usize) {
        self.hubs[1 - active].stop();
        self.hubs[active].stop();
        let [a, b] = &self.hubs;
        assert_eq!(fold(a), fold(b), "the folds differ");
    }
}

// The proxies must run while a hub is started.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_acknowledged_key_is_stored_once_in_order_and_read_and_on_all_hubs() {
    let seed = setting("HUB_CLUSTER_SEED", 7);
    let rounds = setting("HUB_CLUSTER_ROUNDS", repetitions(4, 60).into());
    let network = Network::start().await;
    let (hubs, lines) = network.pair().await;
    let load = Load::start(&hubs);
    let mut world = World {
        network,
        hubs,
        lines,
    };
    let mut deck = Deck {
        seed,
        rest: Vec::new(),
    };
    let mut longest = std::collections::BTreeMap::new();
    for round in 0..rounds {
        let fault = deck.draw();
        println!("round {round}: {fault:?} begins");
        load.begin_round();
        world.inflict(fault).await;
        world.heal(round).await;
        let silence = load.silence().await;
        println!("round {round}: {fault:?}, silent for {silence:.1?}");
        let (count, known) = longest.entry(fault).or_insert((0, silence));
        (*count, *known) = (*count + 1, silence.max(*known));
    }
    for (fault, (count, silence)) in longest {
        println!("{fault:?}: {count} rounds, longest silence {silence:.1?}");
    }
    let published = load.stop().await;
    let (active, all) = world.settle().await;
    published.check(&all);
    assert!(cluster(&world.hubs[0]).await["damage"].is_null());
    world.compare_folds(active);
}

/// Returns the hash of the fold of a hub that has stopped.
fn fold(hub: &Hub) -> String {
    let report = hubd(&hub.state_dir(), &[], &["doctor"]).expect("no problem");
    let (_, hash) = report.rsplit_once(' ').expect("a hash");
    hash.to_owned()
}
