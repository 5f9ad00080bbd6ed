/** The delivery of a notification in words. */

/** @import { Notification, Step } from './types.js' */

/** How a notification reached an agent's session. @type {Record<NonNullable<Step['way']>, string>} */
const WAY_TEXTS = {
  module: "the module in the agent submitted it as a prompt",
  rewake: "the waiter of its hook woke the session",
  file_changed: "a file that the agent watches woke the session",
  socket: "a message to the agent’s socket woke the session",
  app_server: "the agent’s own server began a turn",
  wait: "its waiter woke the session",
  pane: "a line pasted into its tmux pane woke the session",
  hook: "with the answer to a hook",
};

/** How far an answer has come. @type {Partial<Record<NonNullable<Notification['delivery']>, string>>} */
const ANSWER_TEXTS = {
  stored: "on its way",
  delivered: "on its way",
  taken: "the agent has it",
  terminal: "did not reach the agent",
};

/** @type {Record<Step['state'], (step: Step) => string>} */
const STEP_TEXTS = {
  stored: ({ inbox }) =>
    inbox ? `Stored for ${inbox}` : "Recorded without a receiver",
  leased: ({ inbox, by }) => `Leased to ${by ?? inbox ?? "a reader"}`,
  held: ({ inbox }) => `Held back from ${inbox ?? "a reader"}`,
  emitted: ({ inbox, by }) =>
    `Shown to ${inbox ?? "a reader"}${by && by !== inbox ? ` (${by})` : ""}`,
  returned: ({ inbox }) =>
    `Not acknowledged in time, pending again${inbox ? ` for ${inbox}` : ""}`,
  acked: ({ inbox, by }) =>
    `Acknowledged${inbox ? ` by ${inbox}` : ""}${by && by !== inbox ? ` (${by})` : ""}`,
  expired: () => "Expired",
  evicted: () => "Evicted, because the log reached its maximum size",
  superseded: ({ by }) => `Replaced${by ? ` by ${withHash(by)}` : ""}`,
  withdrawn: ({ by }) => `Withdrawn${by ? ` by ${withHash(by)}` : ""}`,
  dropped: ({ inbox }) =>
    `Dropped with ${inbox ? `the inbox ${inbox}` : "its project"}`,
  answered: ({ by }) => `Answered${by ? ` by ${withHash(by)}` : ""}`,
  claimed: ({ by }) => `Claimed${by ? ` by ${by}` : ""}`,
  settled: ({ by }) => `Settled${by ? ` by ${withHash(by)}` : ""}`,
  reopened: () => "Open again, because the answer did not reach its agent",
  delivered: () => "The agent was given the answer",
  taken: () => "The agent took the answer",
  fired: ({ by }) => `Fired ${by ?? "a rule"}`,
  started: ({ by }) => `Started the program of ${by ?? "a rule"}`,
  failed: ({ by }) => `The program of ${by ?? "a rule"} failed`,
  escalated: ({ by }) => `Escalated to the person by ${by ?? "a rule"}`,
  seen: () => "Marked as read",
  unseen: () => "Marked as unread",
  unreachable: ({ inbox }) =>
    `Waits${inbox ? ` for ${inbox}` : ""}, which the hub cannot wake now`,
};

/**
 * A step of a delivery as a sentence, with the reason if the hub knows it.
 *
 * @param {Step} step
 * @returns {{text: string, why: string}}
 */
export function describeStep(step) {
  const limit = step.limit && `limit: ${step.limit}`;
  const way =
    step.state === "emitted" && step.way ? WAY_TEXTS[step.way] : undefined;
  return {
    text: STEP_TEXTS[step.state]?.(step) ?? step.state,
    why: way ?? step.why ?? limit ?? step.rides_along ?? "",
  };
}

/** How far the answer to a question has come; empty if that is not known. @param {Notification} question */
export function answerWay({ delivery }) {
  return (delivery && ANSWER_TEXTS[delivery]) ?? "";
}

/** @param {string} by */
function withHash(by) {
  return /^\d+$/.test(by) ? `#${by}` : by;
}

/**
 * The result of sending a notification, in a sentence or two.
 *
 * @param {Pick<import('./types.js').Schemas['Published'], 'woken'|'hint'>} sent
 * @param {import('./types.js').Session['wake']} [wake] of the receiving session
 */
export function sentText({ woken, hint }, wake) {
  const result =
    woken > 0
      ? `it woke ${woken === 1 ? "one waiter" : `${woken} waiters`}`
      : "no waiter was woken";
  const then =
    woken === 0 && wake === "stale"
      ? " It is delivered with the session’s next step."
      : "";
  return `Sent; ${result}.${then}${hint ? ` Hint: ${hint}.` : ""}`;
}
