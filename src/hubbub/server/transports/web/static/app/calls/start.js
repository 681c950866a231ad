/** Startup of calls: announcements for screen readers, push to talk, calls of private channels and the soundboard. */

import { announce } from "../ui/live_region.js";
import { t } from "../ui/translation.js";
import { getCalls } from "../voice/calls.js";
import { findCallChannel } from "./places.js";
import { startPrivateCalls } from "./private_calls.js";
import { startSoundboard } from "./soundboard.js";

const PUSH_TO_TALK_KEY = "ControlRight";

/** Start the features of calls. Call once, before the gateway connects. */
export function startCalls(context) {
  const calls = getCalls(context);
  const { state } = context;
  startPrivateCalls(context);
  startSoundboard(context);
  const nameOf = userId => {
    const guildId = findCallChannel(context, calls.channelId)?.guild_id ?? null;
    return state.displayName(state.user(userId) ?? { id: userId }, guildId);
  };
  calls.addEventListener("joined", event =>
    announce(t("{name} joined the call.", { name: nameOf(/** @type {any} */ (event).detail.userId) })),
  );
  calls.addEventListener("left", event =>
    announce(t("{name} left the call.", { name: nameOf(/** @type {any} */ (event).detail.userId) })),
  );
  const onTalkKey = isPressed => event => event.code === PUSH_TO_TALK_KEY && calls.devices.setTalkKey(isPressed);
  document.addEventListener("keydown", onTalkKey(true));
  document.addEventListener("keyup", onTalkKey(false));
  // The page receives no keyup event while another window has the focus.
  window.addEventListener("blur", () => calls.devices.setTalkKey(false));
}
