/** Sounds, played by the page itself. */

import { tones } from "../core/alerts.js";

/** @import { Alert } from '../core/alerts.js' */

/** The shortest pause between two sounds, in ms. */
const PAUSE = 1500;

/** @type {AudioContext|null} */
let audio = null;
let last = -Infinity;

/**
 * Plays the sound of a state, unless another one was just played.
 *
 * @param {Alert} state
 */
export function alertBySound(state) {
  if (performance.now() - last <= PAUSE) return;
  last = performance.now();
  playSound(state);
}

/**
 * Plays the sound of a state. The browser blocks sounds until the person has used the page.
 *
 * @param {Alert} state
 * @returns {Promise<boolean>} whether it was played
 */
export async function playSound(state) {
  audio ??= new AudioContext();
  if (audio.state !== "running") {
    // Without a gesture this promise stays pending; then no sound is played, not even later.
    await Promise.race([
      audio.resume(),
      new Promise((resolve) => setTimeout(resolve, 200)),
    ]);
    if (/** @type {string} */ (audio.state) !== "running") return false;
  }
  for (const { hz, at, duration } of tones(state))
    playTone(audio, hz, audio.currentTime + at, duration);
  return true;
}

/**
 * @param {AudioContext} context
 * @param {number} hz
 * @param {number} at
 * @param {number} duration
 */
function playTone(context, hz, at, duration) {
  const source = new OscillatorNode(context, { type: "sine", frequency: hz });
  const volume = new GainNode(context, { gain: 0 });
  volume.gain.setValueAtTime(0, at);
  volume.gain.linearRampToValueAtTime(0.2, at + 0.015);
  volume.gain.exponentialRampToValueAtTime(0.001, at + duration);
  source.connect(volume).connect(context.destination);
  source.start(at);
  source.stop(at + duration);
}
