//! The hub's part in a cluster, if this build and its settings have one.

#[cfg(feature = "jetstream")]
mod clustered {
    use std::sync::Arc;

    use axum::Router;
    use hub_cluster::journal::JetStreamJournal;
    use hub_cluster::{Cluster, Joined};
    use hub_config::Config;
    use hub_config::state_dir::StateDir;
    use hub_core::waiters::lease_token::LeaseKey;
    use hub_engine::Hub;
    use hub_protocol::ClusterInfo;
    use tokio::runtime::Runtime;
    use tokio_util::sync::CancellationToken;

    use crate::serve::storage::{self, Storage};

    /// A hub that has joined its cluster and has not started yet.
    pub(in crate::serve) struct Member {
        joined: Joined,
        journal: Arc<JetStreamJournal>,
    }

    /// Joins the cluster, and opens the copy of its log.
    pub(in crate::serve) fn join(
        runtime: &Runtime,
        dir: &StateDir,
        config: &Config,
    ) -> anyhow::Result<(Storage, Member)> {
        let joined = runtime.block_on(hub_cluster::join(config, dir))?;
        let handle = runtime.handle().clone();
        let shared = (Arc::clone(&joined.shared), joined.epoch);
        let (storage, journal) = storage::jetstream(dir.path(), config, shared, handle)?;
        Ok((storage, Member { joined, journal }))
    }

    impl Member {
        /// Returns the key of the cluster's leases.
        pub(in crate::serve) fn leases(&self) -> LeaseKey {
            LeaseKey::new(self.joined.secret.as_bytes())
        }

        /// Puts the hub that has started into the cluster.
        pub(in crate::serve) fn start(self, hub: &Hub) -> Running {
            Running(Cluster::new(self.joined, self.journal, hub.clone()))
        }
    }

    /// A hub in its cluster.
    #[derive(Clone)]
    pub(in crate::serve) struct Running(Cluster);

    impl Running {
        pub(in crate::serve) fn info(&self) -> ClusterInfo {
            self.0.info()
        }

        pub(in crate::serve) fn with_routes(&self, routes: Router) -> Router {
            self.0.with_routes(routes)
        }

        pub(in crate::serve) fn front(&self, routes: Router) -> Router {
            self.0.front(routes)
        }

        pub(in crate::serve) async fn run(&self, routes: Router, shutdown: &CancellationToken) {
            Box::pin(self.0.run(routes, shutdown)).await;
        }
    }
}

#[cfg(not(feature = "jetstream"))]
mod clustered {
    use axum::Router;
    use hub_config::Config;
    use hub_config::state_dir::StateDir;
    use hub_core::waiters::lease_token::LeaseKey;
    use hub_engine::Hub;
    use hub_protocol::ClusterInfo;
    use tokio::runtime::Runtime;
    use tokio_util::sync::CancellationToken;

    use crate::serve::storage::Storage;

    /// A build without NATS has no members of a cluster.
    pub(in crate::serve) enum Member {}

    pub(in crate::serve) fn join(
        _: &Runtime,
        _: &StateDir,
        _: &Config,
    ) -> anyhow::Result<(Storage, Member)> {
        anyhow::bail!("this hubd was built without the feature jetstream")
    }

    impl Member {
        pub(in crate::serve) fn leases(&self) -> LeaseKey {
            match *self {}
        }

        pub(in crate::serve) fn start(self, _: &Hub) -> Running {
            match self {}
        }
    }

    #[derive(Clone)]
    pub(in crate::serve) enum Running {}

    impl Running {
        pub(in crate::serve) fn info(&self) -> ClusterInfo {
            match *self {}
        }

        pub(in crate::serve) fn with_routes(&self, _: Router) -> Router {
            match *self {}
        }

        pub(in crate::serve) fn front(&self, _: Router) -> Router {
            match *self {}
        }

        #[allow(clippy::unused_async)] // as in the other build
        pub(in crate::serve) async fn run(&self, _: Router, _: &CancellationToken) {
            match *self {}
        }
    }
}

pub(super) use clustered::{Member, Running, join};
