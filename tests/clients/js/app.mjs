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

function buildPanelRows(sku) {
  const buttons = new ActionRowBuilder().addComponents(
    new ButtonBuilder().setCustomId("count").setLabel("Count").setStyle(ButtonStyle.Primary),
    new ButtonBuilder().setCustomId("form").setLabel("Form").setStyle(ButtonStyle.Secondary),
    new ButtonBuilder().setStyle(ButtonStyle.Premium).setSKUId(sku),
  );
  const words = new StringSelectMenuBuilder().setCustomId("words").setMaxValues(2).setOptions(choices("a", "b"));
  const users = new UserSelectMenuBuilder().setCustomId("users");
  return [buttons, new ActionRowBuilder().addComponents(words), new ActionRowBuilder().addComponents(users)];
}

function buildModal() {
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
  greet: interaction =>
    interaction.reply(
      `hello ${interaction.options.getUser("member").username} in ${interaction.options.getString("city")}`,
    ),
  async think(interaction) {
    await interaction.deferReply({ flags: MessageFlags.Ephemeral });
    await interaction.editReply("thought");
    await interaction.followUp({ content: "and more", flags: MessageFlags.Ephemeral });
  },
  Poke: interaction => interaction.reply(`poked ${interaction.targetMember.user.username}`),
  Shout: interaction => interaction.reply(interaction.targetMessage.content.toUpperCase()),
  panel: (interaction, sku) => interaction.reply({ content: "here", components: buildPanelRows(sku) }),
  count: interaction => interaction.update("pressed"),
  words: interaction => interaction.reply({ content: interaction.values.join(" and "), flags: MessageFlags.Ephemeral }),
  async users(interaction) {
    await interaction.deferUpdate();
    await interaction.followUp(`chose ${interaction.users.first().username}`);
  },
  form: interaction => interaction.showModal(buildModal()),
  filled(interaction) {
    const { fields } = interaction;
    const file = fields.getUploadedFiles("proof").first().name;
    const values = [
      fields.getRadioGroup("color"),
      fields.getCheckboxGroup("sizes").join("+"),
      fields.getCheckbox("sure"),
    ];
    return interaction.reply([...values, file].join(", "));
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
