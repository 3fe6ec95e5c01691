# SPDX-License-Identifier: MIT
"""A stand-in for Spack, with which packaging/check runs the recipe where there is no Spack.

It has the directives that the recipe of adverb uses, with the parameters that Spack documents, and records the
versions and variants. It resolves and downloads nothing.
"""

versions = {}
variants = {}
dependencies = {}


def version(name, branch=None, tag=None):
    versions[name] = branch or tag


def variant(name, default, description):
    variants[name] = default


def depends_on(spec, type, when=""):
    if when and when.lstrip("+") not in variants:
        raise ValueError(f"there is no variant {when}")
    dependencies[spec.split("@")[0]] = spec


def license(identifier, checked_by):
    pass


def conflicts(spec, msg):
    pass


requires = conflicts


class CMakePackage:
    @staticmethod
    def define(name, value):
        return f"-D{name}:BOOL={'ON' if value else 'OFF'}"
