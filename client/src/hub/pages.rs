//! Lists that the hub answers in pages.

use hub_protocol::{Questions, Seq};
use serde::de::DeserializeOwned;

use super::{Hub, Path, Request, parse};
use crate::error::Error;

/// The questions of every page of `GET path`, oldest first.
pub(crate) async fn questions<T: DeserializeOwned>(
    hub: &Hub,
    path: &Path,
) -> Result<Vec<T>, Error> {
    let (mut pages, mut before) = (Vec::new(), None::<Seq>);
    loop {
        let path = path.clone().maybe("before", before);
        let page: Questions<T> = parse(&hub.text(&Request::get(path)).await?)?;
        pages.push(page.questions);
        before = page.next;
        if before.is_none() {
            return Ok(pages.into_iter().rev().flatten().collect());
        }
    }
}
