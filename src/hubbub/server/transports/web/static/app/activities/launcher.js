/** The frame that shows an activity, and the dialog that launches one (spec/activities.md#2 to 5). */

import { RpcCloseCode } from "../generated/rpc.js";
import { bindToChannel } from "../state/context.js";
import { iconButton } from "../ui/controls.js";
import { openDialog } from "../ui/dialogs.js";
import { h, icon, setChildren } from "../ui/dom.js";
import { showNotice, showError } from "../ui/notices.js";
import { t, tn } from "../ui/translation.js";
import { appIcon } from "../content/app_icons.js";
import { channelTitle } from "../content/avatars.js";
import { ENTRY_POINT_COMMAND, fetchCommands } from "../commands/available_commands.js";
import { runCommand } from "../commands/context_menu.js";
import { activitiesEnabled, proxyOrigin } from "./availability.js";
import { getActivityInstances } from "./instances.js";
import { ActivityPresence } from "./rpc/presence.js";
import { RpcHost } from "./rpc/host.js";

/** Permissions policy and sandbox of the frame (spec/activities.md#4). */
const FRAME_PERMISSIONS = "autoplay; encrypted-media; fullscreen; clipboard-write; gamepad";
const FRAME_SANDBOX = "allow-scripts allow-same-origin allow-forms allow-popups";
const FRAME_PAGE = "/.platform/frame.html";
/** Layout modes: large, or small in a corner (picture-in-picture). */
const FOCUSED = 0;
const PIP = 1;
const PARTICIPANT_NAMES_MAX = 8;

let currentFrame = null;
/** The presence that activities set; null before the first activity. @type {ActivityPresence | null} */
let presence = null;

/** Join the activity in view again after the gateway session was replaced: a new session does not participate. */
export function rejoinActivity() {
  currentFrame?.rejoin();
}

/** Return whether the activity of an instance is in view. */
export function isActivityShown({ application_id: applicationId, location }) {
  return currentFrame?.isShowing(applicationId, location.channel_id) ?? false;
}

/** Close the activity in view, because the user is no longer a participant. While a new session joins it again, do nothing. */
export function endActivity() {
  if (!currentFrame.isRejoining) currentFrame.end(t("The activity ended, or you left it on another device."));
}

/** Join an activity and show it; see `openActivity` in `start.js`. */
export async function showActivity(context, { applicationId, customId, referrerId }) {
  const { api, gateway, channelId } = context;
  if (!applicationId) {
    await openLauncher(context);
    return false;
  }
  if (currentFrame?.isShowing(applicationId, channelId)) {
    currentFrame.show(FOCUSED);
    return true;
  }
  if (!activitiesEnabled()) {
    showNotice(t("Activities are not enabled on this server."), "problem");
    return false;
  }
  currentFrame?.end();
  presence ??= new ActivityPresence(gateway);
  const channelContext = bindToChannel(context, channelId);
  try {
    const application = await api.request("GET", `/applications/${applicationId}/rpc`);
    await api.request("POST", `/activities/${channelId}/${applicationId}`, { json: { session_id: gateway.sessionId } });
    const { instances } = await api.request("GET", `/activities/${applicationId}/instances/${channelId}`);
    if (!instances.length) throw new Error("the activity ended");
    const json = { instance_id: instances[0].composite_instance_id };
    const { ticket } = await api.request("POST", `/applications/${applicationId}/proxy-tickets`, { json });
    currentFrame?.end();
    currentFrame = new ActivityFrame(channelContext, application, instances[0], {
      discord_proxy_ticket: ticket,
      custom_id: customId,
      referrer_id: referrerId,
    });
    return true;
  } catch (error) {
    showError(error, t("The activity could not be opened."));
    return false;
  }
}

/** The frame of an activity, with its title bar. */
class ActivityFrame {
  /** Whether a new session is joining the activity again; until it has joined, the user is not a participant. */
  isRejoining = false;
  #mode = FOCUSED;
  #hasEnded = false;
  #lastInstance;

