# SPDX-License-Identifier: MIT
"""Builds and runs a program against the Conan package, as `conan create` does."""

import os

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout


class TestPackageConan(ConanFile):
    settings = "os", "arch", "compiler", "build_type"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        # Git ignores build/, and no file of presets is written beside the sources.
        cmake_layout(self, build_folder=os.path.join("..", "build", "test_package"))

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self)
        toolchain.user_presets_path = False
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def test(self):
        if can_run(self):
            programs = ["verbs", "cm", "loader"]
            if self.dependencies["adverb"].options.with_asio:
                programs.append("asio")
            for program in programs:
                self.run(os.path.join(self.cpp.build.bindir, program), env="conanrun")
