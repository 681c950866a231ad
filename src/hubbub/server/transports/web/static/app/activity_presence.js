/** What an activity says that the person does: read by the rules of SET_ACTIVITY, told to the platform with patience (rpc.md 8). */

import { showPresence } from "./own_presence.js";
import { misfit } from "./rpc_errors.js";
import { fields, flag, items, link, number, oneOf, text } from "./rpc_forms.js";

const words = text(2, 128);
const address = link(256);
const image = text(1, 300);
const secret = text(2, 128);
const SECONDS_DIGITS = 3;
const UPDATES_MAX = 5;
const UPDATES_MS = 20_000;
const INSTANCE = 1 << 0;
const JOIN = 1 << 1;

const activityFields = fields({
  type: oneOf(0, 2, 3, 5),
  name: text(1, 128),
  state: words,
  state_url: address,
  details: words,
  details_url: address,
  timestamps: fields({ start: number(0), end: number(0) }),
  assets: fields({ large_image: image, large_text: words, large_url: address, small_image: image, small_text: words, small_url: address }),
  party: fields({ id: words, size: items(number(1), 2, 2) }),
  secrets: fields({ join: secret, match: secret }),
  instance: flag,
});

/** An activity as it is kept and told; RpcError 4000 in the words of a schema. */
export function readActivity(sent, application) {
  const activity = activityFields(sent, "activity");
  const [current, most] = activity.party?.size ?? [0, 0];
  if (current > most) throw misfit("size", "must not hold more than there is room for");
  const kept = { application_id: application.id, name: application.name.slice(0, 128), type: 0, ...activity };
  for (const [key, value] of Object.entries(kept.timestamps ?? {})) kept.timestamps[key] = inMilliseconds(value);
  const flags = (activity.instance ? INSTANCE : 0) | (activity.secrets?.join ? JOIN : 0);
  if (flags) kept.flags = flags;
  return Object.fromEntries(Object.entries(kept).filter(([, value]) => typeof value !== "object" || Object.keys(value).length));
}

function inMilliseconds(value) {
  return String(value).length <= String(Date.now()).length - SECONDS_DIGITS ? value * 1000 : value;
}

/** What activities say on this page; of what comes too fast the last counts. */
export class ActivityPresence {
  #gateway;
  #said = [];
  #timer = null;
  #activity = null;

  constructor(gateway) {
    this.#gateway = gateway;
    // A new session knows nothing of what the one before said.
    gateway.addEventListener("READY", () => this.#activity && this.#say());
  }

  /** @param {object|null} activity */
  show(activity) {
    if (activity === null && this.#activity === null) return;
    this.#activity = activity;
    if (this.#timer !== null) return;
    const now = Date.now();
    this.#said = this.#said.filter(when => when > now - UPDATES_MS);
    if (this.#said.length < UPDATES_MAX) this.#say();
    else this.#timer = setTimeout(() => this.#say(), this.#said[0] + UPDATES_MS - now);
  }

  #say() {
    clearTimeout(this.#timer);
    this.#timer = null;
    this.#said.push(Date.now());
    showPresence(this.#gateway, { activities: this.#activity ? [this.#activity] : [] });
  }
}
