/** User settings: apps with access to the account, and apps that the user added to guilds. */

import { h } from "../ui/dom.js";
import { showNotice } from "../ui/notices.js";
import { t } from "../ui/translation.js";
import { appIcon } from "../content/app_icons.js";
import { openActionDialog } from "../settings/forms/form.js";
import { actionButton, listEntry, settingsSection } from "../settings/forms/layout.js";
import { liveList } from "../settings/forms/live_list.js";

/** @type {import("../settings/forms/settings_dialog.js").SettingsScreen} */
export const APPS_SCREEN = { id: "apps", label: t("Connected apps"), icon: "apps", build };

function build(view) {
  const { api } = view.context;
  const authorizedApps = liveList({
    label: t("Apps with access to your account"),
    emptyText: t("No app has access to your account."),
    fetchItems: () => api.request("GET", "/oauth2/tokens"),
    describeItem: authorization => authorizationEntry(view, authorization, () => authorizedApps.refresh()),
  });
  const addedApps = liveList({
    label: t("Apps that you added to guilds"),
    emptyText: t("You have not added an app to a guild."),
    fetchItems: () => api.request("GET", "/users/@me/integrations"),
    describeItem: addition => addedAppEntry(view, addition, () => addedApps.refresh()),
  });
  view.onChange(({ kind }) => {
    if (kind === "integrations" || kind === "guilds" || kind === "members") addedApps.refreshSoon();
  });
  return h(
    "div",
    { class: "settings-form" },
    settingsSection(t("Access to your account"), ...authorizedApps.nodes),
    settingsSection(t("Apps that you added to guilds"), ...addedApps.nodes),
  );
}

/** Return the entry of an app with access to the account. */
function authorizationEntry({ context, main }, { id, application, scopes }, onRemoved) {
  const remove = async () => {
    const isDone = await openActionDialog({
      title: t("Remove {name}?", { name: application.name }),
      text: t("It can no longer use your account. You can authorize it again later."),
      label: t("Remove access"),
      run: () => context.api.request("DELETE", `/oauth2/tokens/${id}`),
    });
    if (!isDone) return;
    await onRemoved();
    showNotice(t("{name} can no longer use your account.", { name: application.name }), "done");
    main.focus();
  };
  return {
    key: id,
    version: JSON.stringify([application.name, application.icon, scopes]),
    build: () =>
      listEntry({
        image: appIcon(application),
        title: application.name,
        details: [application.description, t("Permissions: {names}", { names: scopes.join(", ") })],
        actions: [
          actionButton(t("Remove"), remove, {
            isDangerous: true,
            name: t("Remove {name}", { name: application.name }),
          }),
        ],
      }),
  };
}

/** Return the entry of an app that the user added to a guild. */
function addedAppEntry({ context, main }, { guild, integration, can_delete: canDelete }, onRemoved) {
  const { application } = integration;
  const denialReason = canDelete ? null : t("You need the permission “Manage guild” in {name}.", { name: guild.name });
  const remove = async () => {
    const isDone = await openActionDialog({
      title: t("Remove {application} from {guild}?", { application: application.name, guild: guild.name }),
      text: t("Its bot leaves the guild, and its commands are no longer available there."),
      label: t("Remove app"),
      run: () => context.api.request("DELETE", `/guilds/${guild.id}/integrations/${integration.id}`),
    });
    if (!isDone) return;
    await onRemoved();
    showNotice(
      t("{application} was removed from {guild}.", { application: application.name, guild: guild.name }),
      "done",
    );
    main.focus();
  };
  return {
    key: `${guild.id}/${integration.id}`,
    version: JSON.stringify([application.name, application.icon, guild.name, canDelete]),
    build: () =>
      listEntry({
        image: appIcon(application),
        title: application.name,
        details: [t("In {name}", { name: guild.name }), denialReason],
        actions: [
          actionButton(t("Remove"), remove, {
            isDangerous: true,
            denialReason,
            name: t("Remove {application} from {guild}", { application: application.name, guild: guild.name }),
          }),
        ],
      }),
  };
}
