"""Build the embed of a poll result message."""

from collections.abc import Mapping

from hubbub.protocol.resources.embeds import Embed, EmbedField
from hubbub.protocol.resources.polls import Poll


def result_embed(poll: Poll, votes_by_answer: Mapping[int, int]) -> Embed:
    """Return the result embed of a poll. `votes_by_answer` has the number of votes by answer ID.

    The embed names a winning answer only if exactly one answer has the most votes."""
    most_votes = max(votes_by_answer.values(), default=0)
    leading_answers = [answer for answer in poll.answers if votes_by_answer.get(answer.answer_id, 0) == most_votes]
    field_values: dict[str, object] = {
        "poll_question_text": poll.question.text or "",
        "victor_answer_votes": most_votes,
        "total_votes": sum(votes_by_answer.values()),
    }
    if most_votes and len(leading_answers) == 1:
        media = leading_answers[0].poll_media
        field_values["victor_answer_id"] = leading_answers[0].answer_id
        field_values["victor_answer_text"] = media.text or ""
        if media.emoji:
            if media.emoji.id is not None:
                field_values["victor_answer_emoji_id"] = int(media.emoji.id)
            field_values["victor_answer_emoji_name"] = media.emoji.name or ""
            field_values["victor_answer_emoji_animated"] = "true" if media.emoji.animated else "false"
    fields = [EmbedField(name=name, value=str(value), inline=False) for name, value in field_values.items()]
    return Embed(type="poll_result", fields=fields)
