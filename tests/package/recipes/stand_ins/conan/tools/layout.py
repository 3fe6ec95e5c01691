# SPDX-License-Identifier: MIT
def basic_layout(conanfile):
    conanfile.folders.build = "build"
    conanfile.folders.generators = "build/conan"
