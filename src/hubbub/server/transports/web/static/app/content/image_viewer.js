/** The image viewer: a dialog over the page with zoom and the other images of the message. */

import { iconButton } from "../ui/controls.js";
import { h, icon, setChildren } from "../ui/dom.js";
import { BACKWARD_KEY, FORWARD_KEY, t } from "../ui/translation.js";

const ZOOM_MAX = 6;
const ZOOM_STEP = 1.5;

/**
 * Open the viewer. Escape, and a click beside an image that is not zoomed, close it and restore the focus.
 *
 * @param {{path: string, description: string, name: string}[]} images
 * @param {number} start index of the image that is shown first
 */
export function openImageViewer(images, start) {
  const previousFocus = document.activeElement;
  let index = Math.max(0, start),
    zoom = 1;
  const picture = h("img", {
    class: "viewer-picture",
    draggable: "false",
    ondblclick: () => setZoom(zoom === 1 ? 2 * ZOOM_STEP : 1),
    onload: () => setZoom(1),
    onerror: () => (caption.textContent = t("This image could not be loaded. Open the original or try again later.")),
  });
  const stage = h("div", { class: "viewer-stage", onwheel: onWheel, onpointerdown: onPointerdown }, picture);
  const caption = h("p", { class: "viewer-caption", dir: "auto" });
  const position = h("p", { class: "viewer-position", role: "status" });
  const zoomOutButton = iconButton("minus", t("Zoom out"), () => setZoom(zoom / ZOOM_STEP));
  const zoomInButton = iconButton("plus", t("Zoom in"), () => setZoom(zoom * ZOOM_STEP));
  const originalLink = h("a", { class: "icon-button", target: "_blank", rel: "noopener", title: t("Open original") });
  const downloadLink = h("a", { class: "icon-button", title: t("Download") });
  const previousButton = iconButton("left", t("Previous image"), () => showImage(index - 1), {
    class: "icon-button viewer-previous",
  });
  const nextButton = iconButton("right", t("Next image"), () => showImage(index + 1), {
    class: "icon-button viewer-next",
  });
  originalLink.setAttribute("aria-label", t("Open original"));
  downloadLink.setAttribute("aria-label", t("Download"));
  setChildren(originalLink, icon("open"));
  setChildren(downloadLink, icon("download"));
  const closeButton = iconButton("close", t("Close"), () => dialog.close());
  const dialog = h(
    "dialog",
    { class: "viewer", "aria-label": t("Image viewer"), onkeydown: onKeydown },
    h(
      "header",
      { class: "viewer-head" },
      position,
      zoomOutButton,
      zoomInButton,
      originalLink,
      downloadLink,
      closeButton,
    ),
    h(
      "div",
      { class: "viewer-body" },
      images.length > 1 ? previousButton : null,
      stage,
      images.length > 1 ? nextButton : null,
    ),
    caption,
  );
  dialog.addEventListener("close", () => {
    dialog.remove();
    if (previousFocus instanceof HTMLElement && previousFocus.isConnected) previousFocus.focus();
  });
  dialog.addEventListener("click", event => event.target === stage && zoom === 1 && dialog.close());
  document.body.append(dialog);
  dialog.showModal();
  showImage(index);
  closeButton.focus();

  function showImage(wantedIndex) {
    index = (wantedIndex + images.length) % images.length;
    const { path, description, name } = images[index];
    picture.src = path;
    picture.alt = description || name;
    caption.textContent = description || name;
    position.textContent =
      images.length > 1 ? t("{position} of {count}", { position: index + 1, count: images.length }) : "";
    originalLink.href = path;
    downloadLink.href = path;
    downloadLink.setAttribute("download", name);
    setZoom(1);
  }

  /** Scale the picture, relative to the size at which it fits, and keep the center of the view in place. */
  function setZoom(wantedZoom) {
    const previousZoom = zoom;
    zoom = Math.min(ZOOM_MAX, Math.max(1, wantedZoom));
    zoomOutButton.disabled = zoom === 1;
    zoomInButton.disabled = zoom === ZOOM_MAX;
    stage.classList.toggle("zoomed", zoom > 1);
    if (zoom === 1) {
      picture.style.removeProperty("width");
      return;
    }
    const fitWidth = picture.getBoundingClientRect().width / previousZoom;
    const centerX = (stage.scrollLeft + stage.clientWidth / 2) / previousZoom,
      centerY = (stage.scrollTop + stage.clientHeight / 2) / previousZoom;
    picture.style.setProperty("width", `${fitWidth * zoom}px`);
    stage.scrollTo(centerX * zoom - stage.clientWidth / 2, centerY * zoom - stage.clientHeight / 2);
  }

  function onKeydown(event) {
    const action = {
      [BACKWARD_KEY]: () => zoom === 1 && images.length > 1 && showImage(index - 1),
      [FORWARD_KEY]: () => zoom === 1 && images.length > 1 && showImage(index + 1),
      "+": () => setZoom(zoom * ZOOM_STEP),
      "-": () => setZoom(zoom / ZOOM_STEP),
      0: () => setZoom(1),
    }[event.key];
    if (action === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    // The arrow keys scroll a zoomed image.
    if (event.key.startsWith("Arrow") && zoom > 1) return;
    event.preventDefault();
    action();
  }

  function onWheel(event) {
    if (!event.ctrlKey && zoom > 1) return;
    event.preventDefault();
    setZoom(event.deltaY < 0 ? zoom * ZOOM_STEP : zoom / ZOOM_STEP);
  }

  /** Move a zoomed image with the pointer; touch scrolls the stage without this. */
  function onPointerdown(event) {
    if (zoom === 1 || event.pointerType !== "mouse" || event.button !== 0) return;
    event.preventDefault();
    const move = pointerEvent => {
      stage.scrollLeft -= pointerEvent.movementX;
      stage.scrollTop -= pointerEvent.movementY;
    };
    const stop = () => {
      stage.removeEventListener("pointermove", move);
      stage.removeEventListener("pointerup", stop);
    };
    stage.setPointerCapture(event.pointerId);
    stage.addEventListener("pointermove", move);
    stage.addEventListener("pointerup", stop);
  }
}
