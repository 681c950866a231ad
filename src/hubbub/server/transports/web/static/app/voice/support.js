/** Requirements of calls, and texts about missing requirements, devices that do not open and videos that are not sent. */

import { t } from "../ui/translation.js";

/** Return a sentence with the reason why calls do not work here and a remedy, or null if they work. */
export function callObstacle() {
  if (!window.isSecureContext)
    return t("Calls need a secure connection. Open this site with https://, or on localhost.");
  if (!("RTCPeerConnection" in window) || !("RTCRtpScriptTransform" in window) || !("WebAssembly" in window))
    return t("This browser cannot encrypt calls end to end. Use a current version of Chrome, Edge, Firefox or Safari.");
  const meta = /** @type {HTMLMetaElement | null} */ (document.querySelector("meta[name=hubbub-client]"));
  if (meta?.dataset.calls === undefined)
    return t(
      "This server was installed without the files that calls need. Its operator can fetch them with `make third-party`.",
    );
  return null;
}

export function canShareScreen() {
  return "getDisplayMedia" in (navigator.mediaDevices ?? {});
}

/** Return whether a capture failed because the user closed the browser's dialog, not because of the system or a policy. */
export function isDismissed(error) {
  return error.name === "NotAllowedError" && !/system|policy/i.test(error.message);
}

/** Sentences about a device that could not be opened, by its kind. They are whole, because other languages inflect the device. */
const PROBLEMS = {
  microphone: {
    system: t(
      "Your system blocks the microphone for this browser. Allow it in the privacy settings of the system, then try again.",
    ),
    browser: t(
      "The browser does not allow the microphone. Allow it in the site settings of the address bar, then try again.",
    ),
    missing: t("No microphone was found. Connect one, then try again."),
    busy: t("Another program uses the microphone. Close it, then try again."),
    other: t("The microphone could not be opened."),
  },
  camera: {
    system: t(
      "Your system blocks the camera for this browser. Allow it in the privacy settings of the system, then try again.",
    ),
    browser: t(
      "The browser does not allow the camera. Allow it in the site settings of the address bar, then try again.",
    ),
    missing: t("No camera was found. Connect one, then try again."),
    busy: t("Another program uses the camera. Close it, then try again."),
    other: t("The camera could not be opened."),
  },
  screen: {
    system: t(
      "Your system blocks the screen for this browser. Allow it in the privacy settings of the system, then try again.",
    ),
    browser: t(
      "The browser does not allow the screen. Allow it in the site settings of the address bar, then try again.",
    ),
    missing: t("No screen was found. Connect one, then try again."),
    busy: t("Another program uses the screen. Close it, then try again."),
    other: t("The screen could not be opened."),
  },
};

/**
 * Return a sentence for the user about a device that could not be opened.
 *
 * @param {Error} error
 * @param {"microphone" | "camera" | "screen"} device
 */
export function captureProblem(error, device) {
  const texts = PROBLEMS[device];
  if (error.name === "NotAllowedError") return /system/i.test(error.message) ? texts.system : texts.browser;
  if (error.name === "NotFoundError" || error.name === "OverconstrainedError") return texts.missing;
  return error.name === "NotReadableError" ? texts.busy : texts.other;
}

/** Return a sentence for the user about a camera or screen that could not be sent. */
export function videoProblem(type) {
  return type === "screen"
    ? t("Your screen could not be sent. Leave the call, join it again and try once more.")
    : t("Your camera could not be sent. Leave the call, join it again and try once more.");
}
