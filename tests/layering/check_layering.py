#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Who may include whom, which folders may use which libraries, the licence line of every source, and nothing that
conformance/scaffold.py left to be filled in.

    check_layering.py [ROOT]      checks a tree (default: the one this file is in); exit status 1 and a line per violation
    check_layering.py --self-test plants one violation of each kind in a small tree and makes sure that it is found
"""
import fnmatch
import os
import re
import sys
import tempfile

# Folder -> what it may include besides itself. The longest matching prefix counts.
ALLOWED = {
    "protocol/base": [],
    "protocol/link": ["protocol/base"],
    "protocol/ib": ["protocol/base", "protocol/link"],
    "protocol/iwarp": ["protocol/base"],
    "protocol/rpc": ["protocol/base"],
    "protocol/nfs": ["protocol/base", "protocol/rpc"],
    "protocol/rpcrdma": ["protocol/base", "protocol/rpc"],
    "text": ["protocol/base"],
    "results": ["protocol/base", "text"],
    "session/clocks": ["protocol"],
    "analysis": ["protocol", "text", "results", "session"],
    "analysis/scrub": ["protocol", "text", "results", "session", "capture/file", "capture/live"],
    "session/fabric": ["protocol"],
    "session/delivery": ["protocol", "session/fabric"],
    "session/rpcrdma": ["protocol", "session/delivery", "session/fabric"],
    "session/transport": ["protocol", "session/fabric"],
    "session/limits": ["protocol", "session/delivery", "session/fabric", "session/rpcrdma"],
    "session/nfs4": ["protocol", "session/fabric", "session/rpcrdma"],
    "session/files": ["protocol", "session/rpcrdma"],
    "conformance/engine": ["protocol", "session", "conformance/catalogue"],
    "conformance/catalogue": [],
    "conformance/rules": ["protocol", "session", "conformance/catalogue", "conformance/engine"],
    "conformance/report": ["protocol", "session", "conformance", "text", "results", "analysis"],
    "conformance": ["protocol", "session"],
    "plugin": ["protocol", "session", "conformance"],
    "capture/file": ["protocol/base"],
    "capture/times": ["protocol", "session/clocks", "capture/file"],
    "capture/live": ["protocol", "capture/file"],
    "replay/endpoint": ["protocol", "session/fabric"],
    "replay/rpcrdma": ["protocol", "replay/endpoint"],
    "replay/gss": ["protocol"],
    "replay/recording": ["protocol", "session"],
    "replay/record": ["protocol", "session/fabric", "capture/file"],
    "replay/nfs_client": ["protocol", "replay/endpoint", "replay/rpcrdma"],
    "replay/generate": ["protocol", "replay/endpoint", "replay/rpcrdma", "replay/nfs_client"],
    "replay/replay": ["protocol", "session", "replay/endpoint", "replay/rpcrdma", "replay/recording"],
    "replay/serve": ["protocol", "session", "replay/endpoint", "replay/rpcrdma", "replay/gss", "replay/recording"],
    "replay/relay": ["protocol", "session/fabric", "replay/endpoint", "replay/rpcrdma"],
    "replay/probe": ["protocol", "session", "conformance/engine", "replay/endpoint", "replay/rpcrdma", "replay/gss",
                     "replay/nfs_client"],
    "replay/probe/client": ["protocol", "session", "replay/endpoint", "replay/rpcrdma", "replay/nfs_client", "replay/generate",
                            "replay/serve", "replay/probe"],
    "scale": ["protocol/base"],
    "cli/base": ["protocol/base", "text", "results", "session", "analysis", "capture/file"],
    "cli/analysis": ["protocol", "text", "results", "analysis", "session", "conformance", "capture", "scale", "cli/base"],
    "cli/credits": ["protocol", "text", "results", "analysis", "session", "cli/base", "cli/analysis"],
    "cli/transport": ["protocol", "text", "results", "analysis", "session", "cli/base", "cli/analysis"],
    "cli/latency": ["protocol", "text", "results", "analysis", "session", "cli/base", "cli/analysis"],
    "cli/summary": ["protocol", "text", "results", "analysis", "session", "conformance", "cli/base", "cli/analysis", "cli/credits",
                    "cli/latency", "cli/transport"],
    "cli/training": ["protocol", "session", "conformance", "capture"],
    "cli/top": ["protocol", "text", "results", "analysis", "session", "cli/base", "cli/analysis", "cli/latency"],
    "cli/live": ["protocol", "text", "results", "analysis", "session", "conformance", "capture", "replay", "scale", "cli/base",
                 "cli/analysis"],
    "cli": ["protocol", "text", "results", "analysis", "session", "conformance", "capture", "replay", "scale"],
    "pcaps/generator": ["protocol", "session/fabric/fabric_event.h", "capture/file", "conformance/catalogue",
                        "tests/support"],
    "tests": ["pcaps/generator", "protocol", "text", "results", "analysis", "session", "conformance", "capture", "replay", "scale", "cli",
              "plugin"],
}

# Headers from outside -> the files that may include them.
EXTERNAL = [
    (r"(epan|wsutil|wiretap|wireshark|glib)(/.*|\.h)|ws_.*\.h", ["plugin/*", "tests/plugin/*"]),
    (r"(infiniband|rdma)/.*", ["replay/endpoint/verbs*", "capture/live/*sniffer*", "tests/null_verbs/*"]),
    (r"pcap(/.*|\.h)", ["capture/*"]),
    (r"gssapi(/.*|\.h)|krb5.*", ["replay/gss/kerberos.cc", "tests/replay/gss/interop_test.cc"]),
    (r"mpi\.h", ["scale/mpi_team.cc"]),
    (r"rapidjson/.*", ["text/json*.cc"]),
]

# Folders that print nothing, read no files, no clock and no environment, and start no threads.
PURE = ["protocol", "session", "conformance/engine", "conformance/catalogue", "conformance/rules"]
IMPURE_HEADERS = re.compile(
    r"iostream|fstream|ostream|istream|print|cstdio|stdio\.h|filesystem|chrono|ctime|time\.h|thread|mutex|future|"
    r"condition_variable|unistd\.h|fcntl\.h|sys/.*|fmt/(ostream|os|printf|color|chrono)\.h"
)
IMPURE_CALLS = re.compile(r"\b(getenv|secure_getenv|printf|fprintf|puts|putchar|perror|abort|exit)\s*\(")

INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.M)
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"", re.S)
SPDX = "SPDX-License-Identifier: GPL-2.0-or-later"
SKIPPED = {".git", "build", ".cache"}


def is_source(path):
    name = os.path.basename(path)
    return name.endswith((".h", ".cc")) and not path.startswith(("build/", "."))


def has_licence_line(path):
    name = os.path.basename(path)
    return name.endswith((".h", ".cc", ".py", ".sh", ".cmake")) or name == "CMakeLists.txt" or path in ("dev", ".ci/run")


def within(path, folder):
    return path == folder or path.startswith(folder + "/")


def layer_of(path):
    return max((f for f in ALLOWED if within(path, f)), key=len, default=None)


def check_includes(path, text):
    layer = layer_of(path)
    if layer is None:
        yield "is in no known layer: add its folder to tests/layering/check_layering.py"
        return
    pure = any(within(path, f) for f in PURE)
    for quote, header in INCLUDE.findall(text):
        if quote == '"':
            if layer_of(header) is None:
                yield f'includes "{header}": quoted includes are paths from the root of the repository'
            elif not any(within(header, f) for f in [layer, *ALLOWED[layer]]):
                yield f'includes "{header}": {layer} may include only {", ".join(ALLOWED[layer]) or "itself"}'
        elif pure and IMPURE_HEADERS.fullmatch(header):
            yield f"includes <{header}>: {layer} is pure"
        for pattern, places in EXTERNAL:
            if re.fullmatch(pattern, header) and not any(fnmatch.fnmatch(path, p) for p in places):
                yield f'includes <{header}>: only {", ".join(places)} may'
    if pure:
        for call in IMPURE_CALLS.findall(COMMENT.sub(" ", text)):
            yield f"calls {call}: {layer} is pure"


def check_licence(text):
    lines = text.split("\n", 2)
    first = lines[1] if lines[0].startswith("#!") and len(lines) > 1 else lines[0]
    if first not in (f"// {SPDX}", f"# {SPDX}"):
        yield f"does not begin with the line '{SPDX}'"


def check(root):
    violations = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(f for f in folders if f not in SKIPPED)
        for name in sorted(names):
            path = os.path.relpath(os.path.join(folder, name), root)
            if not has_licence_line(path) and not path.endswith(".yaml"):
                continue
            with open(os.path.join(root, path), encoding="utf-8") as file:
                text = file.read()
            found = list(check_licence(text)) if has_licence_line(path) else []
            if "FILL_IN" in text and not path.endswith(".py"):
                found.append("has something left to be filled in: FILL_IN")
            if is_source(path):
                found += check_includes(path, text)
            violations += [f"{path} {what}" for what in found]
    return violations


def self_test():
    good = {
        "protocol/base/a.h": "#include <cstdint>\n",
        "protocol/rpcrdma/b.cc": '#include "protocol/rpc/m.h"\n#include "protocol/base/a.h"\n',
        "session/rpcrdma/c.cc": '#include "session/fabric/e.h"\n// abort() printf("x")\n',
        "conformance/rules/d.cc": '#include "conformance/engine/engine.h"\n',
        "plugin/e.cc": "#include <epan/packet.h>\n#include <glib.h>\n",
        "capture/live/f.cc": "#include <pcap/pcap.h>\n",
        "capture/live/mlx_sniffer.cc": "#include <infiniband/verbs.h>\n",
        "replay/endpoint/verbs_endpoint.cc": "#include <rdma/rdma_cma.h>\n",
        "replay/endpoint/soft_iwarp.h": '#include "session/fabric/iwarp_rdmap.h"\n#include <sys/socket.h>\n',
        "replay/gss/kerberos.cc": "#include <gssapi/gssapi_krb5.h>\n",
        "scale/mpi_team.cc": '#include <mpi.h>\n#include "protocol/base/result.h"\n',
        "cli/g.cc": '#include "conformance/report/r.h"\n#include <cstdio>\nvoid f() { std::printf("x"); }\n',
        "tests/h.cc": '#include "cli/base/output.h"\n',
    }
    bad = {
        "protocol/base/a.h": '#include "protocol/rpc/m.h"\n',
        "protocol/ib/b.h": '#include "protocol/iwarp/mpa.h"\n',
        "protocol/rpcrdma/b.cc": '#include "protocol/nfs/walk.h"\n',
        "text/a.cc": '#include "protocol/rpc/m.h"\n',
        "protocol/link/c.cc": '#include "session/fabric/e.h"\n',
        "session/fabric/c.cc": '#include "session/rpcrdma/session.h"\n',
        "session/rpcrdma/c.cc": "#include <epan/packet.h>\n",
        "session/rpcrdma/d.cc": 'void f() { std::getenv("HOME"); }\n',
        "session/rpcrdma/e.cc": "#include <iostream>\n",
        "conformance/rules/d.cc": '#include "conformance/report/text.h"\n',
        "conformance/report/e.cc": '#include "cli/base/output.h"\n',
        "plugin/e.cc": '#include "capture/file/reader.h"\n',
        "capture/file/f.cc": '#include "session/fabric/e.h"\n',
        "capture/live/f.cc": "#include <infiniband/verbs.h>\n",
        "replay/replay/g.cc": "#include <rdma/rdma_cma.h>\n",
        "replay/rpcrdma/g.h": '#include "replay/serve/server.h"\n',
        "replay/serve/g.h": '#include "replay/replay/plan.h"\n',
        "replay/generate/g.h": '#include "replay/serve/server.h"\n',
        "replay/recording/g.h": '#include "replay/endpoint/endpoint.h"\n',
        "replay/endpoint/soft_iwarp.cc": "#include <infiniband/verbs.h>\n",
        "replay/endpoint/endpoint.h": '#include "conformance/engine/engine.h"\n',
        "replay/gss/acceptor.cc": "#include <gssapi/gssapi.h>\n",
        "replay/nfs_client/g.h": '#include "replay/gss/initiator.h"\n',
        "scale/spread.cc": "#include <mpi.h>\n",
        "scale/team.h": '#include "cli/base/output.h"\n',
        "cli/g.cc": "#include <pcap.h>\n",
        "cli/h.cc": '#include "tests/support/run_capture.h"\n',
        "cli/i.cc": '#include "text.h"\n',
        "cli/analysis/j.cc": '#include "cli/live/live_monitor.h"\n',
        "cli/live/k.cc": '#include "cli/commands/check.h"\n',
        "elsewhere/j.cc": "\n",
        "conformance/rules/k.cc": "// FILL_IN\n",
        "conformance/catalogue/l.yaml": "why: FILL_IN\n",
    }
    unlicensed = {"cli/g.h": "// Nothing\n", "cli/CMakeLists.txt": "#\n", "dev": "#!/bin/sh\n# Nothing\n"}

    def found_in(files, line):
        with tempfile.TemporaryDirectory() as root:
            for path, text in files.items():
                os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write(line + text)
            return check(root)

    failures = [f"false alarm: {v}" for v in found_in(good, f"// {SPDX}\n")]
    for path, text in bad.items():
        if not found_in({path: text}, f"// {SPDX}\n"):
            failures.append(f"not found: {path}: {text.strip()}")
    for path, text in unlicensed.items():
        if not found_in({path: text}, ""):
            failures.append(f"missing licence line not found: {path}")
    return failures


def main(arguments):
    here = os.path.dirname(os.path.abspath(__file__))
    if arguments == ["--self-test"]:
        problems = self_test()
    else:
        problems = check(arguments[0] if arguments else os.path.join(here, "..", ".."))
    print("\n".join(problems) if problems else "fine")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
