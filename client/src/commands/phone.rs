//! `hubctl phone`: pairs a phone with the dashboard.

use std::collections::HashSet;
use std::time::Duration;

use hub_protocol::{Device, Devices, PhoneAccess, PhonePairing, SignInCode, Timestamp};
use qrcode::QrCode;
use qrcode::render::unicode::Dense1x2;

use crate::error::Error;
use crate::exit_code::Exit;
use crate::hub::{Hub, Path, Request, json, parse};
use crate::identity::Context;
use crate::output::confirm::confirm;
use crate::output::text::{json_line, line};
use crate::output::{println, say};

/// How often to look whether the phone has signed in.
const LOOK: Duration = Duration::from_secs(1);

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Prints a QR code and a link that sign in one phone, once, within two minutes. The phone reaches the hub by https at \
one of its allowed_hosts, through your proxy or tunnel (nginx, Tailscale Serve, …); docs/how-to/phone.md describes \
how. It stays paired for 30 days. `hubctl dashboard --devices` lists the phones, and `hubctl dashboard --revoke ID` \
signs one out.

Examples:
  hubctl phone
  hubctl phone --name \"Anna's phone\"
  hubctl phone --host hub.example.ts.net --read-only")]
/// The arguments of `hubctl phone`.
pub(crate) struct PhoneArgs {
    /// The address at which the phone reaches the hub [default: the first allowed host]
    #[arg(long, value_name = "HOST")]
    host: Option<String>,
    /// The name of the phone in the list of devices [default: its browser's]
    #[arg(long)]
    name: Option<String>,
    /// Let the phone answer needs and send messages; this is the default
    #[arg(long)]
    answers: bool,
    /// Let the phone only read
    #[arg(long, conflicts_with = "answers")]
    read_only: bool,
    /// Print the link as JSON, and do not wait for the phone
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: &PhoneArgs, context: &Context) -> Result<Exit, Error> {
    let hub = context.hub()?;
    let access = if args.read_only {
        PhoneAccess::Reads
    } else {
        PhoneAccess::Answers
    };
    let question = match access {
        PhoneAccess::Reads => "Pair a phone that may read everything here?",
        PhoneAccess::Answers => "Pair a phone that may read everything here and answer for you?",
    };
    if !confirm(
        question,
        "run hubctl phone in a terminal: it asks before it pairs",
    )? {
        return Ok(Exit::REFUSED);
    }
    let pairing = PhonePairing {
        host: args.host.clone(),
        name: args.name.clone(),
        access,
    };
    let known = phones(&hub).await?;
    let answer = hub
        .text(&Request::post(Path::new("/login/phone"), json(&pairing)?))
        .await?;
    if args.json {
        println(json_line(&answer))?;
        return Ok(Exit::DONE);
    }
    let made: SignInCode = parse(&answer)?;
    show(&made)?;
    paired(&hub, &made, &known).await
}

/// Prints the link as a QR code and as text.
fn show(made: &SignInCode) -> Result<(), Error> {
    let code = QrCode::new(&made.url).map_err(|error| anyhow::anyhow!("no QR code: {error}"))?;
    // Most terminals are dark, and a camera needs a light border.
    let drawn = code
        .render::<Dense1x2>()
        .dark_color(Dense1x2::Light)
        .light_color(Dense1x2::Dark)
        .build();
    println(drawn)?;
    println(line(&made.url))?;
    say(
        "scan the code or open the link on the phone: it signs in one phone, once, within two minutes",
    );
    Ok(())
}

/// Waits until a phone that is not `known` has signed in.
async fn paired(hub: &Hub, made: &SignInCode, known: &HashSet<String>) -> Result<Exit, Error> {
    while Timestamp::now() < made.expires_at {
        tokio::time::sleep(LOOK).await;
        let found = list(hub).await?;
        if let Some(phone) = found
            .iter()
            .find(|it| is_phone(it) && !known.contains(&it.id))
        {
            println(format_args!(
                "paired: {} ({})",
                line(&phone.name),
                line(&phone.id)
            ))?;
            return Ok(Exit::DONE);
        }
    }
    say("no phone has signed in, and the link has expired: run hubctl phone again");
    Ok(Exit::REFUSED)
}

async fn phones(hub: &Hub) -> Result<HashSet<String>, Error> {
    let found = list(hub).await?.into_iter().filter(is_phone);
    Ok(found.map(|it| it.id).collect())
}

async fn list(hub: &Hub) -> Result<Vec<Device>, Error> {
    let answer = hub.text(&Request::get(Path::new("/login/devices"))).await?;
    Ok(parse::<Devices>(&answer)?.devices)
}

fn is_phone(device: &Device) -> bool {
    device.access.is_some()
}
