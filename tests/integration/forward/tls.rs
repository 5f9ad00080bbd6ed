//! Forwards over TLS: the target's certificate is verified.

use std::sync::Arc;

use hub_harness::{Hub, until};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio_rustls::TlsAcceptor;

use super::builder;

/// Starts a server with a certificate of its own. Returns its port, the certificate, and the requests that it gets.
async fn secure_server() -> (u16, String, UnboundedReceiver<String>) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let config = ServerConfig::builder().with_no_client_auth();
    let config = config.with_single_cert(vec![made.cert.der().clone()], key);
    let acceptor = TlsAcceptor::from(Arc::new(config.unwrap()));
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, requests) = unbounded_channel();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            // A client that does not trust the certificate ends the handshake.
            let Ok(mut stream) = acceptor.accept(stream).await else {
                continue;
            };
            let mut request = vec![0; 65536];
            let mut length = 0;
            while !request[..length].ends_with(b"}") {
                let read = stream.read(&mut request[length..]).await.unwrap();
                assert_ne!(read, 0, "the request has ended early");
                length += read;
            }
            let text = String::from_utf8_lossy(&request[..length]).into_owned();
            let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
            stream.write_all(answer).await.unwrap();
            let _ = stream.shutdown().await;
            let _ = sender.send(text);
        }
    });
    (port, made.cert.pem(), requests)
}

fn hub_that_trusts(certificates: &str, port: u16) -> (tempfile::TempDir, Hub) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("certificates.pem");
    std::fs::write(&file, certificates).unwrap();
    let text =
        format!("[[forward]]\nname='chat'\nkind='slack'\nurl='https://localhost:{port}/hook'");
    let hub = builder(dir.path(), &text)
        .env("SSL_CERT_FILE", &file)
        .start();
    (dir, hub)
}

#[tokio::test]
async fn a_target_with_a_trusted_certificate_gets_notifications() {
    let (port, certificate, mut requests) = secure_server().await;
    let (_dir, hub) = hub_that_trusts(&certificate, port);
    hub.client()
        .publish(json!({ "msg": "secure", "from": "ci", "type": "error" }))
        .await;
    let request = requests.recv().await.unwrap();
    assert!(request.starts_with("POST /hook HTTP/1.1\r\n"), "{request}");
    assert!(
        request.ends_with(r#"{"text":"*ci* (error)\nsecure"}"#),
        "{request}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_with_another_certificate_gets_nothing() {
    let (port, _, mut requests) = secure_server().await;
    let other = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (_dir, hub) = hub_that_trusts(&other.cert.pem(), port);
    hub.client()
        .publish(json!({ "msg": "secure", "from": "ci", "type": "error" }))
        .await;
    until("the forward fails", || {
        hub.log().contains("a forward fails").then_some(())
    });
    assert!(hub.log().contains("certificate"), "{}", hub.log());
    assert!(requests.try_recv().is_err());
}
