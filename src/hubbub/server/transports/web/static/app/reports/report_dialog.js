/** The dialog that reports a message, a user or a guild to the operators of the server. */

import { REPORT_COMMENT_MAX } from "../generated/limits.js";
import { formField } from "../ui/controls.js";
import { openDialog } from "../ui/dialogs.js";
import { h } from "../ui/dom.js";
import { runAndReport, showNotice } from "../ui/notices.js";
import { t } from "../ui/translation.js";

/** Return the labels of a report's reasons, by reason. */
const reasonLabels = () => ({
  spam: t("Spam or scam"),
  harassment: t("Harassment or bullying"),
  hate: t("Hate"),
  violence: t("Violence or threats"),
  sexual_content: t("Sexual content"),
  minor_safety: t("Danger to minors"),
  self_harm: t("Self-harm"),
  malware: t("Harmful file or link"),
  impersonation: t("Impersonation"),
  illegal: t("Other illegal content"),
  other: t("Something else"),
});

/**
 * Open the dialog that reports an object.
 *
 * @param {any} context
 * @param {{kind: "message" | "user" | "guild", id: string, channel_id?: string}} target
 * @param {string} title
 */
export function openReportDialog({ api }, target, title) {
  openDialog(title, close => {
    const reason = formField(
      t("Reason"),
      h(
        "select",
        { required: true, autofocus: true },
        h("option", { value: "" }, t("Choose a reason")),
        Object.entries(reasonLabels()).map(([value, label]) => h("option", { value }, label)),
      ),
    );
    const comment = formField(
      t("Comment (optional)"),
      h("textarea", { rows: "4", maxlength: REPORT_COMMENT_MAX, dir: "auto" }),
      t("Tell the operators what they need to know."),
    );
    const submitButton = h("button", { type: "submit", class: "button danger" }, t("Send report"));
    const sendReport = async event => {
      event.preventDefault();
      submitButton.disabled = true;
      const json = { ...target, reason: reason.input.value, comment: comment.input.value };
      if (await runAndReport(() => api.request("POST", "/reports", { json }))) {
        close();
        showNotice(t("Report sent. You receive a message when the operators have decided."), "done");
      } else submitButton.disabled = false;
    };
    return h(
      "form",
      { class: "stack", onsubmit: sendReport },
      h(
        "p",
        { class: "muted" },
        target.kind === "message"
          ? t(
              "The operators of this server see this message and up to 5 messages around it. The author does not learn your name.",
            )
          : t("The operators of this server review your report. The reported user does not learn your name."),
      ),
      reason.node,
      comment.node,
      h(
        "div",
        { class: "row end" },
        h("button", { type: "button", class: "button quiet", onclick: close }, t("Cancel")),
        submitButton,
      ),
    );
  });
}
