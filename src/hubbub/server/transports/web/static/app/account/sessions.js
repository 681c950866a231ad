/** User settings: the list of login sessions, which the user can log out. */

import { h } from "../ui/dom.js";
import { runAndReport, showNotice } from "../ui/notices.js";
import { formatTime } from "../ui/times.js";
import { t } from "../ui/translation.js";
import { openActionDialog } from "../settings/forms/form.js";
import { actionButton, listEntry } from "../settings/forms/layout.js";
import { createReload } from "../settings/forms/content_loader.js";
import { liveList } from "../settings/forms/live_list.js";

/** Parts of User-Agent headers and the browsers that send them; the first match counts. */
const BROWSERS = [
  ["Edg/", "Edge"],
  ["OPR/", "Opera"],
  ["Firefox/", "Firefox"],
  ["Chrome/", "Chrome"],
  ["Safari/", "Safari"],
];
/** Parts of User-Agent headers and their operating systems or devices; the first match counts. */
const SYSTEMS = [
  ["Android", "Android"],
  ["iPhone", "iPhone"],
  ["iPad", "iPad"],
  ["Windows", "Windows"],
  ["Mac OS", "macOS"],
  ["Linux", "Linux"],
];

/** Maximum length of the name of an unknown program, in characters. */
const PROGRAM_NAME_MAX = 40;

/** @type {import("../settings/forms/settings_dialog.js").SettingsScreen} */
export const SESSIONS_SCREEN = { id: "sessions", label: t("Sessions"), icon: "history", build };

function build(view) {
  const { api } = view.context;
  const logOutOthersButton = h(
    "button",
    { type: "button", class: "button small danger settings-more", hidden: true, onclick: () => logOutOthers() },
    t("Log out all other sessions"),
  );
  const list = liveList({
    label: t("Sessions"),
    emptyText: "",
    fetchItems: () => api.request("GET", "/auth/sessions"),
    describeItem: session => sessionEntry(view, session, () => list.refresh()),
    onDraw: sessions => {
      logOutOthersButton.hidden = sessions.length < 2;
    },
  });
  const logOutOthers = async () => {
    const isDone = await openActionDialog({
      title: t("Log out all other sessions?"),
      text: t("All other devices and programs have to log in again. This one stays logged in."),
      label: t("Log out all others"),
      run: () => api.request("DELETE", "/auth/sessions"),
    });
    if (!isDone) return;
    await list.refresh();
    showNotice(t("All your other sessions were logged out."), "done");
    view.main.focus();
  };
  // Sessions have no events, so the list is loaded again when the user returns to the page.
  createReload(logOutOthersButton, list.refresh, () => {});
  return [
    h("p", { class: "hint settings-intro" }, t("Log out any session that you do not recognize.")),
    ...list.nodes,
    logOutOthersButton,
  ];
}

function sessionEntry({ context, main }, session, onLoggedOut) {
  const name = programName(session.user_agent);
  const logOut = async () => {
    const isDone = await runAndReport(() => context.api.request("DELETE", `/auth/sessions/${session.id}`));
    await onLoggedOut();
    if (isDone) showNotice(t("{name} was logged out.", { name }), "done");
    main.focus();
  };
  const time = formatTime(session.created_at);
  const details = session.ip
    ? t("Logged in on {time} from {ip}", { time, ip: session.ip })
    : t("Logged in on {time}", { time });
  return {
    key: session.id,
    version: session.id,
    build: () =>
      listEntry({
        title: session.current ? [name, " ", h("span", { class: "tag" }, t("This session"))] : name,
        details: [details],
        actions: session.current ? [] : [actionButton(t("Log out"), logOut, { name: t("Log out {name}", { name }) })],
      }),
  };
}

/** Return the browser and system that a User-Agent header names, or the start of the header if the browser is unknown. */
function programName(userAgent) {
  if (!userAgent) return t("Unknown program");
  const find = names => names.find(([part]) => userAgent.includes(part))?.[1];
  const [browser, system] = [find(BROWSERS), find(SYSTEMS)];
  if (browser === undefined) return userAgent.split(" ")[0].slice(0, PROGRAM_NAME_MAX);
  return system === undefined ? browser : t("{browser} on {system}", { browser, system });
}
