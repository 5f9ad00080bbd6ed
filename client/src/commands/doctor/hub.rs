//! Checks whether the hub answers, belongs to this user, and fits this client.

use hub_protocol::{
    ClusterInfo, Counted, Device, Devices, ForwardInfo, Hello, Ready, RuleInfo, RuleList, Timestamp,
};

use super::finding::Finding;
use crate::error::Error;
use crate::hub::{Hub, PATIENCE, Path, Request, body, check_token, parse};
use crate::identity::Context;
use crate::settings::{Address, Settings};
use crate::system::env::Sourced;
use crate::system::random::random_hex;

/// The largest difference of the clocks in milliseconds; above it, ages and deadlines are wrong.
const DRIFT: i64 = 5_000;

/// The findings about the hub; and the hub, if it answers.
pub(super) async fn check(context: &Context) -> (Vec<Finding>, Option<Hub>) {
    let mut found = vec![token(&context.settings)];
    let answered = match context.hub() {
        Ok(hub) => {
            let ready = Request::get(Path::new("/readyz"));
            let answer = hub.send(&ready, PATIENCE).await;
            answer.map(|answer| (hub, answer))
        }
        Err(error) => Err(error),
    };
    let place = &context.settings.address.value;
    let (hub, answer) = match answered {
        Ok(answered) => answered,
        Err(error) => {
            let todo = match &error {
                Error::Unreachable(_) => {
                    "start it: hubctl up; in a sandbox, allow access to its socket (hubctl config shows its path)"
                }
                _ => {
                    "correct the setting that is named; `hubctl config` shows the source of each setting"
                }
            };
            found.push(Finding::problem(error.to_string(), todo));
            return (found, None);
        }
    };
    found.push(Finding::ok(format!("the hub answers at {place}")));
    let date = answer.headers().get("date").and_then(|it| it.to_str().ok());
    found.extend(date.and_then(clock));
    found.extend(body(answer).await.ok().and_then(|it| lost(&it)));
    found.push(version(&hub).await);
    let about = hub.about(PATIENCE).await.ok();
    if let Some(about) = about {
        let in_cluster = about.cluster.as_ref();
        found.extend(in_cluster.map(|it| cluster(it, &about.version)));
        found.extend(about.forwards.iter().map(forward));
        found.extend(approvers(&hub, about.agents_may_approve).await);
        found.extend(rules(&hub).await);
    }
    if !hub.is_remote() {
        found.extend(tcp(context, &hub).await);
    }
    (found, Some(hub))
}

fn token(settings: &Settings) -> Finding {
    let path = settings.token_file.value.display();
    match check_token(&settings.token_file.value) {
        Ok(()) => Finding::ok(format!("only you can read the token {path}")),
        Err(Error::Unreachable(_)) => Finding::warn(
            format!("there is no token at {path}"),
            "the hub creates it when it first starts: hubctl up",
        ),
        Err(error) => Finding::problem(
            error.to_string(),
            format!("chmod 600 {path}; if others have read it, remove it and restart the hub"),
        ),
    }
}

async fn version(hub: &Hub) -> Finding {
    let ours = env!("CARGO_PKG_VERSION");
    let asked = async {
        let path = Path::new("/hello").with("nonce", random_hex()?);
        parse::<Hello>(&hub.text(&Request::get(path)).await?)
    };
    match asked.await {
        Ok(hello) if hello.version == ours => {
            Finding::ok(format!("hub and hubctl are version {ours}"))
        }
        Ok(hello) => Finding::warn(
            format!("the hub is version {}, hubctl is {ours}", hello.version),
            "install the same version of both, then: hubctl down && hubctl up",
        ),
        Err(error) => Finding::problem(error.to_string(), "restart it: hubctl down && hubctl up"),
    }
}

/// Reports who may answer in the person's place.
async fn approvers(hub: &Hub, agents_may_approve: bool) -> Vec<Finding> {
    let request = Request::get(Path::new("/login/devices"));
    let answer = hub.text_within(&request, PATIENCE).await;
    let devices = answer.and_then(|it| parse::<Devices>(&it));
    let devices = devices.map(|it| it.devices).unwrap_or_default();
    let signed_in = devices.iter().map(|Device { id, name, created_at, .. }| {
        Finding::ok(format!("{name} is signed in to the dashboard since {created_at} (hubctl dashboard --revoke {id})"))
    });
    let agents = agents_may_approve.then(|| {
        Finding::warn(
            "agents may give permissions to other agents",
            "unless you want that, remove agents_may_approve from the configuration",
        )
    });
    signed_in.chain(agents).collect()
}

/// Reports the rules whose programs the hub does not run.
async fn rules(hub: &Hub) -> Vec<Finding> {
    let request = Request::get(Path::new("/rules"));
    let answer = hub.text_within(&request, PATIENCE).await;
    let listed = answer.and_then(|it| parse::<RuleList>(&it));
    let rules = listed.map(|it| it.rules).unwrap_or_default().into_iter();
    let fault = |RuleInfo { name, fault, .. }| {
        let what = format!("the program of the rule '{name}' does not run: {}", fault?);
        Some(Finding::problem(what, "see docs/how-to/rules.md"))
    };
    rules.filter_map(fault).collect()
}

