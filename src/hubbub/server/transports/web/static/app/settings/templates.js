/** Guild settings: the template from which users create guilds like this one. */

import { TEMPLATE_DESCRIPTION_MAX, TEMPLATE_NAME_MAX } from "../generated/limits.js";
import { Permissions } from "../network/enums.js";
import { copyText } from "../ui/clipboard.js";
import { h, icon, setChildren } from "../ui/dom.js";
import { runAndReport, showNotice } from "../ui/notices.js";
import { timeElement } from "../ui/times.js";
import { t, tNodes } from "../ui/translation.js";
import { textSetting } from "./forms/fields.js";
import { openActionDialog } from "./forms/form.js";
import { actionButton, listEntry, lockedNotice } from "./forms/layout.js";
import { createReload, loadAndShow } from "./forms/content_loader.js";

/** @type {import("./forms/settings_dialog.js").SettingsScreen} */
export const TEMPLATES_SCREEN = { id: "templates", label: t("Template"), icon: "copy", build };

function build(view) {
  const { context, guildId } = view;
  const denialReason = view.access.findDenialReason(Permissions.MANAGE_GUILD);
  if (denialReason !== null) {
    view.onChange(() => view.access.hasPermissions(Permissions.MANAGE_GUILD) && view.show(TEMPLATES_SCREEN.id));
    return lockedNotice(t("You cannot see the template. {reason}", { reason: denialReason }));
  }
  const loadTemplate = async () => (await context.api.request("GET", `/guilds/${guildId}/templates`))[0] ?? null;
  return loadAndShow(view, TEMPLATES_SCREEN.label, loadTemplate, template =>
    buildTemplate(view, template, loadTemplate),
  );
}

function buildTemplate(view, loadedTemplate, loadTemplate) {
  const node = h("div", { class: "settings-form" });
  const showTemplate = template => {
    const version = JSON.stringify(template);
    if (node.dataset.version === version) return;
    node.dataset.version = version;
    const hasFocus = node.contains(document.activeElement);
    setChildren(
      node,
      template === null ? emptyContent(view, showTemplate) : templateContent(view, template, showTemplate),
    );
    if (hasFocus || document.activeElement === document.body) node.querySelector("button")?.focus();
  };
  const reload = createReload(node, loadTemplate, showTemplate);
  view.onChange(() => {
    if (!view.access.hasPermissions(Permissions.MANAGE_GUILD)) view.show(TEMPLATES_SCREEN.id);
    // Templates have no events: `is_dirty` in the response is whether the guild changed since the last sync.
    else reload();
  });
  showTemplate(loadedTemplate);
  return [
    h(
      "p",
      { class: "hint settings-intro" },
      t(
        "A template copies channels, roles and settings, not members or messages. Everyone with the link can " +
          "create a guild from it.",
      ),
    ),
    node,
  ];
}

const templateFields = () => ({
  name: textSetting(t("Name"), { maxlength: TEMPLATE_NAME_MAX, required: true }),
  description: textSetting(t("Description"), {
    maxlength: TEMPLATE_DESCRIPTION_MAX,
    isNullable: true,
    multiline: true,
  }),
});

function emptyContent({ context, guildId }, showTemplate) {
  const create = async () => {
    let template = null;
    const isConfirmed = await openActionDialog({
      title: t("Create template"),
      label: t("Create"),
      isDangerous: false,
      fields: templateFields(),
      run: async values => {
        template = await context.api.request("POST", `/guilds/${guildId}/templates`, { json: values });
      },
    });
    if (!isConfirmed) return;
    showTemplate(template);
    showNotice(t("Template created."), "done");
  };
  return [
    h("p", { class: "muted", role: "status" }, t("This guild has no template yet.")),
    h(
      "div",
      { class: "row" },
      h("button", { type: "button", class: "button small", onclick: create }, icon("plus"), t("Create template")),
    ),
  ];
}

/** Return the nodes with the number of uses of a template and the time of its last sync. */
function usageNodes({ usage_count: count, updated_at: updatedAt }) {
  const time = timeElement(Date.parse(updatedAt), "f");
  return count === 1
    ? tNodes("Used once · synced {time}", { time })
    : tNodes("Used {count} times · synced {time}", { count, time });
}

function templateContent({ context, guildId }, template, showTemplate) {
  const path = `/guilds/${guildId}/templates/${template.code}`,
    link = `${context.webUrl}/template/${template.code}`;
  const sync = () =>
    runAndReport(async () => {
      showTemplate(await context.api.request("PUT", path));
      showNotice(t("The template has the current channels, roles and settings."), "done");
    });
  const copy = () => copyText(link, t("Link copied."));
  const edit = async () => {
    const fields = templateFields();
    fields.name.write(template.name);
    fields.description.write(template.description);
    await openActionDialog({
      title: t("Edit template"),
      label: t("Save"),
      isDangerous: false,
      fields,
      run: async values => showTemplate(await context.api.request("PATCH", path, { json: values })),
    });
  };
  const remove = async () => {
    const isConfirmed = await openActionDialog({
      title: t("Delete {name}?", { name: template.name }),
      text: t("The link stops working. Guilds that were created from the template stay."),
      label: t("Delete template"),
      run: () => context.api.request("DELETE", path),
    });
    if (!isConfirmed) return;
    showTemplate(null);
    showNotice(t("Template deleted."), "done");
  };
  const isChanged = Boolean(template.is_dirty);
  return [
    h(
      "ul",
      { class: "settings-list", "aria-label": t("Templates") },
      listEntry({
        title: template.name,
        details: [
          template.description,
          h("a", { href: link, target: "_blank", rel: "noopener" }, link),
          h("span", null, ...usageNodes(template)),
        ],
        actions: [
          actionButton(t("Copy link"), copy),
          actionButton(t("Edit"), edit),
          actionButton(t("Delete"), remove, { isDangerous: true }),
        ],
      }),
    ),
    h(
      "div",
      { class: "template-state" },
      h(
        "p",
        { role: "status" },
        isChanged
          ? t("The guild changed since the last sync.")
          : t("The template has the current channels, roles and settings."),
      ),
      actionButton(t("Sync template"), sync, {
        denialReason: isChanged ? null : t("Nothing changed since the last sync."),
      }),
    ),
  ];
}
