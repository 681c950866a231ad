/** Display of polls in messages, with voting. */

import { platformNow } from "../network/platform_clock.js";
import { h } from "../ui/dom.js";
import { runAndReport } from "../ui/notices.js";
import { relativeTime } from "../ui/times.js";
import { t, tn } from "../ui/translation.js";
import { customEmojiImage } from "../content/markdown.js";

/** Return the element of a message's poll with its voting buttons, or null if the message has no poll. */
export function renderPoll(message, context) {
  const poll = message.poll;
  if (!poll) return null;
  const answerCounts = new Map((poll.results?.answer_counts ?? []).map(answerCount => [answerCount.id, answerCount]));
  const totalVotes = [...answerCounts.values()].reduce((sum, answerCount) => sum + answerCount.count, 0);
  const hasEnded = Boolean(poll.results?.is_finalized);
  const ownAnswerIds = [...answerCounts.values()]
    .filter(answerCount => answerCount.me_voted)
    .map(answerCount => answerCount.id);
  const vote = ids =>
    runAndReport(() =>
      context.api.request("PUT", `/channels/${message.channel_id}/polls/${message.id}/answers/@me`, {
        json: { answer_ids: ids },
      }),
    );
  const toggleAnswer = id => {
    if (ownAnswerIds.includes(id)) return vote(ownAnswerIds.filter(answerId => answerId !== id));
    return vote(poll.allow_multiselect ? [...ownAnswerIds, id] : [id]);
  };
  return h(
    "div",
    { class: "poll", role: "group", "aria-label": t("Poll: {question}", { question: poll.question?.text ?? "" }) },
    h("p", { class: "poll-question", dir: "auto" }, poll.question?.text ?? ""),
    h(
      "p",
      { class: "muted small" },
      hasEnded
        ? t("This poll has ended.")
        : poll.allow_multiselect
          ? t("Select one or more answers.")
          : t("Select one answer."),
    ),
    poll.answers.map(answer => {
      const count = answerCounts.get(answer.answer_id)?.count ?? 0,
        isChosen = ownAnswerIds.includes(answer.answer_id);
      const share = totalVotes ? count / totalVotes : 0,
        media = answer.poll_media;
      return h(
        "button",
        {
          type: "button",
          class: isChosen ? "poll-answer own" : "poll-answer",
          disabled: hasEnded,
          "aria-pressed": isChosen ? "true" : "false",
          dataset: { focus: `answer-${answer.answer_id}` },
          onclick: () => toggleAnswer(answer.answer_id),
        },
        h("span", {
          class: "poll-share",
          style: { "inline-size": `${Math.round(share * 100)}%` },
          "aria-hidden": "true",
        }),
        h(
          "span",
          { class: "poll-text", dir: "auto" },
          media.emoji ? (media.emoji.id ? customEmojiImage(media.emoji) : `${media.emoji.name} `) : null,
          media.text ?? "",
        ),
        h("span", { class: "poll-count" }, tn("{count} vote", "{count} votes", count)),
      );
    }),
    h(
      "p",
      { class: "muted small" },
      tn("{count} vote", "{count} votes", totalVotes),
      !hasEnded && poll.expiry
        ? ` · ${t("ends {time}", { time: relativeTime(Date.parse(poll.expiry), platformNow()) })}`
        : "",
    ),
  );
}
