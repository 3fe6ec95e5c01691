# SPDX-License-Identifier: MIT
import os
import subprocess
from types import SimpleNamespace


class CMakeDeps:
    def __init__(self, conanfile):
        self._conanfile = conanfile

    def generate(self):
        self._conanfile.generators.append(type(self).__name__)


class CMakeToolchain(CMakeDeps):
    """Unless user_presets_path is false, Conan writes CMakeUserPresets.json beside the sources."""

    def __init__(self, conanfile):
        super().__init__(conanfile)
        self.user_presets_path = "CMakeUserPresets.json"

    def generate(self):
        super().generate()
        self._conanfile.user_presets_path = self.user_presets_path


def cmake_layout(conanfile, build_folder="build"):
    conanfile.folders.build = os.path.normpath(os.path.join(conanfile.source_folder, build_folder))
    conanfile.build_folder = os.path.join(conanfile.work_folder, "build")
    conanfile.generators_folder = os.path.join(conanfile.build_folder, "generators")
    conanfile.cpp = SimpleNamespace(build=SimpleNamespace(bindir=conanfile.build_folder))


class CMake:
    def __init__(self, conanfile):
        self._conanfile = conanfile

    def configure(self):
        toolchain = os.path.join(self._conanfile.generators_folder, "conan_toolchain.cmake")
        self._run("-S", self._conanfile.source_folder, "-B", self._conanfile.build_folder,
                  f"-DCMAKE_TOOLCHAIN_FILE={toolchain}",
                  f"-DCMAKE_BUILD_TYPE={self._conanfile.settings.build_type}")

    def build(self):
        self._run("--build", self._conanfile.build_folder)

    @staticmethod
    def _run(*arguments):
        subprocess.run(["cmake", *arguments], check=True, stdout=subprocess.DEVNULL)
