# SPDX-License-Identifier: MIT
class _PackageManager:
    """Records the packages that the recipe installs."""

    def __init__(self, conanfile):
        self._conanfile = conanfile

    def install(self, packages):
        self._conanfile.system_packages[type(self).__name__] = packages


class Apk(_PackageManager):
    pass


class Apt(_PackageManager):
    pass


class Dnf(_PackageManager):
    pass


class PacMan(_PackageManager):
    pass


class Yum(_PackageManager):
    pass


class Zypper(_PackageManager):
    pass
