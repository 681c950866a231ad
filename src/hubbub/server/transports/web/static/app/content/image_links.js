/** Links around images, which open the image viewer with all images of the same message. */

import { h } from "../ui/dom.js";
import { loadModule } from "../ui/lazy_modules.js";
import { t } from "../ui/translation.js";

/**
 * Return a link around a picture. A click opens the image viewer; with a modifier key, the browser opens the file.
 *
 * @param {{path: string, description?: string | null, name?: string | null, className?: string}} image
 *   `className` is a class of the link
 * @param {Element} picture
 */
export function imageLink({ path, description, name, className = "" }, picture) {
  return h(
    "a",
    {
      class: `image-link ${className}`.trim(),
      href: path,
      target: "_blank",
      rel: "noopener",
      "aria-label": t("Image: {description}", { description: description || name || t("no description") }),
      dataset: { description: description ?? "", name: name ?? nameOf(path) },
      onclick: event => {
        if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
        event.preventDefault();
        openViewer(event.currentTarget);
      },
    },
    picture,
  );
}

async function openViewer(link) {
  const group = link.closest(".message, .search-result") ?? link.parentElement;
  // Images behind a spoiler are not part of the sequence until the user reveals them.
  const links = [...group.querySelectorAll("a.image-link")].filter(other => other.closest("[inert]") === null);
  const module = await loadModule(() => import("./image_viewer.js"));
  module?.openImageViewer(
    links.map(other => ({
      path: other.getAttribute("href"),
      description: other.dataset.description,
      name: other.dataset.name,
    })),
    links.indexOf(link),
  );
}

function nameOf(path) {
  try {
    return decodeURIComponent(new URL(path, location.href).pathname.split("/").pop() ?? "");
  } catch {
    return "";
  }
}
