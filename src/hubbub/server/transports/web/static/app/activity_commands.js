/** What activities may ask of their host (activities.md 7): each command with the scopes it needs. */

import { askConsent, chooseImage, inviteDialog, leaveFor, shareDialog, shareMoment } from "./activity_dialogs.js";
import { expand } from "./activity_needs.js";
import { readActivity } from "./activity_presence.js";
import * as views from "./activity_views.js";
import { isPrivate, Permissions } from "./enums.js";
import { RpcError, RpcErrorCode } from "./rpc_errors.js";
import { args, flag, items, link, number, oneOf, snowflake, text } from "./rpc_forms.js";

export { allowed } from "./activity_needs.js";

const AUTHENTICATED = ["rpc.authenticated"];
const TEXT_MAX = 2048;
const PURCHASE_MS = 300_000;
/** They would install something in a guild or a channel, which needs more than this dialog. */
const NOT_HERE = ["bot", "webhook.incoming"];

const refused = word => new RpcError(RpcErrorCode.OAUTH2_ERROR, word);

/** @type {Record<string, {needs?: string[], act: (desk: import("./activity_rpc.js").Desk, given: any) => any}>} */
export const COMMANDS = Object.freeze({
  AUTHORIZE: { act: authorize },
  AUTHENTICATE: { act: authenticate },
  GET_ACTIVITY_INSTANCE_CONNECTED_PARTICIPANTS: { needs: AUTHENTICATED, act: async desk => ({ participants: await views.participants(desk) }) },
  GET_CHANNEL: { needs: ["guilds"], act: getChannel },
  GET_CHANNEL_PERMISSIONS: { needs: ["guilds.members.read"], act: getChannelPermissions },
  GET_RELATIONSHIPS: { needs: ["relationships.read"], act: getRelationships },
  GET_USER: { act: getUser },
  INVITE_USER_EMBEDDED: { needs: ["relationships.read"], act: inviteUser },
  SET_ACTIVITY: { needs: ["rpc.activities.write"], act: setActivity },
  OPEN_EXTERNAL_LINK: { act: openExternalLink },
  OPEN_INVITE_DIALOG: { act: openInviteDialog },
  OPEN_SHARE_MOMENT_DIALOG: { needs: AUTHENTICATED, act: openShareMomentDialog },
  INITIATE_IMAGE_UPLOAD: { needs: AUTHENTICATED, act: initiateImageUpload },
  SHARE_LINK: { needs: AUTHENTICATED, act: shareLink },
  REQUEST_PROXY_TICKET_REFRESH: { needs: AUTHENTICATED, act: refreshTicket },
  GET_SKUS_EMBEDDED: { needs: AUTHENTICATED, act: async desk => ({ skus: (await skusOf(desk)).map(views.sku) }) },
  GET_ENTITLEMENTS_EMBEDDED: { needs: AUTHENTICATED, act: async desk => ({ entitlements: (await entitlementsOf(desk)).map(views.entitlement) }) },
  START_PURCHASE: { needs: AUTHENTICATED, act: startPurchase },
  USER_SETTINGS_GET_LOCALE: { needs: ["identify"], act: ({ context }) => ({ locale: context.me.locale ?? navigator.language }) },
  ENCOURAGE_HW_ACCELERATION: { act: () => ({ enabled: true }) },
  SET_CONFIG: { act: (_, given) => ({ use_interactive_pip: Boolean(args(given, { use_interactive_pip: flag }).use_interactive_pip) }) },
  SET_ORIENTATION_LOCK_STATE: { act: (_, given) => void args(given, { lock_state: number(1, 3) }, "lock_state") },
  GET_PLATFORM_BEHAVIORS: { act: () => ({}) },
});

// Letting the app in

const scopeList = (value, name) => items(text(1, 64), 1, 64)(typeof value === "string" ? value.split(" ").filter(Boolean) : value, name);
const AUTHORIZE = {
  client_id: snowflake,
  scope: scopeList,
  scopes: scopeList,
  response_type: oneOf("code"),
  prompt: oneOf("none", "consent"),
  state: text(0, TEXT_MAX),
  nonce: text(1, TEXT_MAX),
  code_challenge: text(1, TEXT_MAX),
  code_challenge_method: oneOf("S256"),
};

