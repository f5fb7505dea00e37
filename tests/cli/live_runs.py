# SPDX-License-Identifier: GPL-2.0-or-later
"""What tests of the live commands share: the program, which the first argument names, runs of it, and servers on loopback.
They run by software iWARP; where STAG_TEST_NULL_VERBS names the library of tests/null_verbs, over verbs on its device."""
import functools
import json
import os
import pathlib
import re
import select
import signal
import subprocess
import sys
import tempfile
import time

STAG = os.path.abspath(sys.argv.pop(1))
REAL = pathlib.Path(__file__).resolve().parents[2] / "pcaps" / "real"
TRANSPORT, ENVIRONMENT = "iwarp", dict(os.environ)
if "STAG_TEST_NULL_VERBS" in os.environ:
    _fabric = tempfile.NamedTemporaryFile(prefix="stag-fabric-")
    TRANSPORT = "null0"
    ENVIRONMENT |= {"LD_PRELOAD": os.environ["STAG_TEST_NULL_VERBS"], "STAG_NULL_VERBS": _fabric.name,
                    "SYSFS_PATH": str(REAL.parents[1] / "tests" / "null_verbs" / "sys"),
                    "ASAN_OPTIONS": "verify_asan_link_order=0"}
popen = functools.partial(subprocess.Popen, env=ENVIRONMENT)


def unhurried(said):
    """What stderr says without that --check or --record held up the traffic: whether they do is the machine's affair."""
    return re.sub(r"^stag: (checking|recording|checking and recording) (was|were) slower than the traffic, .*\n", "", said,
                  flags=re.MULTILINE)


def stag(*arguments, **variables):
    done = subprocess.run([STAG, *map(str, arguments)], capture_output=True, text=True, timeout=120, check=False,
                          env=ENVIRONMENT | variables)
    done.stderr = unhurried(done.stderr)
    return done


def fine(*arguments):
    """A run that ends with 0."""
    done = stag(*arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def lines(done):
    return [json.loads(line) for line in done.stdout.splitlines()]


def await_blocked(process, number):
    """Until the program takes the signal by a descriptor, or has ended: the signal does not kill it any more."""
    while process.poll() is None:
        status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
        if int(re.search(r"SigBlk:\s*(\w+)", status)[1], 16) >> (number - 1) & 1:
            return


def await_connection(port):
    """Until somebody has connected to the port on loopback; connections over verbs do not show."""
    while TRANSPORT == "iwarp" and not re.search(rf"(?m)^ *\d+: [0-9A-F]{{8}}:{port:04X} [0-9A-F]{{8}}:[0-9A-F]{{4}} 01 ", pathlib.Path("/proc/net/tcp").read_text()):
        time.sleep(0.01)


class Running:
    """stag serve or stag relay on a free port, until the end of the block; then `status`, which must be the expected one,
    `lines` and `err`. `prepare` is called in the process before it begins; `variables` are of its environment."""

    def __init__(self, command, *arguments, expect=0, prepare=None, variables=None):
        self.arguments, self.expect, self.prepare = [command, *map(str, arguments)], expect, prepare
        self.variables = variables or {}

    def __enter__(self):
        self.process = subprocess.Popen([STAG, *self.arguments, "--listen", "127.0.0.1:0", "--transport", TRANSPORT,
                                         "--format", "jsonl"], env=ENVIRONMENT | self.variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        preexec_fn=self.prepare)
        self.listening = json.loads(self.process.stdout.readline())
        self.port, self.mount_port = self.listening["port"], str(self.listening.get("mount_port"))
        self.to = f"127.0.0.1:{self.port}"
        return self

    def end(self, how=signal.SIGINT):
        self.process.send_signal(how)
        self.wait()

    def wait(self):
        out, err = self.process.communicate(timeout=60)
        self.err = unhurried(err)
        self.lines = [json.loads(line) for line in out.splitlines()]
        self.status = self.process.returncode

    def __exit__(self, kind, *_):
        if not self.process.stdout.closed:
            self.end()
        assert kind or self.status == self.expect, (self.status, self.lines, self.err)

    def of(self, kind, **conditions):
        return [line for line in self.lines
                if line["type"] == kind and all(line[key] == value for key, value in conditions.items())]

    def summary(self):
        return self.of("relayed")[0]


def serve(*arguments, **rest):
    return Running("serve", *arguments, **rest)


def relay(to, *arguments, **rest):
    return Running("relay", "--to", to, *arguments, **rest)


def connections(port):
    """Of the established ones to the port, at both ends: the bytes that wait in the kernel, in either direction."""
    with open("/proc/net/tcp", encoding="ascii") as table:
        rows = [line.split()[1:5] for line in table.readlines()[1:]]
    number = f":{port:04X}"
    return [queues for local, remote, state, queues in rows if state == "01" and number in (local[-5:], remote[-5:])]


def established(port):
    return connections(port) != []


def taken(port):
    """Whether all that was sent to the port, and by it, has been read."""
    return all(queues == "00000000:00000000" for queues in connections(port))


def wait_for(condition):
    for _ in range(2000):
        if condition():
            return
        select.select([], [], [], 0.005)
    raise AssertionError("it does not come to that")
