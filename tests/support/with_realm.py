#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs a program in a Kerberos realm of its own: a KDC on a free port of 127.0.0.1, in a temporary folder; nothing of the machine's
is read or changed, and nobody has to be root.

    with_realm.py PROGRAM [ARGUMENT...]

The program's environment has, besides what the libraries look for (KRB5_CONFIG ...), STAG_KEYTAB: a key table with
client@STAG.TEST and nfs/localhost@STAG.TEST, in that order; STAG_STRANGER: one with stranger@STAG.TEST, whose key is wrong.
The exit status is the program's. Where there is no KDC to start, it is 77 (CTest: skipped), and the file $STAG_SKIPPED gets the
reason; with STAG_NO_SKIP, which .ci/run sets, that is a failure."""
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

import skips

REALM = "STAG.TEST"
PATH = os.environ["PATH"] + ":/usr/sbin:/sbin"
TRIES = 5  # another program may take the port meanwhile


def skip(reason):
    skips.skip(" ".join(map(os.path.basename, sys.argv[1:])), reason)


def free_port():
    with socket.socket() as tcp:
        tcp.bind(("127.0.0.1", 0))
        return tcp.getsockname()[1]


def configure(folder, port):
    (folder / "krb5.conf").write_text(f"""
[libdefaults]
  default_realm = {REALM}
  dns_lookup_kdc = false
  dns_lookup_realm = false
  dns_canonicalize_hostname = false
  rdns = false
  default_rcache_name = none:
  default_ccache_name = FILE:{folder}/not-to-be-used
[realms]
  {REALM} = {{
    kdc = 127.0.0.1:{port}
  }}
[domain_realm]
  localhost = {REALM}
""")
    (folder / "kdc.conf").write_text(f"""
[kdcdefaults]
  kdc_listen = 127.0.0.1:{port}
  kdc_tcp_listen = 127.0.0.1:{port}
[realms]
  {REALM} = {{
    database_name = {folder}/principal
    key_stash_file = {folder}/stash
    acl_file = {folder}/acl
    master_key_type = aes256-cts-hmac-sha1-96
    supported_enctypes = aes256-cts-hmac-sha1-96:normal
  }}
""")


def run(*command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stdout}{done.stderr}")


def answers(kdc, port):
    """Until it does, or has ended."""
    while kdc.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return True
        except OSError:
            time.sleep(0.01)
    return False


def start_kdc(folder):
    for _ in range(TRIES):
        port = free_port()
        configure(folder, port)
        with open(folder / "kdc.log", "a", encoding="utf-8") as log:
            kdc = subprocess.Popen(["krb5kdc", "-n"], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        if answers(kdc, port):
            return kdc
    sys.exit("no KDC: " + (folder / "kdc.log").read_text(encoding="utf-8"))


def main(command):
    os.environ["PATH"] = PATH
    for program in ("krb5kdc", "kdb5_util", "kadmin.local"):
        if not shutil.which(program):
            skip(f"there is no {program} (Debian: krb5-kdc, krb5-admin-server)")
    with tempfile.TemporaryDirectory(prefix="stag-realm-") as name:
        folder = pathlib.Path(name)
        environment = {"KRB5_CONFIG": f"{folder}/krb5.conf", "KRB5_KDC_PROFILE": f"{folder}/kdc.conf",
                       "STAG_KEYTAB": f"{folder}/keytab", "STAG_STRANGER": f"{folder}/stranger"}
        os.environ.update(environment)
        for unwanted in ("KRB5_KTNAME", "KRB5_CLIENT_KTNAME", "KRB5CCNAME"):
            os.environ.pop(unwanted, None)
        configure(folder, 1)
        run("kdb5_util", "create", "-s", "-r", REALM, "-P", "none of importance")
        for query in ("addprinc -randkey client", "addprinc -randkey nfs/localhost", "addprinc -randkey stranger",
                      f"ktadd -k {folder}/keytab client", f"ktadd -k {folder}/keytab nfs/localhost",
                      f"ktadd -k {folder}/stranger stranger", "cpw -randkey stranger"):
            run("kadmin.local", "-q", query)
        kdc = start_kdc(folder)
        try:
            return subprocess.run(command, check=False).returncode
        finally:
            kdc.terminate()
            kdc.wait()


if __name__ == "__main__":
    status = main(sys.argv[1:])
    sys.exit(status if status >= 0 else 128 - status)
