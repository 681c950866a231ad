/** The dialog that creates an invite with all its options. */

import { ComponentType } from "../../generated/enums.js";
import { INVITE_AGE_SECONDS_MAX, INVITE_ROLES_MAX, INVITE_USES_MAX } from "../../generated/limits.js";
import { Permissions } from "../../network/enums.js";
import { t, tn } from "../../ui/translation.js";
import { channelOptions } from "../channels/choices.js";
import { entitiesSetting } from "../forms/entity_picker.js";
import { choiceSetting, switchSetting } from "../forms/fields.js";
import { openActionDialog } from "../forms/form.js";
import { linkTargetSetting } from "./link_target.js";
import { targetUsersFile, targetUsersSetting } from "./targets.js";

const DAY_SECONDS = 86_400;
/** Seconds until an invite expires; 0 for never. */
const AGE_OPTIONS = [
  [1_800, t("30 minutes")],
  [3_600, t("1 hour")],
  [21_600, t("6 hours")],
  [43_200, t("12 hours")],
  [DAY_SECONDS, t("1 day")],
  [INVITE_AGE_SECONDS_MAX, tn("{count} day", "{count} days", INVITE_AGE_SECONDS_MAX / DAY_SECONDS)],
  [0, t("Never")],
];
/** Maximum numbers of uses; 0 for no limit. */
const USES_OPTIONS = [0, 1, 5, 10, 25, 50, INVITE_USES_MAX].map(count => [
  count,
  count ? String(count) : t("No limit"),
]);

/** Return the channels to which the user can invite people, as pairs of ID and label. */
export const invitableChannels = view =>
  channelOptions(view, Permissions.CREATE_INSTANT_INVITE | Permissions.VIEW_CHANNEL);

/** Open the dialog that creates an invite. Resolve to the invite, or null. */
export async function openInviteCreation(view) {
  const { access, context } = view;
  const rolesDenialReason = access.findDenialReason(Permissions.MANAGE_ROLES);
  const fields = {
    channel_id: choiceSetting(t("Channel"), invitableChannels(view)),
    target: linkTargetSetting(view),
    max_age: choiceSetting(t("Expires after"), AGE_OPTIONS),
    max_uses: choiceSetting(t("Uses"), USES_OPTIONS),
    temporary: switchSetting(t("Temporary membership"), {
      hint: t("Members without a role leave the guild when they go offline."),
    }),
    role_ids: entitiesSetting(view, t("Roles"), {
      type: ComponentType.ROLE_SELECT,
      hint: rolesDenialReason ?? t("Given to everyone who joins. Only roles below your highest role."),
      placeholder: t("No roles"),
      max: INVITE_ROLES_MAX,
    }),
    target_users_file: targetUsersSetting(t("Only for these users")),
  };
  const showTargets = () => fields.target.showChannel(fields.channel_id.read());
  fields.channel_id.node.addEventListener("change", showTargets);
  showTargets();
  fields.max_age.write(INVITE_AGE_SECONDS_MAX);
  fields.role_ids.setDisabled(rolesDenialReason !== null);
  let invite = null;
  await openActionDialog({
    title: t("Create invite"),
    label: t("Create and copy link"),
    isDangerous: false,
    fields,
    run: async ({ channel_id: channelId, target, target_users_file: users, ...values }) => {
      const json = { ...values, ...target, unique: true };
      const path = `/channels/${channelId}/invites`;
      invite = await (users === null
        ? context.api.request("POST", path, { json })
        : context.api.request("POST", path, {
            form: { payload_json: JSON.stringify(json), target_users_file: targetUsersFile(users) },
          }));
    },
  });
  return invite;
}
