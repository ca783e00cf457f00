"""What the tests of comparisons share."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
