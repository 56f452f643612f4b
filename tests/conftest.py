"""What all tests share: the same examples at every run, so that a change, not chance, makes a test fail.

``HYPOTHESIS_PROFILE=search`` draws new examples, to look for what the fixed ones miss.
"""

import os

from hypothesis import settings

settings.register_profile("fixed", derandomize=True)
settings.register_profile("search", max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))
