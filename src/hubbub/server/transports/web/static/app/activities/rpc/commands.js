/** The RPC commands of activities (spec/activities.md#7). */

import { RpcErrorCode, Scope } from "../../generated/rpc.js";
import { ActivityType } from "../../generated/enums.js";
import { isPrivate, Permissions, RelationshipType } from "../../network/enums.js";
import {
  askConsent,
  chooseImage,
  showInviteDialog,
  confirmExternalLink,
  showShareDialog,
  showShareImageDialog,
} from "./dialogs.js";
import { readActivity } from "./presence.js";
import { RpcError } from "./errors.js";
import { readArguments, boolean, list, httpUrl, integer, oneOf, snowflake, string } from "./validation.js";
import { requestAsApp } from "./app_requests.js";
import { expandScopes } from "./scopes.js";
import * as payloads from "./payloads.js";

const TEXT_LENGTH_MAX = 2048;
const PURCHASE_TIMEOUT_MS = 300_000;
/** Scopes that add a bot or a webhook to a guild, which the consent dialog does not support. */
const UNSUPPORTED_SCOPES = [Scope.BOT, Scope.WEBHOOK_INCOMING];

const oauth2Error = code => new RpcError(RpcErrorCode.OAUTH2_ERROR, code);

/**
 * A function that runs a command. The host checks the scopes first (`ACTIVITY_COMMAND_SCOPES`).
 *
 * @typedef {(session: import("./host.js").ActivitySession, args: any) => any} RpcCommand
 */

/** @type {Record<string, RpcCommand>} */
export const RPC_COMMANDS = Object.freeze({
  AUTHORIZE: authorize,
  AUTHENTICATE: authenticate,
  GET_ACTIVITY_INSTANCE_CONNECTED_PARTICIPANTS: async session => ({
    participants: await payloads.participants(session),
  }),
  GET_CHANNEL: getChannel,
  GET_CHANNEL_PERMISSIONS: getChannelPermissions,
  GET_RELATIONSHIPS: getRelationships,
  GET_USER: getUser,
  INVITE_USER_EMBEDDED: inviteUser,
  SET_ACTIVITY: setActivity,
  OPEN_EXTERNAL_LINK: openExternalLink,
  OPEN_INVITE_DIALOG: openInviteDialog,
  OPEN_SHARE_MOMENT_DIALOG: openShareMomentDialog,
  INITIATE_IMAGE_UPLOAD: initiateImageUpload,
  SHARE_LINK: shareLink,
  REQUEST_PROXY_TICKET_REFRESH: refreshTicket,
  GET_SKUS_EMBEDDED: async session => ({ skus: (await fetchSkus(session)).map(payloads.sku) }),
  GET_ENTITLEMENTS_EMBEDDED: async session => ({
    entitlements: (await fetchEntitlements(session)).map(payloads.entitlement),
  }),
  START_PURCHASE: startPurchase,
  USER_SETTINGS_GET_LOCALE: ({ context }) => ({ locale: context.me.locale ?? navigator.language }),
  ENCOURAGE_HW_ACCELERATION: () => ({ enabled: true }),
  SET_CONFIG: (_, args) => ({
    use_interactive_pip: Boolean(readArguments(args, { use_interactive_pip: boolean }).use_interactive_pip),
  }),
  SET_ORIENTATION_LOCK_STATE: (_, args) => void readArguments(args, { lock_state: integer(1, 3) }, "lock_state"),
  GET_PLATFORM_BEHAVIORS: () => ({}),
});

// Authorization

const scopeList = (value, name) =>
  list(string(1, 64), 1, 64)(typeof value === "string" ? value.split(" ").filter(Boolean) : value, name);
const AUTHORIZE_ARGUMENTS = {
  client_id: snowflake,
  scope: scopeList,
  scopes: scopeList,
  response_type: oneOf("code"),
  prompt: oneOf("none", "consent"),
  state: string(0, TEXT_LENGTH_MAX),
  nonce: string(1, TEXT_LENGTH_MAX),
  code_challenge: string(1, TEXT_LENGTH_MAX),
  code_challenge_method: oneOf("S256"),
};

