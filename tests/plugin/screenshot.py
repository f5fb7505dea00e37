#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Starts Wireshark's user interface without a screen (Xvfb), with the plugin, its profile and a capture, and photographs it.

    screenshot.py PLUGIN WIRESHARK_VERSION CAPTURE OUT.png

Needs wireshark, Xvfb, xdotool and ImageMagick. Fails when no window comes up; whether it shows what it should, a person says."""
import os
import pathlib
import shutil
import subprocess
import sys
import time

from tshark import NOBODY, Wireshark

PROFILE = pathlib.Path(__file__).resolve().parents[2] / "plugin" / "profile"
DISPLAY = ":97"
FRAME = "306"
PATIENCE = 60  # seconds


def main(plugin, version, capture, out):
    with Wireshark(plugin, version) as wireshark:
        home = wireshark.directory / "home"
        shutil.copytree(PROFILE, home / "profiles" / "RPC-over-RDMA")
        if os.getuid() == 0:
            for path in [home, *home.rglob("*")]:
                os.chown(path, NOBODY, NOBODY)
        environment = wireshark.environment | {"DISPLAY": DISPLAY, "XDG_RUNTIME_DIR": str(home)}
        command = ["wireshark", "-n", "-C", "RPC-over-RDMA", "-r", str(wireshark.take(capture)), "-Y", "rpcrdma", "-g", FRAME]
        xdotool = lambda *words: subprocess.run(["xdotool", *words], env=environment, capture_output=True, text=True)
        screen = subprocess.Popen(["Xvfb", DISPLAY, "-screen", "0", "1600x1000x24"], stderr=subprocess.DEVNULL)
        try:
            time.sleep(2)
            program = subprocess.Popen(wireshark.as_user(command), env=environment, cwd=home, stderr=subprocess.DEVNULL)
            try:
                windows = []
                for _ in range(PATIENCE):
                    windows = xdotool("search", "--onlyvisible", "--name", pathlib.Path(capture).name).stdout.split()
                    if windows or program.poll() is not None:
                        break
                    time.sleep(1)
                if not windows:
                    sys.exit("no window came up")
                time.sleep(5)
                xdotool("windowmove", windows[-1], "0", "0", "windowsize", windows[-1], "1598", "995")
                time.sleep(2)
                xdotool("mousemove", "12", "630", "click", "1")  # opens the subtree of RPC-over-RDMA
                time.sleep(2)
                subprocess.run(["import", "-window", "root", "-resize", "1200x", "+dither", "-colors", "64", f"PNG8:{out}"],
                               env=environment, check=True)
                if program.poll() is not None:
                    sys.exit(f"wireshark ended with status {program.returncode}")
            finally:
                program.terminate()
                program.wait()
        finally:
            screen.terminate()
            screen.wait()


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])
