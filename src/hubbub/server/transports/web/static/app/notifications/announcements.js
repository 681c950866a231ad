/** Announcements of the server's operators: banners above the client that the user can dismiss. */

import { h, icon, reconcile } from "../ui/dom.js";
import { runAndReport } from "../ui/notices.js";
import { t } from "../ui/translation.js";

const REFRESH_MS = 5 * 60_000;
/** Longest delay of a browser timer. */
const TIMER_MAX_MS = 2 ** 31 - 1;

/** Create the list of banners. It is fetched in each new session, then every five minutes and when an announcement ends. */
export function createAnnouncements(context) {
  const node = h("div", { class: "announcements", role: "region", "aria-label": t("Announcements"), hidden: true });
  let announcements = [];
  let timer = 0;

  function drawAnnouncements() {
    const now = Date.now();
    announcements = announcements.filter(announcement => Date.parse(announcement.ends_at) > now);
    node.hidden = !announcements.length;
    reconcile(
      node,
      announcements.map(announcement => ({
        key: announcement.id,
        version: announcement.content,
        build: () => createBanner(announcement),
      })),
    );
    clearTimeout(timer);
    const remainingTimesMs = announcements.map(announcement => Date.parse(announcement.ends_at) - now);
    timer = setTimeout(
      refreshAnnouncements,
      Math.min(REFRESH_MS, TIMER_MAX_MS, ...remainingTimesMs.map(remainingMs => remainingMs + 1000)),
    );
  }

  function createBanner(announcement) {
    return h(
      "div",
      { class: `announcement ${announcement.level}`, role: "status" },
      h("p", {}, announcement.content),
      h(
        "button",
        {
          type: "button",
          class: "icon-button",
          "aria-label": t("Dismiss this announcement"),
          onclick: () => dismiss(announcement.id),
        },
        icon("close"),
      ),
    );
  }

  function dismiss(id) {
    announcements = announcements.filter(announcement => announcement.id !== id);
    drawAnnouncements();
    runAndReport(() => context.api.request("POST", `/users/@me/announcements/${id}/dismiss`));
  }

  async function refreshAnnouncements() {
    try {
      announcements = await context.api.request("GET", "/users/@me/announcements");
    } catch {
      // The next refresh tries again; an announcement is not worth an error message.
    }
    drawAnnouncements();
  }

  context.gateway.addEventListener("READY", refreshAnnouncements);
  return node;
}
