#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""No file of the tree names a host that packages are fetched from: packages come from where this machine gets its own.

    mirror_hosts.py [ROOT]      checks a tree (default: the one this file is in); exit status 1 and a line per violation
    mirror_hosts.py --self-test plants such hosts and makes sure that they are found"""
import os
import re
import subprocess
import sys

# A line of an apt source that names a host; addresses whose path is a distribution's archive; hosts that are called mirrors.
HOSTS = re.compile(
    r"\bdeb(?:-src)?\s+(?:\[[^\]]*\]\s*)?\w+://[\w-]+[.:]"
    r"|^\s*URIs:\s*\w+://[\w-]"
    r"|\b(?:https?|ftp|mirror\+\w+)://[\w.:-]+/(?:[\w.-]+/)*(?:debian|ubuntu)(?:-security|-ports|-backports)?/?(?=[\s\"'`,;)]|$)"
    r"|\b(?:deb|ftp|archive|ports|security|snapshot|mirrors?)\.(?:[\w-]+\.)*(?:debian|ubuntu)\.(?:org|com|net)\b"
    r"|\b(?:https?|ftp)://(?:mirrors?|apt|packages)\.[\w.-]+", re.M)


def violations(path, text):
    for found in HOSTS.finditer(text):
        yield f"{path}:{text.count(chr(10), 0, found.start()) + 1}: names a host of packages: {found[0].strip()}"


def files(root):
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            capture_output=True, text=True)
    if listed.returncode == 0:
        yield from (path for path in listed.stdout.split("\0") if path)
        return
    for directory, folders, names in os.walk(root):  # an unpacked archive
        folders[:] = [folder for folder in folders if folder not in (".git", ".cache", "build")]
        yield from (os.path.relpath(os.path.join(directory, name), root) for name in names)


def self_test():
    # Written in two parts, so that this file has none itself.
    bad = ["deb http:" "//example.org/debian trixie main", "deb [trusted=yes] http:" "//a.example/x noble universe",
           "URIs: https:" "//example.org/debian", "x = 'http:" "//ftp.de." "debian.org/debian/'", "archive." "ubuntu.com",
           "snapshot." "debian.org", "see https:" "//mirror.example.org/somewhere", "http:" "//10.0.0.1/cache/debian-security\n"]
    good = ["deb $(REPO_URI) $(RELEASE) $(COMPONENT)", "https:" "//www.debian.org/", "https:" "//bugs.debian.org/1", "debian/rules",
            "f\"deb {uri} {suite} main\"", "a port mirror. Then"]
    failed = [text for text in bad if not list(violations("x", text))] + [text for text in good if list(violations("x", text))]
    for text in failed:
        print(f"self-test: {text!r}")
    return 1 if failed else 0


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    root = arguments[0] if arguments else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    lines, count = [], 0
    for path in files(root):
        try:
            with open(os.path.join(root, path), encoding="utf-8") as file:
                text = file.read()
        except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
            continue  # a capture; deleted and not committed; a submodule
        count += 1
        lines += violations(path, text)
    print("\n".join(lines) if lines else f"{count} files: no host of packages")
    return 1 if lines or not count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
