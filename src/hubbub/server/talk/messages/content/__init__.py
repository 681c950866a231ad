"""The content of messages: records, validation and encoding. No module here reads or writes the store."""
