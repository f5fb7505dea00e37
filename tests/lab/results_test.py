#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What a run came to, held against what is known of the peer."""
import pathlib
import tempfile
import unittest

import results


class Known(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(setattr, results, "RESULTS", results.RESULTS)
        results.RESULTS = pathlib.Path(folder.name)
        results.save("linux-0.1", "Linux 0.1", "nfs rxe", {"passed": False, "failed": ["down", "krb5p"], "rules": {"PVT-006": 3}})
        results.save("linux-0.1", "Linux 0.1", "probe rxe", {"passed": True, "probes": {"passed": ["a.b"], "failed": ["a.c"]}})

    def test_parts_that_failed_before(self):
        for parts, known in ((["krb5p"], True), (["krb5p", "down"], True), (["krb5p", "ipv6"], False), ([], False)):
            self.assertEqual(bool(results.known_failures("linux-0.1", "nfs rxe", {"passed": False, "failed": parts})), known)
        self.assertFalse(results.known_failures("linux-0.1", "nfs siw", {"passed": False, "failed": ["krb5p"]}))
        self.assertFalse(results.known_failures("linux-0.2", "nfs rxe", {"passed": False, "failed": ["krb5p"]}))
        self.assertFalse(results.known_failures("linux-0.1", "nfs rxe", {"passed": False}))

    def test_what_is_worse(self):
        def worse(run, result):
            return results.differences("linux-0.1", run, result)
        self.assertEqual(worse("nfs rxe", {"rules": {"PVT-006": 4}}), [])
        self.assertEqual(len(worse("nfs rxe", {"rules": {"PVT-006": 1, "XID-001": 1}})), 1)
        self.assertEqual(worse("probe rxe", {"probes": {"passed": [], "failed": ["a.c", "a.new"]}}), [])
        self.assertEqual(len(worse("probe rxe", {"probes": {"passed": [], "failed": ["a.b"]}})), 1)


if __name__ == "__main__":
    unittest.main()
