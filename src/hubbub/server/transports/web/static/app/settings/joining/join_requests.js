/** Guild settings: requests to join the guild, which moderators approve or reject. */

import { FormFieldType, JoinRequestStatus } from "../../generated/enums.js";
import { JOIN_REQUESTS_PAGE_MAX, REJECTION_REASON_MAX } from "../../generated/limits.js";
import { Permissions } from "../../network/enums.js";
import { h, reconcile } from "../../ui/dom.js";
import { runAndReport, showNotice } from "../../ui/notices.js";
import { timeElement } from "../../ui/times.js";
import { t, tn } from "../../ui/translation.js";
import { userAvatar } from "../../content/avatars.js";
import { choiceSetting, textSetting } from "../forms/fields.js";
import { openActionDialog } from "../forms/form.js";
import { actionButton, lockedNotice } from "../forms/layout.js";
import { createReload } from "../forms/content_loader.js";

const STATUS_OPTIONS = [
  [JoinRequestStatus.SUBMITTED, t("Waiting")],
  [JoinRequestStatus.APPROVED, t("Approved")],
  [JoinRequestStatus.REJECTED, t("Rejected")],
];

/** @type {import("../forms/settings_dialog.js").SettingsScreen} */
export const JOIN_REQUESTS_SCREEN = { id: "join-requests", label: t("Join requests"), icon: "inbox", build };

/** Return why the user cannot review requests, or null. */
function reviewDenialReason({ access, guild }) {
  const denialReason = access.findDenialReason(Permissions.KICK_MEMBERS);
  if (denialReason !== null) return t("You cannot see the requests. {reason}", { reason: denialReason });
  const features = guild.features ?? [];
  return features.includes("MEMBER_VERIFICATION_GATE_ENABLED") &&
    features.includes("MEMBER_VERIFICATION_MANUAL_APPROVAL")
    ? null
    : t("There are no requests, because new members need no approval. Turn it on in the join form.");
}

function build(view) {
  const { context, guildId } = view;
  const denialReason = reviewDenialReason(view);
  if (denialReason !== null) {
    view.onChange(() => reviewDenialReason(view) !== denialReason && view.show(JOIN_REQUESTS_SCREEN.id));
    return lockedNotice(denialReason);
  }
  /** Listed requests by ID, the newest first. @type {Map<string, any>} */
  let requests = new Map(),
    status = JoinRequestStatus.SUBMITTED;
  const path = `/guilds/${guildId}/requests`;
  const list = h("ul", { class: "settings-list join-requests", "aria-label": t("Join requests") });
  const statusNode = h("p", { class: "muted", role: "status" }, t("Loading…"));
  const moreButton = h(
    "button",
    { type: "button", class: "button small quiet settings-more", hidden: true, onclick: () => runAndReport(fetchMore) },
    t("Show more"),
  );
  const drawRequests = total => {
    statusNode.textContent = requests.size
      ? tn("{count} request", "{count} requests", total)
      : t("There are no requests with this status.");
    moreButton.hidden = requests.size >= total;
    reconcile(
      list,
      [...requests.values()].map(request => requestEntry(view, request, reload)),
    );
  };
  const fetchPage = before =>
    context.api.request("GET", path, { query: { status, limit: JOIN_REQUESTS_PAGE_MAX, before } });
  const show = ({ total, guild_join_requests: found = [] }) => {
    requests = new Map(found.map(request => [request.id, request]));
    drawRequests(total);
  };
  const fetchMore = async () => {
    const { total, guild_join_requests: found = [] } = await fetchPage([...requests.keys()].at(-1));
    for (const request of found) requests.set(request.id, request);
    drawRequests(total);
  };
  const reload = createReload(list, () => fetchPage(), show);
  const filter = choiceSetting(t("Status"), STATUS_OPTIONS);
  filter.node.addEventListener("change", () => {
    status = filter.read();
    runAndReport(async () => show(await fetchPage()));
  });
  view.onChange(({ kind }) => {
    if (reviewDenialReason(view) !== null) view.show(JOIN_REQUESTS_SCREEN.id);
    else if (kind === "joinRequests") reload();
  });
  runAndReport(async () => show(await fetchPage()));
  return [h("div", { class: "settings-tools" }, filter.node), statusNode, list, moreButton];
}

/** Return the text of an answer in a join request. */
function answerText({ field_type: type, response, choices }) {
  if (response === undefined || response === null || response === "") return t("No answer");
  if (type === FormFieldType.TERMS) return t("Accepted");
  return type === FormFieldType.MULTIPLE_CHOICE ? (choices?.[response] ?? String(response)) : String(response);
}

function requestEntry(view, request, onReviewed) {
  const { user, form_responses: answers, application_status: status } = request;
  const name = user ? user.global_name || user.username : t("Unknown user");
  const reviewer = request.actioned_by_user;
  return {
    key: request.id,
    version: JSON.stringify(request),
    build: () =>
      h(
        "li",
        { class: "settings-entry" },
        user ? userAvatar(user, name) : null,
        h(
          "div",
          { class: "settings-entry-text" },
          h("p", { class: "settings-entry-title", dir: "auto" }, name),
          h(
            "p",
            { class: "muted small" },
            user ? `@${user.username} · ` : "",
            timeElement(Date.parse(request.created_at), "f"),
          ),
          reviewer
            ? h(
                "p",
                { class: "muted small", dir: "auto" },
                t("Reviewed by {name}", { name: reviewer.global_name || reviewer.username }),
              )
            : null,
          request.rejection_reason
            ? h("p", { class: "small", dir: "auto" }, t("Reason: {reason}", { reason: request.rejection_reason }))
            : null,
          answers?.length
            ? h(
                "dl",
                { class: "button-group" },
                answers.map(answer => [
                  h("dt", { dir: "auto" }, answer.label || t("Rules")),
                  h("dd", { dir: "auto" }, answerText(answer)),
                ]),
              )
            : null,
        ),
        status === JoinRequestStatus.SUBMITTED
          ? h(
              "div",
              { class: "settings-entry-actions" },
              actionButton(t("Approve"), () => approve(view, request, name, onReviewed), {
                name: t("Approve {name}", { name }),
              }),
              actionButton(t("Reject"), () => reject(view, request, name, onReviewed), {
                isDangerous: true,
                name: t("Reject {name}", { name }),
              }),
            )
          : null,
      ),
  };
}

function review({ context, guildId }, request, json) {
  return context.api.request("PATCH", `/guilds/${guildId}/requests/${request.id}`, { json });
}

async function approve(view, request, name, onReviewed) {
  const isDone = await runAndReport(() => review(view, request, { action: JoinRequestStatus.APPROVED }));
  onReviewed();
  if (isDone) showNotice(t("{name} is a member now.", { name }), "done");
}

async function reject(view, request, name, onReviewed) {
  const isDone = await openActionDialog({
    title: t("Reject {name}?", { name }),
    text: t("They are not admitted. They can ask again."),
    label: t("Reject"),
    fields: {
      rejection_reason: textSetting(t("Reason"), {
        hint: t("Optional. They can read it."),
        maxlength: REJECTION_REASON_MAX,
        isNullable: true,
      }),
    },
    run: values => review(view, request, { action: JoinRequestStatus.REJECTED, ...values }),
  });
  if (!isDone) return;
  onReviewed();
  showNotice(t("{name} was rejected.", { name }), "done");
}
