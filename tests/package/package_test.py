#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What is installed and packaged from a build: a program of somebody else finds the libraries by CMake and by pkg-config, and
the Debian packages hold what they say.

    package_test.py BUILD"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
EXPECTED = "12345678 1 32 HDR-001\n"
CONSUMER = """cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES CXX)
find_package(stag REQUIRED)
add_executable(consumer {source})
target_compile_features(consumer PRIVATE cxx_std_20)
target_link_libraries(consumer stag::stag_conformance)
"""


def run(*command, **more):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **more)
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.stdout}{done.stderr}")
    return done.stdout


class Package(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.at = pathlib.Path(self.directory.name)

    def tearDown(self):
        self.directory.cleanup()

    def install(self):
        run("cmake", "--install", BUILD, "--component", "development", "--prefix", self.at / "prefix")
        return self.at / "prefix"

    def test_consumer_by_cmake(self):
        prefix = self.install()
        (self.at / "consumer").mkdir()
        (self.at / "consumer/CMakeLists.txt").write_text(CONSUMER.format(source=HERE / "consumer.cc"))
        run("cmake", "-S", self.at / "consumer", "-B", self.at / "build", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}")
        run("cmake", "--build", self.at / "build")
        self.assertEqual(run(self.at / "build/consumer"), EXPECTED)

    def test_consumer_by_pkg_config(self):
        prefix = self.install()
        [file] = prefix.rglob("stag.pc")
        environment = {**os.environ, "PKG_CONFIG_PATH": str(file.parent)}
        words = run("pkg-config", f"--define-variable=prefix={prefix}", "--cflags", "--libs", "stag", env=environment).split()
        run("c++", "-std=c++20", HERE / "consumer.cc", "-o", self.at / "consumer", *words)
        self.assertEqual(run(self.at / "consumer"), EXPECTED)

    def test_each_header_alone(self):
        include = self.install() / "include/stag"
        headers = [path.relative_to(include) for path in include.rglob("*.h")]
        self.assertGreater(len(headers), 30)

        def compiles(header):
            source = f'#include "{header}"\n'
            run("c++", "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", f"-I{include}", "-xc++", "-", input=source)

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            list(pool.map(compiles, headers))
        private = [str(header) for header in headers if re.search("nobody else includes|internal to", (include / header).read_text(),
                                                                  re.IGNORECASE)]
        self.assertEqual(private, [])

    def test_debian_packages(self):
        run("cpack", "--config", BUILD / "CPackConfig.cmake", "-B", self.at, cwd=self.at)
        contents, depends, of_debuggers = {}, {}, {}
        for file in [*self.at.glob("*.deb"), *self.at.glob("*.ddeb")]:
            name = run("dpkg-deb", "-f", file, "Package").strip()
            if name.endswith("-dbgsym"):
                of_debuggers[name] = run("dpkg-deb", "-c", file)
                continue
            contents[name] = set(re.findall(r"(?m) \./(\S*[^/\s])$", run("dpkg-deb", "-c", file)))
            depends[name] = run("dpkg-deb", "-f", file, "Depends")
            if name != "libstag-dev":
                self.assertIn("libc6 (>= ", depends[name], name)
        cache = (BUILD / "CMakeCache.txt").read_text()
        plugin = "STAG_BUILD_PLUGIN:BOOL=ON" in cache
        mpi = (BUILD / "scale/stag_mpi.so").exists()
        self.assertEqual(sorted(contents), ["libstag-dev", "stag"] + (["stag-mpi"] if mpi else []) +
                         (["wireshark-plugin-stag"] if plugin else []))
        self.assertNotIn("mpi", depends["stag"])  # who has no cluster needs none
        if mpi:
            self.assertIn("libopenmpi", depends["stag-mpi"])
            self.assertTrue(any(path.endswith("/stag/stag_mpi.so") for path in contents["stag-mpi"]))
        for path in ["usr/bin/stag", "usr/share/doc/stag/README.md", "usr/share/bash-completion/completions/stag",
                     "usr/share/zsh/vendor-completions/_stag", "usr/share/fish/vendor_completions.d/stag.fish"]:
            self.assertIn(path, contents["stag"])
        for page in ["stag", "stag-check", "stag-capture", "stag-replay"]:
            self.assertIn(f"usr/share/man/man1/{page}.1.gz", contents["stag"])
        self.assertTrue({"usr/include/stag/session/rpcrdma/session.h"} <= contents["libstag-dev"])
        if plugin:
            self.assertTrue(any(re.fullmatch(r"usr/lib/.*/wireshark/plugins/[\d.]+/epan/stag\.so", path)
                                for path in contents["wireshark-plugin-stag"]))
            self.assertIn("usr/share/wireshark/profiles/RPC-over-RDMA/preferences", contents["wireshark-plugin-stag"])
        for name in contents.keys() - {"libstag-dev"}:
            self.assertRegex(of_debuggers[f"{name}-dbgsym"], r"usr/lib/debug/\.build-id/\w\w/\w+\.debug")
        # The same files as cmake --install, and the same program: without debug information.
        run("cmake", "--install", BUILD, "--prefix", "/usr", env={**os.environ, "DESTDIR": str(self.at / "installed")})
        installed = {str(path.relative_to(self.at / "installed")) for path in (self.at / "installed").rglob("*")
                     if path.is_symlink() or not path.is_dir()}
        self.assertEqual(installed, set().union(*contents.values()))
        [package] = [file for file in self.at.glob("stag_*.deb") if "dbgsym" not in file.name]
        run("dpkg-deb", "-x", package, self.at / "unpacked")
        for root in ("installed", "unpacked"):
            sections = run("readelf", "--section-headers", "--wide", self.at / root / "usr/bin/stag")
            self.assertNotIn(" .debug_info", sections, root)
            self.assertNotIn(" .symtab", sections, root)
        seen = [path for paths in contents.values() for path in paths]
        self.assertEqual(len(seen), len(set(seen)), "no file is in two packages")


if __name__ == "__main__":
    BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
