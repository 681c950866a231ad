/** Handlers of message, reaction, poll vote and typing events: they update message logs and read states. */

import { MessageFlags } from "../network/enums.js";
import { isNewer } from "../network/ids.js";
import { countsAsMention } from "./notification_rules.js";

/** Time for which a user counts as typing after TYPING_START. */
const TYPING_MS = 10_000;

/** @type {Record<string, (state: any, payload: any) => void>} */
export const MESSAGE_HANDLERS = {
  MESSAGE_CREATE(state, payload) {
    storeUsers(state, payload);
    const isEphemeral = (payload.flags ?? 0) & MessageFlags.EPHEMERAL;
    const channel = state.channels.get(payload.channel_id);
    // CHANNEL_CREATE of a new conversation already contains this message ID.
    if (channel !== undefined && !isEphemeral && !isNewer(channel.last_message_id, payload.id)) {
      state.channels.set(channel.id, { ...channel, last_message_id: payload.id });
      updateReadState(state, channel, payload);
    }
    if (state.typing.get(payload.channel_id)?.delete(payload.author.id)) state.emitChange("typing", payload.channel_id);
    state.logs.get(payload.channel_id)?.add(payload);
    state.emitChange("messages", payload.channel_id, payload.guild_id);
  },

  MESSAGE_UPDATE(state, payload) {
    storeUsers(state, payload);
    const log = state.logs.get(payload.channel_id);
    if (log?.find(payload.id) === undefined) return;
    log.put(payload);
    state.emitChange("messages", payload.channel_id, payload.guild_id);
  },

  MESSAGE_DELETE: (state, payload) => removeMessages(state, [payload.id], payload),
  MESSAGE_DELETE_BULK: (state, payload) => removeMessages(state, payload.ids, payload),

  MESSAGE_REACTION_ADD(state, payload) {
    changeMessage(state, payload, message => {
      const reactions = message.reactions ?? [];
      const isMine = payload.user_id === state.me.id;
      if (!reactions.some(reaction => isSameEmoji(reaction.emoji, payload.emoji))) {
        return { reactions: [...reactions, { emoji: payload.emoji, count: 1, me: isMine }] };
      }
      const addReaction = reaction => ({ ...reaction, count: reaction.count + 1, me: reaction.me || isMine });
      return {
        reactions: reactions.map(reaction =>
          isSameEmoji(reaction.emoji, payload.emoji) ? addReaction(reaction) : reaction,
        ),
      };
    });
  },

  MESSAGE_REACTION_REMOVE(state, payload) {
    changeMessage(state, payload, message => {
      const removeReaction = reaction => ({
        ...reaction,
        count: reaction.count - 1,
        me: reaction.me && payload.user_id !== state.me.id,
      });
      const reactions = (message.reactions ?? []).map(reaction =>
        isSameEmoji(reaction.emoji, payload.emoji) ? removeReaction(reaction) : reaction,
      );
      return { reactions: reactions.filter(reaction => reaction.count > 0) };
    });
  },

  MESSAGE_REACTION_REMOVE_ALL: (state, payload) => changeMessage(state, payload, () => ({ reactions: [] })),

  MESSAGE_REACTION_REMOVE_EMOJI(state, payload) {
    const otherReactions = message =>
      (message.reactions ?? []).filter(reaction => !isSameEmoji(reaction.emoji, payload.emoji));
    changeMessage(state, payload, message => ({ reactions: otherReactions(message) }));
  },

  MESSAGE_POLL_VOTE_ADD: (state, payload) => changeVotes(state, payload, 1),
  MESSAGE_POLL_VOTE_REMOVE: (state, payload) => changeVotes(state, payload, -1),

  TYPING_START(state, payload) {
    if (payload.member?.user) state.storeUser(payload.member.user);
    if (!state.typing.has(payload.channel_id)) state.typing.set(payload.channel_id, new Map());
    state.typing.get(payload.channel_id).set(payload.user_id, Date.now() + TYPING_MS);
    state.emitChange("typing", payload.channel_id, payload.guild_id);
  },
};

function storeUsers(state, message) {
  // The author of a webhook message is not a user.
  if (message.author && !message.webhook_id) state.storeUser(message.author);
  for (const user of message.mentions ?? []) state.storeUser(user);
}

/** Update the read state of a channel for a new message. A message of the user marks the channel as read. */
function updateReadState(state, channel, message) {
  const readState = state.readStates.get(channel.id) ?? {
    last_message_id: state.lastRead(channel.id),
    mention_count: 0,
  };
  if (message.author.id === state.me.id && !message.webhook_id) {
    const changes = { last_message_id: message.id, mention_count: 0, isMarkedUnread: false };
    state.readStates.set(channel.id, { ...readState, ...changes });
  } else if (countsAsMention(state, channel, message)) {
    state.readStates.set(channel.id, { ...readState, mention_count: (readState.mention_count ?? 0) + 1 });
  }
  state.emitChange("readStates", channel.id, channel.guild_id);
}

/** Remove messages, and mark replies to them as replies to a deleted message. */
function removeMessages(state, ids, { channel_id: channelId, guild_id: guildId }) {
  const log = state.logs.get(channelId);
  if (log === undefined) return;
  const deletedIds = new Set(ids);
  for (const id of ids) log.remove(id);
  for (const reply of log.messages.filter(message => deletedIds.has(message.referenced_message?.id)))
    log.put({ ...reply, referenced_message: null });
  state.emitChange("messages", channelId, guildId);
}

/** Return whether two emoji are equal: by ID if custom, else by name. */
export function isSameEmoji(emoji, other) {
  return emoji.id || other.id ? emoji.id === other.id : emoji.name === other.name;
}

function changeMessage(state, payload, change) {
  const log = state.logs.get(payload.channel_id);
  const message = log?.find(payload.message_id);
  if (message === undefined) return;
  log.put({ ...message, ...change(message) });
  state.emitChange("messages", payload.channel_id, payload.guild_id);
}

function changeVotes(state, payload, difference) {
  changeMessage(state, payload, message => {
    if (!message.poll) return {};
    const results = message.poll.results ?? { is_finalized: false, answer_counts: [] };
    const isMine = payload.user_id === state.me.id;
    const otherCounts = results.answer_counts.filter(answerCount => answerCount.id !== payload.answer_id);
    const previousCount = results.answer_counts.find(answerCount => answerCount.id === payload.answer_id) ?? {
      id: payload.answer_id,
      count: 0,
      me_voted: false,
    };
    const changedCount = {
      ...previousCount,
      count: Math.max(0, previousCount.count + difference),
      me_voted: isMine ? difference > 0 : previousCount.me_voted,
    };
    return { poll: { ...message.poll, results: { ...results, answer_counts: [...otherCounts, changedCount] } } };
  });
}
