# SPDX-License-Identifier: GPL-2.0-or-later
"""docs/plugin-fields.md lists exactly the fields that the plugin registers: display filters of users rest on these names.

fields_test.py PLUGIN WIRESHARK_VERSION DOCUMENT [--write]

--write makes the document anew. A name that leaves it breaks somebody's filter: names are added to, never changed."""
import argparse
import os
import pathlib
import sys

from tshark import Wireshark

HEAD = """# Fields of the Wireshark plugin

What display filters, columns, I/O graphs and `tshark -e` can name. Names and types are held stable by a test
(`tests/plugin/fields_test.py`, which also writes this list): they are added to, never changed.

Every rule of the conformance catalogue (`stag rules`) has an expert info, `rpcrdma.rule.` and its id in lower case, for
example `rpcrdma.rule.rdlist-003`; `rpcrdma.finding` holds the id of each finding.

| field | type | what |
|---|---|---|
"""


def registered(wireshark):
    """Rows of the document, in the order of registration; and the names of the rules' expert infos."""
    rows, rules = [], []
    for line in wireshark.run("tshark", "-G", "fields").splitlines():
        words = line.split("\t")
        if words[0] != "F" or words[4] not in ("rpcrdma", "rpcrdma_ccp"):
            continue
        if words[2].startswith("rpcrdma.rule."):
            rules.append(words[2])
            continue
        rows.append(f"| `{words[2]}` | {words[3]} | {words[1]} |")
    return rows, rules


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plugin")
    parser.add_argument("version", help="of Wireshark, like 4.0")
    parser.add_argument("document")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    with Wireshark(options.plugin, options.version, os.environ.get("STAG_PLUGIN_PRELOAD")) as wireshark:
        rows, rules = registered(wireshark)
    text = HEAD + "\n".join(rows) + "\n"
    document = pathlib.Path(options.document)
    if options.write:
        document.write_text(text)
        return 0
    problems = []
    if len(set(rules)) < 200:
        problems.append(f"only {len(set(rules))} rules have an expert info")
    listed = set(document.read_text().splitlines())
    problems += [f"not in {document.name}: {row}" for row in rows if row not in listed]
    problems += [f"not registered: {row}" for row in listed - set(text.splitlines())]
    print("\n".join(problems) or "fine")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
