//! The user whose process made a local TCP connection.

use std::io;
use std::net::SocketAddr;

#[cfg(target_os = "linux")]
use super::socket_table;

/// The user of the process at `remote`, which is connected to the hub's `local`; `None` if the system's tables do not
/// list the connection.
///
/// The client's end of a loopback connection has its own line, with the addresses swapped.
#[cfg(target_os = "linux")]
pub(crate) fn of(local: SocketAddr, remote: SocketAddr) -> io::Result<Option<u32>> {
    // A program may use an IPv6 socket to connect to an IPv4 address.
    for (table, addresses) in [
        ("/proc/net/tcp", [remote, local]),
        ("/proc/net/tcp6", [mapped(remote), mapped(local)]),
    ] {
        let text = match std::fs::read_to_string(table) {
            // A machine without IPv6 has no second table.
            Err(error) if error.kind() == io::ErrorKind::NotFound && table.ends_with('6') => {
                continue;
            }
            read => read?,
        };
        let [from, to] = addresses.map(socket_table::listed);
        if let Some(uid) = uid_in(&text, &from, &to) {
            return Ok(Some(uid));
        }
    }
    Ok(None)
}

/// The stand-in for systems without these tables: it accepts every program as the hub's user.
#[cfg(not(target_os = "linux"))]
pub(crate) fn of(_: SocketAddr, _: SocketAddr) -> io::Result<Option<u32>> {
    Ok(Some(rustix::process::geteuid().as_raw()))
}

#[cfg(target_os = "linux")]
fn uid_in(table: &str, from: &str, to: &str) -> Option<u32> {
    let mut rows = socket_table::rows(table);
    let row = rows.find(|row| row.local == from && row.remote == to && row.inode != 0)?;
    Some(row.uid)
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

    use super::*;

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
        assert_eq!(uid_in(table, "0100007F:A1B2", "0100007F:12AE"), Some(1001));
        assert_eq!(uid_in(table, "0100007F:12AE", "0100007F:A1B2"), None);
    }
}
