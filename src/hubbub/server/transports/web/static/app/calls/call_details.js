/** The dialog with the privacy code of the call and statistics of its connection. */

import { h, setChildren } from "../ui/dom.js";
import { openDialog } from "../ui/dialogs.js";
import { getCalls } from "../voice/calls.js";

const REFRESH_MS = 1_000;

/** Open the dialog with the privacy code and statistics of the current call. */
export function showCallDetails(context) {
  const calls = getCalls(context);
  const privacy = h("div", { class: "privacy" });
  const statistics = h("dl", { class: "call-numbers" });
  const refresh = async () => {
    setChildren(privacy, privacySection(calls));
    setChildren(statistics, await statisticsRows(calls));
  };
  const timer = setInterval(refresh, REFRESH_MS);
  refresh();
  openDialog("Call details", () => [privacy, h("h3", null, "Connection"), statistics], {
    onClose: () => clearInterval(timer),
  });
}

function privacySection({ call }) {
  if (call === null || !call.isEncrypted) {
    const text =
      call?.encryption.status.version === 0 && call.state === "connected"
        ? "This call is encrypted between you and the server, but not end to end, because a participant does not support it."
        : "The call is being encrypted…";
    return [h("h3", null, "Privacy code"), h("p", { class: "muted" }, text)];
  }
  return [
    h("h3", null, "Privacy code"),
    h(
      "p",
      { class: "muted" },
      "This call is end-to-end encrypted. If all participants see the same code, no one else can listen.",
    ),
    h(
      "p",
      { class: "privacy-code" },
      // Screen readers read a short group of digits at a time.
      groupsOf(call.privacyCode).map(group => h("span", null, group)),
    ),
  ];
}

function groupsOf(code) {
  return code.replace(/\s/g, "").match(/.{1,5}/g) ?? [];
}

async function statisticsRows({ call }) {
  if (call === null) return [row("State", "not connected")];
  const { report, frames } = await call.statistics();
  const received = report.filter(entry => entry.type === "inbound-rtp");
  const sum = name => received.reduce((total, entry) => total + (entry[name] ?? 0), 0);
  const lost = sum("packetsLost"),
    packets = sum("packetsReceived");
  const delay = sum("jitterBufferDelay") / (sum("jitterBufferEmittedCount") || 1);
  return [
    row("State", call.state),
    row("Round trip", call.roundTripMs === null ? "unknown" : `${Math.round(call.roundTripMs)} ms`),
    row("Packet loss", packets ? `${((100 * lost) / (lost + packets)).toFixed(1)} %` : "none"),
    row("Buffer delay", `${Math.round(delay * 1000)} ms`),
    row("Frames sent encrypted", frames.encrypted ?? 0),
    row("Frames decrypted", frames.decrypted ?? 0),
    row("Frames not decrypted", frames.failed ?? 0),
  ];
}

function row(label, value) {
  return h("div", null, h("dt", null, label), h("dd", null, value));
}
