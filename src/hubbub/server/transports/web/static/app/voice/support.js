/** Requirements of calls: features of the browser, and files that the server may lack. */

/** Return a sentence with the reason why calls do not work here and a remedy, or null if they work. */
export function callObstacle() {
  if (!window.isSecureContext) return "Calls need a secure connection. Open this site with https://, or on localhost.";
  if (!("RTCPeerConnection" in window) || !("RTCRtpScriptTransform" in window) || !("WebAssembly" in window))
    return "This browser cannot encrypt calls end to end. Use a current version of Chrome, Edge, Firefox or Safari.";
  const meta = /** @type {HTMLMetaElement | null} */ (document.querySelector("meta[name=hubbub-client]"));
  if (meta?.dataset.calls === undefined)
    return "This server was installed without the files that calls need. Its operator can fetch them with `make third-party`.";
  return null;
}

/** Return whether the browser can share the screen. */
export function canShareScreen() {
  return "getDisplayMedia" in (navigator.mediaDevices ?? {});
}

/** Return whether a capture failed because the user closed the browser's dialog, not because of the system or a policy. */
export function isDismissed(error) {
  return error.name === "NotAllowedError" && !/system|policy/i.test(error.message);
}

/** Return a sentence for the user about a microphone, camera or screen that could not be opened. */
export function captureProblem(error, device) {
  if (error.name === "NotAllowedError" && /system/i.test(error.message))
    return `Your system blocks the ${device} for this browser. Allow it in the privacy settings of the system, then try again.`;
  if (error.name === "NotAllowedError")
    return `The browser does not allow the ${device}. Allow it in the site settings of the address bar, then try again.`;
  if (error.name === "NotFoundError" || error.name === "OverconstrainedError")
    return `No ${device} was found. Connect one, then try again.`;
  if (error.name === "NotReadableError") return `Another program uses the ${device}. Close it, then try again.`;
  return `The ${device} could not be opened.`;
}
