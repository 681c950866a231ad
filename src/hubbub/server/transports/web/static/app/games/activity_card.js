/** Cards of activities (rich presence): images, texts with links, time, party and buttons. */

import { ActivityType } from "../network/enums.js";
import { h, reconcile } from "../ui/dom.js";
import { LayoutPart } from "../ui/layout_part.js";
import { t } from "../ui/translation.js";
import { appIcon } from "../content/app_icons.js";
import { activityKind, activityPhrase, customStatusText, hasCard, partySizeText } from "./activity/text.js";
import { activityTime } from "./activity/time.js";
import { findImagePath, loadApplication } from "./game_images.js";
import { canJoinDirectly } from "./parties.js";
import { joinButton } from "./party_buttons.js";

/** Return a link that opens in a new tab without access to this page, or the content itself if the URL is not a web URL. */
function externalLink(url, content, attributes = {}) {
  if (!/^https?:\/\//i.test(url ?? "")) return content;
  return h("a", { href: url, target: "_blank", rel: "noopener noreferrer nofollow", ...attributes }, content);
}

function activityCard(context, userId, activity) {
  const { assets = {}, party } = activity;
  const partySize = partySizeText(party);
  return h(
    "section",
    { class: "activity-card", "aria-label": activityPhrase(activity) },
    h("p", { class: "activity-kind" }, activityKind(activity)),
    h(
      "div",
      { class: "activity-content" },
      activityArt(context, activity),
      h(
        "div",
        { class: "activity-texts" },
        h(
          "p",
          { class: "activity-name", dir: "auto" },
          activity.type === ActivityType.STREAMING ? externalLink(activity.url, activity.name) : activity.name,
        ),
        activity.details ? h("p", { dir: "auto" }, externalLink(activity.details_url, activity.details)) : null,
        activity.state || partySize
          ? h(
              "p",
              null,
              activity.state
                ? h("span", { dir: "auto" }, externalLink(activity.state_url, activity.state))
                : h("span", null, t("Party")),
              partySize ? h("span", { class: "activity-party" }, ` (${partySize})`) : null,
            )
          : null,
        assets.large_text && activity.type === ActivityType.LISTENING
          ? h("p", { class: "muted", dir: "auto" }, assets.large_text)
          : null,
        activityTime(activity.timestamps),
      ),
    ),
    joinRow(context, userId, activity),
    linkButtons(context, userId, activity),
  );
}

function joinRow(context, userId, activity) {
  const button = joinButton(context, userId, activity);
  return button === null ? null : h("div", { class: "activity-buttons" }, button);
}

/** Return the images of an activity, with the icon of the application in place of a missing large image. */
function activityArt(context, { application_id: applicationId, name, assets = {} }) {
  const large = h("span", { class: "activity-large" }, appIcon({ id: applicationId ?? "0", name }));
  const small = h("span", { class: "activity-small", hidden: true });
  const showImage = async (container, image, text, url) => {
    const path = await findImagePath(context, applicationId, image);
    if (path === null) return false;
    const picture = h("img", { src: path, alt: text ?? "", title: text, loading: "lazy" });
    container.replaceChildren(externalLink(url, picture, { "aria-label": text ?? url }));
    container.hidden = false;
    return true;
  };
  showImage(large, assets.large_image, assets.large_text, assets.large_url).then(async isShown => {
    if (isShown || !applicationId) return;
    const application = await loadApplication(context, applicationId).catch(() => null);
    if (application?.icon) large.replaceChildren(appIcon(application));
  });
  showImage(small, assets.small_image, assets.small_text, assets.small_url);
  return h("div", { class: "activity-art" }, large, small);
}

/** Return the buttons of an activity. Their URLs are not part of the presence; a button without a URL is disabled. */
function linkButtons({ api }, userId, activity) {
  const labels = activity.buttons ?? [];
  if (!labels.length) return null;
  const createButton = (label, url) =>
    url
      ? externalLink(url, label, { class: "button small quiet" })
      : h("button", { type: "button", class: "button small quiet", disabled: true }, label);
  const container = h(
    "div",
    { class: "activity-buttons" },
    labels.map(label => createButton(label)),
  );
  const { session_id: sessionId, application_id: applicationId } = activity;
  if (!sessionId || !applicationId) return container;
  const path = `/users/${userId}/sessions/${encodeURIComponent(sessionId)}/activities/${applicationId}/metadata`;
  api.request("GET", path).then(
    ({ button_urls: urls }) =>
      container.replaceChildren(...labels.map((label, index) => createButton(label, urls[index]))),
    () => {},
  );
  return container;
}

/** The activities of one user: the custom status as text, all others as cards. `createPart` sets `userId`. */
class ActivityCards extends LayoutPart {
  static kinds = ["presences", "relationships"];
  /** @type {string} */
  userId;

  draw() {
    const activities = this.context.state.activitiesOf(this.userId);
    const custom = activities.find(activity => activity.type === ActivityType.CUSTOM);
    const entries = activities.filter(hasCard).map(activity => ({
      key: activity.id ?? activity.name,
      version: JSON.stringify([activity, canJoinDirectly(this.context.state, this.userId, activity)]),
      build: () => activityCard(this.context, this.userId, activity),
    }));
    const customText = custom ? customStatusText(custom) : "";
    if (customText)
      entries.unshift({
        key: "custom",
        version: customText,
        build: () => h("p", { class: "custom-status", dir: "auto" }, customText),
      });
    this.hidden = !entries.length;
    reconcile(this, entries);
  }
}

customElements.define("hubbub-activity-cards", ActivityCards);
