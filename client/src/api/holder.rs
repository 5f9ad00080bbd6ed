//! The waiter that holds an inbox.

use hub_protocol::{Holder, InboxName, ProjectName};

use crate::api::session;
use crate::hub::Hub;
use crate::output::text::said;

/// The waiter's name for people, and the time since when it waits.
pub(crate) fn describe(holder: &Holder) -> String {
    let name = holder.name.as_deref();
    let name = name.unwrap_or("a waiter without a name");
    let session = holder.session.as_ref().map(InboxName::as_str);
    let since = holder.since;
    match holder.session_name.as_deref().or(session) {
        // The waiter of a session has the name of a process, so its way is shown instead.
        Some(session) => {
            let way = match holder.way {
                Some(way) => way.as_str(),
                None => name,
            };
            format!("{} of {} (since {since})", said(way), said(session))
        }
        None => match holder.name.as_deref() {
            Some(name) => format!("{} (since {since})", said(name)),
            None => format!("{name} (since {since})"),
        },
    }
}

/// Whether the waiter wakes the session that `session` names. After a `/clear` that id may be an alias, so the hub is
/// asked.
pub(crate) async fn wakes(
    holder: &Holder,
    hub: &Hub,
    project: &ProjectName,
    session: Option<&InboxName>,
) -> bool {
    let (Some(theirs), Some(ours)) = (&holder.session, session) else {
        return false;
    };
    if theirs == ours {
        return true;
    }
    let known = session::session(hub, ours, project).await;
    known.is_ok_and(|known| known.id == *theirs)
}
