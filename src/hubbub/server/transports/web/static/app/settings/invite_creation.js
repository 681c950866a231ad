/** The dialog that creates an invite with all its options. */

import { ComponentType } from "../generated/enums.js";
import { INVITE_AGE_SECONDS_MAX, INVITE_ROLES_MAX, INVITE_USES_MAX } from "../generated/limits.js";
import { Permissions } from "../network/enums.js";
import { channelOptions } from "./channel_choices.js";
import { entitiesSetting } from "./entity_picker.js";
import { choiceSetting, switchSetting } from "./fields.js";
import { openActionDialog } from "./form.js";
import { targetUsersFile, targetUsersSetting } from "./invite_targets.js";

const DAY_SECONDS = 86_400;
/** Seconds until an invite expires; 0 for never. */
const AGE_OPTIONS = [
  [1_800, "30 minutes"],
  [3_600, "1 hour"],
  [21_600, "6 hours"],
  [43_200, "12 hours"],
  [DAY_SECONDS, "1 day"],
  [INVITE_AGE_SECONDS_MAX, `${INVITE_AGE_SECONDS_MAX / DAY_SECONDS} days`],
  [0, "Never"],
];
/** Maximum numbers of uses; 0 for no limit. */
const USES_OPTIONS = [0, 1, 5, 10, 25, 50, INVITE_USES_MAX].map(count => [count, count ? String(count) : "No limit"]);

/** Return the channels to which the user can invite people, as pairs of ID and name. */
export const invitableChannels = view =>
  channelOptions(view, Permissions.CREATE_INSTANT_INVITE | Permissions.VIEW_CHANNEL);

/** Open the dialog that creates an invite. Resolve to the invite, or null. */
export async function openInviteCreation(view) {
  const { access, context } = view;
  const rolesDenialReason = access.findDenialReason(Permissions.MANAGE_ROLES);
  const fields = {
    channel_id: choiceSetting("Channel", invitableChannels(view)),
    max_age: choiceSetting("Expires after", AGE_OPTIONS),
    max_uses: choiceSetting("Uses", USES_OPTIONS),
    temporary: switchSetting("Temporary membership", {
      hint: "Members without a role leave the guild when they go offline.",
    }),
    role_ids: entitiesSetting(view, "Roles", {
      type: ComponentType.ROLE_SELECT,
      hint: rolesDenialReason ?? "Given to everyone who joins. Only roles below your highest role.",
      placeholder: "No roles",
      max: INVITE_ROLES_MAX,
    }),
    target_users_file: targetUsersSetting("Only for these users"),
  };
  fields.max_age.write(INVITE_AGE_SECONDS_MAX);
  fields.role_ids.setDisabled(rolesDenialReason !== null);
  let created = null;
  await openActionDialog({
    title: "Create invite",
    label: "Create and copy link",
    danger: false,
    fields,
    run: async ({ channel_id: channelId, target_users_file: users, ...values }) => {
      const json = { ...values, unique: true };
      const path = `/channels/${channelId}/invites`;
      created = await (users === null
        ? context.api.request("POST", path, { json })
        : context.api.request("POST", path, {
            form: { payload_json: JSON.stringify(json), target_users_file: targetUsersFile(users) },
          }));
    },
  });
  return created;
}
