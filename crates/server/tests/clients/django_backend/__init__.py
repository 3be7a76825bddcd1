"""A backend of Django: the one for PostgreSQL, with what atsdb lacks switched off."""
