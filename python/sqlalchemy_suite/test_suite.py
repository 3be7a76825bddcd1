"""All tests that SQLAlchemy has for dialects. ``requirements.py`` says what atsdb has; left out here are tests that need more
than the suite says of them."""

from sqlalchemy.testing import suite
from sqlalchemy.testing.suite import *  # noqa: F403

#: Classes, or tests of a class, by the reason why they are left out.
LEFT_OUT = {
    "a default is a literal or one of some functions": [
        "ComponentReflectionTestExtra.test_server_defaults",
    ],
    "arrays have one dimension": [
        "ArrayTest",
    ],
    "their numbers have bounds": [
        "IdentityColumnTest",
        "IdentityReflectionTest",
    ],
    "a decimal that is cast without digits keeps ten after the point": [
        "TrueDivTest.test_truediv_divisor",
    ],
    "there is one level of isolation besides AUTOCOMMIT": [
        "IsolationLevelTest.test_dialect_user_setting_is_restored",
    ],
}

for _names in LEFT_OUT.values():
    for _name in _names:
        _class, _, _test = _name.partition(".")
        if _test:
            # Not deleted: it may be a base class's.
            setattr(getattr(suite, _class), _test, None)
        else:
            del globals()[_class]
