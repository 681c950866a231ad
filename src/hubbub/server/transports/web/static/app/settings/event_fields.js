/** The fields of a scheduled event, and their conversion to requests. */

import { EventEntityType, EventPrivacyLevel, RecurrenceFrequency } from "../generated/enums.js";
import { EVENT_DESCRIPTION_MAX, EVENT_LOCATION_MAX, EVENT_NAME_MAX } from "../generated/limits.js";
import { ChannelType, Permissions, isVoice } from "../network/enums.js";
import { formField } from "../ui/controls.js";
import { h } from "../ui/dom.js";
import { eventImagePath } from "../content/cdn_paths.js";
import { channelOptions } from "./channel_choices.js";
import { weekdayOf } from "./event_dates.js";
import { choiceSetting, textSetting } from "./fields.js";
import { imageSetting } from "./upload_field.js";

/** Permissions to schedule events in a stage channel; voice channels need only the first line. */
const JOIN_PERMISSIONS = Permissions.VIEW_CHANNEL | Permissions.CONNECT;
const STAGE_PERMISSIONS = Permissions.MANAGE_CHANNELS | Permissions.MUTE_MEMBERS | Permissions.MOVE_MEMBERS;

const WORKDAYS = [0, 1, 2, 3, 4];
const { YEARLY, MONTHLY, WEEKLY, DAILY } = RecurrenceFrequency;

/** Repetitions by name: the label, and the rule for the start. @type {[string, string, (start: Date) => any][]} */
const REPETITIONS = [
  ["none", "Does not repeat", () => null],
  ["daily", "Every day", () => ({ frequency: DAILY })],
  ["workdays", "Monday to Friday", () => ({ frequency: DAILY, by_weekday: WORKDAYS })],
  ["weekly", "Every week", start => ({ frequency: WEEKLY, by_weekday: [weekdayOf(start)] })],
  ["biweekly", "Every other week", start => ({ frequency: WEEKLY, interval: 2, by_weekday: [weekdayOf(start)] })],
  [
    "monthly",
    "Every month, on the same weekday",
    start => ({
      frequency: MONTHLY,
      by_n_weekday: [{ n: Math.ceil(start.getUTCDate() / 7), day: weekdayOf(start) }],
    }),
  ],
  [
    "yearly",
    "Every year",
    start => ({ frequency: YEARLY, by_month: [start.getUTCMonth() + 1], by_month_day: [start.getUTCDate()] }),
  ],
];
/** Another rule, which an app has set. It stays until the user chooses one of the others. */
const CUSTOM = "custom";

function repetitionOf(rule) {
  if (!rule) return "none";
  const { frequency, interval, by_weekday: weekdays } = rule;
  if (frequency === YEARLY) return "yearly";
  if (frequency === MONTHLY) return "monthly";
  if (frequency === WEEKLY) return interval === 2 ? "biweekly" : "weekly";
  if (!weekdays) return "daily";
  return String(weekdays) === String(WORKDAYS) ? "workdays" : CUSTOM;
}

/** Return how an event repeats, or null. */
export function repetitionText({ recurrence_rule: rule }) {
  if (!rule) return null;
  const name = repetitionOf(rule);
  return name === CUSTOM ? "Repeats" : REPETITIONS.find(([other]) => other === name)[1];
}

/** Return a field for a date and time in the user's time zone; the value is a timestamp, or null. */
function timeSetting(label, { hint } = {}) {
  const input = h("input", { type: "datetime-local", class: "time-input" });
  const field = formField(label, input, hint);
  return {
    node: field.node,
    read: () => (input.value ? new Date(input.value).toISOString() : null),
    write(timestamp) {
      input.value = timestamp ? localTime(new Date(timestamp)) : "";
    },
    setError: field.setError,
    setDisabled(disabled) {
      input.disabled = disabled;
    },
  };
}

function localTime(date) {
  const pad = number => String(number).padStart(2, "0");
  const day = [date.getFullYear(), pad(date.getMonth() + 1), pad(date.getDate())].join("-");
  return `${day}T${pad(date.getHours())}:${pad(date.getMinutes())}`;
}

