/** Joining the party of another user with a game on this computer, and sending invites and join requests. */

import { ActivityActionType } from "../generated/enums.js";
import { ErrorCode } from "../generated/errors.js";
import { RpcErrorCode } from "../generated/rpc.js";
import { openDialog } from "../ui/dialogs.js";
import { h } from "../ui/dom.js";
import { showError, showNotice } from "../ui/notices.js";
import { t, tNodes } from "../ui/translation.js";
import { LocalAgentError, sendToAgent } from "./local_agent.js";

const PARTY_ENDED_TEXT = t("The party has ended, or cannot be joined now.");
const ERROR_TEXTS = new Map([
  [ErrorCode.MISSING_ACCESS, t("This invite is not valid any more. Ask for a new one.")],
  [ErrorCode.CANNOT_MESSAGE_USER, t("You cannot message this person.")],
  [ErrorCode.INVALID_ACTIVITY_ACTION, PARTY_ENDED_TEXT],
  [ErrorCode.NO_MUTUAL_GUILDS, t("You are not friends. Send a friend request first.")],
]);

function reportError(error) {
  const text = error.name === "ApiError" ? ERROR_TEXTS.get(error.code) : undefined;
  if (text === undefined) showError(error);
  else showNotice(text, "problem");
}

/**
 * Join a party through the agent on this computer, which passes the join secret to the game and starts it if needed.
 * Without an agent, send an invite to the user's game through the platform if the game is connected; otherwise show
 * help.
 *
 * @param {import("../state/context.js").Context} context
 * @param {{id: string, name: string}} application
 * @param {{userId: string, sessionId: string, channelId?: string, messageId?: string}} party the host with its session, and
 *   the message with the invite; without one, the party must be open to the user
 */
export async function joinParty(context, application, { userId, sessionId, channelId, messageId }) {
  const { api, me, state } = context;
  const args = {
    type: ActivityActionType.JOIN,
    user_id: userId,
    session_id: sessionId,
    channel_id: channelId,
    message_id: messageId,
    application_id: application.id,
  };
  try {
    if (await sendToAgent({ applicationId: application.id, userId: me.id }, "ACCEPT_ACTIVITY_INVITE", args)) {
      showNotice(t("Joining in {game}.", { game: application.name }), "done");
      return;
    }
    if (messageId && state.ownSessions.some(session => session.application_id === application.id)) {
      const sessionPath = `/users/${userId}/sessions/${encodeURIComponent(sessionId)}`;
      const path = `${sessionPath}/activities/${application.id}/${ActivityActionType.JOIN}`;
      await api.request("GET", path, { query: { channel_id: channelId, message_id: messageId } });
      showNotice(t("{game} has received the invite. Continue there.", { game: application.name }), "done");
      return;
    }
    openAgentHelp(application);
  } catch (error) {
    if (!(error instanceof LocalAgentError)) reportError(error);
    else if (error.code === RpcErrorCode.INVALID_ACTIVITY_SECRET) showNotice(PARTY_ENDED_TEXT, "problem");
    else if (error.code === RpcErrorCode.SERVICE_UNAVAILABLE)
      showNotice(t("Start {game} on this computer, then join again.", { game: application.name }), "problem");
    else showNotice(error.message, "problem");
  }
}

/** Explain how the chat client reaches games on this computer. */
function openAgentHelp({ name }) {
  openDialog(t("Join in {game}", { game: name }), close => [
    h("p", null, t("The chat client found no running {game} on this computer.", { game: name })),
    h(
      "ol",
      { class: "steps" },
      h(
        "li",
        null,
        t("Start {game}. If you are logged in there, you can accept the invite in the game.", { game: name }),
      ),
      h(
        "li",
        null,
        tNodes("Or run {command}, which starts games from here.", {
          command: h("code", null, "hubbub agent --websocket"),
        }),
      ),
      h("li", null, t("Then join again.")),
    ),
    h(
      "div",
      { class: "row end" },
      h("button", { type: "button", class: "button", onclick: () => close() }, t("Close")),
    ),
  ]);
}

/** Send an invite or a join request to a user. Return whether it was sent. */
async function sendActivityMessage({ api }, userId, applicationId, activity) {
  try {
    await api.request("POST", `/users/${userId}/messages`, { json: { application_id: applicationId, activity } });
    return true;
  } catch (error) {
    reportError(error);
    return false;
  }
}

/** Ask a user for an invite to their party. */
export async function askToJoin(context, userId, activity) {
  const isSent = await sendActivityMessage(context, userId, activity.application_id, {
    type: ActivityActionType.JOIN_REQUEST,
    session_id: context.gateway.sessionId,
    party_id: activity.party.id,
  });
  if (isSent) showNotice(t("Request sent."), "done");
}

/** Invite a user to an activity of the current user. Return whether the invite was sent. */
export async function sendInvite(context, userId, activity) {
  const isSent = await sendActivityMessage(context, userId, activity.application_id, {
    type: ActivityActionType.JOIN,
    session_id: activity.session_id,
    party_id: activity.party.id,
  });
  if (isSent) showNotice(t("Invite sent."), "done");
  return isSent;
}
