#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The lab: a virtual machine (QEMU, emulated: no KVM, no hardware, no network) whose Linux kernel is the peer.

    lab.py build                      makes the image, unless it is there and up to date
    lab.py list                       the scenarios
    lab.py run SCENARIO [WORD...]     runs one, in the machine that is up or in one of its own
    lab.py up | down                  a machine that stays
    lab.py shell                      commands for it, line by line

A scenario is tests/lab/scenarios/SCENARIO.sh, a shell script that runs in the machine; WORDs are its arguments. Its exit
status is that of the run. What it leaves in /share/keep is looked at by SCENARIO.after.py, where there is one: on this
side, with that folder, the build and the WORDs as arguments; and goes to the folder that --keep names. Everything is kept in .cache/lab of the repository: images by their inputs, and what the last
run left (share/)."""
import argparse
import atexit
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

LAB = pathlib.Path(__file__).resolve().parent
ROOT = LAB.parent.parent
CACHE = ROOT / ".cache/lab"
IMAGE_INPUTS = ["build.sh", "init", "modules", "packages"]
BOOT_PATIENCE = 600  # seconds: emulated, on a machine that may be busy


def say(text):
    print(f"lab: {text}", flush=True)


def fail(text):
    sys.exit(f"lab: {text}")


def need(*programs):
    missing = [p for p in programs if not shutil.which(p)]
    if missing:
        fail(f"missing: {', '.join(missing)}. ./dev lab installs them (qemu-system-x86, mmdebstrap, cpio, kmod)")


def image():
    """The folder of the image for this state of tests/lab/image; made when it is not there."""
    digest = hashlib.sha256()
    for name in IMAGE_INPUTS:
        digest.update((LAB / "image" / name).read_bytes())
    folder = CACHE / f"image-{digest.hexdigest()[:16]}"
    if not (folder / "root.cpio").exists():
        need("mmdebstrap", "cpio", "depmod", "make", "gcc", "xz")
        say(f"building the image in {folder.relative_to(ROOT)}: this takes a few minutes, once")
        if subprocess.run([LAB / "image/build.sh", folder]).returncode != 0:
            fail("the image could not be built")
        for other in CACHE.glob("image-*"):
            if other != folder:
                shutil.rmtree(other)
    return folder


class Machine:
    """A machine, by the folder that it shares with this program."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.count = 0

    def start(self, build):
        need("qemu-system-x86_64")
        files = image()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        shares = {"share": self.folder, "src": ROOT, "build": build}
        command = ["qemu-system-x86_64", "-M", "q35", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2",
                   "-m", "3072", "-kernel", files / "vmlinuz", "-initrd", files / "root.cpio", "-append",
                   "console=ttyS0 rdinit=/init mitigations=off nokaslr tsc=reliable audit=0 panic=-1",
                   "-display", "none", "-nodefaults", "-no-reboot", "-monitor", "none",
                   "-serial", f"file:{self.folder}/console"]
        for tag, path in shares.items():
            read_only = ",readonly=on" if tag != "share" else ""
            command += ["-virtfs", f"local,path={path},mount_tag={tag},security_model=none,multidevs=remap{read_only}"]
        log = open(self.folder / "qemu.log", "w")
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        (self.folder / "pid").write_text(str(process.pid))
        begin = time.monotonic()
        while not (self.folder / "ready").exists():
            if process.poll() is not None or time.monotonic() - begin > BOOT_PATIENCE:
                sys.stderr.write((self.folder / "qemu.log").read_text())
                console = self.folder / "console"
                if console.exists():
                    sys.stderr.write("".join(console.read_text(errors="replace").splitlines(True)[-20:]))
                self.stop()
                fail("the machine did not start")
            time.sleep(0.2)
        say(f"the machine is up after {time.monotonic() - begin:.0f} s")

    def is_up(self):
        try:
            os.kill(int((self.folder / "pid").read_text()), 0)
            return (self.folder / "ready").exists()
        except (OSError, ValueError):
            return False

    def run(self, script, patience=None):
        """Runs a shell script there; prints what it prints as it comes. Returns its exit status."""
        self.count += 1
        base = self.folder / f"{time.time_ns()}-{self.count}"
        part = base.with_suffix(".part")
        part.write_text(script)
        part.rename(base.with_suffix(".order"))
        out, status, seen = base.with_suffix(".out"), base.with_suffix(".status"), 0
        end = time.monotonic() + patience if patience else None
        while True:
            done = status.exists()
            if out.exists():
                with open(out, "rb") as file:
                    file.seek(seen)
                    new = file.read()
                seen += len(new)
                sys.stdout.write(new.decode(errors="replace"))
                sys.stdout.flush()
            if done:
                return int(status.read_text())
            if not self.is_up():
                say("the machine ended; the last that it said:")
                print("".join((self.folder / "console").read_text(errors="replace").splitlines(True)[-40:]))
                return 2
            if end and time.monotonic() > end:
                say(f"not done after {patience} s")
                return 2
            time.sleep(0.1)

    def stop(self):
        try:
            pid = int((self.folder / "pid").read_text())
        except (OSError, ValueError):
            return
        (self.folder / "off").touch()
        for _ in range(100):
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                pass
            try:
                os.kill(pid, 0)
            except ProcessLookupError:
                break
            time.sleep(0.1)
        else:
            os.kill(pid, 9)
        (self.folder / "pid").unlink(missing_ok=True)


