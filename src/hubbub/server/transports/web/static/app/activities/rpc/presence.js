/** The presence that activities set with SET_ACTIVITY: validation and rate limiting (spec/rpc.md#8). */

import { ActivityFlags, ActivityType } from "../../generated/enums.js";
import { ACTIVITY_UPDATES_MAX, ACTIVITY_UPDATES_WINDOW_SECONDS } from "../../generated/rpc.js";
import { updatePresence } from "../../network/own_presence.js";
import { invalidField } from "./errors.js";
import { object, boolean, list, httpUrl, integer, oneOf, string } from "./validation.js";

const shortText = string(2, 128);
const url = httpUrl(256);
const image = string(1, 300);
const secret = string(2, 128);
/** Number of digits by which Unix milliseconds are longer than Unix seconds. */
const MILLISECOND_DIGITS = 3;

const activityFields = object({
  type: oneOf(ActivityType.PLAYING, ActivityType.LISTENING, ActivityType.WATCHING, ActivityType.COMPETING),
  name: string(1, 128),
  state: shortText,
  state_url: url,
  details: shortText,
  details_url: url,
  timestamps: object({ start: integer(0), end: integer(0) }),
  assets: object({
    large_image: image,
    large_text: shortText,
    large_url: url,
    small_image: image,
    small_text: shortText,
    small_url: url,
  }),
  party: object({ id: shortText, size: list(integer(1), 2, 2) }),
  secrets: object({ join: secret, match: secret }),
  instance: boolean,
});

/** Validate an activity and add the application's fields. Throw an RpcError with the code INVALID_PAYLOAD if it is invalid. */
export function readActivity(input, application) {
  const activity = activityFields(input, "activity");
  const [current, max] = activity.party?.size ?? [0, 0];
  if (current > max) throw invalidField("size", "must not exceed the maximum party size");
  const result = {
    application_id: application.id,
    name: application.name.slice(0, 128),
    type: ActivityType.PLAYING,
    ...activity,
  };
  for (const [key, value] of Object.entries(result.timestamps ?? {})) result.timestamps[key] = toMilliseconds(value);
  const flags = (activity.instance ? ActivityFlags.INSTANCE : 0) | (activity.secrets?.join ? ActivityFlags.JOIN : 0);
  if (flags) result.flags = flags;
  return Object.fromEntries(
    Object.entries(result).filter(([, value]) => typeof value !== "object" || Object.keys(value).length),
  );
}

/** Return a time as Unix milliseconds. Games may send Unix seconds, which have fewer digits. */
function toMilliseconds(value) {
  return String(value).length <= String(Date.now()).length - MILLISECOND_DIGITS ? value * 1000 : value;
}

/** The presence that activities set. Updates above the rate limit are delayed, and only the last one is sent. */
export class ActivityPresence {
  #gateway;
  #sendTimes = [];
  #timer = null;
  #activity = null;

  constructor(gateway) {
    this.#gateway = gateway;
    // A new session has no presence yet.
    gateway.addEventListener("READY", () => this.#activity && this.#send());
  }

  /** Set or clear the activity. @param {object|null} activity */
  set(activity) {
    if (activity === null && this.#activity === null) return;
    this.#activity = activity;
    if (this.#timer !== null) return;
    const now = Date.now();
    this.#sendTimes = this.#sendTimes.filter(sentAt => sentAt > now - ACTIVITY_UPDATES_WINDOW_SECONDS * 1000);
    if (this.#sendTimes.length < ACTIVITY_UPDATES_MAX) this.#send();
    else
      this.#timer = setTimeout(() => this.#send(), this.#sendTimes[0] + ACTIVITY_UPDATES_WINDOW_SECONDS * 1000 - now);
  }

  #send() {
    clearTimeout(this.#timer);
    this.#timer = null;
    this.#sendTimes.push(Date.now());
    updatePresence(this.#gateway, { activities: this.#activity ? [this.#activity] : [] });
  }
}
