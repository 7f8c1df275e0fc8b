# SPDX-License-Identifier: (Apache-2.0 OR MIT)

from spack_repo.builtin.build_systems.makefile import MakefilePackage

from spack.package import *


class Nb(MakefilePackage):
    """N-body gravity as a chain of Unix filters, on the CPU or on NVIDIA GPUs."""

    homepage = "@HOMEPAGE@"
    url = "@URL@"

    license("MIT")

    version("@VERSION@", sha256="@SHA256@")

    variant("cuda", default=False, description="Kernels for NVIDIA GPUs")
    variant("mpi", default=False, description="Runs that several hosts share, by Open MPI")

    depends_on("c", type="build")
    depends_on("cxx", type="build", when="+cuda")
    depends_on("gmake", type="build")
    depends_on("gawk", type="build")
    depends_on("libdeflate")
    depends_on("cuda@12.8:", when="+cuda")
    depends_on("openmpi", when="+mpi")

    conflicts("platform=darwin", msg="nb is for Linux")
    requires("%gcc", msg="libgomp is linked statically")

    @property
    def settings(self):
        def flag(name):
            return f"{name.upper()}={int(self.spec.satisfies(f'+{name}'))}"

        without = ("HDF5=0", "JPEG=0", "WEBP=0", "FREETYPE=0", "MICROHTTPD=0")
        return [flag("cuda"), flag("mpi"), *without, f"PREFIX={self.prefix}"]

    def build(self, spec, prefix):
        make(*self.settings)

    def install(self, spec, prefix):
        make("install", *self.settings)

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_install(self):
        Executable(self.prefix.bin.join("nb-gen"))("figure8", "-o", "figure8.nb")
        Executable(self.prefix.bin.join("nb-stats"))("--check", "figure8.nb")
