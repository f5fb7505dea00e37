# SPDX-License-Identifier: GPL-2.0-or-later
"""A real capture in tunnels, in Wireshark with the plugin: the same as on the command line.

tunnels_test.py PLUGIN WIRESHARK_VERSION STAG CAPTURE
"""
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "cli"))
import wrap  # noqa: E402

plugin, version, stag, capture = sys.argv[1:]
failed = 0
for layers in (["vxlan"], ["erspan-3-sequence-subheader"], ["gre-ethernet-all-fields", "geneve-options", "qinq"], ["mpls-in-gre"],
               ["pppoe"]):
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory) / "tunnel.pcap"
        wrap.write(path, wrap.wrapped(list(wrap.read(capture)), wrap.nested(*layers))[0])
        print(layers, flush=True)
        failed += subprocess.run([sys.executable, HERE / "plugin_test.py", "--expected",
                                  pathlib.Path(capture).parent / "expected" / (pathlib.Path(capture).name.split(".pcap")[0] + ".jsonl"),
                                  plugin, version, stag, path]).returncode != 0
sys.exit(failed)
