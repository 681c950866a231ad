/** The dialog with the linked roles of a guild, which members get by connecting accounts of apps. */

import { h, setChildren } from "../ui/dom.js";
import { openDialog } from "../ui/dialogs.js";
import { runAndReport, showNotice } from "../ui/notices.js";
import { t } from "../ui/translation.js";
import { colorSwatch, colorsOf } from "../settings/roles/colors.js";
import { requirementText, userValueText } from "../settings/roles/conditions.js";

/** Open the dialog. */
export function openLinkedRoles(context, guildId) {
  const { api, state } = context;
  openDialog(t("Linked roles"), () => {
    const node = h("div", { class: "stack" }, h("p", { class: "muted", role: "status" }, t("Loading…")));
    runAndReport(async () => {
      const roles = linkedRolesOf(state.guilds.get(guildId));
      const [applications, ...configurations] = await Promise.all([
        api.request("GET", `/guilds/${guildId}/role-connections/applications`),
        ...roles.map(role => api.request("GET", `/guilds/${guildId}/roles/${role.id}/connections/configuration`)),
      ]);
      const applicationsById = new Map(applications.map(application => [application.id, application]));
      setChildren(
        node,
        h(
          "p",
          { class: "muted" },
          t("Connect an account of an app to get these roles. The app checks the conditions."),
        ),
        h(
          "ul",
          { class: "settings-list linked-roles" },
          roles.map((role, index) => linkedRoleEntry(context, guildId, role, configurations[index], applicationsById)),
        ),
      );
    });
    return node;
  });
}

/** Return the roles of a guild that require connected accounts, highest first. */
export const linkedRolesOf = guild =>
  (guild?.roles ?? [])
    .filter(role => role.tags !== undefined && "guild_connections" in role.tags)
    .sort((a, b) => b.position - a.position);

function linkedRoleEntry(context, guildId, role, alternatives, applicationsById) {
  const button = h("button", { type: "button", class: "button small" });
  const status = h("p", { class: "small", role: "status" });
  let hasRole = context.state.member(guildId, context.me.id)?.roles.includes(role.id) ?? false;
  const draw = text => {
    button.textContent = hasRole ? t("Remove role") : t("Get role");
    button.setAttribute(
      "aria-label",
      hasRole ? t("Remove role {name}", { name: role.name }) : t("Get role {name}", { name: role.name }),
    );
    button.classList.toggle("quiet", hasRole);
    status.textContent = text ?? (hasRole ? t("You have this role.") : "");
    status.hidden = !status.textContent;
  };
  button.addEventListener("click", () =>
    runAndReport(async () => {
      const path = `/guilds/${guildId}/roles/${role.id}/connections`;
      try {
        if (hasRole) await context.api.request("POST", `${path}/unassign`);
        else await context.api.request("POST", `${path}/assign`);
      } catch (error) {
        if (error.status !== 403) throw error;
        draw(t("You do not meet the conditions yet. Connect your account, then try again."));
        return;
      }
      hasRole = !hasRole;
      draw();
      showNotice(
        hasRole
          ? t("You have the role {name} now.", { name: role.name })
          : t("{name} was removed.", { name: role.name }),
        "done",
      );
    }),
  );
  draw();
  const usedApplications = new Set(
    alternatives.flat().flatMap(requirement => applicationsById.get(requirement.application_id) ?? []),
  );
  return h(
    "li",
    { class: "linked-role" },
    h("p", { class: "linked-role-name" }, colorSwatch(colorsOf(role)), h("strong", { dir: "auto" }, role.name)),
    alternatives.map((requirements, index) => [
      index ? h("p", { class: "muted small" }, t("or")) : null,
      h(
        "ul",
        { class: "linked-role-conditions" },
        requirements.map(requirement => conditionItem(requirement, applicationsById.get(requirement.application_id))),
      ),
    ]),
    status,
    h("div", { class: "row" }, button, [...usedApplications].map(connectLink)),
  );
}

function conditionItem(requirement, application) {
  const record = application?.metadata.find(other => other.key === requirement.connection_metadata_field);
  const value = record && application.connection?.metadata?.[record.key];
  return h(
    "li",
    { dir: "auto" },
    requirementText(requirement, application),
    value === undefined
      ? null
      : h("span", { class: "muted small" }, ` ${t("(yours: {value})", { value: userValueText(record, value) })}`),
  );
}

/** Return the link to the page where the user connects an account, or the name of the connected account. */
function connectLink({ name, connection, role_connections_verification_url: url }) {
  if (connection !== null) {
    const account = connection.platform_username;
    return h(
      "span",
      { class: "muted small" },
      account ? t("Connected as {account}", { account }) : t("Connected to {name}", { name }),
    );
  }
  if (url === null) return null;
  return h(
    "a",
    { class: "button small quiet", href: url, target: "_blank", rel: "noopener noreferrer" },
    t("Connect to {name}", { name }),
  );
}
