#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compiles the plugin's sources against the real headers of other versions of Wireshark.

    versions.py             fetches the development packages of the distributions below into a temporary directory (apt-get,
                            nothing is installed) and compiles the plugin against each
    versions.py DIRECTORY   against the headers in DIRECTORY (where ws_version.h is), fetching nothing

Exit status 1 when one does not compile without warnings."""
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGES = ["libwireshark-dev", "libwiretap-dev", "libwsutil-dev"]
# Where apt-get finds what; Wireshark 4.2, 4.4 and 4.6 at the time of writing. Only headers are used, so that signatures of
# distributions whose keys are not at hand are not asked for.
SOURCES = {
    "Ubuntu 24.04": "deb [trusted=yes] http://archive.ubuntu.com/ubuntu noble universe",
    "Debian 13": "deb [trusted=yes] http://deb.debian.org/debian trixie main",
    "Debian unstable": "deb [trusted=yes] http://deb.debian.org/debian sid main",
}


def fetch(source, directory):
    """The include directory of the packages from `source`, unpacked under `directory`."""
    for part in ("lists/partial", "cache/archives/partial"):
        (directory / part).mkdir(parents=True)
    (directory / "status").touch()
    (directory / "sources.list").write_text(source + "\n")
    options = [f"-oDir::Etc::sourcelist={directory}/sources.list", "-oDir::Etc::sourceparts=/dev/null",
               f"-oDir::State::lists={directory}/lists", f"-oDir::Cache={directory}/cache",
               f"-oDir::State::status={directory}/status", "-oAPT::Sandbox::User=", "-qq"]
    subprocess.run(["apt-get", *options, "update"], check=True, cwd=directory, stderr=subprocess.DEVNULL)
    subprocess.run(["apt-get", *options, "download", *PACKAGES], check=True, cwd=directory)
    for package in directory.glob("*.deb"):
        subprocess.run(["dpkg", "-x", package, directory / "root"], check=True)
    return directory / "root/usr/include/wireshark"


def compile_against(headers):
    """Whether all sources compile; what is wrong goes to stderr."""
    glib = subprocess.run(["pkg-config", "--cflags-only-I", "glib-2.0"], check=True, capture_output=True,
                          text=True).stdout.replace("-I", "-isystem").split()
    command = ["g++", "-std=c++20", "-fsyntax-only", "-fno-exceptions", "-fno-rtti", "-Wall", "-Wextra", "-Wconversion",
               "-Wshadow", "-Werror", "-DSTAG_VERSION=\"0\"", f"-I{ROOT}", "-isystem", str(headers), *glib]
    return all([subprocess.run([*command, source]).returncode == 0 for source in sorted((ROOT / "plugin").glob("*.cc"))])


def version(headers):
    words = (headers / "ws_version.h").read_text().split()
    return ".".join(words[words.index(f"WIRESHARK_VERSION_{part}") + 1] for part in ("MAJOR", "MINOR", "MICRO"))


def main(arguments):
    good = True
    with tempfile.TemporaryDirectory(prefix="stag-versions-") as temporary:
        todo = [("given", pathlib.Path(a)) for a in arguments]
        for name, source in {} if arguments else SOURCES.items():
            directory = pathlib.Path(temporary) / name.replace(" ", "-")
            directory.mkdir()
            todo.append((name, fetch(source, directory)))
        for name, headers in todo:
            fine = compile_against(headers)
            print(f"Wireshark {version(headers)} ({name}): {'compiles' if fine else 'DOES NOT COMPILE'}", flush=True)
            good = good and fine
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
