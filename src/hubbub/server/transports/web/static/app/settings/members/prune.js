/** The dialog that removes inactive members. */

import { ComponentType } from "../../generated/enums.js";
import { PRUNE_DAYS_DEFAULT, PRUNE_DAYS_MAX, PRUNE_DAYS_MIN, PRUNE_ROLES_MAX } from "../../generated/limits.js";
import { Permissions } from "../../network/enums.js";
import { h } from "../../ui/dom.js";
import { runAndReport, showNotice } from "../../ui/notices.js";
import { t, tn } from "../../ui/translation.js";
import { entitiesSetting } from "../forms/entity_picker.js";
import { numberSetting, reasonSetting } from "../forms/fields.js";
import { openActionDialog } from "../forms/form.js";

/** Delay before members are counted again after a change of the fields. */
const PRUNE_COUNT_DELAY_MS = 300;

/** Return why the user cannot remove inactive members, or null. */
export function pruneDenialReason(access) {
  return access.findDenialReason(Permissions.KICK_MEMBERS) ?? access.findDenialReason(Permissions.MANAGE_GUILD);
}

/** Open the dialog that counts and removes inactive members. Resolve to whether the request succeeded. */
export async function openPruneDialog(view) {
  const { context, guildId } = view,
    path = `/guilds/${guildId}/prune`;
  const days = numberSetting(t("Days without activity"), {
    hint: t("From {min} to {max}.", { min: PRUNE_DAYS_MIN, max: PRUNE_DAYS_MAX }),
    min: String(PRUNE_DAYS_MIN),
    max: String(PRUNE_DAYS_MAX),
    required: true,
  });
  days.write(PRUNE_DAYS_DEFAULT);
  const roles = entitiesSetting(view, t("Also members with these roles"), {
    type: ComponentType.ROLE_SELECT,
    max: PRUNE_ROLES_MAX,
    placeholder: t("No roles"),
    hint: t("Members with any other role stay."),
  });
  const countNode = h("strong", { role: "status" }, t("Counting…"));
  let timer,
    requestCount = 0,
    prunedCount = 0;
  const fetchCount = async () => {
    const requestNumber = (requestCount += 1),
      includeRoles = roles.read();
    const query = { days: days.read(), include_roles: includeRoles.length ? includeRoles.join(",") : undefined };
    try {
      const pruneResult = await context.api.request("GET", path, { query });
      if (requestNumber === requestCount)
        countNode.textContent = tn(
          "{count} member would be removed.",
          "{count} members would be removed.",
          pruneResult.pruned,
        );
    } catch (error) {
      if (requestNumber === requestCount)
        countNode.textContent = error.userText ?? t("The members could not be counted.");
    }
  };
  for (const { node } of [days, roles])
    node.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(fetchCount, PRUNE_COUNT_DELAY_MS);
    });
  runAndReport(fetchCount);
  const isDone = await openActionDialog({
    title: t("Remove inactive members"),
    text: [
      t("Members without a role who were not active for this long are removed. They can join again with an invite."),
      " ",
      countNode,
    ],
    label: t("Remove members"),
    fields: { days, include_roles: roles, reason: reasonSetting() },
    run: async ({ days: dayCount, include_roles: includeRoles, reason }) => {
      const json = { days: dayCount, include_roles: includeRoles, compute_prune_count: true };
      ({ pruned: prunedCount } = await context.api.request("POST", path, { json, reason: reason ?? undefined }));
    },
  });
  if (isDone) showNotice(tn("{count} member removed.", "{count} members removed.", prunedCount), "done");
  return isDone;
}
