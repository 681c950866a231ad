/** The fields of a scheduled event, and their conversion to requests. */

import { EventEntityType, EventPrivacyLevel, RecurrenceFrequency } from "../../generated/enums.js";
import { EVENT_DESCRIPTION_MAX, EVENT_LOCATION_MAX, EVENT_NAME_MAX } from "../../generated/limits.js";
import { ChannelType, Permissions, isVoice } from "../../network/enums.js";
import { formField } from "../../ui/controls.js";
import { h } from "../../ui/dom.js";
import { t } from "../../ui/translation.js";
import { eventImagePath } from "../../content/cdn_paths.js";
import { channelOptions } from "../channels/choices.js";
import { weekdayOf } from "./dates.js";
import { choiceSetting, textSetting } from "../forms/fields.js";
import { imageSetting } from "../forms/upload_field.js";

/** Permissions to schedule an event in a voice or stage channel. */
const JOIN_PERMISSIONS = Permissions.VIEW_CHANNEL | Permissions.CONNECT;
/** Permissions that an event in a stage channel requires in addition to `JOIN_PERMISSIONS`. */
const STAGE_PERMISSIONS = Permissions.MANAGE_CHANNELS | Permissions.MUTE_MEMBERS | Permissions.MOVE_MEMBERS;

/** Monday to Friday; weekdays are numbered from 0 for Monday. */
const WORKDAYS = [0, 1, 2, 3, 4];
const { YEARLY, MONTHLY, WEEKLY, DAILY } = RecurrenceFrequency;

/** Name of the repetition of an event that does not repeat. */
export const NO_REPETITION = "none";

/**
 * Repetitions that the user can choose; `createRule` returns the recurrence rule of an event with a start.
 *
 * @type {{name: string, label: string, createRule: (start: Date) => any}[]}
 */
const REPETITIONS = [
  { name: NO_REPETITION, label: t("Does not repeat"), createRule: () => null },
  { name: "daily", label: t("Every day"), createRule: () => ({ frequency: DAILY }) },
  { name: "workdays", label: t("Monday to Friday"), createRule: () => ({ frequency: DAILY, by_weekday: WORKDAYS }) },
  {
    name: "weekly",
    label: t("Every week"),
    createRule: start => ({ frequency: WEEKLY, by_weekday: [weekdayOf(start)] }),
  },
  {
    name: "biweekly",
    label: t("Every other week"),
    createRule: start => ({ frequency: WEEKLY, interval: 2, by_weekday: [weekdayOf(start)] }),
  },
  {
    name: "monthly",
    label: t("Every month, on the same weekday"),
    createRule: start => ({
      frequency: MONTHLY,
      by_n_weekday: [{ n: Math.ceil(start.getUTCDate() / 7), day: weekdayOf(start) }],
    }),
  },
  {
    name: "yearly",
    label: t("Every year"),
    createRule: start => ({
      frequency: YEARLY,
      by_month: [start.getUTCMonth() + 1],
      by_month_day: [start.getUTCDate()],
    }),
  },
];
/**
 * Name of a recurrence rule that `REPETITIONS` does not contain, such as one that an app has set. It stays until the
 * user chooses another.
 */
const CUSTOM = "custom";

/** Return the name of the repetition that a recurrence rule describes; `CUSTOM` if none does. */
function repetitionOf(rule) {
  if (!rule) return NO_REPETITION;
  const { frequency, interval, by_weekday: weekdays } = rule;
  if (frequency === YEARLY) return "yearly";
  if (frequency === MONTHLY) return "monthly";
  if (frequency === WEEKLY) return interval === 2 ? "biweekly" : "weekly";
  if (!weekdays) return "daily";
  return String(weekdays) === String(WORKDAYS) ? "workdays" : CUSTOM;
}

const findRepetition = name => REPETITIONS.find(repetition => repetition.name === name);

/** Return the label of the repetition of an event, or null. */
export function repetitionText({ recurrence_rule: rule }) {
  if (!rule) return null;
  const name = repetitionOf(rule);
  return name === CUSTOM ? t("Repeats") : findRepetition(name).label;
}

/** Return a field for a date and time in the user's time zone; the value is an ISO 8601 timestamp in UTC, or null. */
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

