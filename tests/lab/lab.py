#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The lab: a virtual machine (QEMU, emulated: no KVM, no hardware, no network) whose Linux kernel is the peer.

    lab.py build                      makes the image, unless it is there and up to date
    lab.py list                       the scenarios
    lab.py run SCENARIO [WORD...]     runs one, in the machine that is up or in one of its own
    lab.py matrix [RUN...]            runs what tests/lab/results has, on each kernel (or that of --kernel), and writes it anew; RUN is
                                      a scenario, or one over one fabric ("nfs siw")
    lab.py up | down                  a machine that stays
    lab.py shell                      commands for it, line by line

A scenario is tests/lab/scenarios/SCENARIO.sh, a shell script that runs in the machine; WORDs are its arguments. Its exit
status is that of the run. What it leaves in /share/keep is looked at by SCENARIO.after.py, where there is one: on this
side, with that folder, the build and the WORDs as arguments; and goes to the folder that --keep names.

What it finds broken in a peer (rules, in the captures that it leaves; probes) is compared with tests/lab/results.

Everything is in .cache/lab of the repository: images by their kernels and inputs, and for each machine a folder, which is
its /share.
A machine of a run's own ends with the run, however that ends; one that is up stays; one that lingers (--linger) is for the
runs that come soon after each other, and ends itself when none does, or when one failed."""
import argparse
import atexit
import fcntl
import hashlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import results

LAB = pathlib.Path(__file__).resolve().parent
ROOT = LAB.parent.parent
CACHE = ROOT / ".cache/lab"
CAPTURES = ROOT / "../shared/captures"  # further ones, where they are: /captures in the machine
IMAGE_INPUTS = ["build.sh", "init", "modules", "packages"]
KERNELS = ["6.1", "6.12", "7.2", "7.3"]  # series of Debian's packages, the first for what is not asked for otherwise
# What the matrix runs on each kernel; and with peers in user space, on the first kernel only.
MATRIX = ["nfs rxe", "nfs siw", "replay rxe", "replay siw", "probe rxe", "probe siw", "probe siw-soft", "probe-client rxe",
          "probe-client siw", "faults rxe", "faults siw"]
USER_SPACE = ["ganesha rxe", "ganesha siw"]
APART = ["apart"]  # client and server in machines of their own
CANNOT = 3  # exit status: nothing is wrong, but here there can be no machine
BOOT_PATIENCE = 600  # seconds: emulated, on a machine that may be busy
BOOTS = 3  # so often it may try


def say(text):
    print(f"lab: {text}", flush=True)


def fail(text, status=1):
    print(f"lab: {text}", file=sys.stderr, flush=True)
    sys.exit(status)


def need(*programs):
    missing = [p for p in programs if not shutil.which(p)]
    if missing:
        fail(f"missing: {', '.join(missing)}. ./dev lab installs them (qemu-system-x86, mmdebstrap, cpio, kmod)")


def image(kernel):
    """The folder of the image with this kernel, for this state of tests/lab/image; made when it is not there."""
    digest = hashlib.sha256()
    for name in IMAGE_INPUTS:
        digest.update((LAB / "image" / name).read_bytes())
    folder = CACHE / f"image-{kernel}-{digest.hexdigest()[:16]}"
    made(folder / "root.cpio", lambda: make_image(folder, kernel))
    return folder


def made(file, make):
    """The file is there: another program may be making it just now."""
    if not file.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        with open(CACHE / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not file.exists():
                make()
    return file


def make_image(folder, kernel):
    need("mmdebstrap", "cpio", "depmod", "make", "gcc", "xz")
    if os.geteuid() != 0:
        fail("the image of the machine can only be made by root (mmdebstrap): sudo ./dev lab build", CANNOT)
    say(f"making the image in {folder.relative_to(ROOT)}: a minute or two, once")
    build = subprocess.Popen([LAB / "image/build.sh", folder, kernel])
    try:
        status = build.wait()
    except SystemExit:
        build.terminate()
        build.wait()
        raise
    if status == 3:
        fail("the image of the machine cannot be made: no packages from Debian's mirror", CANNOT)
    if status != 0:
        fail("the image of the machine could not be made")
    for other in CACHE.glob(f"image-{kernel}-*"):
        if other.is_dir() and other != folder:
            shutil.rmtree(other)


def extra(name):
    """The archive that image/NAME.sh makes, for the scenario of that name: a peer that is not in the image."""
    script = LAB / f"image/{name}.sh"
    file = CACHE / f"{name}-{hashlib.sha256(script.read_bytes()).hexdigest()[:16]}.tar"
    return made(file, lambda: make_extra(script, file))


def make_extra(script, file):
    say(f"making {file.relative_to(ROOT)}: some minutes, once")
    status = subprocess.run([script, file]).returncode
    if status != 0:
        fail(f"{script.stem} could not be built", CANNOT if status == 3 else 1)


class Machine:
    """A machine, by the folder that it shares with this program."""

    def __init__(self, folder, kernel, wire=None):
        self.kernel = kernel
        self.wire = wire  # which end of a wire between two machines it has, 1 or 2; None: it is alone
        self.folder = pathlib.Path(folder).resolve()
        self.count = 0
        self.cancel = None
        self.parent = None  # the process that is waited for no longer than it lives

    def start(self, build, own=False, linger=None, other=None):
        """own: it ends with this program, even by SIGKILL. linger: it ends after so many seconds without orders. other: a
        machine that a wire leads to; this one can give it orders, too."""
        need("qemu-system-x86_64", "setpriv")
        files = image(self.kernel)
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        (self.folder / "build").write_text(str(build))
        shutil.copy(files / "version", self.folder)
        shares = {"share": self.folder, "src": ROOT, "build": build}
        if other:
            shares["peer"] = other.folder
        if CAPTURES.is_dir():
            shares["captures"] = CAPTURES.resolve()
        command = ["setpriv", "--pdeathsig", "KILL"] if own else []
        kernel = "console=ttyS0 rdinit=/init mitigations=off nokaslr tsc=reliable audit=0 panic=-1"
        if linger:
            kernel += f" lab_linger={linger}"
        command += ["qemu-system-x86_64", "-M", "q35", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", "3072",
                    "-kernel", files / "vmlinuz", "-initrd", files / "root.cpio", "-append", kernel,
                    "-display", "none", "-nodefaults", "-no-reboot", "-monitor", "none",
                    "-serial", f"file:{self.folder}/console"]
        if self.wire:
            ends = [self.folder.parent / f"wire{end}" for end in (self.wire, 3 - self.wire)]
            command += ["-netdev", f"dgram,id=wire,local.type=unix,local.path={ends[0]},remote.type=unix,remote.path={ends[1]}",
                        "-device", f"virtio-net-pci,netdev=wire,mac=52:54:00:00:00:0{self.wire}"]
        for tag, path in shares.items():
            read_only = ",readonly=on" if tag not in ("share", "peer") else ""
            command += ["-virtfs", f"local,path={path},mount_tag={tag},security_model=none,multidevs=remap{read_only}"]
        begin = time.monotonic()
        # A kernel that patches itself as it boots may stumble, emulated on a busy host (an "int3" oops, of 7.2 and 7.3): again.
        for attempt in range(BOOTS):
            if self.boots(command, begin):
                break
            self.stop()
            if attempt + 1 == BOOTS or time.monotonic() - begin > BOOT_PATIENCE:
                fail("the machine did not start")
        say(f"the machine is up after {time.monotonic() - begin:.0f} s")

    def boots(self, command, begin):
        """Whether it comes up. Says why not."""
        with open(self.folder / "qemu.log", "w") as log:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        (self.folder / "pid").write_text(str(process.pid))
        try:
            while not (self.folder / "ready").exists():
                if process.poll() is not None or time.monotonic() - begin > BOOT_PATIENCE:
                    for name in ("qemu.log", "console"):
                        if (self.folder / name).exists():
                            said = (self.folder / name).read_text(errors="replace").splitlines(True)
                            sys.stderr.write("".join(said[-20:]))
                    return False
                time.sleep(0.2)
        except SystemExit:
            self.stop()
            raise
        return True

    def process(self):
        """The number of its QEMU, if that lives: another program may have the number by now."""
        try:
            pid = int((self.folder / "pid").read_text())
            words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
        except (OSError, ValueError):
            return None
        return pid if f"file:{self.folder}/console".encode() in words else None

    def is_up(self):
        return self.process() is not None and (self.folder / "ready").exists()

    def build(self):
        return pathlib.Path((self.folder / "build").read_text())

    def run(self, script, patience=None):
        """Runs a shell script there; prints what it prints as it comes. Returns its exit status, or None: it was not
        done in time, or the machine ended."""
        self.count += 1
        base = self.folder / f"{time.time_ns()}-{self.count}"
        part = base.with_suffix(".part")
        part.write_text(script)
        part.rename(base.with_suffix(".order"))
        out, status, seen = base.with_suffix(".out"), base.with_suffix(".status"), 0
        self.cancel = base.with_suffix(".cancel")  # made when this program ends before the script
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
                self.cancel = None
                return int(status.read_text())
            if not self.is_up():
                say("the machine ended; the last that it said:")
                print("".join((self.folder / "console").read_text(errors="replace").splitlines(True)[-40:]))
                return None
            if self.parent and os.getppid() != self.parent:
                fail("whoever started this has gone")
            if end and time.monotonic() > end:
                say(f"not done after {patience} s")
                self.leave()
                return None
            time.sleep(0.1)

    def is_broken(self):
        """Its kernel has lost a thread at least (a BUG, an oops); a warning is none."""
        said = (self.folder / "console").read_text(errors="replace")
        return any(word in said for word in ("kernel BUG at", "BUG: ", "Oops: ", "general protection fault"))

    def leave(self):
        """What runs there is ended."""
        if self.cancel:
            self.cancel.touch()
        self.cancel = None

    def stop(self):
        """At once: it has nothing that lasts."""
        pid = self.process()
        for wanted in [signal.SIGTERM] * 50 + [signal.SIGKILL] * 50:
            if pid is None or self.process() != pid:
                break
            os.kill(pid, wanted)
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                pass
            time.sleep(0.1)
        (self.folder / "pid").unlink(missing_ok=True)


def scenarios():
    found = {}
    for path in sorted((LAB / "scenarios").glob("*.sh")):
        comments = [line[2:] for line in path.read_text().splitlines()[2:] if line.startswith("# ")]
        found[path.stem] = comments[0] if comments else ""
    return found


def own_folder():
    """For a machine of this run's own. Those of runs that were killed go."""
    for old in CACHE.glob("run-*"):
        if not pathlib.Path(f"/proc/{old.name[4:]}").exists():
            shutil.rmtree(old, ignore_errors=True)
    folder = CACHE / f"run-{os.getpid()}"
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def machine_for_run(standing, build, linger):
    """The one that is up, or one that ends with this program, or lingers."""
    if linger:
        standing.parent = os.getppid()
    if standing.is_up():
        if standing.build() != build:
            fail(f"the machine that is up has the build {standing.build()}: ./dev lab down ends it")
        atexit.register(standing.leave)
        return standing
    machine = standing if linger else Machine(own_folder(), standing.kernel)
    if not linger:
        atexit.register(machine.stop)
    machine.start(build, own=not linger, linger=linger)
    atexit.register(machine.leave)
    return machine


