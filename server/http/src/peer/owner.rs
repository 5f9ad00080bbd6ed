//! The user whose process made a local TCP connection.

use std::io;
use std::net::SocketAddr;

#[cfg(target_os = "linux")]
pub(crate) use listing::of;

/// The stand-in for systems without these tables: it accepts every program as the hub's user.
#[cfg(not(target_os = "linux"))]
#[allow(clippy::unused_async)] // as on Linux
pub(crate) async fn of(_: SocketAddr, _: SocketAddr) -> io::Result<Option<u32>> {
    Ok(Some(rustix::process::geteuid().as_raw()))
}

/// The system's tables. To read them takes long if there are many connections, and any program may ask and make
/// connections. So they are read once for all who ask meanwhile, and over time with a part of a processor.
#[cfg(target_os = "linux")]
mod listing {
    use std::collections::HashMap;
    use std::time::{Duration, Instant};

    use tokio::sync::Mutex;

    use super::{SocketAddr, io};
    use crate::budget::used;
    use crate::peer::socket_table::{listed, rows};

    /// The part of a processor: one in this many. The time on the clock says nothing, as in [`budget`](crate::budget).
    const PART: u32 = 40;

    /// The last listing of the tables.
    static LAST: Mutex<Option<Listing>> = Mutex::const_new(None);

    /// The users of the connections, by their own and the other end's address.
    pub(super) struct Listing {
        began: Instant,
        took: Duration,
        owners: HashMap<[String; 2], u32>,
    }

    /// The user of the process at `remote`, which is connected to the hub's `local`; `None` if the system's tables do
    /// not list the connection.
    ///
    /// The client's end of a loopback connection has its own line, with the addresses swapped.
    pub(crate) async fn of(local: SocketAddr, remote: SocketAddr) -> io::Result<Option<u32>> {
        let asked = Instant::now();
        let mut last = LAST.lock().await;
        if let Some(listing) = last.as_ref().filter(|it| it.began >= asked) {
            return Ok(listing.owner(local, remote));
        }
        if let Some(next) = last.as_ref().map(|it| it.began + it.took * PART) {
            tokio::time::sleep_until(next.into()).await;
        }
        let read = tokio::task::spawn_blocking(Listing::read).await;
        let listing = last.insert(read.map_err(io::Error::other)??);
        Ok(listing.owner(local, remote))
    }

    impl Listing {
        pub(super) fn read() -> io::Result<Self> {
            let (began, before) = (Instant::now(), used());
            let mut tables = std::fs::read_to_string("/proc/net/tcp")?;
            match std::fs::read_to_string("/proc/net/tcp6") {
                Ok(table) => tables.push_str(&table),
                // A machine without IPv6 has no second table.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
            let owners = owners(&tables);
            Ok(Self {
                began,
                took: used().saturating_sub(before),
                owners,
            })
        }

        pub(super) fn owner(&self, local: SocketAddr, remote: SocketAddr) -> Option<u32> {
            // A program may use an IPv6 socket to connect to an IPv4 address.
            let mapped = [remote, local].map(super::mapped);
            let mut keys = [[remote, local], mapped].into_iter();
            keys.find_map(|key| self.owners.get(&key.map(listed)).copied())
        }
    }

    pub(super) fn owners(tables: &str) -> HashMap<[String; 2], u32> {
        let rows = rows(tables).filter(|row| row.inode != 0);
        let key = |ends: [&str; 2]| ends.map(str::to_owned);
        rows.map(|row| (key([row.local, row.remote]), row.uid))
            .collect()
    }
}

#[cfg(target_os = "linux")]
fn mapped(address: SocketAddr) -> SocketAddr {
    match address.ip() {
        std::net::IpAddr::V4(ip) => (ip.to_ipv6_mapped(), address.port()).into(),
        std::net::IpAddr::V6(_) => address,
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::net::{Ipv6Addr, SocketAddrV6, TcpListener, TcpStream};

    use super::listing::{Listing, owners};
    use super::*;

    fn of(local: SocketAddr, remote: SocketAddr) -> io::Result<Option<u32>> {
        Ok(Listing::read()?.owner(local, remote))
    }

    #[tokio::test]
    async fn those_who_ask_at_the_same_time_get_one_answer() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let clients: Vec<_> = (0..20)
            .map(|_| TcpStream::connect(address).unwrap())
            .collect();
        let us = rustix::process::geteuid().as_raw();
        let all = clients
            .iter()
            .map(|it| super::of(address, it.local_addr().unwrap()));
        for owner in futures_util::future::join_all(all).await {
            assert_eq!(owner.unwrap(), Some(us));
        }
        drop(clients);
        let later = TcpStream::connect(address).unwrap();
        let owner = super::of(address, later.local_addr().unwrap()).await;
        assert_eq!(
            owner.unwrap(),
            Some(us),
            "what was read before does not count"
        );
    }

    #[test]
    fn a_connection_belongs_to_the_user_who_made_it() {
        let us = rustix::process::geteuid().as_raw();
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let listener = TcpListener::bind(address).unwrap();
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (served, remote) = listener.accept().unwrap();
            let local = served.local_addr().unwrap();
            assert_eq!(of(local, remote).unwrap(), Some(us), "{address}");
            assert_eq!(of(local, listener.local_addr().unwrap()).unwrap(), None);
            drop(client);
            assert_eq!(of(local, remote).unwrap(), None, "who has closed is nobody");
        }
    }

    #[test]
    fn an_ipv6_socket_may_connect_to_an_ipv4_address() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let mapped: Ipv6Addr = "::ffff:127.0.0.1".parse().unwrap();
        let _client = TcpStream::connect(SocketAddrV6::new(mapped, port, 0, 0)).unwrap();
        let (served, remote) = listener.accept().unwrap();
        let us = rustix::process::geteuid().as_raw();
        assert_eq!(of(served.local_addr().unwrap(), remote).unwrap(), Some(us));
    }

    #[test]
    fn the_line_of_another_users_socket_gives_that_user() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   \
                     1: 0100007F:A1B2 0100007F:12AE 01 00000000:00000000 00:00000000 00000000  1001        0 76342 1 0\n";
        let key = ["0100007F:A1B2".to_owned(), "0100007F:12AE".to_owned()];
        assert_eq!(owners(table).into_iter().collect::<Vec<_>>(), [(key, 1001)]);
    }
}
