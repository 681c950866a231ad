/** Activities as text: the short line of lists, and the parts of a card. */

import { StatusDisplayType } from "../../generated/enums.js";
import { ActivityType } from "../../network/enums.js";
import { t, tn } from "../../ui/translation.js";

/** Values of `status_display_type` that select another field than the name (spec/sdk.md#10.1). */
const DISPLAYED_FIELDS = { [StatusDisplayType.STATE]: "state", [StatusDisplayType.DETAILS]: "details" };

const KINDS = {
  [ActivityType.PLAYING]: t("Playing"),
  [ActivityType.STREAMING]: t("Streaming"),
  [ActivityType.LISTENING]: t("Listening to"),
  [ActivityType.WATCHING]: t("Watching"),
  [ActivityType.COMPETING]: t("Competing in"),
};
const PHRASES = {
  [ActivityType.PLAYING]: activity => t("Playing {activity}", { activity }),
  [ActivityType.STREAMING]: activity => t("Streaming {activity}", { activity }),
  [ActivityType.LISTENING]: activity => t("Listening to {activity}", { activity }),
  [ActivityType.WATCHING]: activity => t("Watching {activity}", { activity }),
  [ActivityType.COMPETING]: activity => t("Competing in {activity}", { activity }),
};

/** Return whether an activity has a card; a custom status has none. */
export const hasCard = activity => KINDS[activity.type] !== undefined;

/** Return the kind of an activity as a heading above its name, for example "Listening to". */
export const activityKind = activity => KINDS[activity.type];

/** Return an activity as a phrase, for example "Listening to Puddle FM". */
export const activityPhrase = (activity, subject = activity.name) => PHRASES[activity.type](subject);

/** Return the short line about a user's activities: the custom status, else the newest activity, else "". */
export function activityLine(activities) {
  const custom = activities.find(activity => activity.type === ActivityType.CUSTOM);
  const customText = custom ? customStatusText(custom) : "";
  if (customText) return customText;
  const activity = activities.find(hasCard);
  if (activity === undefined) return "";
  return activityPhrase(activity, activity[DISPLAYED_FIELDS[activity.status_display_type]] || activity.name);
}

/** Return the text of a custom status. A custom emoji is left out, because a line has no images. */
export function customStatusText({ emoji, state }) {
  return [emoji && !emoji.id ? emoji.name : null, state].filter(Boolean).join(" ");
}

/** Return the size of a party, for example "2 of 4", or "" if it is not set. */
export function partySizeText(party) {
  const [current, max] = party?.size ?? [];
  if (!current) return "";
  return max ? t("{current} of {max}", { current, max }) : tn("{count} in the party", "{count} in the party", current);
}

/** Format a duration in milliseconds as `m:ss` or `h:mm:ss`. */
export function formatPlayTime(durationMs) {
  const seconds = Math.max(0, Math.floor(durationMs / 1000));
  const timeUnits = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  if (!timeUnits[0]) timeUnits.shift();
  return timeUnits.map((timeUnit, index) => (index ? String(timeUnit).padStart(2, "0") : timeUnit)).join(":");
}
