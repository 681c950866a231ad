/** Activities: the frame that shows an activity, and the dialog that launches one (spec/activities.md#2 to 5). */

import { interactionsOf } from "../network/interactions.js";
import { inChannel } from "../state/context.js";
import { iconButton } from "../ui/controls.js";
import { openDialog } from "../ui/dialogs.js";
import { h, icon, replace } from "../ui/dom.js";
import { notice, showError } from "../ui/notices.js";
import { appIcon } from "../content/app_icons.js";
import { titleOf } from "../content/avatars.js";
import { PRIMARY_ENTRY_POINT, commandsIn } from "../commands/available_commands.js";
import { runCommand } from "../commands/context_menu.js";
import { instancesOf } from "./instances.js";
import { ActivityPresence } from "./presence.js";
import { CloseCode } from "./rpc_errors.js";
import { RpcHost } from "./rpc_host.js";

/** Permissions policy and sandbox of the frame (spec/activities.md#4). */
const ALLOW = "autoplay; encrypted-media; fullscreen; clipboard-write; gamepad";
const SANDBOX = "allow-scripts allow-same-origin allow-forms allow-popups";
const FRAME_PAGE = "/.platform/frame.html";
const FOCUSED = 0;
const PIP = 1;

let current = null;
let presence = null;

/** Origin of activities, with `*` in place of the application id; empty if this server has none. */
const proxyOrigin = () => document.querySelector("meta[name=hubbub-client]")?.dataset.activities ?? "";

/** Return whether this server can show activities. */
export const activitiesEnabled = () => proxyOrigin() !== "";

/** Listen for activity events. Call before the gateway connects. */
export function startActivities(context) {
  const instances = instancesOf(context);
  presence = new ActivityPresence(context.gateway);
  // A new session no longer takes part; a resumed one still does.
  context.gateway.addEventListener("READY", () => current?.rejoin());
  instances.addEventListener("change", ({ detail }) => {
    const mine = detail.participants.some(participant => participant.user_id === context.me?.id);
    const { application_id: applicationId, location } = detail;
    if (current?.isShowing(applicationId, location.channel_id)) {
      if (!mine && !current.rejoining) current.end("The activity ended, or you left it on another device.");
    } else if (mine && interactionsOf(context).isAwaiting(applicationId, location.channel_id)) {
      // The app responded to an interaction of this user by launching its activity.
      openActivity(inChannel(context, location.channel_id), { applicationId });
    }
  });
}

/**
 * Join an app's activity in the channel of the context, and show it.
 *
 * @param {import("../state/context.js").Context} context
 * @param {{applicationId?: string, customId?: string|null, referrerId?: string|null}} options without an application id
 *   the user chooses an activity
 * @returns {Promise<boolean>} whether the activity is shown
 */
export async function openActivity(context, { applicationId, customId, referrerId } = {}) {
  const { api, gateway, channelId } = context;
  if (!applicationId) {
    await openLauncher(context);
    return false;
  }
  if (current?.isShowing(applicationId, channelId)) {
    current.show(FOCUSED);
    return true;
  }
  if (!activitiesEnabled()) {
    notice("Activities are not enabled on this server.", "problem");
    return false;
  }
  current?.end();
  const here = inChannel(context, channelId);
  try {
    const application = await api.request("GET", `/applications/${applicationId}/rpc`);
    await api.request("POST", `/activities/${channelId}/${applicationId}`, { json: { session_id: gateway.sessionId } });
    const { instances } = await api.request("GET", `/activities/${applicationId}/instances/${channelId}`);
    if (!instances.length) throw new Error("the activity ended");
    const json = { instance_id: instances[0].composite_instance_id };
    const { ticket } = await api.request("POST", `/applications/${applicationId}/proxy-tickets`, { json });
    current?.end();
    current = new ActivityFrame(here, application, instances[0], {
      discord_proxy_ticket: ticket,
      custom_id: customId,
      referrer_id: referrerId,
    });
    return true;
  } catch (error) {
    showError(error, "The activity could not be opened.");
    return false;
  }
}

/** The frame of an activity, with its title bar. */
class ActivityFrame {
  /** Whether the client is joining again, so that losing the participation is expected. */
  rejoining = false;
  #mode = FOCUSED;
  #ended = false;
  #last;

