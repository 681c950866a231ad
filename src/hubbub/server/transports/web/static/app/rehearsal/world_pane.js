/** The pane with the world as a picture: users and bots on the left, guilds with their channels on the right. */

import { ChannelType } from "../network/enums.js";
import { h, setChildren } from "../ui/dom.js";

const ROW_PX = 34,
  GAP_PX = 26,
  PADDING_PX = 12,
  PICTURE_PADDING_PX = 16,
  CHARACTER_PX = 8.5;
/** Horizontal positions in a picture with enough space, and on a narrow screen. */
const WIDE_LAYOUT = { userWidth: 190, guildX: 420, guildWidth: 260 },
  NARROW_LAYOUT = { userWidth: 130, guildX: 186, guildWidth: 140 };
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
      h(
        "p",
        { class: "muted" },
        "Lines are memberships; a thick line marks the owner. A filled dot marks a connected user or bot.",
      ),
      this.#picture,
    );
    new ResizeObserver(() => this.#draw()).observe(this.#picture);
  }

  async show() {
    await this.#world.load();
    this.#draw();
  }

  #draw() {
    const layout =
      this.#picture.clientWidth - PICTURE_PADDING_PX < totalWidth(WIDE_LAYOUT) ? NARROW_LAYOUT : WIDE_LAYOUT;
    setChildren(this.#picture, drawWorld(this.#world.users, this.#world.guilds, layout));
  }
}

function totalWidth({ guildX, guildWidth }) {
  return guildX + guildWidth + PADDING_PX;
}

function drawWorld(users, guilds, layout) {
  const userTops = new Map(users.map((user, index) => [user.id, PADDING_PX + index * (ROW_PX + 8)]));
  let top = PADDING_PX;
  const links = [],
    boxes = [];
  for (const guild of guilds) {
    const height = ROW_PX * (guild.channels.length + 1);
    boxes.push(guildBox(guild, top, height, layout));
    for (const memberId of guild.member_ids) {
      const userY = userTops.get(memberId) + ROW_PX / 2;
      const startX = PADDING_PX + layout.userWidth,
        middleX = (startX + layout.guildX) / 2,
        guildY = top + ROW_PX / 2;
      links.push(
        svg("path", {
          class: memberId === guild.owner_id ? "link owner" : "link",
          d: `M${startX} ${userY} C${middleX} ${userY} ${middleX} ${guildY} ${layout.guildX} ${guildY}`,
        }),
      );
    }
    top += height + GAP_PX;
  }
  const height = Math.max(top, users.length * (ROW_PX + 8) + 2 * PADDING_PX),
    width = totalWidth(layout);
  return svg(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": describeWorld(users, guilds) },
    ...links,
    ...users.map(user => userBox(user, userTops.get(user.id), layout)),
    ...boxes,
  );
}

function userBox(user, top, { userWidth }) {
  // On a narrow screen only the dashed border marks a bot.
  const label = user.bot && userWidth === WIDE_LAYOUT.userWidth ? `${user.name} (bot)` : user.name;
  return svg(
    "g",
    { class: user.bot ? "world-user bot" : "world-user" },
    svg("rect", { x: PADDING_PX, y: top, width: userWidth, height: ROW_PX, rx: 10 }),
    svg("circle", { class: user.connected ? "connected" : "", cx: PADDING_PX + 18, cy: top + ROW_PX / 2, r: 5 }),
    text(PADDING_PX + 34, top, label, userWidth - 34),
  );
}

function guildBox(guild, top, height, { guildX, guildWidth }) {
  return svg(
    "g",
    { class: "world-guild" },
    svg("rect", { x: guildX, y: top, width: guildWidth, height, rx: 10 }),
    text(guildX + 14, top, guild.name, guildWidth - 14, "world-title"),
    ...guild.channels.map((channel, index) =>
      text(
        guildX + 26,
        top + ROW_PX * (index + 1),
        `${CHANNEL_SYMBOLS[channel.type] ?? "#"} ${channel.name}`,
        guildWidth - 26,
      ),
    ),
  );
}

/** Return a text, which is shortened if it is wider than `width`; the complete text is its tooltip. */
function text(x, top, content, width, className = "") {
  const node = svg("text", { x, y: top + ROW_PX / 2 + 5, class: className });
  const lengthMax = Math.floor(width / CHARACTER_PX);
  node.textContent = content.length > lengthMax ? `${content.slice(0, lengthMax - 1)}…` : content;
  const title = svg("title", {});
  title.textContent = content;
  node.append(title);
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