def run(machine, build, words, options):
    """Returns whether the scenario passed, and what it came to; None: it was not done in time, and the kernel is not to blame."""
    name = words[0]
    begin = time.monotonic()
    kept, after = machine.folder / "keep", LAB / f"scenarios/{name}.after.py"
    shutil.rmtree(kept, ignore_errors=True)
    if (LAB / f"image/{name}.sh").exists():
        shutil.copy(extra(name), machine.folder / f"{name}.tar")
    arguments = " ".join("'" + w.replace("'", "'\\''") + "'" for w in words[1:])
    status = machine.run(f"exec bash /src/tests/lab/scenarios/{name}.sh {arguments}", options.patience)
    ended, status = status is not None or machine.is_broken(), 2 if status is None else status
    looked = after.exists() and kept.exists() and subprocess.run([after, kept, build, *words[1:]]).returncode
    status |= looked
    result = results.of_run(build / "cli/stag", status, kept) if ended else None
    if looked and result:
        result.setdefault("failed", []).append(f"{name}.after")
    if options.keep and kept.exists():
        folder = pathlib.Path(options.keep)
        if options.command == "matrix":  # of many runs
            folder = folder / peer_of(machine)[1] / "-".join(words)
        shutil.copytree(kept, folder, dirs_exist_ok=True)
        shutil.copy(machine.folder / "console", folder)
    say(f"{' '.join(words)}: {'fine' if status == 0 else f'failed ({status})'}, {time.monotonic() - begin:.0f} s")
    if machine.is_up() and machine.is_broken():
        say("the kernel of this machine is broken: it is not used again")
        machine.stop()
    if status != 0 and options.linger:
        machine.stop()
    return status == 0, result


