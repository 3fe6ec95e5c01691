# SPDX-License-Identifier: MIT
class ConanInvalidConfiguration(Exception):
    pass
