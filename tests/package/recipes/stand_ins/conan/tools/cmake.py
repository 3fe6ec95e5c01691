# SPDX-License-Identifier: MIT
import os
import subprocess
from types import SimpleNamespace


def cmake_layout(conanfile):
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
