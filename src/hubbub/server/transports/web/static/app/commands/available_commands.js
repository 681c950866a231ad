/** The commands that the user can run in a channel, localized (decisions/0036). */

import { CommandOptionType, CommandType } from "../generated/enums.js";
import { LOCALE, t } from "../ui/translation.js";

export const { USER: USER_COMMAND, MESSAGE: MESSAGE_COMMAND, PRIMARY_ENTRY_POINT: ENTRY_POINT_COMMAND } = CommandType;

const { CHAT_INPUT } = CommandType;
const { SUB_COMMAND, SUB_COMMAND_GROUP } = CommandOptionType;
const CACHE_LIFETIME_MS = 20_000;
const CACHED_CHANNELS_MAX = 10;
/** Rank of an entry that does not match the query. */
const NO_MATCH = 3;

/**
 * A command or subcommand that the user can run.
 *
 * @typedef {{command: object, application: object, steps: object[], name: string, description: string, options: object[]}}
 *   Entry `steps` are the subcommand group and subcommand below the command; `options` are the parameters
 */

/** @type {WeakMap<object, Map<string, {fetchedAtMs: number, entries: Promise<Entry[]>}>>} */
const cache = new WeakMap();

/**
 * Return the commands and subcommands that the user can run in a channel, cached for `CACHE_LIFETIME_MS`.
 *
 * @param {{api: object, channelId: string}} context
 * @param {{bypassCache?: boolean}} [options]
 * @returns {Promise<Entry[]>}
 */
export function fetchCommands({ api, channelId }, { bypassCache = false } = {}) {
  if (!cache.has(api)) cache.set(api, new Map());
  const byChannel = cache.get(api);
  const cached = byChannel.get(channelId);
  if (cached && !bypassCache && Date.now() - cached.fetchedAtMs < CACHE_LIFETIME_MS) return cached.entries;
  const entries = api.request("GET", `/channels/${channelId}/application-command-index`).then(flatten);
  byChannel.delete(channelId);
  byChannel.set(channelId, { fetchedAtMs: Date.now(), entries });
  entries.catch(() => byChannel.delete(channelId));
  if (byChannel.size > CACHED_CHANNELS_MAX) byChannel.delete(byChannel.keys().next().value);
  return entries;
}

function flatten({ applications, application_commands: commands }) {
  const applicationsById = new Map(applications.map(application => [application.id, application]));
  return commands.flatMap(command =>
    listEntries(
      command,
      applicationsById.get(command.application_id) ?? { id: command.application_id, name: t("Unknown app") },
    ),
  );
}

function listEntries(command, application) {
  const entries = [];
  walk(command, []);
  return entries;

  function walk(node, steps) {
    const options = node.options ?? [];
    const hasSubcommands = options.length && (options[0].type === SUB_COMMAND || options[0].type === SUB_COMMAND_GROUP);
    if (hasSubcommands) {
      for (const option of options) walk(option, [...steps, option]);
      return;
    }
    const name = [command, ...steps].map(localizedName).join(" ");
    entries.push({
      command,
      application,
      steps,
      name,
      description: node.description_localized ?? node.description ?? "",
      options,
    });
  }
}

/** Return the localized name of a command, option or choice. */
export function localizedName({ name, name_localized: localized }) {
  return localized ?? name;
}

/** Return the name of an autocomplete choice in the language of the browser. The choice contains all localizations. */
export function localizedChoiceName({ name, name_localizations: names }) {
  const locale = navigator.language;
  return names?.[locale] ?? names?.[locale.split("-")[0]] ?? name;
}

/** Return the entries of slash commands and entry point commands that match the query, best matches first. */
export function findMatches(entries, typed) {
  const query = typed.toLowerCase();
  const rank = ({ name, command }) => {
    const displayedName = name.toLowerCase();
    if (displayedName === query) return 0;
    if (displayedName.startsWith(query) || command.name.startsWith(query)) return 1;
    return displayedName.includes(query) ? 2 : NO_MATCH;
  };
  return entries
    .filter(
      entry =>
        (entry.command.type === CHAT_INPUT || entry.command.type === ENTRY_POINT_COMMAND) && rank(entry) < NO_MATCH,
    )
    .sort((one, other) => rank(one) - rank(other) || one.name.localeCompare(other.name, LOCALE));
}

/**
 * Return the interaction data of a command, with the options nested below its subcommands.
 *
 * @param {Entry} entry
 * @param {object[]} values filled-in options
 */
export function interactionData({ command, steps }, values) {
  const data = { id: command.id, name: command.name, type: command.type, version: command.version };
  const options = steps.reduceRight((inner, { type, name }) => [{ type, name, options: inner }], values);
  if (options.length) data.options = options;
  return data;
}

/** Return the form errors of an entry's own options, by option name. */
export function optionErrors({ steps }, values, errors) {
  let node = errors?.data?.options;
  for (let level = 0; level < steps.length; level += 1) node = node?.[0]?.options;
  const errorsByName = new Map();
  for (const [key, value] of Object.entries(node ?? {})) {
    const name = /^\d+$/.test(key) ? values[Number(key)]?.name : key;
    if (name && name !== "_errors") errorsByName.set(name, errorText(value));
  }
  return errorsByName;
}

function errorText(node) {
  if (node === null || typeof node !== "object") return "";
  if (Array.isArray(node._errors)) return node._errors.map(({ message }) => message).join(" ");
  return Object.values(node).map(errorText).filter(Boolean).join(" ");
}
