/** Calls in direct messages and groups: starting, ringing, accepting and declining (decisions/0059). */

import { GatewayOpcode } from "../generated/enums.js";
import { h } from "../ui/dom.js";
import { openDialog } from "../ui/dialogs.js";
import { announce } from "../ui/live_region.js";
import { runAndReport, showNotice } from "../ui/notices.js";
import { channelPath } from "../ui/router.js";
import { t, tNodes } from "../ui/translation.js";
import { channelTitle, conversationIcon } from "../content/avatars.js";
import { getCalls } from "../voice/calls.js";

/** The calls of private channels, and the dialogs of incoming calls. */
class PrivateCalls {
  /** CALL_CREATE and CALL_UPDATE payloads by channel ID. @type {Map<string, any>} */
  #calls = new Map();
  /** @type {Map<string, HTMLDialogElement>} */
  #dialogs = new Map();

  constructor(context) {
    this.context = context;
    const { gateway } = context;
    gateway.addEventListener("READY", () => this.#calls.clear());
    gateway.addEventListener("CALL_CREATE", ({ detail }) => this.#onCall(detail));
    gateway.addEventListener("CALL_UPDATE", ({ detail }) => this.#onCall(detail));
    gateway.addEventListener("CALL_DELETE", ({ detail }) => this.#onCallEnded(detail.channel_id));
  }

  find(channelId) {
    return this.#calls.get(channelId) ?? null;
  }

  #onCall(call) {
    const { state, me } = this.context;
    for (const voiceState of call.voice_states ?? [])
      state.apply("VOICE_STATE_UPDATE", { ...voiceState, guild_id: null });
    this.#calls.set(call.channel_id, { ...this.#calls.get(call.channel_id), ...call });
    const isRinging = call.ringing?.includes(me.id) && getCalls(this.context).channelId !== call.channel_id;
    if (isRinging) this.#ring(call.channel_id);
    else this.#closeDialog(call.channel_id);
    state.emitChange("calls", call.channel_id);
  }

  #onCallEnded(channelId) {
    const { state, me } = this.context;
    const wasRinging = this.#calls.get(channelId)?.ringing?.includes(me.id) ?? false;
    this.#calls.delete(channelId);
    this.#closeDialog(channelId);
    if (wasRinging) showNotice(t("You missed a call from {name}.", { name: this.#title(channelId) }));
    state.emitChange("calls", channelId);
  }

  #title(channelId) {
    const channel = this.context.state.channels.get(channelId);
    return channel ? channelTitle(channel, this.context.state) : t("a friend");
  }

  #ring(channelId) {
    const { context } = this;
    const channel = context.state.channels.get(channelId);
    if (channel === undefined || this.#dialogs.has(channelId)) return;
    const title = this.#title(channelId);
    let isAnswered = false;
    const answer = action => () => {
      isAnswered = true;
      this.#dialogs.get(channelId)?.close();
      action();
    };
    const accept = () => {
      context.go(channelPath(channel));
      getCalls(context).join(channel);
    };
    const dialog = openDialog(
      t("Incoming call"),
      () =>
        h(
          "div",
          { class: "ringing" },
          conversationIcon(channel, title, undefined),
          h("p", null, tNodes("{name} is calling you.", { name: h("strong", { dir: "auto" }, title) })),
          h(
            "div",
            { class: "row" },
            h("button", { type: "button", class: "button", autofocus: true, onclick: answer(accept) }, t("Accept")),
            h(
              "button",
              { type: "button", class: "button danger", onclick: answer(() => declineCall(context, channelId)) },
              t("Decline"),
            ),
          ),
        ),
      {
        // Escape and the close button decline too, unless the call stopped ringing.
        onClose: () => {
          // `#closeDialog` removes the dialog before it closes it.
          const isRinging = this.#dialogs.delete(channelId);
          if (isRinging && !isAnswered) declineCall(context, channelId);
        },
      },
    );
    this.#dialogs.set(channelId, dialog);
    announce(t("{name} is calling you.", { name: title }));
  }

  #closeDialog(channelId) {
    const dialog = this.#dialogs.get(channelId);
    this.#dialogs.delete(channelId);
    dialog?.close();
  }
}

/** @type {WeakMap<object, PrivateCalls>} */
const callsByState = new WeakMap();

/** Listen for calls of private channels. Call once, before the gateway connects. */
export function startPrivateCalls(context) {
  callsByState.set(context.state, new PrivateCalls(context));
}

/** Return the running call of a private channel, or null. */
export function privateCall(context, channelId) {
  return callsByState.get(context.state)?.find(channelId) ?? null;
}

/** Request the call of a private channel. The gateway sends CALL_CREATE if there is one. */
export function requestPrivateCall(context, channelId) {
  context.gateway.send(GatewayOpcode.CALL_CONNECT, { channel_id: channelId });
}

/** Start a call in a private channel and ring the other recipients, or join the running call. */
export async function startPrivateCall(context, channel) {
  const isRunning = privateCall(context, channel.id) !== null;
  const path = `/channels/${channel.id}/call`;
  let isAllowed = true;
  const hasSucceeded = await runAndReport(async () => {
    isAllowed = isRunning || (await context.api.request("GET", path)).ringable;
  });
  if (!hasSucceeded) return;
  if (!isAllowed) {
    showNotice(t("You can call only friends."), "problem");
    return;
  }
  const calls = getCalls(context);
  await calls.join(channel);
  if (isRunning || calls.channelId !== channel.id) return;
  await calls.waitUntilConnected();
  await runAndReport(() => context.api.request("POST", `${path}/ring`, { json: {} }));
}

/** Stop the ringing for this user. */
export function declineCall(context, channelId) {
  return runAndReport(() => context.api.request("POST", `/channels/${channelId}/call/stop-ringing`, { json: {} }));
}
