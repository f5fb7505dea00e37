#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""stag probe and stag serve with key tables, in a Kerberos realm (tests/support/with_realm.py): what is passed and recorded; wrong
options.

    gss_test.py STAG
"""
import os
import tempfile
import unittest

from live_runs import TRANSPORT, lines, serve, stag

KEYTAB, STRANGER = os.environ["STAG_KEYTAB"], os.environ["STAG_STRANGER"]
SERVICE = ("--service", "nfs@localhost")


def probe(*arguments):
    return stag("probe", "--transport", TRANSPORT, "--settle", "5ms", *arguments)


class Gss(unittest.TestCase):
    def complains(self, done, text):
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertIn(text, done.stderr)

    def test_all_pass(self):
        with tempfile.TemporaryDirectory() as folder:
            recording = os.path.join(folder, "gss.pcapng")
            with serve("--mode", "nfs-memory", "--mount-port", "0", "--keytab", KEYTAB) as server:
                done = probe(server.to, "--export", "/", "--mount-port", server.mount_port, "--keytab", KEYTAB, *SERVICE,
                             "--principal", "client", "--select", "gss", "--record", recording, "--format", "jsonl")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            _, *probes, summary = lines(done)
            self.assertGreater(len(probes), 10)
            self.assertEqual({line["verdict"] for line in probes}, {"passed"}, done.stdout)
            self.assertEqual(summary["passed"], len(probes))
            # The engine finds nothing wrong with the server's side, and sees what was wrapped.
            findings = lines(stag("check", "--format", "jsonl", recording))
            self.assertEqual([f for f in findings if f["type"] == "finding" and f["direction"] == "s2c"], [])
            rows = lines(stag("transactions", "--format", "jsonl", recording))
            self.assertTrue(any(row.get("name") == "READ" and row["reply_form"] == "long" for row in rows))

    def test_without_a_key_table_they_are_skipped(self):
        with serve("--mode", "nfs-memory", "--keytab", KEYTAB) as server:
            done = probe(server.to, "--select", "gss", "--format", "jsonl")
        self.assertEqual(done.returncode, 0, done.stderr)
        for line in lines(done)[1:-1]:
            self.assertEqual((line["verdict"], line["why"]), ("skipped", "a key table is needed: give --keytab"))

    def test_a_server_without_rpcsec_gss(self):
        with serve("--mode", "null") as server:
            done = probe(server.to, "--select", "gss", "--keytab", KEYTAB, *SERVICE, "--format", "jsonl")
        self.assertEqual(done.returncode, 0, done.stderr)
        for line in lines(done)[1:-1]:
            self.assertEqual(line["verdict"], "skipped")

    def test_wrong_options(self):
        self.complains(probe("localhost", "--keytab", "/nowhere"), "by the key table /nowhere: it cannot be read")
        self.complains(probe("localhost", "--keytab", STRANGER), "no ticket for nfs@localhost by the key table")
        self.complains(probe("localhost", "--keytab", KEYTAB, "--service", "nfs@elsewhere"), "no ticket for nfs@elsewhere")
        self.complains(probe("localhost", "--keytab", KEYTAB, "--principal", "nobody"), "no ticket for nfs@localhost")
        self.complains(probe("localhost", "--principal", "client"), "--principal and --service are for --keytab")
        self.complains(probe("--listen", "0", "--keytab", KEYTAB), "are for probes of a server")
        self.complains(stag("serve", "--mode", "null", "--keytab", KEYTAB), "--keytab is for --mode nfs-memory")
        self.complains(stag("serve", "--mode", "nfs-memory", "--keytab", "/nowhere"), "the key table /nowhere: it cannot be read")


if __name__ == "__main__":
    unittest.main()
