# SPDX-License-Identifier: MIT
from spack.package import *


class Adverb(CMakePackage):
    """Header-only C++20 library over libibverbs and librdmacm."""

    homepage = "https://example.org/adverb"
    git = "https://example.org/adverb.git"

    license("MIT", checked_by="the adverb authors")

    version("main", branch="main")
    version("0.1.0", tag="v0.1.0")

    variant("asio", default=False, description="Connections on an io_context of Asio")

    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("pkgconfig", type=("build", "run"))
    # Programs find the headers and libraries of these through adverb's packages for CMake and
    # pkg-config. An external rdma-core in packages.yaml is that of the system, which has the
    # providers of all devices.
    depends_on("rdma-core@39:", type=("build", "link"))
    depends_on("asio@1.22:", type=("build", "link"), when="+asio")

    conflicts("%gcc@:10", msg="adverb needs C++20")
    conflicts("%clang@:13", msg="adverb needs C++20")
    requires("platform=linux", msg="adverb needs Linux, for libibverbs")

    def cmake_args(self):
        return [
            self.define("BUILD_TESTING", False),
            self.define("ADVERB_EXAMPLES", False),
            self.define("ADVERB_BENCHMARKS", False),
        ]