def peer_of(machine):
    """The name of the peer, and that of its results: what the scenario left in keep/peer, or the kernel."""
    name = machine.folder / "keep/peer"
    if name.exists():
        text = name.read_text().strip()
        return text, text.removeprefix("nfs-").replace(" ", "-")
    return f"Linux {(machine.folder / 'version').read_text().split('-')[0]}", f"linux-{machine.kernel}"


def two_machines(build, kernel, client_kernel):
    """Joined by a wire; they end with this program. Returns that of the client, where scenarios run."""
    folder = own_folder()
    server, client = Machine(folder / "server", kernel, 2), Machine(folder / "client", client_kernel, 1)
    for machine in (server, client):
        atexit.register(machine.stop)
    server.start(build, own=True)
    client.start(build, own=True, other=server)
    atexit.register(client.leave)
    return client


def run_one(standing, build, options):
    if options.words[0] in APART:
        machine = two_machines(build, standing.kernel, options.client_kernel or standing.kernel)
    else:
        machine = machine_for_run(standing, build, options.linger)
    passed, result = run(machine, build, options.words, options)
    of = " ".join(options.words[:2])  # what is asked for besides is a part
    if result and of in MATRIX + USER_SPACE:
        if not passed and (parts := results.known_failures(peer_of(machine)[1], of, result)):
            say(f"{' '.join(parts)}: as known of this peer (docs/divergences.md)")
            passed = True
        for line in results.differences(peer_of(machine)[1], of, result):
            say(line)
            passed = False
    return 0 if passed else 1


