# SPDX-License-Identifier: MIT
"""Builds and runs a program against the Conan package, as `conan create` does."""

import os

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, cmake_layout


class TestPackageConan(ConanFile):
    settings = "os", "arch", "compiler", "build_type"
    generators = "CMakeDeps", "CMakeToolchain"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        cmake_layout(self)

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def test(self):
        if can_run(self):
            programs = ["verbs", "cm"]
            if self.dependencies["adverb"].options.with_asio:
                programs.append("asio")
            for program in programs:
                self.run(os.path.join(self.cpp.build.bindir, program), env="conanrun")
