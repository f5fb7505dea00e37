#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What is known without stag of a capture of the lab's scenario `captures`: known.py CAPTURE > EXPECTED.jsonl, for golden.py.

Frames, xids, programs, versions, procedures and operations are what Wireshark's own dissector of RPC-over-RDMA says (tshark
without the plugin). What READs of NFSv3 and WRITEs moved is known from the scenario: every file holds the same lines, as far as
it goes. An xid that is used again before it is answered was sent on by the relay: the last that was sent is answered first."""
import hashlib
import json
import subprocess
import sys

LINES = b"".join(b"%08d steering tag\n" % i for i in range(1, 40001))
FIELDS = ["frame.number", "rpcordma.xid", "rpc.msgtyp", "rpc.program", "rpc.programversion", "rpc.procedure", "nfs.opcode",
          "nfs.cb.operation", "nfs.offset3", "nfs.offset4", "nfs.count3", "rpc.authgss.service"]
# RFC 7530, 8881, 7862.
OPERATIONS = {3: "ACCESS", 4: "CLOSE", 5: "COMMIT", 6: "CREATE", 8: "DELEGRETURN", 9: "GETATTR", 10: "GETFH", 11: "LINK",
              15: "LOOKUP", 18: "OPEN", 22: "PUTFH", 24: "PUTROOTFH", 25: "READ", 26: "READDIR", 27: "READLINK",
              28: "REMOVE", 29: "RENAME", 31: "RESTOREFH", 32: "SAVEFH", 34: "SETATTR", 38: "WRITE",
              41: "BIND_CONN_TO_SESSION", 42: "EXCHANGE_ID", 43: "CREATE_SESSION", 44: "DESTROY_SESSION", 45: "FREE_STATEID",
              52: "SECINFO_NO_NAME", 53: "SEQUENCE", 55: "TEST_STATEID", 57: "DESTROY_CLIENTID", 58: "RECLAIM_COMPLETE",
              59: "ALLOCATE", 60: "COPY", 61: "COPY_NOTIFY", 62: "DEALLOCATE", 68: "READ_PLUS", 69: "SEEK", 71: "CLONE",
              72: "GETXATTR", 73: "SETXATTR", 74: "LISTXATTRS", 75: "REMOVEXATTR"}
CALLBACKS = {3: "CB_GETATTR", 4: "CB_RECALL", 8: "CB_RECALL_ANY", 10: "CB_RECALL_SLOT", 11: "CB_SEQUENCE", 15: "CB_OFFLOAD"}


def table(capture):
    data = subprocess.run(["zstdcat", "-f", capture], capture_output=True, check=True).stdout
    options = [word for field in FIELDS for word in ("-e", field)]
    out = subprocess.run(["tshark", "-n", "-r", "-", "-Y", "rpcordma", "-T", "fields", *options], input=data,
                         capture_output=True, check=True).stdout.decode()
    for line in out.splitlines():
        yield dict(zip(FIELDS, line.split("\t")))


def numbers(text):
    return [int(word, 0) for word in text.split(",") if word]


def moved(call, reply, procedure):
    """The data of a READ (its size is in the Reply) or a WRITE of NFSv3."""
    if procedure not in (6, 7) or not reply:
        return {}
    size = numbers((reply if procedure == 6 else call)["nfs.count3"])[0]
    data = LINES[(begin := numbers(call["nfs.offset3"])[0]):begin + size]
    return {"data_bytes": size, "data_sha256": hashlib.sha256(data).hexdigest()}


def main():
    calls, waiting = [], {}
    for row in table(sys.argv[1]):
        kind = numbers(row["rpc.msgtyp"])
        if kind[:1] == [0] or not (kind or waiting.get(row["rpcordma.xid"])):
            calls.append([row, None])
            waiting.setdefault(row["rpcordma.xid"], []).append(calls[-1])
        elif waiting.get(row["rpcordma.xid"]):
            waiting[row["rpcordma.xid"]].pop()[1] = row
    for call, reply in calls:
        frames = {"xid": f"0x{numbers(call['rpcordma.xid'])[0]:08x}", "call_frame": int(call["frame.number"]),
                  "reply_frame": int(reply["frame.number"]) if reply else None}
        if not call["rpc.msgtyp"]:  # the dissector cannot put it together
            print(json.dumps(frames))
            continue
        program, version = numbers(call["rpc.program"])[0], numbers(call["rpc.programversion"])[0]
        procedure = numbers(call["rpc.procedure"])[0]
        callback = program >= 0x40000000  # RFC 5531 section 8.4: transient
        known = {**frames, "program": program, "version": version, "procedure": procedure, "backward": callback}
        ops = numbers(call["nfs.cb.operation" if callback else "nfs.opcode"])
        ops = ops[:len(ops) // len(numbers(call["rpc.msgtyp"]))]  # it lists some messages twice
        if set(numbers(call["rpc.authgss.service"])) & {2, 3}:
            pass  # integrity and privacy wrap the operations: stag shows none
        elif procedure == 1 and (callback or (program, version) == (100003, 4)):
            known["ops"] = [(CALLBACKS if callback else OPERATIONS)[op] for op in ops]
        elif program == 100003 and version == 3:
            known |= moved(call, reply, procedure)
        print(json.dumps(known))


if __name__ == "__main__":
    main()
