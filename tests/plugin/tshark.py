# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs Wireshark's programs with the plugin under test and nothing else of this machine's configuration.

Started by root they take plugins from the system's directory only, so then they are run as the user nobody. Either way they
see a directory of their own with a copy of the plugin and of the captures."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

NOBODY = 65534


def check(command, status, errors):
    """Raises when a program failed, or complained of the dissection."""
    complaints = [line for line in errors.splitlines()
                  if "Dissector bug" in line or "ERROR" in line or "CRITICAL" in line or "runtime error" in line]
    if status != 0 or complaints:
        raise AssertionError(f"{' '.join(map(str, command))}: exit status {status}\n{errors[-4000:]}")


class Wireshark:
    """tshark and sharkd with the plugin (None: without); captures are copied to where they can be read."""

    def __init__(self, plugin, version, preload=None):
        self._stack = contextlib.ExitStack()
        self.directory = pathlib.Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="stag-plugin-")))
        epan = self.directory / "plugins" / version / "epan"
        epan.mkdir(parents=True)
        if plugin:
            shutil.copy(plugin, epan / "stag.so")
        (self.directory / "home").mkdir()
        (self.directory / "captures").mkdir()
        for path in [self.directory, *self.directory.rglob("*")]:
            path.chmod(0o755)
        if os.getuid() == 0:
            os.chown(self.directory / "home", NOBODY, NOBODY)
        self.environment = {
            "PATH": os.environ["PATH"],
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
            "HOME": str(self.directory / "home"),
            "WIRESHARK_PLUGIN_DIR": str(self.directory / "plugins"),
            "WIRESHARK_CONFIG_DIR": str(self.directory / "home"),
        }
        self._sanitizers = {}
        if preload:
            # A plugin built with sanitizers, in a program that is not. Wireshark keeps what it allocates at start.
            self._sanitizers = {"LD_PRELOAD": preload, "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1",
                                "UBSAN_OPTIONS": "halt_on_error=1"}

    def close(self):
        self._stack.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def take(self, capture):
        """A copy of the capture that the programs can read."""
        copy = self.directory / "captures" / pathlib.Path(capture).name
        if not copy.exists():
            shutil.copyfile(capture, copy)
            copy.chmod(0o644)
        return copy

    def as_user(self, command):
        """The command as it is to be started: not by root."""
        if os.getuid() != 0:
            return command
        return ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *command)

    def _how(self, program):
        """How a program is started: its environment and the like."""
        environment = dict(self.environment)
        if program in ("tshark", "sharkd"):
            environment |= self._sanitizers  # the others do not load the plugin
        return {"env": environment, "text": True, "cwd": self.directory / "home", "errors": "replace"}

    def run(self, *command):
        """Standard output of one of Wireshark's programs; fails when it does, or when it complains of the dissection."""
        done = subprocess.run(self.as_user(command), capture_output=True, **self._how(command[0]))
        check(command, done.returncode, done.stderr)
        return done.stdout

    def peak(self, capture, *options):
        """Bytes that tshark had resident at most while it read the capture; fails as `run` does."""
        command = ("tshark", "-n", "-r", str(self.take(capture)), *options)
        with tempfile.TemporaryFile("w+", errors="replace") as output, tempfile.TemporaryFile("w+", errors="replace") as errors:
            with subprocess.Popen(self.as_user(command), stdout=output, stderr=errors, **self._how("tshark")) as process:
                _, status, usage = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
            output.seek(0)
            errors.seek(0)
            check(command, process.returncode, errors.read() + "".join(line for line in output if "Dissector bug" in line))
        return usage.ru_maxrss << 10

    @contextlib.contextmanager
    def sharkd(self):
        """A Sharkd with the plugin."""
        with tempfile.TemporaryFile("w+") as errors:
            with subprocess.Popen(self.as_user(("sharkd", "-")), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
                                  **self._how("sharkd")) as process:
                yield Sharkd(process)
                process.stdin.close()
            errors.seek(0)
            check(("sharkd",), process.returncode, errors.read())

    def tshark(self, capture, *options):
        return self.run("tshark", "-n", "-r", str(self.take(capture)), *options)

    def fields(self, capture, display_filter, *names, options=()):
        """Rows of lists: for each frame that passes the filter, for each field, its values as text."""
        columns = [option for name in names for option in ("-e", name)]
        output = self.tshark(capture, *options, "-Y", display_filter, "-T", "fields", "-E", "aggregator=|", *columns)
        return [[cell.split("|") if cell else [] for cell in line.split("\t")] for line in output.splitlines()]


class Sharkd:
    """Looks at one capture after the other, as Wireshark does: in order when it is loaded, then again where it is asked. A tshark
    for each capture would spend most of its time on its own start."""

    def __init__(self, process):
        self._process = process
        self._filters = 0

    def request(self, method, **params):
        """The result of a method of sharkd's protocol."""
        json.dump({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, self._process.stdin)
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            answer = json.loads(line) if line.startswith("{") else {}
            if "id" not in answer:
                continue
            if "result" not in answer:
                raise AssertionError(f"sharkd: {method} {params}: {answer}")
            return answer["result"]
        raise AssertionError(f"sharkd ended at {method} {params}")

    def load(self, capture):
        self.request("load", file=str(capture))

    def frames(self, display_filter, *fields):
        """A row for each frame that passes the filter: its number as `num`, the fields as `c`."""
        columns = {f"column{number}": f"{field}:0" for number, field in enumerate(fields or ["frame.number"])}
        # sharkd remembers what passed a filter, also when another file is loaded: so each has a text of its own.
        self._filters += 1
        return self.request("frames", filter=display_filter + " " * self._filters, **columns)

    def trees(self, display_filter):
        """Number and tree of each frame that passes the filter."""
        for frame in self.frames(display_filter):
            yield frame["num"], self.request("frame", frame=frame["num"], proto=True)["tree"]


def values(tree, field):
    """The values of a text field in a tree of Sharkd's."""
    begin = field + ' == "'
    for node in tree:
        if node.get("f", "").startswith(begin):
            yield re.sub(r"\\(.)", r"\1", node["f"][len(begin):-1])
        yield from values(node.get("n", []), field)


def labels(tree):
    """The lines of a tree of Sharkd's."""
    for node in tree:
        yield node["l"]
        yield from labels(node.get("n", []))