/// Reports what was repaired, and what was lost until the person has settled the hub's question about it.
fn lost(ready: &str) -> Option<Finding> {
    let ready: Ready = parse(ready).ok()?;
    let todo = "look at the disk (dmesg, smartctl); if something was lost, settle the hub's question about it: hubctl \
                questions; a backup may hold it";
    ready.detail.map(|it| Finding::problem(it, todo))
}

/// Reports whether the hubs of a cluster work together.
fn cluster(cluster: &ClusterInfo, version: &str) -> Finding {
    let lost = cluster.fault.as_ref().or(cluster.damage.as_ref());
    let other = cluster.nodes.iter().find(|it| it.version != version);
    match (lost, &cluster.active, other) {
        (Some(lost), ..) => Finding::problem(lost, "hubd cluster check"),
        (None, None, _) => {
            Finding::problem("no hub of the cluster is active", "hubd cluster check")
        }
        (None, Some(_), Some(other)) => Finding::warn(
            format!(
                "this hub is version {version}, and '{}' is {}",
                other.node, other.version
            ),
            "install the same version on all machines, the active one last",
        ),
        (None, Some(active), None) => Finding::ok(format!(
            "in the cluster, {active} is active; this hub is {} behind",
            cluster.behind
        )),
    }
}

/// Reports whether a forward reaches its target.
fn forward(forward: &ForwardInfo) -> Finding {
    let ForwardInfo { name, behind, .. } = forward;
    let behind = Counted(*behind, "record");
    match &forward.error {
        Some(error) => Finding::warn(
            format!("the forward {name}: {error} ({behind} behind)"),
            "see docs/how-to/forward.md",
        ),
        None => Finding::ok(format!("the forward {name} is {behind} behind")),
    }
}

/// Checks that the server at the TCP address that this hub reports proves to be this hub. `None` if the hub reports
/// none.
async fn tcp(context: &Context, hub: &Hub) -> Option<Finding> {
    let url = hub.url(PATIENCE).await.ok()?;
    let settings = Settings {
        state_dir: context.settings.state_dir.clone(),
        address: Sourced::new(Address::Url(url.parse().ok()?), "doctor"),
        token_file: context.settings.token_file.clone(),
    };
    let hub = Hub::open(&settings).ok()?;
    let healthy = Request::get(Path::new("/healthz"));
    Some(match hub.text(&healthy).await {
        Ok(_) => Finding::ok(format!(
            "over TCP at {url}, the hub proves that it knows the token"
        )),
        Err(error) => Finding::warn(
            error.to_string(),
            format!(
                "requests to {url} do not reach the hub: if it runs on another machine, forward that port too"
            ),
        ),
    })
}

/// Compares the hub's clock with this machine's, by the `Date` header of an answer. `None` if it is not a date.
fn clock(date: &str) -> Option<Finding> {
    let theirs = http_date(date)?.as_millis();
    // The date has whole seconds, so on average it is half a second early.
    let off = Timestamp::now().as_millis() - theirs - 500;
    if off.abs() <= DRIFT {
        return Some(Finding::ok("the hub's clock agrees with this one"));
    }
    Some(Finding::warn(
        format!(
            "the hub's clock and this one differ by {} s",
            off.abs() / 1000
        ),
        "synchronise both clocks (NTP): until then, ages and deadlines are wrong",
    ))
}

/// Parses an `IMF-fixdate` (RFC 9110, 5.6.7), such as `Sun, 06 Nov 1994 08:49:37 GMT`.
fn http_date(text: &str) -> Option<Timestamp> {
    const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";
    let mut words = text.split_whitespace().skip(1);
    let (day, month, year, time) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let month = MONTHS.find(month)? / 3 + 1;
    format!("{year}-{month:02}-{day}T{time}Z").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_http_date_is_parsed() {
        let found = http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        assert_eq!(found.to_string(), "1994-11-06T08:49:37.000Z");
        assert_eq!(http_date("yesterday"), None);
    }

    #[test]
    fn a_clock_that_differs_is_reported() {
        let now = Timestamp::now();
        assert!(
            clock("Sun, 06 Nov 1994 08:49:37 GMT")
                .unwrap()
                .todo
                .is_some()
        );
        assert!(clock(&as_http(now)).unwrap().todo.is_none());
    }

    fn as_http(at: Timestamp) -> String {
        let text = at.to_string();
        let months = [
            "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
        ];
        let month: usize = text[5..7].parse().unwrap();
        format!(
            "Day, {} {} {} {} GMT",
            &text[8..10],
            months[month - 1],
            &text[..4],
            &text[11..19]
        )
    }
}