/** Return a date as the value of a `datetime-local` input. */
function localTime(date) {
  const pad = number => String(number).padStart(2, "0");
  const day = [date.getFullYear(), pad(date.getMonth() + 1), pad(date.getDate())].join("-");
  return `${day}T${pad(date.getHours())}:${pad(date.getMinutes())}`;
}

/** Return the field for the location of an event that is not in a channel. */
function locationSetting() {
  const field = textSetting(t("Location"), {
    hint: t("A place, an address or a link."),
    maxlength: EVENT_LOCATION_MAX,
  });
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
  return [[null, t("Somewhere else")], ...channelOptions(view, JOIN_PERMISSIONS, isPossible)];
}

/** Return the fields of an event by their name in requests. */
export function eventFields(view, event) {
  const repetitions = REPETITIONS.map(({ name, label }) => [name, label]);
  if (repetitionOf(event.recurrence_rule) === CUSTOM) repetitions.push([CUSTOM, t("Custom")]);
  const fields = {
    name: textSetting(t("Name"), { maxlength: EVENT_NAME_MAX, required: true }),
    channel_id: choiceSetting(t("Where"), placeOptions(view)),
    entity_metadata: locationSetting(),
    scheduled_start_time: timeSetting(t("Start"), { hint: t("In your time zone.") }),
    scheduled_end_time: timeSetting(t("End"), { hint: t("Required for events somewhere else.") }),
    recurrence_rule: choiceSetting(t("Repeats"), repetitions),
    description: textSetting(t("Description"), { multiline: true, isNullable: true, maxlength: EVENT_DESCRIPTION_MAX }),
    image: imageSetting(t("Cover image"), {
      hint: t("Best: 800 × 320 pixels."),
      imageClass: "banner",
      preview: value =>
        value
          ? h("img", { src: eventImagePath({ ...event, image: value }), alt: "", class: "banner" })
          : h("span", { class: "small" }, t("No image")),
    }),
  };
  const showLocationField = () => {
    fields.entity_metadata.node.hidden = fields.channel_id.read() !== null;
  };
  fields.channel_id.node.addEventListener("change", showLocationField);
  const { write } = fields.channel_id;
  fields.channel_id.write = value => {
    write(value);
    showLocationField();
  };
  return fields;
}

/** Return an event as values of the form, with the name of the repetition instead of the rule. */
export const eventValues = event => ({ ...event, recurrence_rule: repetitionOf(event.recurrence_rule) });

function entityTypeOf({ context: { state } }, channelId) {
  if (channelId === null) return EventEntityType.EXTERNAL;
  const isStage = state.channels.get(channelId)?.type === ChannelType.GUILD_STAGE_VOICE;
  return isStage ? EventEntityType.STAGE_INSTANCE : EventEntityType.VOICE;
}

/** Return the recurrence rule of a repetition for an event that starts at a timestamp, or null. */
function ruleOf(name, start) {
  if (start === null) return null;
  const rule = findRepetition(name).createRule(new Date(start));
  return rule && { start, interval: 1, ...rule };
}

/**
 * Return the request body of changed fields.
 *
 * @param {any} view
 * @param {Record<string, any>} changes
 * @param {Record<string, any>} values the values of all fields: a new place or start also changes other properties
 */
export function eventBody(view, changes, values) {
  const body = { ...changes };
  if ("channel_id" in changes) {
    body.entity_type = entityTypeOf(view, changes.channel_id);
    body.entity_metadata = changes.channel_id === null ? values.entity_metadata : null;
    if (changes.channel_id === null) body.scheduled_end_time = values.scheduled_end_time;
  }
  const needsNewRule = "scheduled_start_time" in changes && ![NO_REPETITION, CUSTOM].includes(values.recurrence_rule);
  if ("recurrence_rule" in changes || needsNewRule)
    body.recurrence_rule = ruleOf(values.recurrence_rule, values.scheduled_start_time);
  return body;
}

/** Return the request body of a new event, which only members of the guild can see. */
export const newEventBody = (view, values) => ({
  ...eventBody(view, values, values),
  privacy_level: EventPrivacyLevel.GUILD_ONLY,
});