async function authorize(desk, given) {
  const asked = args(given, AUTHORIZE, "client_id");
  if (asked.client_id !== desk.application.id) throw new RpcError(RpcErrorCode.INVALID_CLIENT_ID, "Invalid Client ID");
  const scopes = asked.scope ?? asked.scopes;
  if (!scopes) throw new RpcError(RpcErrorCode.INVALID_PAYLOAD, 'child "scope" fails because ["scope" is required]');
  if (scopes.some(each => NOT_HERE.includes(each))) throw refused("invalid_scope");
  const query = { client_id: asked.client_id, response_type: "code", scope: scopes.join(" ") };
  for (const name of ["prompt", "state", "nonce", "code_challenge", "code_challenge_method"]) if (asked[name]) query[name] = asked[name];
  const { api } = desk.context;
  try {
    const preview = await api.request("GET", "/oauth2/authorize", { query });
    const silent = asked.prompt === "none" && preview.authorized;
    const granted = silent || (await askConsent(desk, preview));
    const { url } = await api.request("POST", "/oauth2/authorize", { query, json: { authorize: granted } });
    const code = new URL(url).searchParams.get("code");
    if (!granted || !code) throw refused("access_denied");
    return { code };
  } catch (error) {
    if (error?.name !== "ApiError") throw error;
    throw refused(error.sentence);
  }
}

async function authenticate(desk, given) {
  const { access_token: token } = args(given, { access_token: text(1, TEXT_MAX) });
  const invalid = new RpcError(RpcErrorCode.INVALID_TOKEN, "Invalid access token");
  if (!token) throw invalid;
  const told = await asApp(token, "/oauth2/@me");
  const { application, context } = desk;
  // Whose a token is it says with `identify` only.
  if (told?.application?.id !== application.id || told.user?.id !== context.me.id) throw invalid;
  desk.scopes = expand(told.scopes);
  desk.token = token;
  const { id, username, discriminator = "0", avatar = null, public_flags = 0, global_name = null } = told.user;
  return {
    access_token: token,
    user: { id, username, discriminator, avatar, public_flags, global_name },
    scopes: told.scopes,
    expires: told.expires,
    application: {
      id: application.id,
      name: application.name,
      icon: application.icon ?? null,
      description: application.description ?? "",
      rpc_origins: application.rpc_origins ?? [],
    },
  };
}

/** A call with the app's own token, which comes from the activity and is good for what it was granted only. */
async function asApp(token, path, options = {}) {
  const headers = { Authorization: `Bearer ${token.replace(/[^\x21-\x7e]/g, "")}` };
  const answer = await fetch(`/api/v10${path}`, { ...options, headers, credentials: "omit", cache: "no-store" });
  return answer.ok ? await answer.json() : null;
}

// Looking

function getChannel({ context, scopes }, given) {
  const { channel_id: id } = args(given, { channel_id: snowflake }, "channel_id");
  const found = context.state.channels.get(id);
  if (!found) throw new RpcError(RpcErrorCode.INVALID_CHANNEL, "Invalid channel id");
  if (isPrivate(found) && !scopes.has("dm_channels.read")) throw new RpcError(RpcErrorCode.INVALID_PERMISSIONS, "Not authenticated or invalid scope");
  return views.channel(context, found);
}

/** In private channels nothing, as the public SDK promises. */
function getChannelPermissions({ context }) {
  return { permissions: String(context.guildId ? context.state.permissionsIn(context.channelId) : 0n) };
}

function getRelationships({ context }) {
  return { relationships: [...context.state.relationships.values()].map(each => views.relationship(context, each)) };
}

async function getUser({ context }, given) {
  const { id } = args(given, { id: text(1, 64) }, "id");
  const known = context.state.user(id);
  if (known) return views.user(known);
  snowflake(id, "id");
  const told = await context.api.request("GET", `/users/${id}`).catch(() => null);
  return told && views.user(told);
}

// Showing

function setActivity(desk, given) {
  const sent = given?.activity;
  if (sent === undefined || sent === null) {
    desk.presence.show(null);
    return { name: desk.application.name, type: 0 };
  }
  const activity = readActivity(sent, desk.application);
  desk.presence.show(activity);
  return activity;
}

