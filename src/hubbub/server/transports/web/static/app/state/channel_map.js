/** The channels of the state, with indexes by guild and by parent channel. */

/** Channels by ID. */
export class ChannelMap extends Map {
  /** @type {Map<string, Map<string, any>>} */
  #byGuild = new Map();
  /** Threads and channels of categories, by the ID of the channel that contains them. @type {Map<string, Map<string, any>>} */
  #byParent = new Map();

  set(id, channel) {
    const previousChannel = this.get(id);
    if (previousChannel?.guild_id !== channel.guild_id) removeFrom(this.#byGuild, previousChannel?.guild_id, id);
    if (previousChannel?.parent_id !== channel.parent_id) removeFrom(this.#byParent, previousChannel?.parent_id, id);
    addTo(this.#byGuild, channel.guild_id, id, channel);
    addTo(this.#byParent, channel.parent_id, id, channel);
    return super.set(id, channel);
  }

  delete(id) {
    const channel = this.get(id);
    removeFrom(this.#byGuild, channel?.guild_id, id);
    removeFrom(this.#byParent, channel?.parent_id, id);
    return super.delete(id);
  }

  clear() {
    this.#byGuild.clear();
    this.#byParent.clear();
    super.clear();
  }

  /** Return the channels and threads of a guild. */
  inGuild(guildId) {
    return [...(this.#byGuild.get(guildId)?.values() ?? [])];
  }

  /** Return the threads of a channel, or the channels of a category. */
  under(parentId) {
    return [...(this.#byParent.get(parentId)?.values() ?? [])];
  }
}

function addTo(index, key, id, channel) {
  if (!key) return;
  if (!index.has(key)) index.set(key, new Map());
  index.get(key).set(id, channel);
}

function removeFrom(index, key, id) {
  const channels = index.get(key);
  if (channels?.delete(id) && channels.size === 0) index.delete(key);
}
