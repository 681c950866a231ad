/** Names of the users, guilds and channels of the world. */

import { callControl } from "./control_client.js";

/**
 * Users and guilds of the world, and the names of users, guilds and channels by ID. Empty until `load` is called.
 */
export class WorldNames extends EventTarget {
  users = [];
  guilds = [];
  #names = new Map();

  /** Fetch the world from the control API and dispatch `change`. */
  async load() {
    const world = await callControl("GET", "/world");
    this.users = world.users;
    this.guilds = world.guilds;
    this.#names = new Map(world.users.map(user => [user.id, user.name]));
    for (const guild of world.guilds) {
      this.#names.set(guild.id, guild.name);
      for (const channel of guild.channels) this.#names.set(channel.id, `#${channel.name}`);
    }
    this.dispatchEvent(new Event("change"));
  }

  /** Return the name of an object, or its ID if it is not part of the world. */
  nameOf(id) {
    return this.#names.get(id) ?? id;
  }
}