  constructor(context, application, instance, more) {
    this.context = context;
    this.application = application;
    this.#last = instance;
    const origin = proxyOrigin().replace("*", application.id);
    const frameId = uuid();
    const { location, composite_instance_id: instanceId, launch_id: launchId } = instance;
    const query = {
      instance_id: instanceId,
      frame_id: frameId,
      platform: "desktop",
      guild_id: context.guildId,
      channel_id: context.channelId,
      location_id: location.id,
      launch_id: launchId,
      ...more,
    };
    const given = Object.entries(query).filter(([, value]) => value);
    this.frame = h("iframe", {
      class: "activity-frame",
      title: application.name,
      allow: ALLOW,
      sandbox: SANDBOX,
      src: `${origin}${FRAME_PAGE}?${new URLSearchParams(given)}`,
    });
    this.participantList = h("ul", { class: "activity-people", "aria-label": "Participants" });
    this.resizeButton = iconButton("down", "Minimize", () => this.show(this.#mode === PIP ? FOCUSED : PIP));
    const where = context.state.channels.get(context.channelId);
    this.node = h(
      "dialog",
      { class: "activity-stage", "aria-label": `Activity: ${application.name}` },
      h(
        "header",
        { class: "activity-bar" },
        appIcon(application),
        h(
          "div",
          { class: "activity-name" },
          h("strong", null, application.name),
          where ? h("small", null, titleOf(where, context.state)) : null,
        ),
        this.participantList,
        this.resizeButton,
        iconButton("leave", "Leave activity", () => this.leave()),
      ),
      this.frame,
    );
    const session = {
      context,
      application,
      presence,
      instances: instancesOf(context),
      scopes: new Set(),
      token: null,
      layout: () => this.#mode,
      get instance() {
        return instancesOf(context).find(application.id, context.channelId) ?? instance;
      },
    };
    this.host = new RpcHost(session, {
      frame: this.frame,
      origin,
      frameId,
      closed: (code, message) => this.#closed(code, message),
    });
    this.revoked = ({ detail }) => {
      if (detail.application_id !== application.id) return;
      this.host.end(CloseCode.TOKEN_REVOKED, "Token Revoked");
      this.end(`You revoked the access of ${application.name}.`);
    };
    context.gateway.addEventListener("OAUTH2_TOKEN_REVOKE", this.revoked);
    this.changed = () => this.#draw();
    session.instances.addEventListener("change", this.changed);
    this.before = document.activeElement;
    document.body.append(this.node);
    this.node.show();
    this.#draw();
    this.frame.focus();
  }

  /** Return whether this frame shows the given activity. */
  isShowing(applicationId, channelId) {
    return this.application.id === applicationId && this.context.channelId === channelId;
  }

  /** Show the frame large (FOCUSED) or small in a corner (PIP). */
  show(mode) {
    if (this.#mode === mode) return;
    this.#mode = mode;
    this.node.classList.toggle("small", mode === PIP);
    const text = mode === PIP ? "Maximize" : "Minimize";
    this.resizeButton.setAttribute("aria-label", text);
    this.resizeButton.title = text;
    this.host.subscriptions.layoutChanged();
  }

  /** Join again with the new session. Leave if the instance is not the same one. */
  async rejoin() {
    const { api, gateway, channelId } = this.context;
    this.rejoining = true;
    try {
      await api.request("POST", `/activities/${channelId}/${this.application.id}`, {
        json: { session_id: gateway.sessionId },
      });
      const { instances } = await api.request("GET", `/activities/${this.application.id}/instances/${channelId}`);
      if (instances[0]?.composite_instance_id === this.#last.composite_instance_id) return;
    } catch (error) {
      showError(error);
    } finally {
      this.rejoining = false;
    }
    this.leave();
    notice("The activity ended because the connection was lost.");
  }

  /** Leave the activity. */
  async leave() {
    const { api, gateway } = this.context;
    const { location, instance_id: id } = this.#last;
    this.end();
    const path = `/applications/${this.application.id}/activities/${location.id}/instances/${id}/leave`;
    // 404: the user already left, on another device or with the previous session.
    await api
      .request("POST", path, { json: { session_id: gateway.sessionId } })
      .catch(error => error.status === 404 || showError(error));
  }

  /** Remove the frame and show `text` as a notice, if given. */
  end(text = "") {
    if (this.#ended) return;
    this.#ended = true;
    this.host.end();
    presence.show(null);
    this.context.gateway.removeEventListener("OAUTH2_TOKEN_REVOKE", this.revoked);
    instancesOf(this.context).removeEventListener("change", this.changed);
    const inside = this.node.contains(document.activeElement);
    this.node.remove();
    if (inside && this.before?.isConnected) this.before.focus();
    if (current === this) current = null;
    if (text) notice(text);
  }

  #closed(code, message) {
    if (code !== CloseCode.NORMAL)
      notice(message ? `${this.application.name}: ${message}` : `${this.application.name} ended (${code}).`, "problem");
    this.leave();
  }

  #draw() {
    const instance = instancesOf(this.context).find(this.application.id, this.context.channelId);
    if (instance) this.#last = instance;
    const { state, guildId } = this.context;
    const names = [...new Set(this.#last.participants.map(participant => participant.user_id))].map(id =>
      state.nameOf(state.user(id) ?? { id }, guildId),
    );
    replace(
      this.participantList,
      names.slice(0, 8).map(name => h("li", null, name)),
      names.length > 8 ? h("li", null, `and ${names.length - 8} more`) : null,
    );
  }
}

/** Return a random UUID. crypto.randomUUID exists only in secure contexts. */
function uuid() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = Array.from(bytes, byte => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** Show the activities that run in the channel and those that can be launched. */
async function openLauncher(context) {
  const here = inChannel(context, context.channelId);
  let found = [];
  try {
    found = (await commandsIn(here)).filter(({ command }) => command.type === PRIMARY_ENTRY_POINT);
  } catch (error) {
    showError(error);
    return;
  }
  const running = instancesOf(context).in(here.channelId);
  const known = new Map(found.map(entry => [entry.application.id, entry.application]));
  for (const { application_id: id } of running) {
    if (!known.has(id))
      known.set(
        id,
        await context.api.request("GET", `/applications/${id}/rpc`).catch(() => ({ id, name: "Activity" })),
      );
  }
  openDialog("Activities", close => {
    const row = (application, text, label, press) =>
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
              press();
            },
          },
          label,
        ),
      );
    const joins = running.map(instance => {
      const applicationId = instance.application_id;
      return row(known.get(applicationId), `${participantCount(instance)} playing now`, "Join", () =>
        openActivity(here, { applicationId }),
      );
    });
    const idle = found.filter(
      ({ application }) => !running.some(instance => instance.application_id === application.id),
    );
    const starts = idle.map(entry => {
      const text = entry.description || entry.application.description || "Activity";
      return row(entry.application, text, "Start", () => runCommand(entry, here));
    });
    if (!joins.length && !starts.length)
      return h("p", { class: "launcher-empty" }, icon("play"), "No activities are available in this channel.");
    return h("ul", { class: "launcher" }, joins, starts);
  });
}

const participantCount = ({ participants }) => new Set(participants.map(participant => participant.user_id)).size;