/** Return the field for the location of an event outside of the guild. */
function locationSetting() {
  const field = textSetting("Location", { hint: "A place, an address or a link.", maxlength: EVENT_LOCATION_MAX });
  return {
    ...field,
    read: () => (field.read() ? { location: field.read() } : null),
    write: metadata => field.write(metadata?.location ?? ""),
  };
}

function placeOptions(view) {
  const { state } = view.context;
  const isPossible = channel =>
    isVoice(channel) && (channel.type === ChannelType.GUILD_VOICE || state.can(channel.id, STAGE_PERMISSIONS));
  return [[null, "Somewhere else"], ...channelOptions(view, JOIN_PERMISSIONS, isPossible)];
}

/** Return the fields of an event by their name in requests. */
export function eventFields(view, event) {
  const repetitions = REPETITIONS.map(([name, label]) => [name, label]);
  if (repetitionOf(event.recurrence_rule) === CUSTOM) repetitions.push([CUSTOM, "Custom"]);
  const fields = {
    name: textSetting("Name", { maxlength: EVENT_NAME_MAX, required: true }),
    channel_id: choiceSetting("Where", placeOptions(view)),
    entity_metadata: locationSetting(),
    scheduled_start_time: timeSetting("Start", { hint: "In your time zone." }),
    scheduled_end_time: timeSetting("End", { hint: "Required for events somewhere else." }),
    recurrence_rule: choiceSetting("Repeats", repetitions),
    description: textSetting("Description", { multiline: true, isNullable: true, maxlength: EVENT_DESCRIPTION_MAX }),
    image: imageSetting("Cover image", {
      hint: "Best: 800 × 320 pixels.",
      imageClass: "banner",
      preview: value =>
        value
          ? h("img", { src: eventImagePath({ ...event, image: value }), alt: "", class: "banner" })
          : h("span", { class: "small" }, "No image"),
    }),
  };
  const draw = () => {
    fields.entity_metadata.node.hidden = fields.channel_id.read() !== null;
  };
  fields.channel_id.node.addEventListener("change", draw);
  const { write } = fields.channel_id;
  fields.channel_id.write = value => {
    write(value);
    draw();
  };
  return fields;
}

/** Return the stored values of the fields of an event. */
export const eventValues = event => ({ ...event, recurrence_rule: repetitionOf(event.recurrence_rule) });

function entityTypeOf({ context: { state } }, channelId) {
  if (channelId === null) return EventEntityType.EXTERNAL;
  const isStage = state.channels.get(channelId)?.type === ChannelType.GUILD_STAGE_VOICE;
  return isStage ? EventEntityType.STAGE_INSTANCE : EventEntityType.VOICE;
}

function ruleOf(name, start) {
  if (start === null) return null;
  const rule = REPETITIONS.find(([other]) => other === name)[2](new Date(start));
  return rule && { start, interval: 1, ...rule };
}

/**
 * Return the request body of changed fields.
 *
 * @param {any} view
 * @param {Record<string, any>} changes
 * @param {Record<string, any>} values all values: a change of the place or of the start changes other parts of the event
 */
export function eventBody(view, changes, values) {
  const body = { ...changes };
  if ("channel_id" in changes) {
    body.entity_type = entityTypeOf(view, changes.channel_id);
    body.entity_metadata = changes.channel_id === null ? values.entity_metadata : null;
    if (changes.channel_id === null) body.scheduled_end_time = values.scheduled_end_time;
  }
  const isMoved = "scheduled_start_time" in changes && !["none", CUSTOM].includes(values.recurrence_rule);
  if ("recurrence_rule" in changes || isMoved)
    body.recurrence_rule = ruleOf(values.recurrence_rule, values.scheduled_start_time);
  return body;
}

/** Return the request body of a new event. */
export const newEventBody = (view, values) => ({
  ...eventBody(view, values, values),
  privacy_level: EventPrivacyLevel.GUILD_ONLY,
});
