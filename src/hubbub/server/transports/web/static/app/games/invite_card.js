/** Cards of game invites and join requests in messages. */

import { ActivityActionType } from "../generated/enums.js";
import { ACTIVITY_INVITE_LIFETIME_MS } from "../generated/limits.js";
import { creationTimeMs, isNewer } from "../network/ids.js";
import { platformNow } from "../network/platform_clock.js";
import { h, setChildren } from "../ui/dom.js";
import { LayoutPart } from "../ui/layout_part.js";
import { t } from "../ui/translation.js";
import { appIcon } from "../content/app_icons.js";
import { partySizeText } from "./activity/text.js";
import { coverPath, findImagePath } from "./game_images.js";
import { isPartyFull, ownJoinableActivities } from "./parties.js";
import { partyButton } from "./party_buttons.js";

/** Delay after the end of an invite, so that it has ended when the card is drawn. */
const EXPIRY_DELAY_MS = 1_000;

/**
 * IDs of the join requests that the user declined. The platform has no event for a declined request, so only this page
 * stores them.
 */
const declinedMessageIds = new Set();

/** The card of a message with an activity. `createPart` sets `message`. */
class GameInvite extends LayoutPart {
  static kinds = ["presences", "messages", "relationships"];
  /** @type {any} */
  message;
  #version = null;
  #timer;

  begin() {
    const { id } = this.message;
    const remainingMs = creationTimeMs(id) + ACTIVITY_INVITE_LIFETIME_MS - platformNow();
    if (remainingMs > 0) this.#timer = setTimeout(() => this.draw(), remainingMs + EXPIRY_DELAY_MS);
  }

  end() {
    clearTimeout(this.#timer);
  }

  draw() {
    const activity = this.#hostActivity();
    const { text, controls, key } = this.#content(activity);
    const version = JSON.stringify([text, key, activity]);
    if (version === this.#version) return;
    this.#version = version;
    const { application } = this.message;
    const banner = h("img", { class: "game-invite-cover", alt: "", loading: "lazy", hidden: true });
    this.#showCover(banner, activity);
    const partySize = partySizeText(activity?.party);
    const details = [activity?.details, activity?.state].filter(Boolean).join(" · ");
    const focusName = this.contains(document.activeElement)
      ? /** @type {any} */ (document.activeElement).dataset.focus
      : null;
    setChildren(
      this,
      h(
        "section",
        {
          class: "game-invite",
          "aria-label": t("Game invite: {game}", { game: application?.name ?? t("unknown game") }),
        },
        banner,
        h(
          "div",
          { class: "game-invite-head" },
          appIcon(application ?? { id: "0", name: "?" }),
          h(
            "div",
            { class: "game-invite-texts" },
            h("p", { class: "activity-name", dir: "auto" }, application?.name ?? t("Unknown game")),
            details ? h("p", { class: "small", dir: "auto" }, details) : null,
            partySize ? h("p", { class: "muted small" }, t("Party: {size}", { size: partySize })) : null,
          ),
        ),
        h("p", { class: "game-invite-status" }, text),
        controls.length ? h("div", { class: "game-invite-controls" }, controls) : null,
      ),
    );
    if (focusName) /** @type {any} */ (this.querySelector(`[data-focus="${CSS.escape(focusName)}"]`))?.focus();
  }

  /** Return the activity that the message is about, or undefined if its host does not show it. */
  #hostActivity() {
    const { state, me } = this.context;
    const { activity, author, application } = this.message;
    const isRequest = activity.type === ActivityActionType.JOIN_REQUEST;
    const hostId = !isRequest ? author.id : author.id === me.id ? this.#otherUserId() : me.id;
    return state
      .activitiesOf(hostId)
      .find(
        candidate =>
          candidate.application_id === application?.id &&
          (!activity.party_id || candidate.party?.id === activity.party_id),
      );
  }

  #otherUserId() {
    return this.context.state.channels.get(this.message.channel_id)?.recipients?.[0]?.id;
  }

