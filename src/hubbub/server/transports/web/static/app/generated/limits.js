/** Limits of the protocol, generated from `hubbub.protocol` by `make generate`. Do not edit. */

export const ATTACHMENTS_MAX = 10;
export const ATTACHMENT_BYTES_MAX = 524288000;
export const REASON_MAX = 512;
export const CHANNEL_NAME_MAX = 100;
export const TOPIC_MAX = 1024;
export const STRING_OPTION_MAX = 6000;
export const TEXT_INPUT_MAX = 4000;
export const GUILD_DESCRIPTION_MAX = 300;
export const GUILD_NAME_MAX = 100;
export const NICK_MAX = 32;
export const CONTENT_MAX = 2000;
export const USERNAME_MAX = 32;
export const ACTIVITY_UPDATES_MAX = 5;
export const ACTIVITY_UPDATES_WINDOW_SECONDS = 20;
