// A bot with oceanic.js, which `test_library_bots.py` runs.

import {
  ApplicationCommandOptionTypes,
  ApplicationCommandTypes,
  AutoModerationActionTypes,
  AutoModerationEventTypes,
  AutoModerationTriggerTypes,
  ButtonStyles,
  ChannelTypes,
  Client,
  ComponentTypes,
  GuildScheduledEventEntityTypes,
  GuildScheduledEventPrivacyLevels,
  InteractionTypes,
  MessageFlags,
  TextInputStyles,
} from "oceanic.js";
import { emoji, eventEnd, eventStart, image, report, runSteps, settings } from "./bot_steps.mjs";
import { sendFrames, waitUntilConnected } from "./bot_voice.mjs";

const client = new Client({
  auth: `Bot ${settings.token}`,
  gateway: { intents: ["ALL"] },
  rest: { baseURL: settings.api },
});
const { guild: guildID, channel: channelID, voice: voiceID, role: roleID } = settings;
const { channels, guilds, applications } = client.rest;

const row = component => ({ type: ComponentTypes.ACTION_ROW, components: [component] });
const commands = [
  {
    type: ApplicationCommandTypes.CHAT_INPUT,
    name: "greet",
    description: "Greets",
    options: [{ type: ApplicationCommandOptionTypes.STRING, name: "name", description: "Name", required: true }],
  },
  ...["ask", "join", "leave", "panel", "sing"].map(name => ({
    type: ApplicationCommandTypes.CHAT_INPUT,
    name,
    description: name,
  })),
];
const panel = [
  row({ type: ComponentTypes.BUTTON, style: ButtonStyles.SECONDARY, label: "Press", customID: "press" }),
  row({
    type: ComponentTypes.STRING_SELECT,
    customID: "pick",
    options: ["a", "b"].map(value => ({ label: value, value })),
  }),
];
const answer = { type: ComponentTypes.TEXT_INPUT, customID: "answer", label: "Answer", style: TextInputStyles.SHORT };

async function respond(interaction) {
  if (interaction.type === InteractionTypes.APPLICATION_COMMAND) {
    const { name, options } = interaction.data;
    if (name === "greet") await interaction.createMessage({ content: `hello ${options.getString("name", true)}` });
    if (name === "ask")
      await interaction.createModal({ title: "Question", customID: "form", components: [row(answer)] });
    if (name === "panel") await interaction.createMessage({ content: "panel", components: panel });
    if (name === "join") {
      const { voiceAdapterCreator } = client.guilds.get(guildID);
      const options = { guildID, channelID: voiceID, voiceAdapterCreator, selfDeaf: false, selfMute: false };
      await waitUntilConnected(client.joinVoiceChannel(options));
      await interaction.createMessage({ content: "joined" });
    }
    if (name === "sing") {
      await sendFrames(client.getVoiceConnection(guildID), client.user.id);
      await interaction.createMessage({ content: "sang" });
    }
    if (name === "leave") {
      client.leaveVoiceChannel(guildID);
      await interaction.createMessage({ content: "left" });
    }
  } else if (interaction.type === InteractionTypes.MESSAGE_COMPONENT) {
    if (interaction.data.customID === "press") await interaction.editParent({ content: "pressed" });
    else {
      const [value] = interaction.data.values.getStrings();
      await interaction.createMessage({ content: `picked ${value}`, flags: MessageFlags.EPHEMERAL });
    }
  } else if (interaction.type === InteractionTypes.MODAL_SUBMIT) {
    await interaction.createMessage({ content: `answer: ${interaction.data.components.getTextInput("answer", true)}` });
  }
}

async function giveRole(message, reactor, reaction) {
  if (reaction.emoji.name === emoji) await guilds.addMemberRole(guildID, reactor.id, roleID);
}