async function authorize(session, args) {
  const request = readArguments(args, AUTHORIZE_ARGUMENTS, "client_id");
  if (request.client_id !== session.application.id)
    throw new RpcError(RpcErrorCode.INVALID_CLIENT_ID, "Invalid Client ID");
  const scopes = request.scope ?? request.scopes;
  if (!scopes) throw new RpcError(RpcErrorCode.INVALID_PAYLOAD, 'child "scope" fails because ["scope" is required]');
  if (scopes.some(scope => UNSUPPORTED_SCOPES.includes(scope))) throw oauth2Error("invalid_scope");
  const query = { client_id: request.client_id, response_type: "code", scope: scopes.join(" ") };
  for (const name of ["prompt", "state", "nonce", "code_challenge", "code_challenge_method"])
    if (request[name]) query[name] = request[name];
  const { api } = session.context;
  try {
    const preview = await api.request("GET", "/oauth2/authorize", { query });
    const isSilent = request.prompt === "none" && preview.authorized;
    const isGranted = isSilent || (await askConsent(session, preview));
    const { url } = await api.request("POST", "/oauth2/authorize", { query, json: { authorize: isGranted } });
    const code = new URL(url).searchParams.get("code");
    if (!isGranted || !code) throw oauth2Error("access_denied");
    return { code };
  } catch (error) {
    if (error?.name !== "ApiError") throw error;
    throw oauth2Error(error.userText);
  }
}

async function authenticate(session, args) {
  const { access_token: token } = readArguments(args, { access_token: string(1, TEXT_LENGTH_MAX) });
  const invalid = new RpcError(RpcErrorCode.INVALID_TOKEN, "Invalid access token");
  if (!token) throw invalid;
  const response = await requestAsApp(token, "/oauth2/@me");
  const { application, context } = session;
  // The response contains the token's user only with the scope `identify`.
  if (response?.application?.id !== application.id || response.user?.id !== context.me.id) throw invalid;
  session.scopes = expandScopes(response.scopes);
  session.token = token;
  const { id, username, discriminator = "0", avatar = null, public_flags = 0, global_name = null } = response.user;
  return {
    access_token: token,
    user: { id, username, discriminator, avatar, public_flags, global_name },
    scopes: response.scopes,
    expires: response.expires,
    application: {
      id: application.id,
      name: application.name,
      icon: application.icon ?? null,
      description: application.description ?? "",
      rpc_origins: application.rpc_origins ?? [],
    },
  };
}

// Queries

function getChannel({ context, scopes }, args) {
  const { channel_id: id } = readArguments(args, { channel_id: snowflake }, "channel_id");
  const channel = context.state.channels.get(id);
  if (!channel) throw new RpcError(RpcErrorCode.INVALID_CHANNEL, "Invalid channel id");
  if (isPrivate(channel) && !scopes.has(Scope.DM_CHANNELS_READ))
    throw new RpcError(RpcErrorCode.INVALID_PERMISSIONS, "Not authenticated or invalid scope");
  return payloads.channel(context, channel);
}

/** Return the user's permissions in the activity's channel; 0 in private channels, as the public SDK expects. */
function getChannelPermissions({ context }) {
  return { permissions: String(context.guildId ? context.state.permissionsIn(context.channelId) : 0n) };
}

function getRelationships({ context }) {
  return {
    relationships: [...context.state.relationships.values()].map(relationship =>
      payloads.relationship(context, relationship),
    ),
  };
}

async function getUser({ context }, args) {
  const { id } = readArguments(args, { id: string(1, 64) }, "id");
  const cachedUser = context.state.user(id);
  if (cachedUser) return payloads.user(cachedUser);
  snowflake(id, "id");
  const response = await context.api.request("GET", `/users/${id}`).catch(() => null);
  return response && payloads.user(response);
}

// Presence, links and sharing

function setActivity(session, args) {
  const input = args?.activity;
  if (input === undefined || input === null) {
    session.presence.set(null);
    return { name: session.application.name, type: ActivityType.PLAYING };
  }
  const activity = readActivity(input, session.application);
  session.presence.set(activity);
  return activity;
}

async function openExternalLink(session, args) {
  const { url } = readArguments(args, { url: httpUrl(TEXT_LENGTH_MAX) }, "url");
  return { opened: await confirmExternalLink(session, url) };
}

