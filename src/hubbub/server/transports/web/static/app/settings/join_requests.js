/** Guild settings: requests to join the guild, which moderators approve or reject. */

import { FormFieldType, JoinRequestStatus } from "../generated/enums.js";
import { JOIN_REQUESTS_PAGE_MAX, REJECTION_REASON_MAX } from "../generated/limits.js";
import { Permissions } from "../network/enums.js";
import { h, reconcile } from "../ui/dom.js";
import { runAndReport, showNotice } from "../ui/notices.js";
import { timeElement } from "../ui/times.js";
import { userAvatar } from "../content/avatars.js";
import { choiceSetting, textSetting } from "./fields.js";
import { openActionDialog } from "./form.js";
import { actionButton, lockedNotice } from "./layout.js";
import { createReload } from "./content_loader.js";

const STATUS_OPTIONS = [
  [JoinRequestStatus.SUBMITTED, "Waiting"],
  [JoinRequestStatus.APPROVED, "Approved"],
  [JoinRequestStatus.REJECTED, "Rejected"],
];

/** @type {import("./settings_dialog.js").SettingsScreen} */
export const JOIN_REQUESTS_SCREEN = { id: "join-requests", label: "Join requests", icon: "inbox", build };

/** Return why the user cannot review requests, or null. */
function reviewDenialReason({ access, guild }) {
  const missing = access.findDenialReason(Permissions.KICK_MEMBERS);
  if (missing !== null) return `You cannot see the requests. ${missing}`;
  const features = guild.features ?? [];
  return features.includes("MEMBER_VERIFICATION_GATE_ENABLED") &&
    features.includes("MEMBER_VERIFICATION_MANUAL_APPROVAL")
    ? null
    : "There are no requests, because new members need no approval. Turn it on in the join form.";
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
  const list = h("ul", { class: "settings-list join-requests", "aria-label": "Join requests" });
  const statusNode = h("p", { class: "muted", role: "status" }, "Loading…");
  const moreButton = h(
    "button",
    { type: "button", class: "button small quiet settings-more", hidden: true, onclick: () => runAndReport(fetchMore) },
    "Show more",
  );
  const draw = total => {
    statusNode.textContent = requests.size
      ? total === 1
        ? "1 request"
        : `${total} requests`
      : "There are no requests with this status.";
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
    draw(total);
  };
  const fetchMore = async () => {
    const { total, guild_join_requests: found = [] } = await fetchPage([...requests.keys()].at(-1));
    for (const request of found) requests.set(request.id, request);
    draw(total);
  };
  const reload = createReload(list, () => fetchPage(), show);
  const filter = choiceSetting("Status", STATUS_OPTIONS);
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
  if (response === undefined || response === null || response === "") return "No answer";
  if (type === FormFieldType.TERMS) return "Accepted";
  return type === FormFieldType.MULTIPLE_CHOICE ? (choices?.[response] ?? String(response)) : String(response);
}

function requestEntry(view, request, onReviewed) {
  const { user, form_responses: answers, application_status: status } = request;
  const name = user ? user.global_name || user.username : "Unknown user";
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
            ? h("p", { class: "muted small", dir: "auto" }, `Reviewed by ${reviewer.global_name || reviewer.username}`)
            : null,
          request.rejection_reason
            ? h("p", { class: "small", dir: "auto" }, `Reason: ${request.rejection_reason}`)
            : null,
          answers?.length
            ? h(
                "dl",
                { class: "button-group" },
                answers.map(answer => [
                  h("dt", { dir: "auto" }, answer.label || "Rules"),
                  h("dd", { dir: "auto" }, answerText(answer)),
                ]),
              )
            : null,
        ),
        status === JoinRequestStatus.SUBMITTED
          ? h(
              "div",
              { class: "settings-entry-actions" },
              actionButton("Approve", () => approve(view, request, name, onReviewed), { name: `Approve ${name}` }),
              actionButton("Reject", () => reject(view, request, name, onReviewed), {
                danger: true,
                name: `Reject ${name}`,
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
  if (isDone) showNotice(`${name} is a member now.`, "done");
}

async function reject(view, request, name, onReviewed) {
  const isDone = await openActionDialog({
    title: `Reject ${name}?`,
    text: "They are not admitted. They can ask again.",
    label: "Reject",
    fields: {
      rejection_reason: textSetting("Reason", {
        hint: "Optional. They can read it.",
        maxlength: REJECTION_REASON_MAX,
        isNullable: true,
      }),
    },
    run: values => review(view, request, { action: JoinRequestStatus.REJECTED, ...values }),
  });
  if (!isDone) return;
  onReviewed();
  showNotice(`${name} was rejected.`, "done");
}
