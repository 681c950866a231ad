/** Limits that keep a user from sending messages for some time: timeouts and slow mode. */

import { Permissions } from "../network/enums.js";
import { creationTimeMs } from "../network/ids.js";
import { platformNow } from "../network/platform_clock.js";
import { formatTime } from "../ui/times.js";
import { t, tn } from "../ui/translation.js";

/** Return the sentence about the user's timeout in a guild, or null. */
export function timeoutText({ state, guildId, me }) {
  const guild = state.guilds.get(guildId);
  const timeoutEnd = state.member(guildId, me.id)?.communication_disabled_until;
  if (!timeoutEnd || guild?.owner_id === me.id || state.canInGuild(guildId, Permissions.ADMINISTRATOR)) return null;
  const remainingMs = Date.parse(timeoutEnd) - platformNow();
  if (!(remainingMs > 0)) return null;
  return t(
    "A moderator timed you out until {time} ({countdown} left). Until then you can read messages, but not send them or react.",
    { time: formatTime(timeoutEnd), countdown: formatCountdown(remainingMs) },
  );
}

/** Return the slow mode of a channel for the user: seconds between messages (0 for none) and milliseconds to wait now. */
export function slowModeOf({ state, channelId, me }) {
  const seconds = state.channels.get(channelId)?.rate_limit_per_user ?? 0;
  if (seconds === 0 || state.can(channelId, Permissions.BYPASS_SLOWMODE)) return { seconds: 0, remainingMs: 0 };
  const lastOwnMessage = state.logs
    .get(channelId)
    ?.messages.findLast(message => message.author.id === me.id && !message.webhook_id);
  if (lastOwnMessage === undefined) return { seconds, remainingMs: 0 };
  const passedMs = platformNow() - creationTimeMs(lastOwnMessage.id);
  return { seconds, remainingMs: Math.min(Math.max(0, seconds * 1000 - passedMs), seconds * 1000) };
}

/** Return the text about slow mode below the composer, or null. */
export function slowModeText({ seconds, remainingMs }) {
  if (seconds === 0) return null;
  if (remainingMs > 0)
    return t("Slow mode: you can send a message in {countdown}.", { countdown: formatCountdown(remainingMs) });
  return t("Slow mode: one message every {interval}.", { interval: formatCountdown(seconds * 1000) });
}

/** Format a duration as minutes and seconds, with hours and days if it is longer. */
export function formatCountdown(durationMs) {
  const totalSeconds = Math.ceil(durationMs / 1000);
  const days = Math.floor(totalSeconds / 86_400),
    hours = Math.floor((totalSeconds % 86_400) / 3_600);
  const minutes = Math.floor((totalSeconds % 3_600) / 60),
    seconds = String(totalSeconds % 60).padStart(2, "0");
  const clock = hours || days ? `${hours}:${String(minutes).padStart(2, "0")}:${seconds}` : `${minutes}:${seconds}`;
  return days ? tn("{count} day {clock}", "{count} days {clock}", days, { clock }) : clock;
}
