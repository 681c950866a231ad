// Functions that a test can run on the client; each returns plain data. The arguments guild, channel, thread, message
// and user are IDs.

import { serveApp } from "./app.mjs";
import { AttachmentBuilder, ChannelType, EmbedBuilder, GatewayOpcodes, PermissionFlagsBits } from "discord.js";

const ids = collection => [...collection.keys()];

// Return the body at a URL in Base64.
async function download(url) {
  const response = await fetch(url);
  return Buffer.from(await response.arrayBuffer()).toString("base64");
}

function describeAttachment(file) {
  return {
    name: file.name,
    description: file.description,
    size: file.size,
    spoiler: file.spoiler,
    type: file.contentType,
    width: file.width,
    url: file.url,
  };
}

export const steps = {
  serveApp,

  // The cache

  cache(client, { guild: id }) {
    const guild = client.guilds.cache.get(id);
    return {
      user: client.user.tag,
      application: client.application.id,
      name: guild.name,
      owner: guild.ownerId,
      count: guild.memberCount,
      channels: ids(guild.channels.cache),
      roles: guild.roles.cache.map(role => role.name),
      members: ids(guild.members.cache),
      administrator: guild.members.me.permissions.has(PermissionFlagsBits.Administrator),
    };
  },

  shards(client) {
    return Object.fromEntries(client.guilds.cache.map(guild => [guild.id, guild.shardId]));
  },

  async countMembers(client, { guild: id }) {
    const guild = client.guilds.cache.get(id);
    const cached = guild.members.cache.size;
    const all = await guild.members.fetch();
    const matching = await guild.members.fetch({ query: "user00", limit: 100 });
    return { large: guild.large, cached, all: all.size, matching: matching.size };
  },

  async fetchApplicationAndUser(client, { user }) {
    const application = await client.application.fetch();
    return { application: application.name, user: (await client.users.fetch(user, { force: true })).username };
  },

  // Messages

  async send(client, { channel, content }) {
    return (await (await client.channels.fetch(channel)).send(content)).id;
  },

  async reply(client, { channel, message, content }) {
    const original = await (await client.channels.fetch(channel)).messages.fetch(message);
    const answer = await original.reply(content);
    return { id: answer.id, reference: answer.reference.messageId, type: answer.type };
  },

  async edit(client, { channel, message, content }) {
    const edited = await (await client.channels.fetch(channel)).messages.edit(message, content);
    return { content: edited.content, edited: edited.editedTimestamp !== null };
  },

  async deleteMessage(client, { channel, message }) {
    await (await client.channels.fetch(channel)).messages.delete(message);
  },

  async deleteMessages(client, { channel, messages }) {
    return ids(await (await client.channels.fetch(channel)).bulkDelete(messages));
  },

  async history(client, { channel, ...query }) {
    const messages = await (await client.channels.fetch(channel)).messages.fetch({ cache: false, ...query });
    return messages.map(message => message.content);
  },

  async sendAttachments(client, { channel, files }) {
    const builders = files.map(file =>
      new AttachmentBuilder(Buffer.from(file.data, "base64"), {
        name: file.name,
        description: file.description,
      }).setSpoiler(file.spoiler),
    );
    const embed = new EmbedBuilder()
      .setTitle("News")
      .setColor(0x336699)
      .setTimestamp(new Date("2026-12-01T12:00:00Z"))
      .addFields({ name: "weather", value: "fine", inline: true })
      .setFooter({ text: "the end" })
      .setAuthor({ name: "crier" });
    const message = await (await client.channels.fetch(channel)).send({ files: builders, embeds: [embed] });
    const attachments = message.attachments.map(describeAttachment);
    for (const sentFile of attachments) {
      sentFile.data = await download(sentFile.url);
    }
    return { attachments, embed: message.embeds[0].toJSON(), timestamp: message.embeds[0].timestamp };
  },

  async react(client, { channel, message, emoji }) {
    await (await client.channels.fetch(channel)).messages.react(message, emoji);
  },

  async reactors(client, { channel, message, emoji }) {
    const fetched = await (await client.channels.fetch(channel)).messages.fetch({ message, force: true });
    return ids(await fetched.reactions.cache.get(emoji).users.fetch());
  },

  async unreact(client, { channel, message, emoji, user }) {
    const fetched = await (await client.channels.fetch(channel)).messages.fetch(message);
    await fetched.reactions.cache.get(emoji).users.remove(user);
  },

  async unreactAll(client, { channel, message }) {
    await (await (await client.channels.fetch(channel)).messages.fetch(message)).reactions.removeAll();
  },

  async pinAndUnpin(client, { channel, message }) {
    const fetched = await client.channels.fetch(channel);
    await fetched.messages.pin(message);
    const pinned = await fetched.messages.fetchPins();
    await fetched.messages.unpin(message);
    const remaining = await fetched.messages.fetchPins();
    return { pinned: pinned.items.map(item => item.message.id), remaining: remaining.items.length };
  },

  // Threads

  async createThread(client, { channel, message, name }) {
    const original = await (await client.channels.fetch(channel)).messages.fetch(message);
    const thread = await original.startThread({ name, autoArchiveDuration: 60 });
    await thread.send("once upon a time");
    return { id: thread.id, cached: ids(thread.parent.threads.cache) };
  },

  async addThreadMember(client, { thread: id, user }) {
    const thread = await client.channels.fetch(id);
    await thread.members.add(user);
    return ids(await thread.members.fetch());
  },

  async archiveThread(client, { thread: id, name }) {
    const thread = await client.channels.fetch(id);
    await thread.edit({ name, archived: true });
    return ids((await thread.parent.threads.fetchArchived()).threads);
  },

  async createForumPost(client, { guild, name, content }) {
    const forum = await client.guilds.cache.get(guild).channels.create({
      name: "ideas",
      type: ChannelType.GuildForum,
      availableTags: [{ name: "good" }],
    });
    const [tag] = forum.availableTags;
    const post = await forum.threads.create({ name, message: { content }, appliedTags: [tag.id] });
    const starter = await post.fetchStarterMessage();
    return { id: post.id, forum: forum.id, tag: tag.id, starter: starter.content };
  },

  // Channels, the guild, roles, members, the audit log and invites

  async createEditAndDeleteChannel(client, { guild: id, user }) {
    const guild = client.guilds.cache.get(id);
    const channel = await guild.channels.create({
      name: "vault",
      type: ChannelType.GuildText,
      topic: "gold",
      permissionOverwrites: [{ id: guild.id, deny: [PermissionFlagsBits.ViewChannel] }],
    });
    const hidden = !channel.permissionsFor(user).has(PermissionFlagsBits.ViewChannel);
    await channel.permissionOverwrites.edit(user, { ViewChannel: true });
    const edited = await channel.edit({ name: "treasury" });
    const canView = edited.permissionsFor(user).has(PermissionFlagsBits.ViewChannel);
    await edited.delete();
    return { id: channel.id, topic: channel.topic, hidden, shown: canView };
  },

  async renameGuild(client, { guild, name }) {
    return (await client.guilds.cache.get(guild).setName(name)).name;
  },

  async createEditAndDeleteRole(client, { guild: id, user }) {
    const guild = client.guilds.cache.get(id);
    const role = await guild.roles.create({
      name: "guards",
      colors: { primaryColor: 0xff0000 },
      permissions: [PermissionFlagsBits.KickMembers],
      hoist: true,
    });
    await role.edit({ name: "watch", mentionable: true });
    const member = await guild.members.fetch(user);
    await member.roles.add(role, "brave");
    const assigned =
      member.roles.cache.has(role.id) || (await guild.members.fetch({ user, force: true })).roles.cache.has(role.id);
    await guild.members.cache.get(user).roles.remove(role);
    await role.delete();
    return { id: role.id, assigned };
  },

  async setNickname(client, { guild, user, nick }) {
    return (await client.guilds.cache.get(guild).members.edit(user, { nick })).displayName;
  },

  async timeout(client, { guild, user, until }) {
    await client.guilds.cache.get(guild).members.edit(user, { communicationDisabledUntil: until });
  },

  async kick(client, { guild, user }) {
    await client.guilds.cache.get(guild).members.kick(user, "enough");
  },

  async banAndUnban(client, { guild: id, user }) {
    const { bans } = client.guilds.cache.get(id);
    await bans.create(user, { reason: "spam links" });
    const bannedUsers = (await bans.fetch()).map(ban => [ban.user.id, ban.reason]);
    await bans.remove(user);
    return bannedUsers;
  },

  async fetchMember(client, { guild, user }) {
    return (await client.guilds.cache.get(guild).members.fetch({ user, force: true })).id;
  },

  async auditLog(client, { guild }) {
    return (await client.guilds.cache.get(guild).fetchAuditLogs({ limit: 3 })).entries.map(entry => entry.action);
  },

  async createInvite(client, { channel }) {
    const invite = await (await client.channels.fetch(channel)).createInvite({ maxUses: 2, unique: true });
    return { code: invite.code, guild: (await client.fetchInvite(invite.code)).guild.id };
  },

  async deleteInvite(client, { guild: id, code }) {
    const { invites } = client.guilds.cache.get(id);
    const uses = (await invites.fetch()).get(code).uses;
    await invites.delete(code);
    return uses;
  },

  // Typing, direct messages, presence and voice

  async sendTyping(client, { channel }) {
    await (await client.channels.fetch(channel)).sendTyping();
  },

  async sendDirectMessage(client, { user, content }) {
    const message = await client.users.send(user, content);
    return { id: message.id, channel: message.channelId };
  },

  setPresence(client, { status, activity }) {
    client.user.setPresence({ status, activities: [{ name: activity }] });
  },

  // Join a voice channel, wait for the voice state and the voice server, leave, and return both.
  joinAndLeaveVoice(client, { guild: id, channel }) {
    const guild = client.guilds.cache.get(id);
    return new Promise(resolve => {
      const payloads = {};
      const adapter = guild.voiceAdapterCreator({
        onVoiceStateUpdate: state => record("state", state),
        onVoiceServerUpdate: server => record("server", server),
        destroy() {},
      });
      function record(name, payload) {
        payloads[name] ??= payload;
        if (payloads.state && payloads.server) {
          adapter.sendPayload({
            op: GatewayOpcodes.VoiceStateUpdate,
            d: { guild_id: id, channel_id: null, self_mute: false, self_deaf: false },
          });
          adapter.destroy();
          resolve(payloads);
        }
      }
      adapter.sendPayload({
        op: GatewayOpcodes.VoiceStateUpdate,
        d: { guild_id: id, channel_id: channel, self_mute: true, self_deaf: false },
      });
    });
  },
};
