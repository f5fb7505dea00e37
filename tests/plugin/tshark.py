# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs Wireshark's programs with the plugin under test and nothing else of this machine's configuration.

Started by root they take plugins from the system's directory only, so then they are run as the user nobody. Either way they
see a directory of their own with a copy of the plugin and of the captures."""
import contextlib
import os
import pathlib
import shutil
import subprocess
import tempfile

NOBODY = 65534


class Wireshark:
    """tshark and sharkd with the plugin; captures are copied to where they can be read."""

    def __init__(self, plugin, version, preload=None):
        self._stack = contextlib.ExitStack()
        self.directory = pathlib.Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="stag-plugin-")))
        epan = self.directory / "plugins" / version / "epan"
        epan.mkdir(parents=True)
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

    def run(self, *command, text_input=None):
        """Standard output of one of Wireshark's programs; fails when it does, or when it complains of the dissection."""
        environment = dict(self.environment)
        if command[0] in ("tshark", "sharkd"):
            environment |= self._sanitizers  # the others do not load the plugin
        command = self.as_user(command)
        done = subprocess.run(command, capture_output=True, env=environment, input=text_input, text=True,
                              cwd=self.directory / "home", errors="replace")
        complaints = [line for line in done.stderr.splitlines()
                      if "Dissector bug" in line or "ERROR" in line or "CRITICAL" in line or "runtime error" in line]
        if done.returncode != 0 or complaints:
            raise AssertionError(f"{' '.join(map(str, command))}: exit status {done.returncode}\n{done.stderr[-4000:]}")
        return done.stdout

    def tshark(self, capture, *options):
        return self.run("tshark", "-n", "-r", str(self.take(capture)), *options)

    def fields(self, capture, display_filter, *names, options=()):
        """Rows of lists: for each frame that passes the filter, for each field, its values as text."""
        columns = [option for name in names for option in ("-e", name)]
        output = self.tshark(capture, *options, "-Y", display_filter, "-T", "fields", "-E", "aggregator=|", *columns)
        return [[cell.split("|") if cell else [] for cell in line.split("\t")] for line in output.splitlines()]