const steps = {
  async files() {
    // The library numbers files from 1 unless they have an index.
    const file = { name: "pixel.png", contents: image, index: 0 };
    const attachments = [{ id: "0", filename: "pixel.png", description: "one pixel" }];
    const message = await channels.createMessage(channelID, { content: "a file", files: [file], attachments });
    const attachment = message.attachments.first();
    const body = await (await fetch(attachment.url)).arrayBuffer();
    return [attachment.filename, attachment.description ?? null, body.byteLength];
  },
  async threads() {
    const message = await channels.createMessage(channelID, { content: "chapter one" });
    const thread = await message.startThread({ name: "story", autoArchiveDuration: 60 });
    await thread.createMessage({ content: "once upon a time" });
    return [thread.name, thread.parentID === channelID];
  },
  async forums() {
    const options = { name: "ideas", availableTags: [{ name: "new", moderated: false, emoji: null }] };
    const forum = await guilds.createChannel(guildID, ChannelTypes.GUILD_FORUM, options);
    const appliedTags = forum.availableTags.map(tag => tag.id);
    const post = await forum.startThread({ name: "first", message: { content: "text" }, appliedTags });
    const message = await channels.getMessage(post.id, post.id);
    const names = post.appliedTags.map(id => forum.availableTags.find(tag => tag.id === id).name);
    return [post.name, message.content, names];
  },
  async polls() {
    const poll = {
      question: { text: "Lunch?" },
      answers: ["Soup", "Bread"].map(text => ({ pollMedia: { text } })),
      duration: 1,
      allowMultiselect: false,
    };
    const message = await channels.createMessage(channelID, { poll });
    await channels.expirePoll(channelID, message.id);
    return [message.poll.question.text, message.poll.answers.map(entry => entry.pollMedia.text)];
  },
  async stickers() {
    const file = { name: "wave.png", contents: image };
    const sticker = await guilds.createSticker(guildID, { name: "wave", description: "waves", tags: "wave", file });
    const message = await channels.createMessage(channelID, { stickerIDs: [sticker.id] });
    return [sticker.name, message.stickerItems.map(item => item.name)];
  },
  async events() {
    const event = await guilds.createScheduledEvent(guildID, {
      name: "Fair",
      entityType: GuildScheduledEventEntityTypes.EXTERNAL,
      entityMetadata: { location: "Park" },
      privacyLevel: GuildScheduledEventPrivacyLevels.GUILD_ONLY,
      scheduledStartTime: eventStart,
      scheduledEndTime: eventEnd,
    });
    return [event.name, event.entityMetadata.location, (await guilds.getScheduledEvents(guildID)).length];
  },
  async auto_moderation() {
    const rule = await guilds.createAutoModerationRule(guildID, {
      name: "No fish",
      eventType: AutoModerationEventTypes.MESSAGE_SEND,
      triggerType: AutoModerationTriggerTypes.KEYWORD,
      triggerMetadata: { keywordFilter: ["fish"] },
      actions: [{ type: AutoModerationActionTypes.BLOCK_MESSAGE, metadata: {} }],
      enabled: true,
    });
    return [rule.name, (await guilds.getAutoModerationRules(guildID))[0].triggerMetadata.keywordFilter];
  },
  async templates() {
    const template = await guilds.createTemplate(guildID, { name: "Plan", description: "a plan" });
    return [template.name, (await guilds.getTemplates(guildID)).map(found => found.code)[0] === template.code];
  },
  async commands_registered() {
    const registered = await applications.bulkEditGuildCommands(client.application.id, guildID, commands);
    return registered.map(command => command.name).sort();
  },
};

client.on("error", error => report({ log: `${error.stack ?? error}` }));
client.on("warn", message => report({ log: `${message}` }));
client.on("interactionCreate", interaction => respond(interaction).catch(error => report({ log: `${error.stack}` })));
client.on("messageReactionAdd", (...event) => giveRole(...event).catch(error => report({ log: `${error.stack}` })));
client.once("ready", () => runSteps(steps));
await client.connect();
