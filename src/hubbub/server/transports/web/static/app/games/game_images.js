/** Public fields and names of games, and paths of their images: rich presence assets and cover images. */

import { isId } from "../network/ids.js";
import { h } from "../ui/dom.js";
import { t } from "../ui/translation.js";
import { cdnPath } from "../content/cdn_paths.js";

/** Loaded assets by application ID: maps from asset names to asset IDs. @type {Map<string, Promise<Map<string, string>>>} */
const assetIds = new Map();
/** Loaded applications by ID. @type {Map<string, Promise<any>>} */
const applications = new Map();

/** Return a cached promise; a failed one is removed, so that the next call tries again. */
function loadOnce(cache, key, load) {
  let promise = cache.get(key);
  if (promise === undefined) {
    promise = load();
    cache.set(key, promise);
    promise.catch(() => cache.delete(key));
  }
  return promise;
}

/** Load the public fields of an application. @returns {Promise<{id: string, name: string, icon: string | null}>} */
export function loadApplication({ api }, applicationId) {
  return loadOnce(applications, applicationId, () => api.request("GET", `/applications/${applicationId}/rpc`));
}

/** Return an element that shows the name of an application once it is loaded. */
export function applicationName(context, applicationId, fallback = t("a game")) {
  const node = h("span", { dir: "auto" }, fallback);
  loadApplication(context, applicationId).then(
    ({ name }) => {
      node.textContent = name;
    },
    () => {},
  );
  return node;
}

const assetPath = (applicationId, assetId, size) => `/cdn/app-assets/${applicationId}/${assetId}.png?size=${size}`;

/** Return the path of a cover image of an application, or null. */
export const coverPath = ({ id, cover_image: hash }, size = 512) =>
  hash ? `/cdn/app-icons/${id}/${hash}.png?size=${size}` : null;

/**
 * Return the path of an image of an activity: an asset name, an asset ID or a URL. Return null if there is none, and for
 * images of other servers, which are not loaded.
 *
 * @returns {Promise<string | null>}
 */
export async function findImagePath(context, applicationId, image, size = 256) {
  if (!image) return null;
  if (/^https?:/i.test(image)) return cdnPath(image, context.webUrl);
  if (!applicationId) return null;
  if (isId(image)) return assetPath(applicationId, image, size);
  const loadAssetIds = async () => {
    const assets = await context.api.request("GET", `/oauth2/applications/${applicationId}/assets`);
    return new Map(assets.map(({ id, name }) => [name, id]));
  };
  try {
    const id = (await loadOnce(assetIds, applicationId, loadAssetIds)).get(image.toLowerCase());
    return id === undefined ? null : assetPath(applicationId, id, size);
  } catch {
    return null;
  }
}
