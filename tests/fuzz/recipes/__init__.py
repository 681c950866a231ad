"""Recipes for requests that succeed.

A recipe creates the objects that its request needs and returns the request. Operations without a recipe of their own use
`tests/contract/request_builder.py`, which builds most requests for guilds."""

from tests.fuzz.recipes import accounts, administration, applications, games, places, reports, sign_in, talk
from tests.fuzz.recipes.registry import RECIPES, ValidRequest, build_request

__all__ = ["RECIPES", "ValidRequest", "accounts", "administration", "applications", "build_request", "games"]
__all__ += ["places", "reports", "sign_in", "talk"]
