//! The kernel's tables of TCP sockets: `/proc/net/tcp` and `/proc/net/tcp6`.
//!
//! Format: `tcp4_seq_show` in `net/ipv4/tcp_ipv4.c` of Linux.

use std::net::{IpAddr, SocketAddr};

/// The state `TCP_LISTEN` of the kernel.
pub(crate) const LISTEN: &str = "0A";

/// One line of a table. A closed socket has neither a user nor an inode.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SocketRow<'a> {
    /// The socket's own address, as [`listed`] formats it.
    pub(crate) local: &'a str,
    /// The other end's address.
    pub(crate) remote: &'a str,
    pub(crate) state: &'a str,
    /// The user who created the socket.
    pub(crate) uid: u32,
    pub(crate) inode: u64,
}

/// The lines of a table, without its head.
pub(crate) fn rows(table: &str) -> impl Iterator<Item = SocketRow<'_>> {
    table.lines().filter_map(|line| {
        // sl, local_address, rem_address, st, tx:rx, tr:tm, retrnsmt, uid, timeout, inode
        let mut fields = line.split_ascii_whitespace().skip(1);
        Some(SocketRow {
            local: fields.next()?,
            remote: fields.next()?,
            state: fields.next()?,
            uid: fields.nth(3)?.parse().ok()?,
            inode: fields.nth(1)?.parse().ok()?,
        })
    })
}

/// An address in the tables' format: words of four bytes in the machine's order, and the port.
pub(crate) fn listed(address: SocketAddr) -> String {
    let bytes = match address.ip() {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    };
    let words = bytes.chunks_exact(4).map(|word| {
        let word = word.try_into().expect("four bytes");
        format!("{:08X}", u32::from_ne_bytes(word))
    });
    words.collect::<String>() + &format!(":{:04X}", address.port())
}
