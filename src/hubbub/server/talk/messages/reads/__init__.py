"""Reads of stored messages: histories, their encoded pages and data exports."""