def scenarios():
    found = {}
    for path in sorted((LAB / "scenarios").glob("*.sh")):
        comments = [line[2:] for line in path.read_text().splitlines()[2:] if line.startswith("# ")]
        found[path.stem] = comments[0] if comments else ""
    return found


def main():
    parser = argparse.ArgumentParser(prog="./dev lab", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/ci", help="the build whose programs are used (%(default)s)")
    parser.add_argument("--patience", type=int, default=1800, help="seconds that a scenario may take (%(default)s)")
    parser.add_argument("--keep", metavar="DIR", help="where what the scenario leaves in /share/keep goes")
    parser.add_argument("command", choices=["build", "list", "run", "up", "down", "shell"])
    parser.add_argument("words", nargs="*", metavar="WORD")
    options = parser.parse_args()
    if options.command == "list":
        for name, what in scenarios().items():
            print(f"{name:12} {what}")
        return 0
    if options.command == "build":
        say(f"the image is in {image().relative_to(ROOT)}")
        return 0
    standing = Machine(CACHE / "share")
    if options.command == "down":
        standing.stop()
        return 0
    build = (ROOT / options.build).resolve()
    if not (build / "cli/stag").exists():
        fail(f"{options.build} holds no cli/stag: build first, or name another build with --build")
    if options.command == "up":
        if standing.is_up():
            fail("a machine is up already")
        standing.start(build)
        return 0
    if options.command == "shell":
        if not standing.is_up():
            fail("no machine is up: ./dev lab up")
        say("each line runs by itself; an empty one, or the end, leaves")
        for line in sys.stdin:
            if not line.strip():
                break
            standing.run(line)
        return 0
    if not options.words or options.words[0] not in scenarios():
        fail(f"run which scenario? {', '.join(scenarios())}")
    machine = standing
    if not standing.is_up():
        machine = Machine(tempfile.mkdtemp(prefix="stag-lab-"))
        atexit.register(shutil.rmtree, machine.folder, ignore_errors=True)
        machine.start(build)
        atexit.register(machine.stop)
    name, *words = options.words
    begin = time.monotonic()
    arguments = " ".join("'" + w.replace("'", "'\\''") + "'" for w in words)
    status = machine.run(f"exec bash /src/tests/lab/scenarios/{name}.sh {arguments}", options.patience)
    kept, after = machine.folder / "keep", LAB / f"scenarios/{name}.after.py"
    if after.exists() and kept.exists():
        status |= subprocess.run([after, kept, build, *words]).returncode
    if options.keep and kept.exists():
        shutil.copytree(kept, options.keep, dirs_exist_ok=True)
    say(f"{' '.join(options.words)}: {'fine' if status == 0 else f'failed ({status})'}, "
        f"{time.monotonic() - begin:.0f} s")
    return 0 if status == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
