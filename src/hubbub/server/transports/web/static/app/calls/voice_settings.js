/** The voice settings: devices, level meter, sensitivity, push to talk, noise suppression and echo cancellation. */

import { formField } from "../ui/controls.js";
import { h, setChildren } from "../ui/dom.js";
import { openDialog } from "../ui/dialogs.js";
import { runAndReport } from "../ui/notices.js";
import { t } from "../ui/translation.js";
import { getCalls } from "../voice/calls.js";

/**
 * Open the voice settings. The level meter opens the microphone. Closing the dialog closes the microphone, unless it
 * was open before or a call uses it.
 */
export function showVoiceSettings(context) {
  const calls = getCalls(context),
    { devices } = calls;
  const meter = /** @type {HTMLMeterElement} */ (
    h("meter", { class: "level", min: "0", max: "1", "aria-label": t("Microphone level") })
  );
  const showLevel = () => {
    meter.value = devices.microphone.level;
    meter.classList.toggle("speaking", devices.microphone.level > devices.settings.threshold);
  };
  devices.addEventListener("level", showLevel);
  const { fields, showChosen } = settingsFields(devices, meter);
  // The devices change when one of them fails and the default device replaces it.
  devices.addEventListener("change", showChosen);
  const wasMicrophoneOpen = devices.microphone.track !== null;
  openDialog(t("Voice settings"), () => h("div", { class: "voice-settings" }, fields), {
    onClose: () => {
      devices.removeEventListener("level", showLevel);
      devices.removeEventListener("change", showChosen);
      if (!wasMicrophoneOpen && calls.channelId === null) devices.close();
    },
  });
}

function settingsFields(devices, meter) {
  const { settings } = devices;
  const microphone = h("select", {
    onchange: event => devices.update({ deviceId: event.currentTarget.value }),
  });
  const speaker = h("select", { onchange: event => devices.update({ outputId: event.currentTarget.value }) });
  const fillDeviceLists = async () => {
    await devices.open();
    fillDevices(microphone, await devices.list("audioinput"), settings.deviceId);
    fillDevices(speaker, await devices.list("audiooutput"), settings.outputId);
  };
  fillDevices(microphone, [], "");
  fillDevices(speaker, [], "");
  runAndReport(fillDeviceLists);
  const canChooseOutput = "setSinkId" in HTMLMediaElement.prototype;
  const threshold = h("input", {
    type: "range",
    min: "0",
    max: "0.9",
    step: "0.01",
    value: settings.threshold,
    oninput: event => devices.update({ threshold: Number(event.currentTarget.value) }),
  });
  const showChosen = () => {
    microphone.value = settings.deviceId;
    speaker.value = settings.outputId;
  };
  const fields = [
    formField(t("Microphone"), microphone).node,
    h("div", { class: "field" }, h("p", { class: "hint" }, t("Speak to see the level.")), meter),
    formField(t("Sensitivity"), threshold, t("Above this level, other users see that you are speaking.")).node,
    canChooseOutput ? formField(t("Speaker"), speaker).node : null,
    checkbox(t("Push to talk"), t("Your microphone is on only while you hold the right Ctrl key."), {
      checked: settings.pushToTalk,
      onchange: event => devices.update({ pushToTalk: event.currentTarget.checked }),
    }),
    checkbox(t("Noise suppression"), null, {
      checked: settings.noiseSuppression,
      onchange: event => devices.update({ noiseSuppression: event.currentTarget.checked }),
    }),
    checkbox(t("Echo cancellation"), null, {
      checked: settings.echoCancellation,
      onchange: event => devices.update({ echoCancellation: event.currentTarget.checked }),
    }),
  ];
  return { fields, showChosen };
}

function fillDevices(select, devices, chosenId) {
  setChildren(
    select,
    h("option", { value: "" }, t("Default")),
    devices.map(({ id, label }) => h("option", { value: id, selected: id === chosenId }, label)),
  );
}

function checkbox(label, hint, attributes) {
  return h(
    "label",
    { class: "check" },
    h("input", { type: "checkbox", ...attributes }),
    h("span", null, label, hint ? h("span", { class: "hint" }, hint) : null),
  );
}
