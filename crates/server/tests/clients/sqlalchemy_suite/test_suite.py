"""The suite's tests, which pytest collects from here."""

from sqlalchemy.testing.suite import *
