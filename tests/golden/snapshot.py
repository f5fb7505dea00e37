#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares all that people see of captures before a change and after it, byte for byte.

    snapshot.py store BUILD DIR [--plugin-too] [CAPTURE...]     keeps what the programs of BUILD print
    snapshot.py compare BUILD DIR [--plugin-too] [CAPTURE...]   prints what differs from that; exit status 1 when anything does

BUILD is a build directory, DIR where the output is kept. The commands are check in all formats and under all profiles,
transactions, connections, credits, latency, limits and extract, serial and with --jobs 2 and 3 where there is the option; with --plugin-too
also one-pass and two-pass tshark with the plugin. Without CAPTURE: every capture of pcaps/, and of ../shared/captures and
../shared/cases where they are there. A difference is either meant, or a defect."""
import concurrent.futures
import difflib
import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/plugin"))
from tshark import Wireshark  # noqa: E402

FOLDERS = [ROOT / "pcaps", ROOT / "../shared/captures", ROOT / "../shared/cases"]
CAPTURES = (".pcap", ".pcapng", ".pcap.zst", ".pcap.gz", ".pcapng.zst", ".pcapng.gz")


def commands():
    """What is asked of `stag`, as words before the capture's name."""
    for form in ("text", "jsonl", "json", "sarif", "junit", "html"):
        yield ("check", "--fail-on", "never", "--format", form)
    for profile in ("rfc8166", "rfc5666bis", "rfc5666"):
        yield ("check", "--fail-on", "never", "--format", "jsonl", "--profile", profile)
    for jobs in ("2", "3"):
        yield ("check", "--fail-on", "never", "--format", "jsonl", "--jobs", jobs)
        yield ("transactions", "--format", "jsonl", "--jobs", jobs)
    for command in ("transactions", "connections", "credits", "latency", "limits"):
        for form in ("text", "jsonl"):
            yield (command, "--format", form)


def run(command):
    """Everything that the command prints, and its exit status."""
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True,
                          cwd=ROOT, env=os.environ | {"TZ": "UTC", "LC_ALL": "C.UTF-8"})
    return done.stdout + b"\n-- stderr\n" + done.stderr + f"\n-- exit status {done.returncode}\n".encode()


def extract(stag, capture):
    """The report of extract, and the digest of each file that it makes."""
    with tempfile.TemporaryDirectory() as directory:
        out = pathlib.Path(directory) / "out"
        text = run([stag, "extract", "--format", "jsonl", capture, "--out", out]).replace(str(out).encode(), b"OUT")
        for path in sorted(path for path in out.rglob("*") if path.is_file()):
            text += f"{path.relative_to(out)} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode()
        return text


def outputs(build, capture, plugin_too):
    """Pairs of a name and what that command prints."""
    stag = build / "cli/stag"
    for words in commands():
        yield " ".join(words), run([stag, *words, capture])
    yield "extract", extract(stag, capture)
    if plugin_too:
        version = subprocess.run(["pkg-config", "--modversion", "wireshark"], check=True, capture_output=True, text=True)
        with Wireshark(build / "plugin/stag.so", ".".join(version.stdout.split(".")[:2])) as wireshark:
            for passes in ([], ["-2"]):
                # Whole trees where the plugin has something to show; the columns of every frame.
                text = wireshark.tshark(capture, *passes, "-O", "rpcrdma,rpc,nfs", "-Y", "rpcrdma")
                text += wireshark.tshark(capture, *passes)
                yield " ".join(["tshark", *passes]), text.encode()


def captures():
    found = []
    for folder in FOLDERS:
        found += (path for path in sorted(folder.rglob("*")) if path.name.endswith(CAPTURES))
    return [path.resolve() for path in found]


def place(directory, capture, name):
    """Where the output of one command over one capture is kept."""
    key = f"{os.path.relpath(capture, ROOT)} {name}"
    return directory / hashlib.sha256(key.encode()).hexdigest()


def store(build, directory, capture, plugin_too):
    for name, text in outputs(build, capture, plugin_too):
        place(directory, capture, name).write_bytes(zlib.compress(text, 1))
    return []


def compare(build, directory, capture, plugin_too):
    complaints = []
    for name, text in outputs(build, capture, plugin_too):
        kept = place(directory, capture, name)
        title = f"{os.path.relpath(capture, ROOT)}: {name}"
        if not kept.exists():
            complaints.append(f"{title}: was not stored")
            continue
        before = zlib.decompress(kept.read_bytes())
        if before == text:
            continue
        old, new = (part.decode(errors="replace").splitlines() for part in (before, text))
        lines = list(difflib.unified_diff(old, new, "before", "after", n=0, lineterm=""))
        complaints.append("\n".join([f"{title}: {len(lines)} lines differ", *(line[:400] for line in lines[2:12])]))
    return complaints


def main(arguments):
    plugin_too = "--plugin-too" in arguments
    words = [word for word in arguments if word != "--plugin-too"]
    if len(words) < 3 or words[0] not in ("store", "compare"):
        sys.exit(__doc__)
    build, directory = pathlib.Path(words[1]).resolve(), pathlib.Path(words[2])
    directory.mkdir(parents=True, exist_ok=True)
    chosen = [pathlib.Path(word).resolve() for word in words[3:]] or captures()
    work = store if words[0] == "store" else compare
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda capture: work(build, directory, capture, plugin_too), chosen))
    complaints = [complaint for result in results for complaint in result]
    print(*complaints, sep="\n", end="\n" if complaints else "")
    print(f"{len(chosen)} captures, {len(complaints)} outputs differ" if work is compare else f"{len(chosen)} captures")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
