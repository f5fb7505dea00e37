#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes the C++ table of the rules (catalogue_data.cc) from rules.yaml.

usage: generate.py rules.yaml catalogue_data.cc

Needs PyYAML (python3-yaml). Fails when an entry lacks a field or an id is used twice.
"""
import re
import sys

import yaml

SEVERITIES = {"note": "kNote", "warning": "kWarning", "error": "kError"}


def literal(text):
    """A C++ string literal: what YAML gives, on one line where it is prose."""
    if text is None:
        return '""'
    out = []
    for ch in str(text).strip():
        if ch in '"\\':
            out.append("\\" + ch)
        elif ch == "\n":
            out.append("\\n")
        elif ord(ch) < 0x20 or ord(ch) > 0x7E:
            out.extend("\\%03o" % b for b in ch.encode("utf-8"))
        else:
            out.append(ch)
    return '"' + "".join(out) + '"'


def event_groups(meta):
    """The rule ids that one event can break together, from both lists of the catalogue; the first of each is primary."""
    groups = re.findall(r"\[([^\]]+)\]", meta["one_event_one_finding"])
    return [[rule.strip() for rule in group.split(",")] for group in groups] + meta["one_event_one_finding_more"]


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        catalogue = yaml.safe_load(f)
    rules = catalogue["rules"]
    ids = [rule["id"] for rule in rules]
    if len(set(ids)) != len(ids):
        sys.exit("an id is used twice")

    w = ["// Made by conformance/catalogue/generate.py from rules.yaml: change those instead.",
         '#include "conformance/catalogue/catalogue_data.h"', "",
         "namespace stag::conformance::catalogue {", "namespace {", ""]
    for rule in rules:
        name = "kSources" + rule["id"].replace("-", "")
        items = ", ".join("{%s, %s}" % (literal(s["doc"]), literal(s["section"])) for s in rule["sources"])
        w.append("constexpr Source %s[] = {%s};" % (name, items))
    w.append("")
    w.append("constexpr RuleInfo kRules[] = {")
    for rule in rules:
        fields = [literal(rule["id"]), literal(rule["id"].split("-")[0]), literal(rule["title"]),
                  literal(rule["requirement"]), literal(rule["level"]), "Severity::" + SEVERITIES[rule["severity"]],
                  literal(rule["observable"]["degree"]), literal(rule["observable"]["why"]), literal(rule["check"]),
                  literal(rule.get("violating_example")), literal(rule.get("differs_between_docs")),
                  "kSources" + rule["id"].replace("-", ""), "false", '""']
        w.append("    {" + ",\n     ".join(fields) + "},")
    w.append("};")
    w.append("")
    groups = event_groups(catalogue["meta"])
    for number, group in enumerate(groups):
        for rule in group:
            if rule not in ids:
                sys.exit("unknown rule in one_event_one_finding: " + rule)
        w.append("constexpr std::string_view kGroup%d[] = {%s};" % (number, ", ".join(literal(r) for r in group)))
    w.append("constexpr std::span<const std::string_view> kGroups[] = {%s};"
             % ", ".join("kGroup%d" % n for n in range(len(groups))))
    w += ["", "}  // namespace", "",
          "std::span<const RuleInfo> Rules() { return kRules; }",
          "std::span<const std::span<const std::string_view>> EventGroups() { return kGroups; }", "",
          "}  // namespace stag::conformance::catalogue", ""]
    with open(sys.argv[2], "w", encoding="utf-8") as f:
        f.write("\n".join(w))


main()
