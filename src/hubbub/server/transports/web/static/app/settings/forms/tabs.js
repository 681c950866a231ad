/** Tabs of a settings page. All panels stay in the document, so one form can have fields in several panels. */

import { h } from "../../ui/dom.js";
import { BACKWARD_KEY, FORWARD_KEY } from "../../ui/translation.js";

let tabsCount = 0;

/**
 * Return tabs with their panels. A `settings-error` event of a field opens its panel.
 *
 * @param {string} label
 * @param {{label: string, content: any, onShow?: () => void}[]} tabs `onShow` is called each time the tab is chosen
 */
export function settingsTabs(label, tabs) {
  const id = `tabs-${(tabsCount += 1)}`;
  const buttons = tabs.map((tab, index) =>
    h(
      "button",
      {
        type: "button",
        role: "tab",
        class: "settings-tab",
        id: `${id}-${index}`,
        "aria-controls": `${id}-${index}-panel`,
        onclick: () => chooseTab(index),
      },
      tab.label,
    ),
  );
  const panels = tabs.map((tab, index) =>
    h(
      "div",
      { role: "tabpanel", class: "settings-form", id: `${id}-${index}-panel`, "aria-labelledby": `${id}-${index}` },
      tab.content,
    ),
  );
  const chooseTab = index => {
    buttons.forEach((button, other) => {
      button.setAttribute("aria-selected", String(other === index));
      button.tabIndex = other === index ? 0 : -1;
      panels[other].hidden = other !== index;
    });
    tabs[index].onShow?.();
  };
  const list = h("div", { role: "tablist", class: "settings-tabs", "aria-label": label }, buttons);
  list.addEventListener("keydown", event => {
    const index = buttons.indexOf(/** @type {any} */ (document.activeElement));
    const target = { [FORWARD_KEY]: index + 1, [BACKWARD_KEY]: index - 1, Home: 0, End: buttons.length - 1 }[event.key];
    if (target === undefined) return;
    event.preventDefault();
    const next = (target + buttons.length) % buttons.length;
    chooseTab(next);
    buttons[next].focus();
  });
  panels.forEach((panel, index) => panel.addEventListener("settings-error", () => chooseTab(index)));
  chooseTab(0);
  return buttons.length > 1 ? [list, ...panels] : panels;
}
