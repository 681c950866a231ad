/** Which commands there are for a person in a channel, in their language (decisions/0036). */

const CHAT_INPUT = 1;
export const USER = 2;
export const MESSAGE = 3;
export const PRIMARY_ENTRY_POINT = 4;

const SUB_COMMAND = 1;
const SUB_COMMAND_GROUP = 2;
const FRESH_MS = 20_000;
const KEPT = 10;

/**
 * Something that can be run: a command, or a sub-command of one.
 * @typedef {{command: object, application: object, steps: object[], name: string, description: string, options: object[]}} Entry
 *   `steps` are the options that lead to it; `options` are what it takes
 */

/** @type {WeakMap<object, Map<string, {when: number, index: Promise<Entry[]>}>>} */
const known = new WeakMap();

/**
 * Everything that can be run in a channel.
 * @param {{api: object, channelId: string}} context
 * @param {boolean} [anew] ask again, also where it was asked a moment ago
 * @returns {Promise<Entry[]>}
 */
export function commandsIn({ api, channelId }, anew = false) {
  if (!known.has(api)) known.set(api, new Map());
  const kept = known.get(api);
  const found = kept.get(channelId);
  if (found && !anew && Date.now() - found.when < FRESH_MS) return found.index;
  const index = api.request("GET", `/channels/${channelId}/application-command-index`).then(flatten);
  kept.delete(channelId);
  kept.set(channelId, { when: Date.now(), index });
  index.catch(() => kept.delete(channelId));
  if (kept.size > KEPT) kept.delete(kept.keys().next().value);
  return index;
}

function flatten({ applications, application_commands: commands }) {
  const makers = new Map(applications.map(each => [each.id, each]));
  return commands.flatMap(command => entries(command, makers.get(command.application_id) ?? { id: command.application_id, name: "An app" }));
}

function entries(command, application) {
  const found = [];
  walk(command, []);
  return found;

  function walk(at, steps) {
    const inner = at.options ?? [];
    const nests = inner.length && (inner[0].type === SUB_COMMAND || inner[0].type === SUB_COMMAND_GROUP);
    if (nests) {
      for (const each of inner) walk(each, [...steps, each]);
      return;
    }
    const name = [command, ...steps].map(nameOf).join(" ");
    found.push({ command, application, steps, name, description: at.description_localized ?? at.description ?? "", options: inner });
  }
}

/** What a command, an option or a choice is called here. */
export function nameOf({ name, name_localized: localized }) {
  return localized ?? name;
}

/** The name of a choice that an app offers while one types, which brings all its languages. */
export function translated({ name, name_localizations: names }) {
  const here = navigator.language;
  return names?.[here] ?? names?.[here.split("-")[0]] ?? name;
}

/** Those that fit what is typed, the nearest first. */
export function matching(found, typed) {
  const words = typed.toLowerCase();
  const rank = ({ name, command }) => {
    const shown = name.toLowerCase();
    if (shown === words) return 0;
    if (shown.startsWith(words) || command.name.startsWith(words)) return 1;
    return shown.includes(words) ? 2 : 3;
  };
  return found
    .filter(each => (each.command.type === CHAT_INPUT || each.command.type === PRIMARY_ENTRY_POINT) && rank(each) < 3)
    .sort((one, other) => rank(one) - rank(other) || one.name.localeCompare(other.name));
}

/**
 * What is sent of a command: which it is, and its options below those that led to it.
 * @param {Entry} entry
 * @param {object[]} values filled-in options
 */
export function dataOf({ command, steps }, values) {
  const data = { id: command.id, name: command.name, type: command.type, version: command.version };
  const options = steps.reduceRight((inner, { type, name }) => [{ type, name, options: inner }], values);
  if (options.length) data.options = options;
  return data;
}

/** The part of a form error that is about an entry's own options, by their names. */
export function errorsOf({ steps }, values, errors) {
  let node = errors?.data?.options;
  for (let at = 0; at < steps.length; at += 1) node = node?.[0]?.options;
  const named = new Map();
  for (const [key, value] of Object.entries(node ?? {})) {
    const name = /^\d+$/.test(key) ? values[Number(key)]?.name : key;
    if (name && name !== "_errors") named.set(name, sentence(value));
  }
  return named;
}

function sentence(node) {
  if (node === null || typeof node !== "object") return "";
  if (Array.isArray(node._errors)) return node._errors.map(({ message }) => message).join(" ");
  return Object.values(node).map(sentence).filter(Boolean).join(" ");
}
