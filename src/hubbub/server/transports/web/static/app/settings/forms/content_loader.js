/** Screens whose content is loaded from the API, and loaded again when it may have changed. */

import { h } from "../../ui/dom.js";
import { runAndReport } from "../../ui/notices.js";
import { t } from "../../ui/translation.js";
import { SettingsForm } from "./form.js";
import { lockedNotice, viewOnlyNotice } from "./layout.js";

/** Delay before content is loaded again, so that several changes in a row cause one request. */
const CONTENT_RELOAD_DELAY_MS = 300;

/**
 * Load the content of a screen and show it. Return the status text that is shown while it loads.
 *
 * @param {any} view
 * @param {string} title the heading of the page
 * @param {() => Promise<any>} load resolves to the data of the content
 * @param {(data: any) => any} build returns the content; can call `view.useForm` and `view.onChange`
 */
export function loadAndShow(view, title, load, build) {
  const status = h("p", { class: "muted", role: "status" }, t("Loading…"));
  runAndReport(async () => {
    try {
      const loadedData = await load();
      // The user may have opened another screen.
      if (status.isConnected) view.setContent(title, build(loadedData));
    } catch (error) {
      status.textContent = t("This could not be loaded. Open the screen again.");
      throw error;
    }
  });
  return status;
}

/**
 * Return a function that loads content again; several calls in a row cause one request.
 *
 * The content is also loaded when the user returns to the page, because some changes have no event.
 *
 * @param {HTMLElement} node part of the content; after it was removed, nothing is loaded
 * @param {() => Promise<any>} load resolves to the data of the content
 * @param {(data: any) => void} show draws the data
 */
export function createReload(node, load, show) {
  let timer;
  const reload = () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      if (!node.isConnected) return;
      runAndReport(async () => {
        const loadedData = await load();
        if (node.isConnected) show(loadedData);
      });
    }, CONTENT_RELOAD_DELAY_MS);
  };
  const onFocus = () => {
    if (node.isConnected) reload();
    else window.removeEventListener("focus", onFocus);
  };
  window.addEventListener("focus", onFocus);
  return reload;
}

/**
 * Return the content of a screen with one form, whose values come from the API.
 *
 * @param {any} view
 * @param {import("./settings_dialog.js").SettingsScreen} screen
 * @param {object} options
 * @param {() => string | null} options.viewDenialReason returns why the user cannot see the values, or null
 * @param {() => string | null} options.changeDenialReason returns why the user cannot change the values, or null
 * @param {() => Promise<any>} options.load returns the values
 * @param {(changes: any) => Promise<any>} options.save resolves to the stored values
 * @param {() => Record<string, import("./fields.js").SettingsField>} options.createFields
 * @param {(fields: any) => any} options.layout returns the content of the form
 * @param {(values: any) => void} [options.onValues] called each time values are loaded or stored
 */
export function loadAndShowForm(
  view,
  screen,
  { viewDenialReason, changeDenialReason, load, save, createFields, layout, onValues },
) {
  const hiddenReason = viewDenialReason();
  if (hiddenReason !== null) {
    view.onChange(() => viewDenialReason() === null && view.show(screen.id));
    return lockedNotice(hiddenReason);
  }
  return loadAndShow(view, screen.label, load, values => {
    const fields = createFields();
    const form = new SettingsForm(fields, values, {
      save: async changes => {
        const storedValues = await save(changes);
        onValues?.(storedValues);
        return storedValues;
      },
      onInput: () => view.drawBar(),
    });
    view.useForm(form);
    const notice = h("div", { class: "settings-access" });
    let shownReason;
    const updateDenials = () => {
      const denialReason = changeDenialReason();
      if (denialReason === shownReason) return;
      shownReason = denialReason;
      notice.replaceChildren(...(denialReason === null ? [] : [viewOnlyNotice(denialReason)]));
      for (const field of Object.values(fields)) field.setDisabled(denialReason !== null);
    };
    const reload = createReload(notice, load, storedValues => {
      form.showStored(storedValues);
      onValues?.(storedValues);
    });
    view.onChange(({ kind }) => {
      if (viewDenialReason() !== null) {
        view.show(screen.id);
        return;
      }
      updateDenials();
      if (kind === "guilds" || kind === "auditLog") reload();
    });
    updateDenials();
    const content = [notice, h("div", { class: "settings-form" }, layout(fields))];
    onValues?.(values);
    return content;
  });
}
