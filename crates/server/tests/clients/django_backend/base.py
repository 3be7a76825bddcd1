"""Django's backend for PostgreSQL without foreign keys, and with JSON columns that are read as text."""

from django.db.backends.postgresql import base, features
from psycopg.types.string import TextLoader


class DatabaseFeatures(features.DatabaseFeatures):
    supports_foreign_keys = False


class DatabaseWrapper(base.DatabaseWrapper):
    features_class = DatabaseFeatures

    def get_new_connection(self, conn_params):
        connection = super().get_new_connection(conn_params)
        # Django reads the texts of JSON itself.
        connection.adapters.register_loader("json", TextLoader)
        return connection
