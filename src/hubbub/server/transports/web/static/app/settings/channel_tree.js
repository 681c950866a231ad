/**
 * The order of a guild's channels: groups of channel IDs, first the channels without a category, then each category.
 *
 * @typedef {[string | null, string[]][]} ChannelTree
 */

import { ChannelFlags, ChannelType, isThread, isVoice } from "../network/enums.js";
import { compareIds } from "../network/ids.js";

/** Return the channels of a guild that the settings list: no threads, no channels that the user cannot see. */
export function listedChannels(state, guildId) {
  return state
    .channelsOf(guildId)
    .filter(channel => !isThread(channel) && !((channel.flags ?? 0) & ChannelFlags.CHANNEL_OBFUSCATED));
}

const isCategory = channel => channel.type === ChannelType.GUILD_CATEGORY;

/** Return the current order. @returns {ChannelTree} */
export function readTree(channels) {
  const sorted = [...channels].sort(
    (a, b) => Number(isVoice(a)) - Number(isVoice(b)) || a.position - b.position || compareIds(a.id, b.id),
  );
  const categories = sorted.filter(isCategory),
    categoryIds = new Set(categories.map(({ id }) => id));
  const groupOf = channel => (categoryIds.has(channel.parent_id) ? channel.parent_id : null);
  const idsIn = groupId =>
    sorted.filter(channel => !isCategory(channel) && groupOf(channel) === groupId).map(({ id }) => id);
  return [[null, idsIn(null)], ...categories.map(({ id }) => /** @type {[string, string[]]} */ ([id, idsIn(id)]))];
}

/** Return an order without deleted channels and with new ones at the end of their group. @returns {ChannelTree} */
export function mergeTree(tree, channels) {
  const current = readTree(channels),
    known = new Set(tree.flatMap(([groupId, ids]) => [groupId, ...ids])),
    existing = new Set(channels.map(({ id }) => id));
  const groups = tree.filter(([groupId]) => groupId === null || existing.has(groupId));
  const merged = [...groups, ...current.filter(([groupId]) => groupId !== null && !known.has(groupId))].map(
    ([groupId, ids]) => /** @type {[string | null, string[]]} */ ([groupId, ids.filter(id => existing.has(id))]),
  );
  const placed = new Set(merged.flatMap(([, ids]) => ids));
  for (const [groupId, ids] of current) {
    const group = merged.find(([id]) => id === groupId) ?? merged[0];
    group[1].push(...ids.filter(id => !placed.has(id)));
  }
  return merged;
}

/** Moves channels and categories; voice channels stay below the other channels of their group. */
export class TreeMoves {
  /** @param {(id: string) => any} find returns a channel */
  constructor(find) {
    this.isVoice = id => isVoice(find(id));
    this.isCategory = id => isCategory(find(id));
  }

  /** Return the order after a movement by one place, into the neighboring category at the end of a group. */
  step(tree, id, direction) {
    if (this.isCategory(id)) return this.#moveGroup(tree, id, indexOfGroup(tree, id) + direction);
    const index = tree.findIndex(([, ids]) => ids.includes(id)),
      ids = tree[index][1],
      next = ids[ids.indexOf(id) + direction];
    if (next !== undefined && this.isVoice(next) === this.isVoice(id))
      return this.#insert(tree, id, index, without => without.indexOf(next) + (direction > 0 ? 1 : 0));
    if (tree[index + direction] === undefined) return tree;
    return this.#insert(tree, id, index + direction, without => (direction > 0 ? 0 : without.length));
  }

  /** Return the order after a movement beside another channel or category. */
  place(tree, id, otherId, isAfter) {
    const other = this.isCategory(otherId)
      ? indexOfGroup(tree, otherId)
      : tree.findIndex(([, ids]) => ids.includes(otherId));
    if (this.isCategory(id)) return this.#moveGroup(tree, id, Math.max(1, other));
    if (!this.isCategory(otherId))
      return this.#insert(tree, id, other, without => without.indexOf(otherId) + (isAfter ? 1 : 0));
    if (isAfter) return this.#insert(tree, id, other, () => 0);
    return this.#insert(tree, id, other - 1, without => without.length);
  }

  #moveGroup(tree, id, to) {
    if (to < 1 || to >= tree.length) return tree;
    const group = tree[indexOfGroup(tree, id)];
    const moved = tree.filter(other => other !== group);
    moved.splice(to, 0, group);
    return moved;
  }

  #insert(tree, id, groupIndex, indexIn) {
    return tree.map(([groupId, ids], index) => {
      const without = ids.filter(other => other !== id);
      if (index === groupIndex) without.splice(indexIn(without), 0, id);
      return [
        groupId,
        [...without.filter(other => !this.isVoice(other)), ...without.filter(other => this.isVoice(other))],
      ];
    });
  }
}

const indexOfGroup = (tree, id) => tree.findIndex(([groupId]) => groupId === id);

/**
 * Return the requests that store an order. A request moves at most one channel to another category, so such moves come
 * first, each by itself.
 *
 * @param {ChannelTree} tree
 * @param {(id: string) => any} find
 * @returns {any[][]}
 */
export function orderRequests(tree, find) {
  const requests = [];
  let voice = 0,
    text = 0;
  const positions = [];
  tree.forEach(([groupId, ids], index) => {
    if (groupId !== null) positions.push({ id: groupId, position: index - 1 });
    for (const id of ids) {
      const channel = find(id);
      const position = isVoice(channel) ? voice++ : text++;
      if ((channel.parent_id ?? null) === groupId) positions.push({ id, position });
      else requests.push([{ id, position, parent_id: groupId }]);
    }
  });
  const changed = positions.filter(({ id, position }) => find(id).position !== position);
  return changed.length ? [...requests, changed] : requests;
}
