"""What a Python program does with the generated client, and with httpx-sse for the event stream."""

import os

import httpx
from httpx_sse import connect_sse
from hub_client import AuthenticatedClient
from hub_client.api.history import get_notification, list_notifications
from hub_client.api.publish import notify
from hub_client.api.receive import ack, wait
from hub_client.models import AckRequest, AnyKind, Post, Problem, Published, Status, WaitReply

URL, TOKEN = os.environ["HUB"], os.environ["TOKEN"]
hub = AuthenticatedClient(base_url=URL, token=TOKEN)

said = notify.sync(client=hub, body=Post(msg="from Python"))
assert isinstance(said, Published), said

for kind in (AnyKind.ERROR, AnyKind.PROGRESS):
    post = Post(msg=f"a {kind}", from_="py", type_=kind, to="python", options=["a", "b"])
    stored = notify.sync(client=hub, body=post, idempotency_key=f"py-{kind}")
    assert isinstance(stored, Published), stored

kinds = [AnyKind.ERROR, AnyKind.PROGRESS]
page = list_notifications.sync(client=hub, types=kinds, from_="py")
found = [(entry.msg, entry.status) for entry in page.notifications]
assert found == [("a progress", Status.PENDING), ("a error", Status.PENDING)], found

got = wait.sync(client=hub, inbox=["python"], types=[AnyKind.ERROR], timeout=0)
assert isinstance(got, WaitReply) and got.notifications[0].msg == "a error", got
acked = ack.sync("python", client=hub, body=AckRequest(lease=got.lease))
assert acked.acked == [got.notifications[0].id], acked

missing = get_notification.sync(999_999, client=hub)
assert isinstance(missing, Problem) and missing.code == "unknown_notification", missing

headers = {"Authorization": f"Bearer {TOKEN}"}
with httpx.Client(base_url=URL, headers=headers) as http:
    with connect_sse(http, "GET", "/events", params={"since": 0}) as stream:
        events = stream.iter_sse()
        start = next(events)
        # A stream that sends `retry:` on its own would begin with an event without data here.
        assert (start.event, start.json()["after"]) == ("start", 0) and start.retry, start
        first = next(events)
        assert first.event == "notification" and first.json()["id"] == int(os.environ["FIRST"]), first
