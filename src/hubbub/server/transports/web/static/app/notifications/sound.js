/** The sound of notifications: two short tones, so that no file has to be loaded. */

/** Frequency in hertz and delay in seconds of each tone. */
const TONES = [
  [880, 0],
  [1174.7, 0.09],
];
const TONE_SECONDS = 0.16;
const VOLUME = 0.09;

let audioContext = null;

/** Play the sound of a notification. Browsers are silent until the user has clicked or pressed a key on the page. */
export function playNotificationSound() {
  audioContext ??= new AudioContext();
  if (audioContext.state === "suspended") {
    audioContext.resume().catch(() => {});
    // Without a user gesture the tones would be played later, when the context resumes.
    if (!navigator.userActivation?.hasBeenActive) return;
  }
  for (const [frequency, delay] of TONES) {
    const start = audioContext.currentTime + delay;
    const oscillator = new OscillatorNode(audioContext, { frequency });
    const gain = new GainNode(audioContext, { gain: 0 });
    gain.gain.setValueAtTime(0, start);
    gain.gain.linearRampToValueAtTime(VOLUME, start + 0.01);
    // An exponential ramp cannot end at zero.
    gain.gain.exponentialRampToValueAtTime(0.0001, start + TONE_SECONDS);
    oscillator.connect(gain).connect(audioContext.destination);
    oscillator.start(start);
    oscillator.stop(start + TONE_SECONDS);
  }
}
