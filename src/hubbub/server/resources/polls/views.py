"""The result of a poll, as the message that tells of it shows it."""

from collections.abc import Mapping

from hubbub.protocol.resources.embeds import Embed, EmbedField
from hubbub.protocol.resources.polls import Poll


def result(poll: Poll, votes: Mapping[int, int]) -> Embed:
    """What a poll came to: the answer with most votes, unless several or none have."""
    most = max(votes.values(), default=0)
    leading = [answer for answer in poll.answers if votes.get(answer.answer_id, 0) == most]
    told: dict[str, object] = {
        "poll_question_text": poll.question.text or "",
        "victor_answer_votes": most,
        "total_votes": sum(votes.values()),
    }
    if most and len(leading) == 1:
        media = leading[0].poll_media
        told["victor_answer_id"] = leading[0].answer_id
        told["victor_answer_text"] = media.text or ""
        if media.emoji:
            if media.emoji.id is not None:
                told["victor_answer_emoji_id"] = int(media.emoji.id)
            told["victor_answer_emoji_name"] = media.emoji.name or ""
            told["victor_answer_emoji_animated"] = "true" if media.emoji.animated else "false"
    fields = [EmbedField(name=name, value=str(value), inline=False) for name, value in told.items()]
    return Embed(type="poll_result", fields=fields)
