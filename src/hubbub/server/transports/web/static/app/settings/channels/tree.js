/**
 * The order of a guild's channels, changes of it, and the requests that store it.
 *
 * A tree is a list of pairs of category ID and channel IDs. The first pair has the channels without a category and the
 * category ID null.
 *
 * @typedef {[string | null, string[]][]} ChannelTree
 */

import { ChannelFlags, ChannelType, isThread, isVoice } from "../../network/enums.js";
import { compareIds } from "../../network/ids.js";

/** Return the channels of a guild that the settings list: no threads, no channels that the user cannot see. */
export function listedChannels(state, guildId) {
  return state
    .channelsOf(guildId)
    .filter(channel => !isThread(channel) && !((channel.flags ?? 0) & ChannelFlags.CHANNEL_OBFUSCATED));
}

const isCategory = channel => channel.type === ChannelType.GUILD_CATEGORY;

/** Return the tree of a guild's channels in their stored order. @returns {ChannelTree} */
export function readTree(channels) {
  const sortedChannels = [...channels].sort(
    (a, b) => Number(isVoice(a)) - Number(isVoice(b)) || a.position - b.position || compareIds(a.id, b.id),
  );
  const categories = sortedChannels.filter(isCategory),
    categoryIds = new Set(categories.map(({ id }) => id));
  const groupOf = channel => (categoryIds.has(channel.parent_id) ? channel.parent_id : null);
  const idsIn = groupId =>
    sortedChannels.filter(channel => !isCategory(channel) && groupOf(channel) === groupId).map(({ id }) => id);
  return [[null, idsIn(null)], ...categories.map(({ id }) => /** @type {[string, string[]]} */ ([id, idsIn(id)]))];
}

/** Return a tree without deleted channels and with new channels at the end of their group. @returns {ChannelTree} */
export function mergeTree(tree, channels) {
  const currentTree = readTree(channels),
    known = new Set(tree.flatMap(([groupId, ids]) => [groupId, ...ids])),
    existing = new Set(channels.map(({ id }) => id));
  const groups = tree.filter(([groupId]) => groupId === null || existing.has(groupId));
  const mergedGroups = [...groups, ...currentTree.filter(([groupId]) => groupId !== null && !known.has(groupId))].map(
    ([groupId, ids]) => /** @type {[string | null, string[]]} */ ([groupId, ids.filter(id => existing.has(id))]),
  );
  const placedIds = new Set(mergedGroups.flatMap(([, ids]) => ids));
  for (const [groupId, ids] of currentTree) {
    const group = mergedGroups.find(([id]) => id === groupId) ?? mergedGroups[0];
    group[1].push(...ids.filter(id => !placedIds.has(id)));
  }
  return mergedGroups;
}

/** Moves of channels and categories in a tree; voice channels stay below the other channels of their group. */
export class TreeMoves {
  /** @param {(id: string) => any} find returns a channel */
  constructor(find) {
    this.isVoice = id => isVoice(find(id));
    this.isCategory = id => isCategory(find(id));
  }

  /**
   * Return the tree after a move by one place. A channel at either end of its group moves into the neighboring group.
   *
   * @param {ChannelTree} tree
   * @param {string} id
   * @param {number} direction -1 for up, 1 for down
   */
  step(tree, id, direction) {
    if (this.isCategory(id)) return this.#moveGroup(tree, id, indexOfGroup(tree, id) + direction);
    const index = tree.findIndex(([, ids]) => ids.includes(id)),
      ids = tree[index][1],
      next = ids[ids.indexOf(id) + direction];
    if (next !== undefined && this.isVoice(next) === this.isVoice(id))
      return this.#insert(tree, id, index, others => others.indexOf(next) + (direction > 0 ? 1 : 0));
    if (tree[index + direction] === undefined) return tree;
    return this.#insert(tree, id, index + direction, others => (direction > 0 ? 0 : others.length));
  }

  /** Return the tree after a move before or after another channel or category. A category moves beside the other's group. */
  place(tree, id, otherId, isAfter) {
    const groupIndex = this.isCategory(otherId)
      ? indexOfGroup(tree, otherId)
      : tree.findIndex(([, ids]) => ids.includes(otherId));
    if (this.isCategory(id)) return this.#placeGroup(tree, id, groupIndex + (isAfter ? 1 : 0));
    if (!this.isCategory(otherId))
      return this.#insert(tree, id, groupIndex, others => others.indexOf(otherId) + (isAfter ? 1 : 0));
    if (isAfter) return this.#insert(tree, id, groupIndex, () => 0);
    return this.#insert(tree, id, groupIndex - 1, others => others.length);
  }

  /** Move a category in front of the group that is at `index` before the move. */
  #placeGroup(tree, id, index) {
    return this.#moveGroup(tree, id, Math.max(1, index > indexOfGroup(tree, id) ? index - 1 : index));
  }

  #moveGroup(tree, id, to) {
    if (to < 1 || to >= tree.length) return tree;
    const group = tree[indexOfGroup(tree, id)];
    const changedTree = tree.filter(otherGroup => otherGroup !== group);
    changedTree.splice(to, 0, group);
    return changedTree;
  }

  /** Move a channel into a group; `indexIn` receives the other channels of the group and returns its index. */
  #insert(tree, id, groupIndex, indexIn) {
    return tree.map(([groupId, ids], index) => {
      const channelIds = ids.filter(other => other !== id);
      if (index === groupIndex) channelIds.splice(indexIn(channelIds), 0, id);
      return [
        groupId,
        [...channelIds.filter(other => !this.isVoice(other)), ...channelIds.filter(other => this.isVoice(other))],
      ];
    });
  }
}

const indexOfGroup = (tree, id) => tree.findIndex(([groupId]) => groupId === id);

/**
 * Return the bodies of the requests that store a tree. A request moves at most one channel to another category, so each
 * such move has its own request, before the request with the other positions.
 *
 * @param {ChannelTree} tree
 * @param {(id: string) => any} find returns a channel
 * @returns {any[][]}
 */
export function buildPositionRequests(tree, find) {
  const requests = [];
  let voicePosition = 0,
    textPosition = 0;
  const positions = [];
  tree.forEach(([groupId, ids], index) => {
    if (groupId !== null) positions.push({ id: groupId, position: index - 1 });
    for (const id of ids) {
      const channel = find(id);
      const position = isVoice(channel) ? voicePosition++ : textPosition++;
      if ((channel.parent_id ?? null) === groupId) positions.push({ id, position });
      else requests.push([{ id, position, parent_id: groupId }]);
    }
  });
  const changedPositions = positions.filter(({ id, position }) => find(id).position !== position);
  return changedPositions.length ? [...requests, changedPositions] : requests;
}
