# SPDX-License-Identifier: MIT
"""A stand-in for Conan 2, with which packaging/check runs the recipes where there is no Conan.

It has the names that the recipes of adverb use, with the parameters and the meaning that Conan's
reference documents, and fails on any other: an attribute that Conan does not have is an error. It
resolves no versions, downloads nothing and keeps no cache.
"""

import subprocess
from types import SimpleNamespace


class Component:
    """The exports of a package, or of a component of it."""

    FIELDS = ("includedirs", "libdirs", "bindirs", "libs", "system_libs", "defines", "requires")
    PROPERTIES = ("cmake_build_modules", "cmake_config_version_compat", "cmake_file_name",
                  "cmake_target_name", "pkg_config_name")
    __slots__ = (*FIELDS, "properties")

    def __init__(self):
        for field in self.FIELDS:
            setattr(self, field, [])
        self.includedirs, self.libdirs, self.bindirs = ["include"], ["lib"], ["bin"]
        self.properties = {}

    def set_property(self, name, value):
        if name not in self.PROPERTIES:
            raise AttributeError(f"the stand-in for Conan knows no property '{name}'")
        self.properties[name] = value


class Components(dict):
    def __missing__(self, name):
        return self.setdefault(name, Component())


class CppInfo(Component):
    __slots__ = ("components",)

    def __init__(self):
        super().__init__()
        self.components = Components()


class Info:
    """The inputs of the identifier of a binary."""

    def __init__(self):
        self.cleared = False

    def clear(self):
        self.cleared = True


class ConanFile:
    """The base of a recipe. `settings` and `options` are the values for those that it declares."""

    def __init__(self, settings, options):
        undeclared = set(options) - set(getattr(self, "options", {}))
        if undeclared:
            raise AttributeError(f"the recipe declares no option {', '.join(sorted(undeclared))}")
        declared = getattr(self, "options", {})
        defaults = getattr(self, "default_options", {})
        values = {name: options.get(name, defaults.get(name)) for name in declared}
        for name, value in values.items():
            if value not in declared[name]:
                raise ValueError(f"the option {name} cannot be {value}")
        for name in defaults:
            if name not in declared and ":" not in name:
                raise AttributeError(f"default_options names '{name}', which is no option")
        self.options = SimpleNamespace(**values)
        self.settings = SimpleNamespace(**{name: settings[name] for name in self.settings})
        self.required = {}
        self.dependencies = {}
        self.folders = SimpleNamespace()
        self.system_packages = {}
        self.info = Info()
        self.cpp_info = CppInfo()

    def requires(self, reference, transitive_headers=None, transitive_libs=None):
        name, _, version = reference.partition("/")
        if not version:
            raise ValueError(f"the requirement '{reference}' has no version")
        self.required[name] = SimpleNamespace(
            version=version, headers=transitive_headers, libs=transitive_libs)

    def run(self, command, env=None):
        subprocess.run(command, shell=True, check=True)
