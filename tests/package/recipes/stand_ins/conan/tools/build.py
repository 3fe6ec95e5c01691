# SPDX-License-Identifier: MIT
from conan.errors import ConanInvalidConfiguration


def check_min_cppstd(conanfile, cppstd):
    if int(conanfile.settings.compiler.cppstd) < int(cppstd):
        raise ConanInvalidConfiguration(f"C++{cppstd} is needed")


def can_run(conanfile):
    return True
