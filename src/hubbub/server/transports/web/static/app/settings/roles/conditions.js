/** The conditions of linked roles as text. */

import { RoleConnectionMetadataType } from "../../generated/enums.js";
import { LOCALE, t, tn } from "../../ui/translation.js";

const {
  INTEGER_LESS_THAN_EQUAL,
  INTEGER_GREATER_THAN_EQUAL,
  INTEGER_EQUAL,
  INTEGER_NOT_EQUAL,
  DATETIME_LESS_THAN_EQUAL,
  DATETIME_GREATER_THAN_EQUAL,
  BOOLEAN_EQUAL,
  BOOLEAN_NOT_EQUAL,
} = RoleConnectionMetadataType;

/** Return whether the value of a condition is yes or no. */
export const isBooleanRecord = ({ type }) => type === BOOLEAN_EQUAL || type === BOOLEAN_NOT_EQUAL;

/** Functions that return the label of a metadata record, which the value follows, by type of the record. */
const LABEL_BUILDERS = {
  [INTEGER_LESS_THAN_EQUAL]: name => t("{name}: at most", { name }),
  [INTEGER_GREATER_THAN_EQUAL]: name => t("{name}: at least", { name }),
  [INTEGER_EQUAL]: name => t("{name}: exactly", { name }),
  [INTEGER_NOT_EQUAL]: name => t("{name}: not", { name }),
  [DATETIME_LESS_THAN_EQUAL]: name => t("{name}: at most this many days ago", { name }),
  [DATETIME_GREATER_THAN_EQUAL]: name => t("{name}: at least this many days ago", { name }),
  [BOOLEAN_EQUAL]: name => t("{name}: is", { name }),
  [BOOLEAN_NOT_EQUAL]: name => t("{name}: is not", { name }),
};

/** Functions that return a condition as a text, by type of the metadata record. */
const TEXT_BUILDERS = {
  [DATETIME_LESS_THAN_EQUAL]: (name, value) =>
    tn("{name}: at most {count} day ago", "{name}: at most {count} days ago", Number(value), { name }),
  [DATETIME_GREATER_THAN_EQUAL]: (name, value) =>
    tn("{name}: at least {count} day ago", "{name}: at least {count} days ago", Number(value), { name }),
};

/** Return the label of a metadata record with its comparison, in the language of the user. */
export function recordLabel(record) {
  const name = recordName(record);
  return LABEL_BUILDERS[record.type]?.(name) ?? name;
}

/** Return a requirement of a linked role as a text. @param {any} application the linkable application, or undefined */
export function requirementText(requirement, application) {
  const key = requirement.connection_metadata_field;
  if (key === null || key === undefined)
    return t("Has connected an account of {application}", { application: application?.name ?? t("an unknown app") });
  const record = application?.metadata.find(other => other.key === key);
  if (record === undefined) return t("A condition that the app no longer has");
  const text =
    TEXT_BUILDERS[record.type]?.(recordName(record), requirement.value) ??
    `${recordLabel(record)} ${isBooleanRecord(record) ? booleanText(requirement.value) : requirement.value}`;
  return application ? `${application.name} – ${text}` : text;
}

/** Return the value of a user for a metadata record as a text. */
export function userValueText(record, value) {
  if (isBooleanRecord(record)) return booleanText(value);
  const timeMs = Date.parse(value);
  const isDatetime = record.type === DATETIME_LESS_THAN_EQUAL || record.type === DATETIME_GREATER_THAN_EQUAL;
  return isDatetime && !Number.isNaN(timeMs) ? new Date(timeMs).toLocaleDateString(LOCALE) : String(value);
}

const booleanText = value => (["1", "true"].includes(String(value).toLowerCase()) ? t("yes") : t("no"));

const recordName = record =>
  record.name_localizations?.[LOCALE] ?? record.name_localizations?.[LOCALE.split("-")[0]] ?? record.name;
