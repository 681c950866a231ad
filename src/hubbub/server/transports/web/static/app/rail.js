/** The guilds, one below the other, with a mark where something is to read. */

import { ChannelFlags, isPrivate, isSpokenIn, isThread } from "./enums.js";
import { h, icon, reconcile } from "./dom.js";
import { faceOfGuild } from "./faces.js";
import { openArrivals } from "./arrivals.js";
import { Part } from "./parts.js";

class Rail extends Part {
  static kinds = ["guilds", "channels", "readStates", "members", "messages", "relationships", "place"];

  begin() {
    this.list = h("ul", { class: "rail-list" });
    this.replaceChildren(h("nav", { class: "rail", "aria-label": "Guilds" }, this.list));
  }

  draw() {
    const { state } = this.context;
    const { guildId } = this.context;
    const waiting = [...state.relationships.values()].filter(each => each.type === 3).length;
    const unread = state.privateChannels().reduce((sum, each) => sum + state.mentionsIn(each.id), waiting);
    const entries = [
      { key: "@me", stamp: `${guildId === null} ${unread}`, build: () => this.#place("/app", "Direct messages", guildId === null, unread > 0, unread, h("span", { class: "face square home" }, icon("people"))) },
      ...[...state.guilds.values()].map(guild => this.#entry(guild, guildId)),
      { key: "add", stamp: "", build: () => this.#add() },
    ];
    reconcile(this.list, entries);
  }

  #entry(guild, current) {
    const { state } = this.context;
    let unread = false, mentions = 0;
    for (const channel of state.channels.values()) {
      if (channel.guild_id !== guild.id || !countsAsUnread(channel, state)) continue;
      unread ||= state.isUnread(channel.id);
      mentions += state.mentionsIn(channel.id);
    }
    const here = guild.id === current;
    const stamp = `${here} ${unread} ${mentions} ${guild.name} ${guild.icon} ${guild.unavailable}`;
    const name = guild.unavailable ? `${guild.name ?? "A guild"}, out of order` : guild.name;
    return { key: guild.id, stamp, build: () => this.#place(`/app/channels/${guild.id}`, name, here, unread, mentions, faceOfGuild(guild)) };
  }

  #place(path, name, here, unread, mentions, face) {
    const told = mentions ? `, ${mentions} for you` : unread ? ", unread" : "";
    return h(
      "li",
      { class: unread ? "unread" : null },
      h("a", { href: path, "aria-current": here ? "page" : null, "aria-label": name + told, title: name, dataset: { focus: path } }, face),
      mentions ? h("span", { class: "count", "aria-hidden": "true" }, mentions > 99 ? "99+" : mentions) : null,
    );
  }

  #add() {
    const press = () => openArrivals(this.context);
    return h("li", null, h("button", { type: "button", class: "face square add", "aria-label": "Join or make a guild", title: "Join or make a guild", onclick: press }, icon("plus")));
  }
}

/** Whether a channel's messages count: those that can be read here, and of threads those one is in. */
export function countsAsUnread(channel, state) {
  if ((channel.flags ?? 0) & ChannelFlags.CHANNEL_OBFUSCATED || !isSpokenIn(channel)) return false;
  if (isThread(channel)) return Boolean(channel.member);
  return isPrivate(channel) || (state.permissionsIn(channel.id) & 1024n) === 1024n;
}

customElements.define("hubbub-rail", Rail);
