/** The first steps with a new hub, each with whether it is done. */

/** @import { Notification, Session } from './types.js' */

/** The sender of the test question. */
export const TESTER = "test";

/**
 * @typedef {object} Step
 * @property {'hub'|'hooks'|'session'|'question'} name
 * @property {boolean} isDone
 * @property {string} text what there is to say of it, empty if nothing
 *
 * @typedef {object} Data The parts of the store that are used here.
 * @property {string[]} reporting the agents whose hooks have reported sessions
 * @property {Map<string, Pick<Session, 'name'>>} sessions
 * @property {Iterable<Notification> & {replies: (id: number) => Notification[]}} feed
 */

/**
 * @param {Data} data
 * @returns {Step[]}
 */
export function firstSteps({ reporting, sessions, feed }) {
  const [first] = sessions.values();
  const asked = [...feed].find(
    ({ from, type }) => from === TESTER && type === "question",
  );
  const answer =
    asked && feed.replies(asked.id).find(({ type }) => type === "answer");
  return [
    { name: "hub", isDone: true, text: "" },
    { name: "hooks", isDone: reporting.length > 0, text: reporting.join(", ") },
    {
      name: "session",
      isDone: first !== undefined || reporting.length > 0,
      text: first?.name ?? "",
    },
    {
      name: "question",
      isDone: answer !== undefined,
      text: answer
        ? `answered: ${answer.msg}`
        : asked
          ? "it waits for your answer"
          : "",
    },
  ];
}
