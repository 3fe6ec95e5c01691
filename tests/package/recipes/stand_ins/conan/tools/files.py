# SPDX-License-Identifier: MIT
import fnmatch
import os
import shutil


def load(conanfile, path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def copy(conanfile, pattern, src, dst):
    """Copies the files below `src` whose path from there matches; returns where they went."""
    copied = []
    for folder, _, names in os.walk(src):
        for name in names:
            relative = os.path.relpath(os.path.join(folder, name), src)
            if fnmatch.fnmatch(relative, pattern):
                target = os.path.join(dst, relative)
                os.makedirs(os.path.dirname(target), exist_ok=True)
                shutil.copy2(os.path.join(folder, name), target)
                copied.append(target)
    return copied
