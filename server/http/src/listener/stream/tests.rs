use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use futures_util::stream;
use hub_config::Positive;
use hub_log::fanout::{FrameFilter, Topic};
use hub_log::testing::{log, say};
use tokio::io::AsyncReadExt as _;
use tokio_util::sync::CancellationToken;

use super::super::head_scanner::HeadQueue;
use super::super::slots::ConnectionSlots;
use super::*;

#[tokio::test]
async fn the_fan_out_writes_to_the_connection_of_a_parked_stream() {
    let log = log();
    let filter: FrameFilter =
        Box::new(|_, event| event.frame(|_| Some(Bytes::from_static(b"news"))));
    let place = log.join(Topic::Everything, filter);
    let cut = CancellationToken::new();
    let slot = ConnectionSlots::new(Positive::MIN, cut.clone())
        .take()
        .await;
    let (ours, mut reader) = tokio::io::duplex(1 << 10);
    let io = IoGuard::new(
        ours,
        Duration::from_secs(60),
        slot.status().clone(),
        HeadQueue::default(),
    );
    let never = stream::pending::<Result<Bytes, Infallible>>();
    let mut answer = Response::new(ResponseBody {
        body: Body::from_stream(never),
        _busy: slot.status().occupy(),
    });
    answer.extensions_mut().insert(place.outlet());
    let running = tokio::spawn(StreamConnection::new(io, answer).run(slot));
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(reader.read_u8().await.unwrap());
    }
    assert!(place.park(0));
    say(&log, &["a"]);
    let mut news = [0; 4];
    reader.read_exact(&mut news).await.unwrap();
    assert_eq!(&news, b"news");
    drop(place);
    cut.cancel();
    running.await.unwrap();
    let rest = reader.read(&mut news).await.unwrap();
    assert_eq!(rest, 0, "who has left the fan-out holds no connection");
}
