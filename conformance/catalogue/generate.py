#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes the C++ table of the rules (catalogue_data.cc) from rules.yaml and advice.yaml.

usage: generate.py rules.yaml advice.yaml catalogue_data.cc

Needs PyYAML (python3-yaml). Fails when an entry lacks a field, an id is used twice, or the two files do not have the
same rules.
"""
import sys

import yaml

PROFILES = {"rfc8166": "kRfc8166", "rfc5666bis": "kRfc5666bis", "rfc5666": "kRfc5666"}
HOLDS = {None: "kNothing", "answer": "kAnswer", "done": "kDone"}
SEVERITIES = {"note": "kNote", "warning": "kWarning", "error": "kError"}
ADVICE = ("why", "do", "bytes", "data", "known")
# Says no more than the list of what is needed.
STOCK_REASON = "decidable from the captured bytes listed under needs"
# The one in C takes a tenth of the time; not every PyYAML has it.
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


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


def check_advice(advice, ids):
    """Exits unless every rule has an entry of known members, and no other does."""
    for rule in ids:
        if rule not in advice:
            sys.exit("advice.yaml has no entry for " + rule)
    for rule, entry in advice.items():
        if rule not in ids:
            sys.exit("advice.yaml: there is no rule " + str(rule))
        for member, text in entry.items():
            if member not in ADVICE:
                sys.exit("advice.yaml: %s has a member that is not known: %s" % (rule, member))
            if not isinstance(text, str) or not text.strip():
                sys.exit("advice.yaml: %s of %s is no text" % (member, rule))
        if "why" not in entry:
            sys.exit("advice.yaml: %s does not say why" % rule)


def parts_of_check(text):
    """What is checked and what is not flagged; the codes of the traps behind them are a list of their own."""
    check, _, rest = text.partition("Do NOT flag:")
    exceptions = rest.partition("Common traps:")[0].strip()
    return check, exceptions[:1].upper() + exceptions[1:]


def name(prefix, rule):
    return prefix + rule["id"].replace("-", "")


def entry_of(rule, advice):
    """The members of RuleInfo that are generated, as C++."""
    seen = rule["observable"]
    check, exceptions = parts_of_check(rule["check"])
    texts = [rule["id"], rule["id"].split("-")[0], rule["title"], rule["requirement"], rule["level"]]
    fields = [literal(text) for text in texts]
    fields.append("Severity::" + SEVERITIES[rule["severity"]])
    texts = [advice["why"], advice.get("do"), rule.get("violating_example"), advice.get("bytes"), seen["degree"],
             None if seen["why"] == STOCK_REASON else seen["why"], "; ".join(rule["needs"]), check, exceptions,
             rule.get("differs_between_docs")]
    fields += [literal(text) for text in texts]
    fields += [literal(advice.get("data")), literal(advice.get("known"))]
    exceptions = name("kExceptions", rule) if "in_force" in rule else "{}"
    fields += [name("kSources", rule), name("kTraps", rule), exceptions, "HeldUntil::" + HOLDS[rule.get("held_until")]]
    return "    {" + ",\n     ".join(fields) + "},"


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        catalogue = yaml.load(f, LOADER)
    with open(sys.argv[2], encoding="utf-8") as f:
        advice = yaml.load(f, LOADER)
    rules = catalogue["rules"]
    ids = [rule["id"] for rule in rules]
    if len(set(ids)) != len(ids):
        sys.exit("an id is used twice")
    check_advice(advice, ids)

    w = ["// Made by conformance/catalogue/generate.py from rules.yaml and advice.yaml: change those instead.",
         '#include "conformance/catalogue/rule.h"', "",
         "namespace stag::conformance {", "namespace {", ""]
    traps = catalogue["common_traps_in_short"]
    for trap, sentence in traps.items():
        w.append("constexpr std::string_view k%s = %s;" % (trap.replace("-", "_"), literal(sentence)))
    for rule in rules:
        items = ", ".join("{%s, %s}" % (literal(s["doc"]), literal(s["section"])) for s in rule["sources"])
        w.append("constexpr Source %s[] = {%s};" % (name("kSources", rule), items))
        if "in_force" in rule:
            items = ", ".join("{Profile::%s, %s}" % (PROFILES[profile], str(value).lower())
                              for profile, value in rule["in_force"].items())
            w.append("constexpr ProfileException %s[] = {%s};" % (name("kExceptions", rule), items))
        items = ", ".join("k" + trap.replace("-", "_") for trap in rule["traps"])
        w.append("constexpr std::string_view %s[] = {%s};" % (name("kTraps", rule), items))
    w.append("")
    w.append("constexpr RuleInfo kRules[] = {")
    w += [entry_of(rule, advice[rule["id"]]) for rule in rules]
    w.append("};")
    w.append("")
    groups = catalogue["meta"]["one_event_one_finding"]
    for number, group in enumerate(groups):
        for rule in group:
            if rule not in ids:
                sys.exit("unknown rule in one_event_one_finding: " + rule)
        w.append("constexpr std::string_view kGroup%d[] = {%s};" % (number, ", ".join(literal(r) for r in group)))
    w.append("constexpr std::span<const std::string_view> kGroups[] = {%s};"
             % ", ".join("kGroup%d" % n for n in range(len(groups))))
    w += ["", "}  // namespace", "",
          "std::span<const RuleInfo> Catalogue() { return kRules; }",
          "std::span<const std::span<const std::string_view>> EventGroups() { return kGroups; }", "",
          "}  // namespace stag::conformance", ""]
    with open(sys.argv[3], "w", encoding="utf-8") as f:
        f.write("\n".join(w))


main()
