/**
 * The hub's JSON, as defined in openapi.yaml. Types only.
 *
 * @typedef {'complete'|'waiting'|'question'|'approval'|'testing'|'error'|'progress'|'message'|'answer'|'ended'} Kind
 * @typedef {'urgent'|'high'|'normal'|'low'} Priority
 * @typedef {'none'|'pending'|'emitted'|'acked'|'expired'|'superseded'|'withdrawn'|'dropped'|'evicted'|'answered'} Status
 * @typedef {Record<string, any>} Data Any data that a program added.
 *
 * @typedef {object} Notification
 * @property {number} id
 * @property {string} ts RFC 3339, UTC
 * @property {string} from
 * @property {string} [from_name] the name of the sender's session at that time
 * @property {Kind} type
 * @property {string} msg
 * @property {string} project
 * @property {Priority} priority
 * @property {string} expires_at
 * @property {string} [to]
 * @property {string} [title]
 * @property {Data} [data]
 * @property {string} [session]
 * @property {string} [parent]
 * @property {string} [key]
 * @property {number} [reply_to]
 * @property {string[]} [options]
 * @property {number} [hops]
 * @property {string} [received]
 * @property {string} [status] history only
 * @property {boolean} [seen] history only
 *
 * @typedef {object} Process
 * @property {number} pid
 *
 * @typedef {object} Holder The waiter at an inbox.
 * @property {string} [as]
 * @property {string} since
 * @property {string} [session]
 * @property {string} [way]
 *
 * @typedef {object} Listener
 * @property {string} caller
 * @property {string} since
 * @property {string} [until]
 *
 * @typedef {'working'|'waiting'|'blocked'|'complete'|'error'|'ended'} SessionState
 *
 * @typedef {object} Session
 * @property {string} id
 * @property {string[]} [aliases]
 * @property {string} name
 * @property {string} project
 * @property {boolean} primary
 * @property {boolean} gone
 * @property {boolean} silent
 * @property {number} pending
 * @property {'live'|'stale'|'none'} [wake] whether it can be woken
 * @property {string} [agent]
 * @property {string} [host]
 * @property {string} [cwd]
 * @property {string} [parent]
 * @property {string} [role]
 * @property {boolean} [main_worktree]
 * @property {Process} [process]
 * @property {string} [pane]
 * @property {string} [title]
 * @property {Data} [metadata]
 * @property {SessionState} [state]
 * @property {string} [evidence]
 * @property {string} [since]
 * @property {string} [last_seen]
 * @property {number} [last]
 * @property {Holder} [waiter]
 * @property {Listener[]} [listeners]
 *
 * @typedef {'open'|'claimed'|'answered'|'withdrawn'|'superseded'|'expired'} QuestionState
 *
 * @typedef {object} Place The location of a session.
 * @property {string} [host]
 * @property {string} [cwd]
 * @property {string} [pane]
 *
 * @typedef {object} Question
 * @property {number} id
 * @property {string} project
 * @property {string} from
 * @property {'question'|'approval'} type
 * @property {string} ts
 * @property {string} expires_at
 * @property {QuestionState} state
 * @property {string} msg
 * @property {string} [by]
 * @property {number} [answer_id]
 * @property {string} [answer]
 * @property {string[]} [options]
 * @property {Data} [data]
 * @property {boolean} [deliverable] whether an answer given here reaches the asker
 * @property {Place} [where] where to answer, if not here
 *
 * @typedef {object} Quiet
 * @property {string} from HH:MM
 * @property {string} to HH:MM
 * @property {string} zone IANA name
 *
 * @typedef {object} Mute
 * @property {string} project
 * @property {string} [session]
 * @property {string} [until]
 *
 * @typedef {object} Preferences
 * @property {Quiet|null} quiet
 * @property {Mute[]} mutes
 * @property {Kind[]} notify types that show a browser notification
 * @property {Kind[]} sound types that play a sound
 *
 * @typedef {object} Stats
 * @property {string} from
 * @property {string} to
 * @property {{at: string, counts: Partial<Record<Kind, number>>}[]} minutes
 * @property {{agent: string, count: number, median_ms: number, p90_ms: number}[]} answers
 * @property {{id: number, ts: string}|null} oldest_open
 * @property {{count: number, median_ms: number|null, p90_ms: number|null, recent: {at: string, ms: number}[]}} wakes
 * @property {boolean} partial
 *
 * @typedef {object} Step One step of a notification's delivery.
 * @property {string} state
 * @property {string} at
 * @property {string} [project]
 * @property {string} [inbox]
 * @property {string} [by]
 *
 * @typedef {'connecting'|'live'|'retrying'|'signed-out'|'stopped'} ConnectionState
 *
 * @typedef {object} Connection
 * @property {ConnectionState} state
 * @property {number} since ms
 * @property {number} [retryAt] ms
 * @property {string} [reason]
 */

/** @type {Kind[]} */
export const KINDS = ['question', 'approval', 'error', 'waiting', 'testing', 'complete', 'message', 'answer', 'progress', 'ended'];

/** @type {Priority[]} */
export const PRIORITIES = ['urgent', 'high', 'normal', 'low'];
