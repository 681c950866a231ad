/** Entry point of the console of a rehearsal: tabs, and one pane for each. */

import { h, setChildren } from "../ui/dom.js";
import { ClockPane } from "./clock_pane.js";
import { FaultsPane } from "./faults_pane.js";
import { LimitsPane } from "./limits_pane.js";
import { MailPane } from "./mail_pane.js";
import { PeoplePane } from "./people_pane.js";
import { SnapshotsPane } from "./snapshots_pane.js";
import { attempt, consoleStatus } from "./status_line.js";
import { TimelinePane } from "./timeline_pane.js";
import { WorldNames } from "./world_names.js";
import { WorldPane } from "./world_pane.js";

const world = new WorldNames();
const connection = h("span", { class: "connection" }, "Connecting…");

function showConnectionState(isConnected) {
  connection.textContent = isConnected ? "Live" : "Connection lost. Trying again…";
  connection.classList.toggle("lost", !isConnected);
}

/** Label and constructor of each pane, by ID. A pane is created when it is shown for the first time. */
const PANES = {
  timeline: ["Timeline", () => new TimelinePane(world, showConnectionState)],
  people: ["People", () => new PeoplePane(world)],
  clock: ["Clock", () => new ClockPane()],
  faults: ["Faults", () => new FaultsPane(world)],
  snapshots: ["Snapshots", () => new SnapshotsPane()],
  mail: ["Mail", () => new MailPane()],
  world: ["World", () => new WorldPane(world)],
  limits: ["Rate limits", () => new LimitsPane(world)],
};
const createdPanes = new Map();
const pane = h("div", { id: "pane", role: "tabpanel", tabindex: "-1" });
const tabs = Object.entries(PANES).map(([id, [label]]) =>
  h(
    "button",
    { type: "button", role: "tab", id: `tab-${id}`, "aria-controls": "pane", onclick: () => showPane(id) },
    label,
  ),
);

function showPane(id) {
  const [, create] = PANES[id];
  if (!createdPanes.has(id)) createdPanes.set(id, create());
  const shownPane = createdPanes.get(id);
  for (const tab of tabs) {
    const isSelected = tab.id === `tab-${id}`;
    tab.setAttribute("aria-selected", String(isSelected));
    tab.tabIndex = isSelected ? 0 : -1;
  }
  pane.setAttribute("aria-labelledby", `tab-${id}`);
  setChildren(pane, shownPane.node);
  history.replaceState(null, "", `#${id}`);
  attempt(() => shownPane.show());
}

/** Show the pane that the fragment of the URL names, or the timeline. */
function showPaneOfUrl() {
  const id = location.hash.slice(1);
  showPane(Object.hasOwn(PANES, id) ? id : "timeline");
}

/** Move between tabs with the arrow keys, Home and End. */
function moveFocus(event) {
  const index = tabs.indexOf(document.activeElement);
  const target = {
    ArrowRight: (index + 1) % tabs.length,
    ArrowLeft: (index + tabs.length - 1) % tabs.length,
    Home: 0,
    End: tabs.length - 1,
  }[event.key];
  if (target === undefined || index < 0) return;
  event.preventDefault();
  tabs[target].focus();
  tabs[target].click();
}

document.body.append(
  h(
    "header",
    { class: "console-bar" },
    h("a", { class: "brand", href: "/" }, "Hubbub console"),
    h("div", { role: "tablist", "aria-label": "Panes", onkeydown: moveFocus }, tabs),
    connection,
  ),
  h("main", null, pane),
  h("footer", { class: "console-status" }, consoleStatus),
);
await attempt(() => world.load());
showPaneOfUrl();
addEventListener("hashchange", showPaneOfUrl);
