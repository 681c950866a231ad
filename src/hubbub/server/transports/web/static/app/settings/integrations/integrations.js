/** Guild settings: apps of the guild, in a list and with a page for the commands of each. */

import { CommandType } from "../../generated/enums.js";
import { Permissions } from "../../network/enums.js";
import { h, setChildren } from "../../ui/dom.js";
import { runAndReport, showNotice } from "../../ui/notices.js";
import { t, tn } from "../../ui/translation.js";
import { appIcon } from "../../content/app_icons.js";
import { entriesBySubject, openCommandPermissions } from "./command_permissions.js";
import { openActionDialog } from "../forms/form.js";
import { actionButton, listEntry, lockedNotice, settingsSection, statusLine } from "../forms/layout.js";
import { liveList } from "../forms/live_list.js";

/** @type {import("../forms/settings_dialog.js").SettingsScreen} */
export const INTEGRATIONS_SCREEN = { id: "integrations", label: t("Apps"), icon: "apps", build };

function build(view, focusedId = null) {
  const { context, guildId } = view;
  const content = h("div");
  let list = null;
  const open = integration => view.requestPage(() => openIntegration(view, integration, id => showList(view, id)));
  const remove = async integration => {
    if (!(await confirmRemoval(view, integration))) return;
    await list?.refresh();
    view.main.focus();
  };
  const drawIntegrations = () => {
    const denialReason = view.access.findDenialReason(Permissions.MANAGE_GUILD);
    if (denialReason !== null) {
      list = null;
      content.replaceChildren(lockedNotice(t("You cannot see the apps. {reason}", { reason: denialReason })));
      return;
    }
    if (list !== null) {
      list.draw();
      return;
    }
    list = liveList({
      label: t("Apps"),
      emptyText: t("There are no apps in this guild yet."),
      fetchItems: () => context.api.request("GET", `/guilds/${guildId}/integrations`),
      describeItem: integration => integrationEntry(view, integration, { open, remove }),
    });
    if (focusedId !== null) list.loaded.then(() => list.focus(focusedId) || view.main.focus());
    content.replaceChildren(
      h(
        "p",
        { class: "hint settings-intro" },
        t("Apps are added with their install link. Their developers publish it."),
      ),
      ...list.nodes,
    );
  };
  view.onChange(({ kind }) => {
    drawIntegrations();
    if (kind === "integrations") list?.refreshSoon();
  });
  drawIntegrations();
  return content;
}

function showList(view, focusedId) {
  view.setContent(INTEGRATIONS_SCREEN.label, build(view, focusedId));
}

function integrationEntry(view, integration, { open, remove }) {
  const { application } = integration;
  return {
    key: integration.id,
    version: JSON.stringify(integration),
    build: () => {
      const commandsButton = actionButton(t("Commands"), () => open(integration), {
        name: t("Commands of {name}", { name: application.name }),
      });
      commandsButton.dataset.focus = "edit";
      return listEntry({
        image: appIcon(application),
        title: application.name,
        details: [
          application.description || null,
          application.bot
            ? t("Bot: @{username}", { username: application.bot.username })
            : t("Commands only, without a bot"),
        ],
        actions: [
          commandsButton,
          actionButton(t("Remove"), () => remove(integration), {
            isDangerous: true,
            name: t("Remove {name}", { name: application.name }),
          }),
        ],
      });
    },
  };
}

/** Ask whether to remove an app, and remove it. Resolve to whether it was removed. */
async function confirmRemoval({ context, guildId }, { id, application }) {
  const isDone = await openActionDialog({
    title: t("Remove {name}?", { name: application.name }),
    text: application.bot
      ? t("Its bot leaves the guild, its role is deleted, and its commands stop working here.")
      : t("Its commands stop working here."),
    label: t("Remove app"),
    run: () => context.api.request("DELETE", `/guilds/${guildId}/integrations/${id}`),
  });
  if (isDone) showNotice(t("{name} was removed.", { name: application.name }), "done");
  return isDone;
}

/** Types of the commands that users type, with a slash before the name. */
const TYPED_COMMAND_TYPES = new Set([CommandType.CHAT_INPUT, CommandType.PRIMARY_ENTRY_POINT]);

/** Return the name of a command as users see it. */
const commandName = command =>
  `${TYPED_COMMAND_TYPES.has(command.type) ? "/" : ""}${command.name_localized ?? command.name}`;

/** Return the text with the number of permission entries of a command. */
function entriesText(entries) {
  if (!entries.length) return t("No permissions set: the defaults of the app apply");
  return tn("{count} permission set", "{count} permissions set", entries.length);
}

/** Show the page with the commands of an app; `goBack` shows the list of apps again. */
function openIntegration(view, integration, goBack, focusedId = null) {
  const { context, guildId } = view,
    { id, application } = integration;
  let isRemovedHere = false;
  const list = h("ul", { class: "settings-list", "aria-label": t("Commands") });
  const status = statusLine(t("Loading…"));
  const reopen = subjectId => openIntegration(view, integration, goBack, subjectId);
  const loadCommandPermissions = () =>
    runAndReport(async () => {
      const commandPermissions = await context.api.request("GET", `/guilds/${guildId}/integrations/${id}/commands`);
      if (!list.isConnected) return;
      const entriesById = entriesBySubject(commandPermissions);
      const subjects = [
        {
          id: application.id,
          command: null,
          name: t("All commands"),
          details: t("Applies to commands without permissions of their own."),
        },
        ...commandPermissions.application_commands.map(command => ({
          id: command.id,
          command,
          name: commandName(command),
          details: command.description_localized ?? command.description,
        })),
      ];
      status.textContent = commandPermissions.application_commands.length
        ? ""
        : t("This app has no commands in this guild.");
      setChildren(
        list,
        subjects.map(subject => {
          const entries = entriesById.get(subject.id) ?? [];
          const edit = () =>
            openCommandPermissions(view, { application, subject, entriesById }, () => reopen(subject.id));
          const button = actionButton(t("Permissions"), edit, {
            name: t("Permissions of {name}", { name: subject.name }),
          });
          button.dataset.subject = subject.id;
          return listEntry({
            title: subject.name,
            details: [subject.details || null, entriesText(entries)],
            actions: [button],
          });
        }),
      );
      if (focusedId !== null) list.querySelector(`[data-subject="${focusedId}"]`)?.focus();
      focusedId = null;
    });
  const checkRemoval = () =>
    runAndReport(async () => {
      const integrations = await context.api.request("GET", `/guilds/${guildId}/integrations`);
      if (!list.isConnected || isRemovedHere || integrations.some(other => other.id === id)) return;
      goBack(id);
      showNotice(t("{name} was removed by someone else.", { name: application.name }));
    });
  const remove = async () => {
    isRemovedHere = true;
    const isDone = await confirmRemoval(view, integration);
    if (isDone) goBack(id);
    isRemovedHere = isDone;
  };
  view.onChange(({ kind }) => {
    if (!view.access.hasPermissions(Permissions.MANAGE_GUILD)) goBack(id);
    else if (kind === "integrations") checkRemoval();
    else if (kind === "auditLog") loadCommandPermissions();
  });
  view.openPage(application.name, t("All apps"), () => goBack(id), [
    h(
      "div",
      { class: "settings-form" },
      h(
        "div",
        null,
        h("p", { class: "hint settings-intro" }, t("Choose who can use the commands, and in which channels.")),
        status,
        list,
      ),
      settingsSection(
        t("Remove"),
        h("div", { class: "row" }, actionButton(t("Remove app"), remove, { isDangerous: true })),
      ),
    ),
  ]);
  loadCommandPermissions();
}
