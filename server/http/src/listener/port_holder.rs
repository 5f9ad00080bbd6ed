//! Finds the program that listens on an address, for the error message.

use std::fs;
use std::net::SocketAddr;

use rustix::process::geteuid;

use crate::peer::socket_table::{self, LISTEN};

/// Names the program that listens on `address`, as a phrase; "another program" if the system does not report it.
pub(super) fn of_address(address: SocketAddr) -> String {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"];
    let tables = tables.map(|path| fs::read_to_string(path).unwrap_or_default());
    let Some((uid, inode)) = listener(&tables.concat(), address) else {
        return "another program".into();
    };
    match process(inode) {
        Some((pid, name)) => format!("{name} (process {pid})"),
        None if uid == geteuid().as_raw() => "another program of yours".into(),
        None => format!("a program of user {uid}"),
    }
}

/// User and inode of the socket that listens on `address` or on all addresses of its port; otherwise of one that has the
/// port on another address.
fn listener(table: &str, address: SocketAddr) -> Option<(u32, u64)> {
    let wanted = socket_table::listed(address);
    let (ip, port) = wanted.rsplit_once(':')?;
    let rows = socket_table::rows(table).filter(|row| row.state == LISTEN);
    let on_port = rows.filter_map(|row| {
        let (local, local_port) = row.local.rsplit_once(':')?;
        let matches = local == ip || local.bytes().all(|digit| digit == b'0');
        (local_port == port).then_some((matches, row))
    });
    let (_, row) = on_port.max_by_key(|(matches, _)| *matches)?;
    Some((row.uid, row.inode))
}

/// The process with the socket, and its program's name. The system shows this for processes of the same user only.
fn process(inode: u64) -> Option<(u32, String)> {
    let wanted = format!("socket:[{inode}]");
    let processes = fs::read_dir("/proc").ok()?.flatten();
    processes
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .find(|pid: &u32| {
            let open = fs::read_dir(format!("/proc/{pid}/fd"))
                .into_iter()
                .flatten();
            open.flatten().any(|fd| {
                fs::read_link(fd.path()).is_ok_and(|to| to.as_os_str() == wanted.as_str())
            })
        })
        .map(|pid| {
            let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            (pid, name.trim_end().to_owned())
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The inode of the socket that listens on `ip` at port 4782.
    fn found(table: &str, ip: &str) -> Option<u64> {
        let address = SocketAddr::new(ip.parse().unwrap(), 4782);
        listener(table, address).map(|(_, inode)| inode)
    }

    fn line(local: &str, state: &str, inode: u64) -> String {
        format!("   0: {local} 00000000:0000 {state} 0:0 00:0 0  1000        0 {inode} 1 0\n")
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn the_listener_is_the_socket_of_the_address_or_of_all_addresses() {
        let v6 = "00000000000000000000000001000000:12AE";
        let other = line("0200007F:12AE", "0A", 1);
        let table = other.clone()
            + &line("0100007F:12AE", "01", 2)
            + &line("0100007F:12AE", "0A", 3)
            + &line("0100007F:12AF", "0A", 4)
            + &line(v6, "0A", 5);
        assert_eq!(found(&table, "127.0.0.1"), Some(3));
        assert_eq!(found(&table, "::1"), Some(5));
        let all = line("00000000:12AE", "0A", 6) + &other;
        assert_eq!(found(&all, "127.0.0.1"), Some(6));
        assert_eq!(found(&other, "127.0.0.1"), Some(1));
        let head = "  sl  local_address rem_address   st";
        assert_eq!(found(head, "127.0.0.1"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_holder_of_a_port_is_its_process() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let holder = of_address(listener.local_addr().unwrap());
        let own = format!("(process {})", std::process::id());
        assert!(holder.ends_with(&own), "{holder}");
    }
}