  constructor(context, application, instance, launchParameters) {
    this.context = context;
    this.application = application;
    this.#lastInstance = instance;
    const origin = proxyOrigin().replace("*", application.id);
    const frameId = randomUuid();
    const { location, composite_instance_id: instanceId, launch_id: launchId } = instance;
    const query = {
      instance_id: instanceId,
      frame_id: frameId,
      platform: "desktop",
      guild_id: context.guildId,
      channel_id: context.channelId,
      location_id: location.id,
      launch_id: launchId,
      ...launchParameters,
    };
    const parameters = Object.entries(query).filter(([, value]) => value);
    this.frame = h("iframe", {
      class: "activity-frame",
      title: application.name,
      allow: FRAME_PERMISSIONS,
      sandbox: FRAME_SANDBOX,
      src: `${origin}${FRAME_PAGE}?${new URLSearchParams(parameters)}`,
    });
    this.participantList = h("ul", { class: "activity-participants", "aria-label": t("Participants") });
    this.resizeButton = iconButton("down", t("Minimize"), () => this.show(this.#mode === PIP ? FOCUSED : PIP));
    const channel = context.state.channels.get(context.channelId);
    this.node = h(
      "dialog",
      { class: "activity-window", "aria-label": t("Activity: {app}", { app: application.name }) },
      h(
        "header",
        { class: "activity-bar" },
        appIcon(application),
        h(
          "div",
          { class: "activity-name" },
          h("strong", null, application.name),
          channel ? h("small", null, channelTitle(channel, context.state)) : null,
        ),
        this.participantList,
        this.resizeButton,
        iconButton("leave", t("Leave activity"), () => this.leave()),
      ),
      this.frame,
    );
    const session = {
      context,
      application,
      presence,
      instances: getActivityInstances(context),
      scopes: new Set(),
      token: null,
      layout: () => this.#mode,
      get instance() {
        return getActivityInstances(context).find(application.id, context.channelId) ?? instance;
      },
    };
    this.host = new RpcHost(session, {
      frame: this.frame,
      origin,
      frameId,
      onClose: (code, message) => this.#onRpcClose(code, message),
    });
    this.onRevoke = ({ detail }) => {
      if (detail.application_id !== application.id) return;
      this.host.end(RpcCloseCode.TOKEN_REVOKED, "Token Revoked");
      this.end(t("You revoked the access of {app}.", { app: application.name }));
    };
    context.gateway.addEventListener("OAUTH2_TOKEN_REVOKE", this.onRevoke);
    this.onInstanceChange = () => this.#draw();
    session.instances.addEventListener("change", this.onInstanceChange);
    this.previousFocus = document.activeElement;
    document.body.append(this.node);
    this.node.show();
    this.#draw();
    this.frame.focus();
  }

  /** Return whether this frame shows the activity of an application in a channel. */
  isShowing(applicationId, channelId) {
    return this.application.id === applicationId && this.context.channelId === channelId;
  }

  /** Show the frame large (FOCUSED) or small in a corner (PIP). */
  show(mode) {
    if (this.#mode === mode) return;
    this.#mode = mode;
    this.node.classList.toggle("small", mode === PIP);
    const text = mode === PIP ? t("Maximize") : t("Minimize");
    this.resizeButton.setAttribute("aria-label", text);
    this.resizeButton.title = text;
    this.host.subscriptions.sendLayoutMode();
  }

  /** Join the activity again with the new session; leave it if joining fails or if another instance runs now. */
  async rejoin() {
    const { api, gateway, channelId } = this.context;
    this.isRejoining = true;
    try {
      await api.request("POST", `/activities/${channelId}/${this.application.id}`, {
        json: { session_id: gateway.sessionId },
      });
      const { instances } = await api.request("GET", `/activities/${this.application.id}/instances/${channelId}`);
      if (instances[0]?.composite_instance_id === this.#lastInstance.composite_instance_id) return;
    } catch (error) {
      showError(error);
    } finally {
      this.isRejoining = false;
    }
    this.leave();
    showNotice(t("The activity ended because the connection was lost."));
  }

  /** Remove the frame and report to the server that the user left. */
  async leave() {
    const { api, gateway } = this.context;
    const { location, instance_id: id } = this.#lastInstance;
    this.end();
    const path = `/applications/${this.application.id}/activities/${location.id}/instances/${id}/leave`;
    // 404: the user already left, on another device or with the previous session.
    await api
      .request("POST", path, { json: { session_id: gateway.sessionId } })
      .catch(error => error.status === 404 || showError(error));
  }

  /** Remove the frame, clear the presence of the activity, and show `text` as a notice, unless it is empty. */
  end(text = "") {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.host.end();
    presence.set(null);
    this.context.gateway.removeEventListener("OAUTH2_TOKEN_REVOKE", this.onRevoke);
    getActivityInstances(this.context).removeEventListener("change", this.onInstanceChange);
    const hadFocus = this.node.contains(document.activeElement);
    this.node.remove();
    if (hadFocus && this.previousFocus?.isConnected) this.previousFocus.focus();
    if (currentFrame === this) currentFrame = null;
    if (text) showNotice(text);
  }

  #onRpcClose(code, message) {
    if (code !== RpcCloseCode.NORMAL)
      showNotice(
        message
          ? `${this.application.name}: ${message}`
          : t("{app} ended ({code}).", { app: this.application.name, code }),
        "problem",
      );
    this.leave();
  }

  #draw() {
    const instance = getActivityInstances(this.context).find(this.application.id, this.context.channelId);
    if (instance) this.#lastInstance = instance;
    const { state, guildId } = this.context;
    const names = [...new Set(this.#lastInstance.participants.map(participant => participant.user_id))].map(id =>
      state.displayName(state.user(id) ?? { id }, guildId),
    );
    setChildren(
      this.participantList,
      names.slice(0, PARTICIPANT_NAMES_MAX).map(name => h("li", null, name)),
      names.length > PARTICIPANT_NAMES_MAX
        ? h("li", null, tn("and {count} more", "and {count} more", names.length - PARTICIPANT_NAMES_MAX))
        : null,
    );
  }
}

/** Return a random UUID. crypto.randomUUID exists only in secure contexts. */
function randomUuid() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  // Set version 4 and the variant of RFC 9562.
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = Array.from(bytes, byte => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** Show the activities that run in the channel and those that can be launched. */
async function openLauncher(context) {
  const channelContext = bindToChannel(context, context.channelId);
  let entries = [];
  try {
    entries = (await fetchCommands(channelContext)).filter(({ command }) => command.type === ENTRY_POINT_COMMAND);
  } catch (error) {
    showError(error);
    return;
  }
  const runningInstances = getActivityInstances(context).listIn(channelContext.channelId);
  const applications = new Map(entries.map(entry => [entry.application.id, entry.application]));
  for (const { application_id: id } of runningInstances) {
    if (!applications.has(id))
      applications.set(
        id,
        await context.api.request("GET", `/applications/${id}/rpc`).catch(() => ({ id, name: t("Activity") })),
      );
  }
  openDialog(t("Activities"), close => {
    const row = (application, text, label, onClick) =>
      h(
        "li",
        null,
        appIcon(application),
        h("span", { class: "launcher-name" }, h("strong", null, application.name), h("small", null, text)),
        h(
          "button",
          {
            type: "button",
            class: "button small",
            onclick: () => {
              close();
              onClick();
            },
          },
          label,
        ),
      );
    const runningRows = runningInstances.map(instance => {
      const applicationId = instance.application_id;
      return row(
        applications.get(applicationId),
        tn("{count} playing now", "{count} playing now", participantCount(instance)),
        t("Join"),
        () => showActivity(channelContext, { applicationId }),
      );
    });
    const notRunning = entries.filter(
      ({ application }) => !runningInstances.some(instance => instance.application_id === application.id),
    );
    const launchRows = notRunning.map(entry => {
      const text = entry.description || entry.application.description || t("Activity");
      return row(entry.application, text, t("Start"), () => runCommand(entry, channelContext));
    });
    if (!runningRows.length && !launchRows.length)
      return h("p", { class: "launcher-empty" }, icon("play"), t("No activities are available in this channel."));
    return h("ul", { class: "launcher" }, runningRows, launchRows);
  });
}

const participantCount = ({ participants }) => new Set(participants.map(participant => participant.user_id)).size;
