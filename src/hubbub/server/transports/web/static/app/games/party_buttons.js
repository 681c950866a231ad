/** Buttons to join a party, to ask for an invite, and to invite another user. Their actions are loaded on first use. */

import { h } from "../ui/dom.js";
import { loadModule } from "../ui/lazy_modules.js";
import { t } from "../ui/translation.js";
import { loadApplication } from "./game_images.js";
import { canJoinDirectly, isJoinable, isPartyFull, ownJoinableActivities } from "./parties.js";

/** Return a button that runs an action of `party_actions.js` once at a time; `reason` disables it and is shown beside it. */
export function partyButton(label, style, run, reason = null) {
  const onClick = async ({ currentTarget: button }) => {
    button.disabled = true;
    try {
      const actions = await loadModule(() => import("./party_actions.js"));
      if (actions !== null) await run(actions);
    } finally {
      button.disabled = false;
    }
  };
  const button = h(
    "button",
    {
      type: "button",
      class: `button small ${style}`,
      disabled: reason !== null,
      dataset: { focus: label },
      onclick: onClick,
    },
    label,
  );
  return reason === null ? button : [button, h("span", { class: "muted small" }, reason)];
}

/** Return the button for the party of another user's activity, or null if it cannot be joined. */
export function joinButton(context, userId, activity) {
  const { state, me } = context;
  if (userId === me.id || !isJoinable(activity)) return null;
  const reason = isPartyFull(activity) ? t("The party is full.") : null;
  const { application_id: id, session_id: sessionId } = activity;
  if (!canJoinDirectly(state, userId, activity))
    return partyButton(t("Ask to join"), "", actions => actions.askToJoin(context, userId, activity), reason);
  const join = async actions => {
    const application = await loadApplication(context, id).catch(() => ({ id, name: activity.name }));
    await actions.joinParty(context, application, { userId, sessionId });
  };
  return partyButton(t("Join"), "", join, reason);
}

/** Return buttons that invite a user to the parties of the current user that are not full; none for bots. */
export function inviteButtons(context, user) {
  if (user.bot || user.id === context.me.id) return [];
  return ownJoinableActivities(context.state)
    .filter(activity => !isPartyFull(activity))
    .map(activity =>
      partyButton(t("Invite to {activity}", { activity: activity.name }), "quiet", actions =>
        actions.sendInvite(context, user.id, activity),
      ),
    );
}
