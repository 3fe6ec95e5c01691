# SPDX-License-Identifier: MIT
"""The jobs that the programs of this folder do."""
import dataclasses

PROGRAMS = ["c", "tasks", "asio"]
# It waits for each message, so it has no other way than there and back.
BLOCKING = "blocking"
# Server and client.
CROSS = [("c", "tasks"), ("tasks", "c"), ("c", "asio"), ("asio", "c")]
KIB = 1 << 10
MIB = 1 << 20
CHANNELS = [1, 64, 1024]
RECEIVES = 32


@dataclasses.dataclass(frozen=True)
class Case:
    """Messages of one size, there and back or one way."""

    mode: str  # echo, one-way
    size: int
    block: int = 4 * KIB
    channels: int = 1
    receives: int = RECEIVES

    @property
    def name(self):
        return f"{self.mode} {self.size}" + (f" {self.receives}" if self.receives != RECEIVES else "")

    @property
    def title(self):
        way = "there and back" if self.mode == "echo" else "one way"
        size = "1 MiB" if self.size == MIB else f"{self.size:,} B"
        if self.size == MIB:
            return f"{size}, offered, {way}"
        receives = f", {self.receives} receives" if self.receives != RECEIVES else ""
        return f"{size} in blocks of {self.block:,} B, {way}{receives}"

    @property
    def counted_programs(self):
        return [*PROGRAMS, BLOCKING] if self.mode == "echo" else PROGRAMS

    @property
    def is_offered(self):
        return self.size + 16 > self.block

    @property
    def messages(self):
        if self.size == MIB:
            return 8
        return 1600 if self.mode == "one-way" else 400

    @property
    def messages_of_elapsed(self):
        """The messages that the time of a client is divided into, for each that it counts."""
        return 2 if self.mode == "echo" else 1

    def job(self, messages=None, wait="events"):
        """The end of a command line."""
        each = messages or self.messages
        return [*map(str, (self.channels, each, self.size, self.block, self.receives)), self.mode, wait]


# 4,080 bytes and the header fill one block, which is one packet; 4,096 bytes need a longer block.
SIZES = [(64, 4 * KIB), (4 * KIB - 16, 4 * KIB), (4 * KIB, 8 * KIB), (MIB, 4 * KIB)]
CASES = [Case(mode, size, block) for mode in ("echo", "one-way") for size, block in SIZES]
CHECKED = CASES[0]
# It has the number of receives of rsockets.
DEEP = Case("one-way", 64, 4 * KIB, 1, 384)
# The cases whose user instructions differ.
COUNTED = [each for each in CASES if each.size != 4 * KIB]


def with_channels(count):
    return Case("echo", 64, 256, count, 8)
