// A discord.js app with commands, context menus, components and a modal, for `test_discord_js_apps.py`.

import {
  ActionRowBuilder,
  ApplicationCommandOptionType,
  ApplicationCommandType,
  ButtonBuilder,
  ButtonStyle,
  CheckboxBuilder,
  CheckboxGroupBuilder,
  FileUploadBuilder,
  LabelBuilder,
  MessageFlags,
  ModalBuilder,
  RadioGroupBuilder,
  StringSelectMenuBuilder,
  TextDisplayBuilder,
  UserSelectMenuBuilder,
} from "discord.js";

const commands = [
  {
    name: "greet",
    description: "greets",
    options: [
      { type: ApplicationCommandOptionType.User, name: "member", description: "who", required: true },
      { type: ApplicationCommandOptionType.String, name: "city", description: "where", autocomplete: true },
    ],
  },
  { name: "think", description: "takes time" },
  { name: "panel", description: "shows buttons and selects" },
  { name: "Poke", type: ApplicationCommandType.User },
  { name: "Shout", type: ApplicationCommandType.Message },
];

const label = text => new LabelBuilder().setLabel(text);
const choices = (...values) => values.map(value => ({ label: value.toUpperCase(), value }));

function panelRows(sku) {
  const buttons = new ActionRowBuilder().addComponents(
    new ButtonBuilder().setCustomId("count").setLabel("Count").setStyle(ButtonStyle.Primary),
    new ButtonBuilder().setCustomId("form").setLabel("Form").setStyle(ButtonStyle.Secondary),
    new ButtonBuilder().setStyle(ButtonStyle.Premium).setSKUId(sku),
  );
  const words = new StringSelectMenuBuilder().setCustomId("words").setMaxValues(2).setOptions(choices("a", "b"));
  const users = new UserSelectMenuBuilder().setCustomId("users");
  return [buttons, new ActionRowBuilder().addComponents(words), new ActionRowBuilder().addComponents(users)];
}

function modal() {
  return new ModalBuilder()
    .setCustomId("filled")
    .setTitle("Feedback")
    .addTextDisplayComponents(new TextDisplayBuilder().setContent("Welcome"))
    .addLabelComponents(
      label("Color").setRadioGroupComponent(new RadioGroupBuilder().setCustomId("color").setOptions(choices("r", "b"))),
      label("Sizes").setCheckboxGroupComponent(
        new CheckboxGroupBuilder()
          .setCustomId("sizes")
          .setMaxValues(2)
          .setOptions(choices("s", "m", "l")),
      ),
      label("Sure?").setCheckboxComponent(new CheckboxBuilder().setCustomId("sure")),
      label("Proof").setFileUploadComponent(new FileUploadBuilder().setCustomId("proof")),
    );
}

// The response to each command by name, and to each component and modal by custom ID.
const responses = {
  greet: i => i.reply(`hello ${i.options.getUser("member").username} in ${i.options.getString("city")}`),
  async think(i) {
    await i.deferReply({ flags: MessageFlags.Ephemeral });
    await i.editReply("thought");
    await i.followUp({ content: "and more", flags: MessageFlags.Ephemeral });
  },
  Poke: i => i.reply(`poked ${i.targetMember.user.username}`),
  Shout: i => i.reply(i.targetMessage.content.toUpperCase()),
  panel: (i, sku) => i.reply({ content: "here", components: panelRows(sku) }),
  count: i => i.update("pressed"),
  words: i => i.reply({ content: i.values.join(" and "), flags: MessageFlags.Ephemeral }),
  async users(i) {
    await i.deferUpdate();
    await i.followUp(`chose ${i.users.first().username}`);
  },
  form: i => i.showModal(modal()),
  filled(i) {
    const { fields } = i;
    const file = fields.getUploadedFiles("proof").first().name;
    const values = [
      fields.getRadioGroup("color"),
      fields.getCheckboxGroup("sizes").join("+"),
      fields.getCheckbox("sure"),
    ];
    return i.reply([...values, file].join(", "));
  },
};

// Register the commands in a guild and respond to their interactions; return the names of the commands.
export async function serveApp(client, { guild, sku }) {
  client.on("interactionCreate", async interaction => {
    try {
      if (interaction.isAutocomplete()) {
        const cities = ["Berlin", "Bern", "Paris"].filter(city => city.startsWith(interaction.options.getFocused()));
        await interaction.respond(cities.map(name => ({ name, value: name.toLowerCase() })));
      } else {
        await responses[interaction.commandName ?? interaction.customId](interaction, sku);
      }
    } catch (error) {
      client.emit("error", error);
    }
  });
  const registered = await client.application.commands.set(commands, guild);
  return registered.map(command => command.name);
}
