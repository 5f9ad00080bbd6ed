"""What schemathesis learns about the hub: to send NDJSON, and which rules no schema expresses."""

import json
import re

import schemathesis

# Rules that JSON Schema cannot express, or not in a way that client generators read: how the details of refusals begin,
# by operation. No other request that keeps its schema may be refused.
RULES = {
    "ack": [
        "give lease or ids$",
        "this lease was not given out by this hub$",
        # A whole number that is written as a float of 16 digits may be read as its neighbour, which has a fraction.
        "invalid type: floating point `[0-9]{16}",
    ],
    "answerNeed": [
        "an answer to this has no reader$",
        "give exactly one of choices, verdict",
        "this (question |plan |form )?takes ",
        "this plan can be allowed or denied$",
        "a permission is allowed",
        "only a denial has a reason$",
        "the dialog has [0-9]+ questions",
        "every answer is empty$",
        "the answer is empty$",
        "one answer, please",
        "'[^']*' is not offered",
        "the revision of a question is its number",
        "no question: ",
    ],
    "directory": [
        r"cwd must be an absolute path, such as \$PWD$",
        "cwd names no directory of the hub's machine; give project instead$",
        "cwd is another directory on the hub's machine$",
    ],
    "endNeed": ["a question ends by its answer"],
    "hello": ["session is over, or none$"],
    "hook": ["'[^']+' must be a session's id$", "'[^']+' is reserved: a session has a name of its own$"],
    "listNotifications": ["give before or after, not both$", "thread goes with limit and after alone$"],
    "listen": ["a session cannot listen for its own stop$"],
    "notify": [
        "give expires_at or ttl, not both$",
        "expires_at [^ ]+ lies in the past$",
        "it expires in more than a year",
        "ts [^ ]+ lies in the future$",
        "reply_to names notification [0-9]+, which does not exist$",
        "reply_to names [0-9]+, which is not a notification$",
        "an answer must name an open question in reply_to$",
        "msg, title and key must not contain NUL$",
        "cwd names no directory of the hub's machine; give project instead$",
        # A text that begins like JSON; and the limit is in bytes, the schema's in characters.
        r".*; what begins with { or \[ is read as JSON",
        "a notification has at most 65536 bytes of JSON",
    ],
    "markManySeen": ["undo goes alone$", "ids goes with seen alone$", "give seen", "give 1 to", "undo is the number", "give ids", "thread goes with"],
    "putPreferences": [
        "quiet hours begin and end at the same time",
        "unknown time zone '",
        r"editor is a link with \{path\}",
    ],
    "resumeNeed": ["this is no limit"],
    "snoozeNeed": ["until lies in the past$", "a question ends by its answer", "a message is done or not"],
    "subscribe": ["only a browser that is signed in", "endpoint ", "keys are p256dh"],
    "unsubscribe": ["only a browser that is signed in"],
    "timeline": ["since is before until and not in the future$"],
    "waitNeed": ["this is no limit"],
    "wait": [
        "cursor [^ ]+ is not a place in this log",
        "this lease was not given out by this hub$",
        "way=(rewake|module) is for a session$",
        "as has 1 to 128 printable",
    ],
}


@schemathesis.serializer("application/x-ndjson")
def ndjson(context, value):
    """Makes a text that schemathesis makes up the `msg` of one notification a line."""
    lines = value.splitlines() if isinstance(value, str) else []
    posts = [json.dumps({"msg": line}) for line in lines if line.strip()]
    return "\n".join(posts or [json.dumps(value)]).encode()


@schemathesis.check
def refusal_is_for_a_named_rule(context, response, case):
    """Holds a refusal of a request that keeps its schema against RULES."""
    if response.status_code not in (400, 413, 422) or not (case.meta and case.meta.generation.mode.is_positive):
        return
    problem = response.json()
    detail = problem.get("detail", problem["title"])
    operation = case.operation.definition.raw["operationId"]
    named = any(re.match(rule, detail) for rule in RULES.get(operation, []))
    assert named, f"{operation} refuses a request that keeps its schema, for no rule in RULES: {detail}"
