/** The pane with the world as a picture: users and bots on the left, guilds with their channels on the right. */

import { ChannelType } from "../network/enums.js";
import { h, setChildren } from "../ui/dom.js";

const ROW_PX = 34,
  USER_WIDTH_PX = 190,
  GUILD_X_PX = 420,
  GUILD_WIDTH_PX = 260,
  GAP_PX = 26,
  PADDING_PX = 12;
const CHANNEL_SYMBOLS = {
  [ChannelType.GUILD_TEXT]: "#",
  [ChannelType.GUILD_VOICE]: "♪",
  [ChannelType.GUILD_CATEGORY]: "▾",
  [ChannelType.GUILD_ANNOUNCEMENT]: "!",
  [ChannelType.GUILD_STAGE_VOICE]: "♪",
  [ChannelType.GUILD_FORUM]: "☰",
  [ChannelType.GUILD_MEDIA]: "▦",
};

export class WorldPane {
  #world;
  #picture;

  constructor(world) {
    this.#world = world;
    this.#picture = h("div", {
      class: "world-picture",
      tabindex: "0",
      role: "group",
      "aria-label": "Picture of the world",
    });
    this.node = h(
      "div",
      { class: "pane-content wide" },
      h("h1", null, "World"),
      h("p", { class: "muted" }, "Lines are memberships. A filled dot marks a connected user or bot."),
      this.#picture,
    );
  }

  async show() {
    await this.#world.load();
    setChildren(this.#picture, drawWorld(this.#world.users, this.#world.guilds));
  }
}

function drawWorld(users, guilds) {
  const userTops = new Map(users.map((user, index) => [user.id, PADDING_PX + index * (ROW_PX + 8)]));
  let top = PADDING_PX;
  const links = [],
    boxes = [];
  for (const guild of guilds) {
    const height = ROW_PX * (guild.channels.length + 1);
    boxes.push(guildBox(guild, top, height));
    for (const memberId of guild.member_ids) {
      const userY = userTops.get(memberId) + ROW_PX / 2;
      const startX = PADDING_PX + USER_WIDTH_PX,
        middleX = (startX + GUILD_X_PX) / 2,
        guildY = top + ROW_PX / 2;
      links.push(
        svg("path", {
          class: memberId === guild.owner_id ? "link owner" : "link",
          d: `M${startX} ${userY} C${middleX} ${userY} ${middleX} ${guildY} ${GUILD_X_PX} ${guildY}`,
        }),
      );
    }
    top += height + GAP_PX;
  }
  const height = Math.max(top, users.length * (ROW_PX + 8) + 2 * PADDING_PX),
    width = GUILD_X_PX + GUILD_WIDTH_PX + PADDING_PX;
  return svg(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": describeWorld(users, guilds) },
    ...links,
    ...users.map(user => userBox(user, userTops.get(user.id))),
    ...boxes,
  );
}

function userBox(user, top) {
  return svg(
    "g",
    { class: user.bot ? "world-user bot" : "world-user" },
    svg("rect", { x: PADDING_PX, y: top, width: USER_WIDTH_PX, height: ROW_PX, rx: 10 }),
    svg("circle", { class: user.connected ? "connected" : "", cx: PADDING_PX + 18, cy: top + ROW_PX / 2, r: 5 }),
    text(PADDING_PX + 34, top, user.bot ? `${user.name} (bot)` : user.name),
  );
}

function guildBox(guild, top, height) {
  return svg(
    "g",
    { class: "world-guild" },
    svg("rect", { x: GUILD_X_PX, y: top, width: GUILD_WIDTH_PX, height, rx: 10 }),
    text(GUILD_X_PX + 14, top, guild.name, "world-title"),
    ...guild.channels.map((channel, index) =>
      text(GUILD_X_PX + 26, top + ROW_PX * (index + 1), `${CHANNEL_SYMBOLS[channel.type] ?? "#"} ${channel.name}`),
    ),
  );
}

function text(x, top, content, className = "") {
  const node = svg("text", { x, y: top + ROW_PX / 2 + 5, class: className });
  node.textContent = content;
  return node;
}

function describeWorld(users, guilds) {
  return guilds
    .map(guild => {
      const members = users.filter(user => guild.member_ids.includes(user.id)).map(user => user.name);
      return `${guild.name}: members ${members.join(", ")}; channels ${guild.channels.map(channel => channel.name).join(", ")}.`;
    })
    .join(" ");
}

function svg(tag, attributes, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
  node.append(...children);
  return node;
}
