// A bot with eris, which `test_library_bots.py` runs. The library sends its requests to port 443; the agent replaces the port.
// The library has no end-to-end encryption and no current encryption mode, so this bot joins a call without audio.

import { Agent } from "node:https";
import { Client, Constants } from "eris";
import { emoji, eventEnd, eventStart, image, report, runSteps, settings } from "./bot_steps.mjs";

const server = new URL(settings.api);

class PortAgent extends Agent {
  createConnection(options, callback) {
    return super.createConnection({ ...options, port: Number(server.port) }, callback);
  }
}

const client = new Client(`Bot ${settings.token}`, {
  intents: ["all"],
  rest: { domain: server.hostname, baseURL: server.pathname, agent: new PortAgent() },
});
const { guild: guildID, channel: channelID, voice: voiceID, role: roleID } = settings;

const { ComponentTypes, InteractionTypes } = Constants;
const row = component => ({ type: ComponentTypes.ACTION_ROW, components: [component] });
const commands = [
  {
    type: Constants.ApplicationCommandTypes.CHAT_INPUT,
    name: "greet",
    description: "Greets",
    options: [
      { type: Constants.ApplicationCommandOptionTypes.STRING, name: "name", description: "Name", required: true },
    ],
  },
  ...["ask", "join", "leave", "panel"].map(name => ({
    type: Constants.ApplicationCommandTypes.CHAT_INPUT,
    name,
    description: name,
  })),
];
const panel = [
  row({ type: ComponentTypes.BUTTON, style: Constants.ButtonStyles.SECONDARY, label: "Press", custom_id: "press" }),
  row({
    type: ComponentTypes.SELECT_MENU,
    custom_id: "pick",
    options: ["a", "b"].map(value => ({ label: value, value })),
  }),
];
const answer = {
  type: ComponentTypes.TEXT_INPUT,
  custom_id: "answer",
  label: "Answer",
  style: Constants.TextInputStyles.SHORT,
};

async function respond(interaction) {
  const { data } = interaction;
  if (interaction.type === InteractionTypes.APPLICATION_COMMAND) {
    if (data.name === "greet") await interaction.createMessage(`hello ${data.options[0].value}`);
    if (data.name === "ask") {
      await interaction.createModal({ title: "Question", custom_id: "form", components: [row(answer)] });
    }
    if (data.name === "panel") await interaction.createMessage({ content: "panel", components: panel });
    if (data.name === "join") {
      await changeVoiceState(voiceID, "voiceChannelJoin");
      await interaction.createMessage("joined");
    }
    if (data.name === "leave") {
      await changeVoiceState(null, "voiceChannelLeave");
      await interaction.createMessage("left");
    }
  } else if (interaction.type === InteractionTypes.MESSAGE_COMPONENT) {
    if (data.custom_id === "press") await interaction.editParent({ content: "pressed" });
    else
      await interaction.createMessage({ content: `picked ${data.values[0]}`, flags: Constants.MessageFlags.EPHEMERAL });
  } else if (interaction.type === InteractionTypes.MODAL_SUBMIT) {
    await interaction.createMessage(`answer: ${data.components[0].components[0].value}`);
  }
}

// Send the bot's voice channel to the gateway, and wait for the event.
async function changeVoiceState(channelID, event) {
  const eventReceived = new Promise(resolve => client.once(event, resolve));
  const state = { guild_id: guildID, channel_id: channelID, self_mute: false, self_deaf: false };
  client.guilds.get(guildID).shard.sendWS(Constants.GatewayOPCodes.VOICE_STATE_UPDATE, state);
  await eventReceived;
}

async function giveRole(message, reaction, reactor) {
  if (reaction.name === emoji) await client.addGuildMemberRole(guildID, reactor.id, roleID);
}

const steps = {
  async files() {
    const content = { content: "a file", attachments: [{ id: 0, filename: "pixel.png", description: "one pixel" }] };
    const message = await client.createMessage(channelID, content, { name: "pixel.png", file: image });
    const [attachment] = message.attachments.values();
    const body = await (await fetch(attachment.url)).arrayBuffer();
    return [attachment.filename, attachment.description ?? null, body.byteLength];
  },
  async threads() {
    const message = await client.createMessage(channelID, "chapter one");
    const thread = await message.createThreadWithMessage({ name: "story", autoArchiveDuration: 60 });
    await thread.createMessage("once upon a time");
    return [thread.name, thread.parentID === channelID];
  },
  async forums() {
    const options = { availableTags: [{ name: "new", moderated: false }] };
    const forum = await client.createChannel(guildID, "ideas", Constants.ChannelTypes.GUILD_FORUM, options);
    const appliedTags = forum.availableTags.map(tag => tag.id);
    // The library's method of the forum returns a thread without a client.
    const post = await client.createThread(forum.id, { name: "first", message: { content: "text" }, appliedTags });
    const message = await client.getMessage(post.id, post.id);
    const names = post.appliedTags.map(id => forum.availableTags.find(tag => tag.id === id).name);
    return [post.name, message.content, names];
  },
  async polls() {
    const poll = {
      question: { text: "Lunch?" },
      answers: ["Soup", "Bread"].map(text => ({ poll_media: { text } })),
      duration: 1,
    };
    const message = await client.createMessage(channelID, { poll });
    await client.endPoll(channelID, message.id);
    return [message.poll.question.text, message.poll.answers.map(entry => entry.poll_media.text)];
  },
  async stickers() {
    const file = { name: "wave.png", file: image };
    const sticker = await client.createGuildSticker(guildID, {
      name: "wave",
      description: "waves",
      tags: "wave",
      file,
    });
    const message = await client.createMessage(channelID, { stickerIDs: [sticker.id] });
    return [sticker.name, message.stickerItems.map(item => item.name)];
  },
  async events() {
    const event = await client.createGuildScheduledEvent(guildID, {
      name: "Fair",
      entityType: Constants.GuildScheduledEventEntityTypes.EXTERNAL,
      entityMetadata: { location: "Park" },
      privacyLevel: Constants.GuildScheduledEventPrivacyLevel.GUILD_ONLY,
      scheduledStartTime: new Date(eventStart),
      scheduledEndTime: new Date(eventEnd),
    });
    return [event.name, event.entityMetadata.location, (await client.getGuildScheduledEvents(guildID)).length];
  },
  async auto_moderation() {
    const rule = await client.createAutoModerationRule(guildID, {
      name: "No fish",
      eventType: Constants.AutoModerationEventTypes.MESSAGE_SEND,
      triggerType: Constants.AutoModerationTriggerTypes.KEYWORD,
      triggerMetadata: { keyword_filter: ["fish"] },
      actions: [{ type: Constants.AutoModerationActionTypes.BLOCK_MESSAGE }],
      enabled: true,
    });
    return [rule.name, (await client.getAutoModerationRules(guildID))[0].trigger_metadata.keyword_filter];
  },
  async templates() {
    const template = await client.createGuildTemplate(guildID, "Plan", "a plan");
    return [template.name, (await client.getGuildTemplates(guildID)).map(found => found.code)[0] === template.code];
  },
  async commands_registered() {
    const registered = await client.bulkEditGuildCommands(guildID, commands);
    return registered.map(command => command.name).sort();
  },
};

client.on("error", error => report({ log: `${error?.stack ?? error}` }));
client.on("warn", message => report({ log: `${message}` }));
client.on("interactionCreate", interaction => respond(interaction).catch(error => report({ log: `${error.stack}` })));
client.on("messageReactionAdd", (...event) => giveRole(...event).catch(error => report({ log: `${error.stack}` })));
client.once("ready", () => runSteps(steps));
await client.connect();