async function openExternalLink(desk, given) {
  const { url } = args(given, { url: link(TEXT_MAX) }, "url");
  return { opened: await leaveFor(desk, url) };
}

async function openInviteDialog(desk) {
  const { context } = desk;
  if (!context.guildId) throw new RpcError(RpcErrorCode.NO_ELIGIBLE_ACTIVITY, "Nobody is invited into a private channel");
  if (!context.state.can(context.channelId, Permissions.CREATE_INSTANT_INVITE)) {
    throw new RpcError(RpcErrorCode.INVALID_PERMISSIONS, "The person may not invite here");
  }
  await inviteDialog(desk);
  return null;
}

async function inviteUser(desk, given) {
  const { user_id: id, content } = args(given, { user_id: snowflake, content: text(0, 1024) }, "user_id");
  const friend = desk.context.state.relationships.get(id);
  if (friend?.type !== 1) throw new RpcError(RpcErrorCode.INVALID_USER, "Invalid user id");
  await shareDialog(desk, { message: content ?? "", to: friend.user ?? desk.context.state.user(id) });
  return null;
}

async function openShareMomentDialog(desk, given) {
  const { mediaUrl } = args(given, { mediaUrl: link(1024) }, "mediaUrl");
  await shareMoment(desk, mediaUrl);
  return null;
}

async function shareLink(desk, given) {
  // A referrer is the platform's to say: with one from the app nothing is shared, and nothing raised (webhooks-and-interactions.md 9).
  if (given?.referrer_id !== undefined) return { success: false, didCopyLink: false, didSendMessage: false };
  const asked = args(given, { message: text(0, 1000), custom_id: text(1, 64), link_id: text(1, 64) }, "message");
  const done = await shareDialog(desk, { message: asked.message, customId: asked.custom_id, linkId: asked.link_id });
  return { success: done.copied || done.sent, didCopyLink: done.copied, didSendMessage: done.sent };
}

async function initiateImageUpload(desk) {
  const file = await chooseImage(desk);
  if (!file) throw new RpcError(RpcErrorCode.UNKNOWN, "No picture was chosen");
  const body = new FormData();
  body.append("file", file, file.name);
  const told = await asApp(desk.token, `/applications/${desk.application.id}/attachment`, { method: "POST", body });
  if (!told) throw new RpcError(RpcErrorCode.SERVICE_UNAVAILABLE, "The picture could not be uploaded");
  return { image_url: told.attachment.url };
}

async function refreshTicket({ context, application, instance }) {
  const json = { instance_id: instance.composite_instance_id };
  return await context.api.request("POST", `/applications/${application.id}/proxy-tickets`, { json });
}

// Selling

async function skusOf({ context, application }) {
  return (await context.api.request("GET", `/applications/${application.id}/store`)).skus;
}

async function entitlementsOf({ context, application }) {
  return await context.api.request("GET", `/users/@me/applications/${application.id}/entitlements`, { query: { exclude_consumed: true } });
}

/** The store's page is shown in a window of its own; what is bought there comes by the gateway. */
async function startPurchase(desk, given) {
  const { sku_id: sku } = args(given, { sku_id: snowflake }, "sku_id");
  const { gateway } = desk.context;
  if (!(await skusOf(desk)).some(each => each.id === sku)) throw new RpcError(RpcErrorCode.PURCHASE_ERROR, "This application sells nothing of that id");
  let done;
  const bought = new Promise((resolve, reject) => {
    const hear = ({ detail }) => detail.sku_id === sku && detail.user_id === desk.context.me.id && resolve([views.entitlement(detail)]);
    gateway.addEventListener("ENTITLEMENT_CREATE", hear);
    const timer = setTimeout(() => reject(new RpcError(RpcErrorCode.PURCHASE_CANCELLED, "Nothing was bought")), PURCHASE_MS);
    done = () => {
      gateway.removeEventListener("ENTITLEMENT_CREATE", hear);
      clearTimeout(timer);
    };
  });
  bought.catch(() => {});
  try {
    const opened = await leaveFor(desk, new URL(`/application-directory/${desk.application.id}/store/${sku}`, location.origin).href);
    if (!opened) throw new RpcError(RpcErrorCode.PURCHASE_CANCELLED, "Nothing was bought");
    return await bought;
  } finally {
    done();
  }
}
