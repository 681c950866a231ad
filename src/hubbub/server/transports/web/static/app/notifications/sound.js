/** The sound of notifications: two short tones, so that no file has to be loaded. */

/** Frequency in hertz and delay in seconds of each tone. */
const TONES = [
  [880, 0],
  [1174.7, 0.09],
];
const TONE_SECONDS = 0.16;
const VOLUME = 0.09;

let audio = null;

/** Play the sound of a notification. Browsers are silent until the user has clicked or pressed a key on the page. */
export function playNotificationSound() {
  audio ??= new AudioContext();
  if (audio.state === "suspended") {
    audio.resume().catch(() => {});
    if (!navigator.userActivation?.hasBeenActive) return;
  }
  for (const [frequency, delay] of TONES) {
    const start = audio.currentTime + delay;
    const oscillator = new OscillatorNode(audio, { frequency });
    const gain = new GainNode(audio, { gain: 0 });
    gain.gain.setValueAtTime(0, start);
    gain.gain.linearRampToValueAtTime(VOLUME, start + 0.01);
    gain.gain.exponentialRampToValueAtTime(0.0001, start + TONE_SECONDS);
    oscillator.connect(gain).connect(audio.destination);
    oscillator.start(start);
    oscillator.stop(start + TONE_SECONDS);
  }
}