async function openInviteDialog(session) {
  const { context } = session;
  if (!context.guildId)
    throw new RpcError(RpcErrorCode.NO_ELIGIBLE_ACTIVITY, "Invites are not available in private channels");
  if (!context.state.can(context.channelId, Permissions.CREATE_INSTANT_INVITE)) {
    throw new RpcError(RpcErrorCode.INVALID_PERMISSIONS, "The user cannot create invites in this channel");
  }
  await showInviteDialog(session);
  return null;
}

async function inviteUser(session, args) {
  const { user_id: id, content } = readArguments(args, { user_id: snowflake, content: string(0, 1024) }, "user_id");
  const friend = session.context.state.relationships.get(id);
  if (friend?.type !== RelationshipType.FRIEND) throw new RpcError(RpcErrorCode.INVALID_USER, "Invalid user id");
  await showShareDialog(session, { message: content ?? "", recipient: friend.user ?? session.context.state.user(id) });
  return null;
}

async function openShareMomentDialog(session, args) {
  const { mediaUrl } = readArguments(args, { mediaUrl: httpUrl(1024) }, "mediaUrl");
  await showShareImageDialog(session, mediaUrl);
  return null;
}

async function shareLink(session, args) {
  // The platform sets the referrer. A request that contains one fails without an error (spec/webhooks-and-interactions.md#9).
  if (args?.referrer_id !== undefined) return { success: false, didCopyLink: false, didSendMessage: false };
  const request = readArguments(
    args,
    { message: string(0, 1000), custom_id: string(1, 64), link_id: string(1, 64) },
    "message",
  );
  const result = await showShareDialog(session, {
    message: request.message,
    customId: request.custom_id,
    linkId: request.link_id,
  });
  return { success: result.copied || result.sent, didCopyLink: result.copied, didSendMessage: result.sent };
}

async function initiateImageUpload(session) {
  const file = await chooseImage(session);
  if (!file) throw new RpcError(RpcErrorCode.UNKNOWN, "No image was chosen");
  const body = new FormData();
  body.append("file", file, file.name);
  const response = await requestAsApp(session.token, `/applications/${session.application.id}/attachment`, {
    method: "POST",
    body,
  });
  if (!response) throw new RpcError(RpcErrorCode.SERVICE_UNAVAILABLE, "The image could not be uploaded");
  return { image_url: response.attachment.url };
}

async function refreshTicket({ context, application, instance }) {
  const json = { instance_id: instance.composite_instance_id };
  return await context.api.request("POST", `/applications/${application.id}/proxy-tickets`, { json });
}

// Purchases

async function fetchSkus({ context, application }) {
  return (await context.api.request("GET", `/applications/${application.id}/store`)).skus;
}

async function fetchEntitlements({ context, application }) {
  return await context.api.request("GET", `/users/@me/applications/${application.id}/entitlements`, {
    query: { exclude_consumed: true },
  });
}

/** Open the store page in a new window and wait for ENTITLEMENT_CREATE on the gateway. */
async function startPurchase(session, args) {
  const { sku_id: skuId } = readArguments(args, { sku_id: snowflake }, "sku_id");
  const { gateway } = session.context;
  if (!(await fetchSkus(session)).some(listedSku => listedSku.id === skuId))
    throw new RpcError(RpcErrorCode.PURCHASE_ERROR, "Unknown SKU");
  let cleanUp;
  const purchase = new Promise((resolve, reject) => {
    const onEntitlement = ({ detail }) =>
      detail.sku_id === skuId && detail.user_id === session.context.me.id && resolve([payloads.entitlement(detail)]);
    gateway.addEventListener("ENTITLEMENT_CREATE", onEntitlement);
    const timer = setTimeout(
      () => reject(new RpcError(RpcErrorCode.PURCHASE_CANCELLED, "The purchase was canceled")),
      PURCHASE_TIMEOUT_MS,
    );
    cleanUp = () => {
      gateway.removeEventListener("ENTITLEMENT_CREATE", onEntitlement);
      clearTimeout(timer);
    };
  });
  // The timeout may reject before `purchase` is awaited.
  purchase.catch(() => {});
  try {
    const isOpened = await confirmExternalLink(
      session,
      new URL(`/application-directory/${session.application.id}/store/${skuId}`, location.origin).href,
    );
    if (!isOpened) throw new RpcError(RpcErrorCode.PURCHASE_CANCELLED, "The purchase was canceled");
    return await purchase;
  } finally {
    cleanUp();
  }
}
