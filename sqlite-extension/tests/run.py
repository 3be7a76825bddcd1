"""Runs all tests of the extension: python3 sqlite-extension/tests/run.py"""

import support

support.main()
