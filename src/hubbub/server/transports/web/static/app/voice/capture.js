/** The camera and the shared screen of the user, and waiting for changes of a call. */

/** Constraints for the sound of a shared screen, which is not processed like a voice. */
const SCREEN_AUDIO = Object.freeze({ echoCancellation: false, noiseSuppression: false, autoGainControl: false });

/** Ask the user for the camera (`video`) or a screen (`screen`). @param {string} type @returns {Promise<MediaStream>} */
export function captureVideo(type) {
  const { mediaDevices } = navigator;
  return type === "screen"
    ? mediaDevices.getDisplayMedia({ video: { frameRate: 15 }, audio: SCREEN_AUDIO })
    : mediaDevices.getUserMedia({ video: { width: 1280, height: 720 } });
}

/** Resolve when a condition is true, which is checked now and after each `change` of an object. */
export function waitForChange(target, isDone) {
  if (isDone()) return Promise.resolve();
  return new Promise(resolve => {
    const check = () => {
      if (!isDone()) return;
      target.removeEventListener("change", check);
      resolve(undefined);
    };
    target.addEventListener("change", check);
  });
}
