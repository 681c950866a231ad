/** User settings: apps with access to the account, and apps that the user added to guilds. */

import { h } from "../ui/dom.js";
import { showNotice } from "../ui/notices.js";
import { appIcon } from "../content/app_icons.js";
import { openActionDialog } from "../settings/form.js";
import { actionButton, listEntry, settingsSection } from "../settings/layout.js";
import { liveList } from "../settings/live_list.js";

/** @type {import("../settings/settings_dialog.js").SettingsScreen} */
export const APPS_SCREEN = { id: "apps", label: "Connected apps", icon: "apps", build };

function build(view) {
  const { api } = view.context;
  const authorized = liveList({
    label: "Apps with access to your account",
    emptyText: "No app has access to your account.",
    fetch: () => api.request("GET", "/oauth2/tokens"),
    entry: authorization => authorizationEntry(view, authorization, () => authorized.load()),
  });
  const added = liveList({
    label: "Apps that you added to guilds",
    emptyText: "You have not added an app to a guild.",
    fetch: () => api.request("GET", "/users/@me/integrations"),
    entry: addition => addedEntry(view, addition, () => added.load()),
  });
  view.onChange(({ kind }) => {
    if (kind === "integrations" || kind === "guilds" || kind === "members") added.loadSoon();
  });
  return h(
    "div",
    { class: "settings-form" },
    settingsSection("Access to your account", ...authorized.nodes),
    settingsSection("Apps that you added to guilds", ...added.nodes),
  );
}

/** Return the entry of an app with access to the account. */
function authorizationEntry({ context, main }, { id, application, scopes }, onRemoved) {
  const remove = async () => {
    const isDone = await openActionDialog({
      title: `Remove ${application.name}?`,
      text: "It can no longer use your account. You can authorize it again later.",
      label: "Remove access",
      run: () => context.api.request("DELETE", `/oauth2/tokens/${id}`),
    });
    if (!isDone) return;
    await onRemoved();
    showNotice(`${application.name} can no longer use your account.`, "done");
    main.focus();
  };
  return {
    key: id,
    version: JSON.stringify([application.name, application.icon, scopes]),
    build: () =>
      listEntry({
        mark: appIcon(application),
        title: application.name,
        details: [application.description, `Permissions: ${scopes.join(", ")}`],
        actions: [actionButton("Remove", remove, { danger: true, name: `Remove ${application.name}` })],
      }),
  };
}

/** Return the entry of an app that the user added to a guild. */
function addedEntry({ context, main }, { guild, integration, can_delete: canDelete }, onRemoved) {
  const { application } = integration;
  const denialReason = canDelete ? null : `You need the permission “Manage guild” in ${guild.name}.`;
  const remove = async () => {
    const isDone = await openActionDialog({
      title: `Remove ${application.name} from ${guild.name}?`,
      text: "Its bot leaves the guild, and its commands are no longer available there.",
      label: "Remove app",
      run: () => context.api.request("DELETE", `/guilds/${guild.id}/integrations/${integration.id}`),
    });
    if (!isDone) return;
    await onRemoved();
    showNotice(`${application.name} was removed from ${guild.name}.`, "done");
    main.focus();
  };
  return {
    key: `${guild.id}/${integration.id}`,
    version: JSON.stringify([application.name, application.icon, guild.name, canDelete]),
    build: () =>
      listEntry({
        mark: appIcon(application),
        title: application.name,
        details: [`In ${guild.name}`, denialReason],
        actions: [
          actionButton("Remove", remove, {
            danger: true,
            denialReason,
            name: `Remove ${application.name} from ${guild.name}`,
          }),
        ],
      }),
  };
}
