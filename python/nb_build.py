"""Builds the Python package (PEP 517): pip calls it for `pip install .`.

A wheel has the module nb, the one program nb, and for each of its other names a script that runs it, as wheels have no links;
pages and completion come along.  CUDA=1 in the environment builds kernels for GPUs, too.
"""
import base64
import hashlib
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
import zipfile

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NAME = "nb_gravity"
LAUNCHER = """#!/bin/sh
file=$0
[ ! -L "$file" ] || file=$(readlink -f "$file")
exec "${file%%/*}/nb" %s "$@"
"""
METADATA = """Metadata-Version: 2.1
Name: nb-gravity
Version: {version}
Summary: N-body gravity as a chain of Unix filters, and their particle streams for NumPy
License: {license}
Classifier: Intended Audience :: Science/Research
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Python :: 3
Classifier: Topic :: Scientific/Engineering :: Astronomy
Classifier: Typing :: Typed
Requires-Python: >=3.9
Requires-Dist: numpy>=1.19
Description-Content-Type: text/markdown

"""


def text(name):
    with open(os.path.join(TOP, name), encoding="utf-8") as file:
        return file.read()


def version():
    return re.search(r"^VERSION *= *(\S+)", text("Makefile"), re.M)[1]


def metadata():
    return METADATA.format(version=version(), license=text("LICENSE").split("\n")[0].strip()) + text("README.md")


def get_requires_for_build_wheel(config_settings=None):
    return []


def tag(program):
    """A program that needs no shared library, and so no loader, runs on each Linux of its machine."""
    machine = os.uname().machine
    with open(program, "rb") as file:
        head = file.read(4096)
    if b"/ld-" in head or b"/ld64" in head:
        return "py3-none-linux_" + machine
    return f"py3-none-manylinux_2_17_{machine}.manylinux2014_{machine}.musllinux_1_1_{machine}"


class Wheel:
    def __init__(self, folder, tags):
        self.stem = f"{NAME}-{version()}"
        self.name = f"{self.stem}-{tags}.whl"
        self.zip = zipfile.ZipFile(os.path.join(folder, self.name), "w", zipfile.ZIP_DEFLATED)
        self.record = []
        python, abi, platforms = tags.split("-")
        self.add(f"{self.stem}.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: nb_build\nRoot-Is-Purelib: false\n" +
                 "".join(f"Tag: {python}-{abi}-{p}\n" for p in platforms.split(".")))
        self.add(f"{self.stem}.dist-info/METADATA", metadata())
        self.add(f"{self.stem}.dist-info/entry_points.txt", "[yt.frontends]\nnb = nb.yt:NbDataset\n")
        self.add(f"{self.stem}.dist-info/licenses/LICENSE", text("LICENSE"))

    def add(self, name, data, mode=0o644):
        data = data.encode() if isinstance(data, str) else data
        info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))  # the same bytes each time
        info.external_attr = (0o100000 | mode) << 16
        info.compress_type = zipfile.ZIP_DEFLATED
        self.zip.writestr(info, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(data)}")

    def file(self, name, path, mode=0o644):
        with open(path, "rb") as file:
            self.add(name, file.read(), mode)

    def close(self):
        record = f"{self.stem}.dist-info/RECORD"
        self.add(record, "\n".join(self.record + [f"{record},,"]) + "\n")
        self.zip.close()
        return self.name


def installed(root):
    """Builds the programs and installs them below root."""
    make = os.environ.get("MAKE", "make")
    if not shutil.which(make):
        raise SystemExit("nb_build: no 'make' (want GNU make, gcc and libdeflate, see README.md)")
    subprocess.run([make, "-C", TOP, "--no-print-directory", f"-j{os.cpu_count() or 1}",
                    "CUDA=" + os.environ.get("CUDA", "0"), "install", "DESTDIR=" + root, "PREFIX=", "LINKS=soft"],
                   check=True, stdout=subprocess.DEVNULL)


def build(folder, add_module):
    with tempfile.TemporaryDirectory() as root:
        installed(root)
        programs = os.path.join(root, "bin")
        wheel = Wheel(folder, tag(os.path.join(programs, "nb")))
        data = f"{wheel.stem}.data"
        add_module(wheel)
        for name in sorted(os.listdir(programs)):
            if name == "nb":
                wheel.file(f"{data}/scripts/nb", os.path.join(programs, name), 0o755)
            else:
                wheel.add(f"{data}/scripts/{name}", LAUNCHER % name, 0o755)
        shutil.rmtree(os.path.join(root, "share/nb"))  # the module
        for at, _, files in sorted(os.walk(os.path.join(root, "share"))):
            for name in sorted(files):
                path = os.path.join(at, name)
                wheel.file(f"{data}/data/{os.path.relpath(path, root)}", path)
        return wheel.close()


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    def module(wheel):
        folder = os.path.join(TOP, "python/nb")
        for name in sorted(os.listdir(folder)):
            if name.endswith((".py", ".def", ".typed")):
                wheel.file(f"nb/{name}", os.path.join(folder, name))
    return build(wheel_directory, module)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    return build(wheel_directory, lambda wheel: wheel.add(f"{NAME}.pth", os.path.join(TOP, "python") + "\n"))


def build_sdist(sdist_directory, config_settings=None):
    """What git has, or of an unpacked archive everything but what was built."""
    stem = f"{NAME}-{version()}"
    if os.path.exists(os.path.join(TOP, ".git")):
        names = subprocess.run(["git", "-C", TOP, "ls-files"], check=True, capture_output=True, text=True).stdout.splitlines()
    else:
        names = [os.path.relpath(os.path.join(at, f), TOP) for at, _, files in os.walk(TOP) for f in files]
        names = [n for n in names if not n.startswith("build/") and n != "PKG-INFO"]
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as info, \
            tarfile.open(os.path.join(sdist_directory, f"{stem}.tar.gz"), "w:gz", format=tarfile.PAX_FORMAT) as tar:
        info.write(metadata())
        info.flush()
        for name, path in [("PKG-INFO", info.name)] + [(n, os.path.join(TOP, n)) for n in sorted(names)]:
            tar.add(path, f"{stem}/{name}", recursive=False)
    return f"{stem}.tar.gz"
