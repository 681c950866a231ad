/** The dialog with the privacy code of the call and statistics of its connection. */

import { h, setChildren } from "../ui/dom.js";
import { openDialog } from "../ui/dialogs.js";
import { t } from "../ui/translation.js";
import { getCalls } from "../voice/calls.js";

const REFRESH_MS = 1_000;

/** Open the dialog with the privacy code and statistics of the current call. */
export function showCallDetails(context) {
  const calls = getCalls(context);
  const privacy = h("div", { class: "privacy" });
  const statistics = h("dl", { class: "call-numbers" });
  const refreshDetails = async () => {
    setChildren(privacy, privacySection(calls));
    setChildren(statistics, await statisticsRows(calls));
  };
  const timer = setInterval(refreshDetails, REFRESH_MS);
  refreshDetails();
  openDialog(t("Call details"), () => [privacy, h("h3", null, t("Connection")), statistics], {
    onClose: () => clearInterval(timer),
  });
}

function privacySection({ call }) {
  if (call === null || !call.isEncrypted) {
    const text =
      call?.encryption.status.version === 0 && call.state === "connected"
        ? t(
            "This call is encrypted between you and the server, but not end to end, because a participant does not support it.",
          )
        : t("The call is being encrypted…");
    return [h("h3", null, t("Privacy code")), h("p", { class: "muted" }, text)];
  }
  return [
    h("h3", null, t("Privacy code")),
    h(
      "p",
      { class: "muted" },
      t("This call is end-to-end encrypted. If all participants see the same code, no one else can listen."),
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

const STATE_LABELS = { connecting: t("connecting"), connected: t("connected"), reconnecting: t("reconnecting") };

async function statisticsRows({ call }) {
  if (call === null) return [statisticsRow(t("State"), t("not connected"))];
  const { report, frames } = await call.statistics();
  const inboundStreams = report.filter(statistic => statistic.type === "inbound-rtp");
  const sum = name => inboundStreams.reduce((total, statistic) => total + (statistic[name] ?? 0), 0);
  const lostCount = sum("packetsLost"),
    receivedCount = sum("packetsReceived");
  const delaySeconds = sum("jitterBufferDelay") / (sum("jitterBufferEmittedCount") || 1);
  return [
    statisticsRow(t("State"), STATE_LABELS[call.state] ?? call.state),
    statisticsRow(t("Round trip"), call.roundTripMs === null ? t("unknown") : `${Math.round(call.roundTripMs)} ms`),
    statisticsRow(
      t("Packet loss"),
      receivedCount ? `${((100 * lostCount) / (lostCount + receivedCount)).toFixed(1)} %` : t("none"),
    ),
    statisticsRow(t("Buffer delay"), `${Math.round(delaySeconds * 1000)} ms`),
    statisticsRow(t("Frames sent encrypted"), frames.encrypted ?? 0),
    statisticsRow(t("Frames decrypted"), frames.decrypted ?? 0),
    statisticsRow(t("Frames not decrypted"), frames.failed ?? 0),
  ];
}

function statisticsRow(label, value) {
  return h("div", null, h("dt", null, label), h("dd", null, value));
}
