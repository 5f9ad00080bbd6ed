//! Three servers, and two hubs, on lines that can be cut.

use hub_harness::{Hub, HubBuilder};

use super::nats::{Nats, Ports};
use super::proxy::Proxy;
use super::support::{cluster, eventually, member, until_active, until_follows};

/// The servers and their routes.
pub(crate) struct Network {
    pub(crate) servers: Vec<Nats>,
    /// The line from each server to each other one.
    routes: Vec<((usize, usize), Proxy)>,
}

/// The lines of one hub, one to each server.
pub(crate) struct Lines(Vec<Proxy>);

impl Network {
    pub(crate) async fn start() -> Self {
        let ports: Vec<Ports> = (0..3).map(|_| Ports::free()).collect();
        let mut routes = Vec::new();
        for (from, to) in [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)] {
            routes.push(((from, to), Proxy::start(&ports[to].route()).await));
        }
        let of = |server: usize| -> Vec<String> {
            let own = routes.iter().filter(|((from, _), _)| *from == server);
            own.map(|(_, route)| route.url()).collect()
        };
        let servers = Nats::start_replicated(&ports, of);
        Self { servers, routes }
    }

    /// Cuts the routes of a server, or mends them.
    pub(crate) fn isolate(&self, server: usize, cut: bool) {
        for ((from, to), route) in &self.routes {
            if *from == server || *to == server {
                route.cut(cut);
            }
        }
    }

    /// Makes the lines of one hub.
    pub(crate) async fn lines(&self) -> Lines {
        let mut lines = Vec::new();
        for server in &self.servers {
            lines.push(Proxy::start(&server.url()).await);
        }
        Lines(lines)
    }

    /// Starts two hubs, `a` active and `b` following, with the lines of each.
    pub(crate) async fn pair(&self) -> ([Hub; 2], [Lines; 2]) {
        let lines = [self.lines().await, self.lines().await];
        let a = lines[0].join("a", &self.servers).start();
        until_active(&a).await;
        let b = lines[1].join("b", &self.servers).start();
        until_follows(&b, "a").await;
        ([a, b], lines)
    }

    /// Returns the number of the server that leads the stream.
    pub(crate) async fn leader(&self) -> usize {
        let ask = async || self.reported_leader().await.ok_or_else(String::new);
        eventually("led, the stream", ask).await
    }

    async fn reported_leader(&self) -> Option<usize> {
        for server in &self.servers {
            let Ok(client) = async_nats::connect(server.url()).await else {
                continue;
            };
            let context = async_nats::jetstream::new(client);
            let Ok(stream) = context.get_stream("HUB_hub").await else {
                continue;
            };
            let leader = stream.cached_info().cluster.as_ref();
            if let Some(name) = leader.and_then(|it| it.leader.as_ref()) {
                return Some(name.trim_start_matches('n').parse().expect("a number"));
            }
        }
        None
    }
}

impl Lines {
    /// Returns a builder of a hub on these lines.
    pub(crate) fn join(&self, node: &str, servers: &[Nats]) -> HubBuilder {
        let urls: Vec<String> = self.0.iter().map(Proxy::url).collect();
        member(node, servers).set(&format!("cluster.urls={urls:?}"))
    }

    /// Returns the server that the hub is connected to; a hub may just be moving from one to another.
    pub(crate) async fn server(&self) -> usize {
        let ask = async || {
            self.0
                .iter()
                .position(Proxy::is_used)
                .ok_or_else(String::new)
        };
        eventually("connected, the hub", ask).await
    }

    /// Cuts the lines to these servers, or mends them.
    pub(crate) fn cut(&self, servers: impl Fn(usize) -> bool, cut: bool) {
        for (_, line) in self.0.iter().enumerate().filter(|it| servers(it.0)) {
            line.cut(cut);
        }
    }
}

/// Returns the index of the active hub and that of the standby.
pub(crate) async fn roles(hubs: &[Hub; 2]) -> (usize, usize) {
    eventually("active, one of the hubs", async || {
        let roles = [cluster(&hubs[0]).await, cluster(&hubs[1]).await];
        match roles.each_ref().map(|it| it["role"] == "active") {
            [true, false] => Ok((0, 1)),
            [false, true] => Ok((1, 0)),
            _ => Err(format!("{roles:?}")),
        }
    })
    .await
}
