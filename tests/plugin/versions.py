#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compiles the plugin's sources against the real headers of other versions of Wireshark.

    versions.py             fetches the development packages of the suites below into a temporary directory (apt-get, nothing is
                            installed) and compiles the plugin against each; a suite that is not where this machine gets
                            its packages is named and left out
    versions.py DIRECTORY   against the headers in DIRECTORY (where ws_version.h is), fetching nothing

Exit status 1 when one does not compile without warnings, or when none was there to be compiled against."""
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGES = ["libwireshark-dev", "libwiretap-dev", "libwsutil-dev"]
# Suite and component; Wireshark 4.2, 4.4 and 4.6 at the time of writing.
SUITES = {"Ubuntu 24.04": ("noble", "universe"), "Debian 13": ("trixie", "main"), "Debian unstable": ("sid", "main")}


def archives():
    """Where this machine gets its packages: the addresses in its apt sources, whichever form these have."""
    lines = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"], check=True,
                           capture_output=True, text=True).stdout.split()
    return [uri for uri in dict.fromkeys(lines) if "security" not in uri]


def fetch(archive, suite, component, directory):
    """The include directory of the packages, unpacked under `directory`; None when the archive has no such suite."""
    for part in ("lists/partial", "cache/archives/partial"):
        (directory / part).mkdir(parents=True)
    (directory / "status").touch()
    # Only headers are used, so that signatures of distributions whose keys are not at hand are not asked for.
    (directory / "sources.list").write_text(f"deb [trusted=yes] {archive} {suite} {component}\n")
    options = [f"-oDir::Etc::sourcelist={directory}/sources.list", "-oDir::Etc::sourceparts=/dev/null",
               f"-oDir::State::lists={directory}/lists", f"-oDir::Cache={directory}/cache",
               f"-oDir::State::status={directory}/status", "-oAPT::Sandbox::User=", "-oAPT::Update::Error-Mode=any",
               "-oAcquire::Check-Valid-Until=false", "-qq"]
    for command in (["update"], ["download", *PACKAGES]):
        if subprocess.run(["apt-get", *options, *command], cwd=directory, stderr=subprocess.DEVNULL).returncode != 0:
            return None
    for package in directory.glob("*.deb"):
        subprocess.run(["dpkg", "-x", package, directory / "root"], check=True)
    return directory / "root/usr/include/wireshark"


def fetched(temporary):
    """(name, include directory) of each suite that can be had."""
    for name, (suite, component) in SUITES.items():
        for number, archive in enumerate(archives()):
            headers = fetch(archive, suite, component, temporary / f"{suite}-{number}")
            if headers:
                yield name, headers
                break
        else:
            print(f"{name}: NOT TRIED, {suite} is not where this machine gets its packages", flush=True)


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
    results = []
    with tempfile.TemporaryDirectory(prefix="stag-versions-") as temporary:
        todo = [("given", pathlib.Path(a)) for a in arguments] if arguments else fetched(pathlib.Path(temporary))
        for name, headers in todo:
            results.append(compile_against(headers))
            print(f"Wireshark {version(headers)} ({name}): {'compiles' if results[-1] else 'DOES NOT COMPILE'}", flush=True)
    return 0 if results and all(results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
