/** Rules of parties: whether an activity can be joined, and how (spec/sdk.md#10.3). */

import { ActivityFlags } from "../generated/enums.js";
import { RelationshipType } from "../network/enums.js";

/** Return whether the party of an activity has no free slot. */
export function isPartyFull({ party }) {
  const [current, max] = party?.size ?? [];
  return Boolean(max) && current >= max;
}

/**
 * Return whether an activity has a party that others can join on a computer; the party may be full. Activities that run
 * inside the client (EMBEDDED) are joined in another way.
 */
export function isJoinable({ flags = 0, party, supported_platforms: platforms }) {
  const supportsDesktop = !platforms?.length || platforms.includes("desktop");
  return Boolean(flags & ActivityFlags.JOIN && party?.id) && supportsDesktop && !(flags & ActivityFlags.EMBEDDED);
}

/**
 * Return whether the user can join an activity of another user without an invite. The activity must be joinable; its party
 * and the flag JOIN are not checked here.
 */
export function canJoinDirectly(state, userId, { flags = 0 }) {
  if (flags & ActivityFlags.PARTY_PRIVACY_FRIENDS && state.relationships.get(userId)?.type === RelationshipType.FRIEND)
    return true;
  const ownVoiceState = state.myVoiceState();
  if (!(flags & ActivityFlags.PARTY_PRIVACY_VOICE_CHANNEL) || ownVoiceState === null) return false;
  return state.voiceStatesIn(ownVoiceState.channel_id).some(voiceState => voiceState.user_id === userId);
}

/** Return the activities of the current user that others can join; only those of one application if `applicationId` is set. */
export function ownJoinableActivities(state, applicationId) {
  return state
    .activitiesOf(state.me.id)
    .filter(
      activity => isJoinable(activity) && (applicationId === undefined || activity.application_id === applicationId),
    );
}
