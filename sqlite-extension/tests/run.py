"""Runs all tests of the extension: python3 sqlite-extension/tests/run.py"""

import sys

sys.dont_write_bytecode = True

import support

support.main()
