"""Triggers of rules: the checks of texts and profiles, keyword matching, and preset keyword lists."""
