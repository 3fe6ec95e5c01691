# SPDX-License-Identifier: MIT
"""The recipe of adverb for Conan 2: `conan create .`, or an entry of a local recipes index."""

import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.files import copy, load
from conan.tools.layout import basic_layout
from conan.tools.system.package_manager import Apk, Apt, Dnf, PacMan, Yum, Zypper

required_conan_version = ">=2.0"


class AdverbConan(ConanFile):
    name = "adverb"
    description = "Header-only C++20 library over libibverbs and librdmacm"
    license = "MIT"
    homepage = "https://example.org/adverb"
    url = "https://example.org/adverb.git"
    topics = ("rdma", "infiniband", "roce", "iwarp", "verbs", "header-only")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    # With system_rdma_core, libibverbs and librdmacm are those of the distribution, which have the
    # providers of all devices. Conan's rdma-core builds those of efa, mana, mlx4 and mlx5 only, and
    # lacks the files by which libibverbs loads them: a program links rdma-core::libmlx5 itself.
    # with_asio adds the component asio, for <adverb/asio.hpp>.
    options = {"system_rdma_core": [True, False], "with_asio": [True, False]}
    default_options = {"system_rdma_core": True, "with_asio": False,
                       "rdma-core/*:build_librdmacm": True}
    exports_sources = "include/*", "LICENSE", "cmake/adverb-loader.cmake", "packaging/conan/*"
    no_copy_source = True

    def set_version(self):
        header = load(self, os.path.join(self.recipe_folder, "include", "adverb", "version.hpp"))
        self.version = ".".join(re.findall(r"#define ADVERB_VERSION_[MP]\w+ (\d+)", header))

    def layout(self):
        basic_layout(self)
        # Git ignores build/.
        self.folders.build = os.path.join("build", "conan")
        self.folders.generators = self.folders.build

    def requirements(self):
        # ConanCenter accepts no ranges of these. adverb needs rdma-core 39 and Asio 1.22.
        if not self.options.system_rdma_core:
            self.requires("rdma-core/52.0", transitive_headers=True, transitive_libs=True)
        if self.options.with_asio:
            self.requires("asio/1.28.1", transitive_headers=True, transitive_libs=True)

    def package_id(self):
        self.info.clear()

    def validate(self):
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("adverb needs Linux, for libibverbs")
        check_min_cppstd(self, 20)
        if not self.options.system_rdma_core:
            if not self.dependencies["rdma-core"].options.build_librdmacm:
                raise ConanInvalidConfiguration("adverb needs rdma-core/*:build_librdmacm=True")

    def system_requirements(self):
        if self.options.system_rdma_core:
            Apk(self).install(["rdma-core-dev"])
            Apt(self).install(["libibverbs-dev", "librdmacm-dev"])
            Dnf(self).install(["rdma-core-devel"])
            PacMan(self).install(["rdma-core"])
            Yum(self).install(["rdma-core-devel"])
            Zypper(self).install(["rdma-core-devel"])

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        copy(self, "*", os.path.join(self.source_folder, "include"),
             os.path.join(self.package_folder, "include"))
        copy(self, "*.cmake", os.path.join(self.source_folder, "packaging", "conan"),
             os.path.join(self.package_folder, "share"))
        copy(self, "adverb-loader.cmake", os.path.join(self.source_folder, "cmake"),
             os.path.join(self.package_folder, "share"))

    def package_info(self):
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
        self.cpp_info.set_property("cmake_file_name", "adverb")
        self.cpp_info.set_property("cmake_config_version_compat", "SameMinorVersion")
        self.cpp_info.set_property("cmake_build_modules",
                                   [os.path.join("share", "adverb-loader.cmake"),
                                    os.path.join("share", "adverb-components.cmake")])
        self.cpp_info.set_property("cmake_target_name", "adverb::adverb")
        self.cpp_info.set_property("pkg_config_name", "adverb")
        self._add_component("verbs", library="ibverbs")
        self._add_component("cm", requires=["verbs"], library="rdmacm")
        self._add_component("async", requires=["cm"], system_libs=["pthread"])
        if self.options.with_asio:
            self._add_component("asio", requires=["async", "asio::asio"])

    def _add_component(self, name, requires=(), library=None, system_libs=()):
        component = self.cpp_info.components[name]
        component.set_property("cmake_target_name", f"adverb::{name}")
        component.set_property("pkg_config_name", f"adverb-{name}")
        component.bindirs = []
        component.libdirs = []
        component.requires = list(requires)
        component.system_libs = list(system_libs)
        if library and self.options.system_rdma_core:
            component.system_libs.append(library)
        elif library:
            component.requires.append(f"rdma-core::lib{library}")