def matrix(build, options):
    failures = 0
    for kernel in [options.kernel] if options.kernel else KERNELS:
        machine = Machine(own_folder(), kernel)
        atexit.register(machine.stop)
        for words in MATRIX + (USER_SPACE if kernel == KERNELS[0] else []):
            if options.words and words.split()[0] not in options.words and words not in options.words:
                continue
            if not machine.is_up():
                machine.start(build, own=True)
            passed, result = run(machine, build, words.split(), options)
            failures += not passed
            if result:
                name, peer = peer_of(machine)
                results.save(peer, name, words, result)
        machine.stop()
    return results.main(["--write"]) or min(failures, 1)


def main():
    parser = argparse.ArgumentParser(prog="./dev lab", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/ci", help="the build whose programs are used (%(default)s)")
    parser.add_argument("--patience", type=int, default=1800, help="seconds that a scenario may take (%(default)s)")
    parser.add_argument("--keep", metavar="DIR",
                        help="where what a scenario leaves in /share/keep goes; of a matrix, by peers and runs")
    parser.add_argument("--machine", metavar="DIR", help="the folder of the machine that stays")
    parser.add_argument("--kernel", choices=KERNELS, metavar="SERIES", help=f"{', '.join(KERNELS)} (default: {KERNELS[0]})")
    parser.add_argument("--client-kernel", choices=KERNELS, metavar="SERIES",
                        help=f"the client's, where it has a machine of its own ({', '.join(APART)})")
    parser.add_argument("--linger", metavar="SECONDS", type=int,
                        help="run: starts that machine when it is not up, and lets it wait so long for another run")
    parser.add_argument("command", choices=["build", "list", "run", "matrix", "up", "down", "shell"])
    parser.add_argument("words", nargs="*", metavar="WORD")
    options = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, frame: sys.exit(128 + number))  # by way of what is registered with atexit
    kernel = options.kernel or KERNELS[0]
    if options.command == "list":
        for name, what in scenarios().items():
            print(f"{name:12} {what}")
        return 0
    if options.command == "build":
        say(f"the image is in {image(kernel).relative_to(ROOT)}")
        return 0
    standing = Machine(options.machine or CACHE / f"share-{kernel}", kernel)
    if options.command == "down":
        standing.stop()
        return 0
    build = (ROOT / options.build).resolve()
    if not (build / "cli/stag").exists():
        fail(f"{options.build} holds no cli/stag: build first, or name another build with --build")
    if options.command == "matrix":
        return matrix(build, options)
    if options.command == "up":
        if standing.is_up():
            fail("a machine is up already")
        standing.start(build)
        return 0
    if options.command == "shell":
        if not standing.is_up():
            fail("no machine is up: ./dev lab up")
        atexit.register(standing.leave)
        say("each line runs by itself; an empty one, or the end, leaves")
        for line in sys.stdin:
            if not line.strip():
                break
            standing.run(line)
        return 0
    if not options.words or options.words[0] not in scenarios():
        fail(f"run which scenario? {', '.join(scenarios())}")
    if options.client_kernel and options.words[0] not in APART:
        fail(f"--client-kernel is for scenarios whose client has a machine of its own: {', '.join(APART)}")
    return run_one(standing, build, options)


if __name__ == "__main__":
    sys.exit(main())
