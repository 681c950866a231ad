"""Changes of the tier, features, channel references and moderation bits of guilds, for other slices."""

from hubbub.server.places.guilds.actions import set_tier_and_features
from hubbub.server.places.guilds.store import clear_channel_references, set_moderation_rule_bits, with_feature

__all__ = ["clear_channel_references", "set_moderation_rule_bits", "set_tier_and_features", "with_feature"]
