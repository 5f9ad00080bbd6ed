//! Signatures of calls: which hub took a request, and so whose word about its caller counts.
//!
//! A hub signs its calls with the nkey by which NATS knows its machine. The active hub verifies them with the public keys in
//! its own configuration. Nothing that is in NATS decides: whoever may write there could write a key too.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context as _;
use async_nats::{HeaderMap, Message};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hub_config::ClusterSettings;
use nkeys::{KeyPair, KeyPairType};

use super::connection;

/// The header of a call's signature, in base64.
const SIGNATURE: &str = "Hub-Signature";

/// This hub's own key, and those by which it knows the other hubs.
#[derive(Default)]
pub struct CallKeys {
    own: Option<KeyPair>,
    nodes: BTreeMap<String, KeyPair>,
}

impl CallKeys {
    /// Reads the keys that the settings name.
    pub(super) fn load(settings: &ClusterSettings) -> anyhow::Result<Self> {
        let mut nodes = BTreeMap::new();
        for (node, key) in &settings.nodes {
            let key = public_key(key).with_context(|| format!("cluster.nodes.{node}"))?;
            nodes.insert(node.clone(), key);
        }
        let own = own_key(&settings.creds).context("cluster.creds")?;
        Ok(Self { own, nodes })
    }

    /// The public key of this hub; `None` without credentials.
    pub(super) fn own(&self) -> Option<String> {
        self.own.as_ref().map(KeyPair::public_key)
    }

    /// The public key by which this hub knows `node`.
    pub(super) fn of(&self, node: &str) -> Option<String> {
        self.nodes.get(node).map(KeyPair::public_key)
    }

    /// Returns the headers of a call with its signature; without one if this hub has no key.
    pub(super) fn sign(&self, subject: &str, reply: &str, payload: &[u8]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let signed = self
            .own
            .as_ref()
            .map(|it| it.sign(&signed(subject, reply, payload)));
        if let Some(Ok(signature)) = signed {
            headers.insert(SIGNATURE, STANDARD.encode(signature));
        }
        headers
    }

    /// Whether `node`, and no other program, made this call.
    pub(super) fn has_signed(&self, node: &str, message: &Message) -> bool {
        let Some(key) = self.nodes.get(node) else {
            return false;
        };
        let header = message.headers.as_ref().and_then(|it| it.get(SIGNATURE));
        let signature = header.and_then(|it| STANDARD.decode(it.as_str()).ok());
        let reply = message.reply.as_deref().unwrap_or_default();
        let text = signed(&message.subject, reply, &message.payload);
        signature.is_some_and(|it| key.verify(&text, &it).is_ok())
    }
}

/// The bytes that are signed. The subject names the cluster, the term and the node, so that a signature counts nowhere else.
/// Neither a subject nor a reply contains a line feed.
fn signed(subject: &str, reply: &str, payload: &[u8]) -> Vec<u8> {
    [
        b"hub call\n",
        subject.as_bytes(),
        b"\n",
        reply.as_bytes(),
        b"\n",
        payload,
    ]
    .concat()
}

fn public_key(text: &str) -> anyhow::Result<KeyPair> {
    let key = KeyPair::from_public_key(text).ok();
    let user = key.filter(|it| matches!(it.key_pair_type(), KeyPairType::User));
    user.context("this is no public nkey of a user, which begins with U")
}

fn own_key(creds: &Path) -> anyhow::Result<Option<KeyPair>> {
    let Some(text) = connection::credentials(creds)? else {
        return Ok(None);
    };
    let seed = connection::seed(&text).context("the file has no seed of a user")?;
    let key = KeyPair::from_seed(seed).ok();
    Ok(Some(key.context("the file has a seed that is not valid")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(own: &KeyPair, nodes: &[(&str, &KeyPair)]) -> CallKeys {
        let copy = |key: &KeyPair| KeyPair::from_public_key(&key.public_key()).unwrap();
        let nodes = nodes
            .iter()
            .map(|(node, key)| ((*node).to_owned(), copy(key)));
        CallKeys {
            own: Some(KeyPair::from_seed(&own.seed().unwrap()).unwrap()),
            nodes: nodes.collect(),
        }
    }

    fn message(subject: &str, reply: &str, payload: &'static [u8], headers: HeaderMap) -> Message {
        Message {
            subject: subject.into(),
            reply: Some(reply.into()),
            payload: payload.into(),
            headers: Some(headers),
            status: None,
            description: None,
            length: 0,
        }
    }

    #[test]
    fn a_signature_counts_for_one_node_one_subject_one_reply_and_one_content() {
        let (laptop, server) = (KeyPair::new_user(), KeyPair::new_user());
        let sender = keys(&laptop, &[]);
        let active = keys(&server, &[("laptop", &laptop), ("server", &server)]);
        let signature = || sender.sign("c.1.laptop", "inbox.1", b"call");
        let holds = |node: &str, subject: &str, reply: &str, payload: &'static [u8]| {
            active.has_signed(node, &message(subject, reply, payload, signature()))
        };
        assert!(holds("laptop", "c.1.laptop", "inbox.1", b"call"));
        assert!(!holds("server", "c.1.laptop", "inbox.1", b"call"));
        assert!(!holds("other", "c.1.laptop", "inbox.1", b"call"));
        assert!(!holds("laptop", "c.2.laptop", "inbox.1", b"call"));
        assert!(!holds("laptop", "c.1.laptop", "inbox.2", b"call"));
        assert!(!holds("laptop", "c.1.laptop", "inbox.1", b"calls"));
        let unsigned = message("c.1.laptop", "inbox.1", b"call", HeaderMap::new());
        assert!(!active.has_signed("laptop", &unsigned));
    }

    #[test]
    fn only_the_public_key_of_a_user_is_a_nodes_key() {
        let user = KeyPair::new_user();
        assert!(public_key(&user.public_key()).is_ok());
        for wrong in [
            user.seed().unwrap(),
            KeyPair::new_account().public_key(),
            String::new(),
        ] {
            assert!(public_key(&wrong).is_err(), "{wrong}");
        }
    }
}