  async #showCover(banner, activity) {
    const { application, activity: action } = this.message;
    if (action.type === ActivityActionType.JOIN_REQUEST) return;
    const path =
      (await findImagePath(this.context, application?.id, activity?.assets?.invite_cover_image, 512)) ??
      (application ? coverPath(application) : null);
    if (path === null) return;
    banner.src = path;
    banner.hidden = false;
  }

  /** Return the status of the invite, its controls, and a key that changes with the controls. */
  #content(activity) {
    const { state, me } = this.context;
    const { activity: action, author } = this.message;
    const name = state.displayName(author, null);
    const isOwn = author.id === me.id;
    const isExpired = platformNow() >= creationTimeMs(this.message.id) + ACTIVITY_INVITE_LIFETIME_MS;
    const withoutControls = text => ({ text, controls: [], key: "" });
    if (action.type === ActivityActionType.JOIN_REQUEST)
      return isOwn
        ? withoutControls(
            isExpired
              ? t("Your request has expired.")
              : t("You asked to join. You get an invite when your request is accepted."),
          )
        : this.#requestContent(name, isExpired);
    if (action.type !== ActivityActionType.JOIN) return withoutControls(t("{name} shared a game.", { name }));
    if (isExpired) return withoutControls(t("This invite has expired."));
    if (isOwn) return withoutControls(activity ? t("You sent an invite to your party.") : t("Your party has ended."));
    // The activities of a user who is neither a friend nor a member of a common guild are not visible.
    if (activity === undefined && state.presences.has(author.id)) return withoutControls(t("The party has ended."));
    const reason = activity !== undefined && isPartyFull(activity) ? t("The party is full.") : null;
    return {
      text: t("{name} invited you to play.", { name }),
      controls: [partyButton(t("Join"), "", actions => this.#join(actions), reason)],
      key: `join ${reason}`,
    };
  }

  #join(actions) {
    const { application, activity, author, channel_id: channelId, id: messageId } = this.message;
    const sessionId = activity.session_id;
    return actions.joinParty(this.context, application, { userId: author.id, sessionId, channelId, messageId });
  }

  #requestContent(name, isExpired) {
    const { state } = this.context;
    const { author, application, id } = this.message;
    if (this.#isAnswered()) return { text: t("You invited {name}.", { name }), controls: [], key: "" };
    if (isExpired) return { text: t("The request of {name} has expired.", { name }), controls: [], key: "" };
    if (declinedMessageIds.has(id))
      return { text: t("You declined the request of {name}.", { name }), controls: [], key: "" };
    const [ownActivity] = ownJoinableActivities(state, application?.id);
    const reason =
      ownActivity === undefined
        ? t("Open a party in {game} to accept.", { game: application?.name ?? t("the game") })
        : isPartyFull(ownActivity)
          ? t("Your party is full.")
          : null;
    const decline = () => {
      declinedMessageIds.add(id);
      this.draw();
    };
    return {
      text: t("{name} asks to join your party.", { name }),
      controls: [
        partyButton(t("Accept"), "", actions => actions.sendInvite(this.context, author.id, ownActivity), reason),
        h(
          "button",
          { type: "button", class: "button small quiet", dataset: { focus: "Decline" }, onclick: decline },
          t("Decline"),
        ),
      ].flat(),
      key: `request ${reason} ${ownActivity?.session_id}`,
    };
  }

  /** Return whether the user answered the join request with an invite. */
  #isAnswered() {
    const { state, me } = this.context;
    const { id, application, channel_id: channelId } = this.message;
    return (state.logs.get(channelId)?.messages ?? []).some(
      message =>
        message.author.id === me.id &&
        message.activity?.type === ActivityActionType.JOIN &&
        message.application?.id === application?.id &&
        isNewer(message.id, id),
    );
  }
}

customElements.define("hubbub-game-invite", GameInvite);
