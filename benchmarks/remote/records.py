# SPDX-License-Identifier: MIT
"""The records that a ring and a stream of rsockets carry."""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Case:
    """Records of one size, one way."""

    size: int
    messages: int = 3200
    mode: str = "one-way"

    @property
    def title(self):
        return f"{self.size:,} B"

    def job(self, at_once):
        return [str(self.size), str(self.messages), str(at_once)]


CASES = [Case(64), Case(512), Case(4096)]
# The records of a publish.
AT_ONCE = [1, 16]
