#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes coverage.md from coverage.yaml, and the rules and probes that stag has.

    docs/coverage.py build/release/cli/stag > docs/coverage.md

Needs PyYAML (python3-yaml)."""
import json
import pathlib
import subprocess
import sys
import textwrap

import yaml

ABOUT = """Each sentence with MUST, MUST NOT, SHOULD, SHOULD NOT or REQUIRED in RFC 8166 and RFC 8797, by section and its number
there, in words of our own: the rules of `stag check` that find who breaks it in a capture, the probes of `stag probe` (of
servers; of clients, by `--listen`) that provoke it, or why there is neither. `stag probe --list --select rfc8166-4.5` lists
what tests a section, `stag check --select RFC8166:4.5` applies its rules. That no sentence is left out
`tests/docs/coverage_test.py` counts where the texts are."""
HERE = pathlib.Path(__file__).resolve().parent


def read():
    """The documents of coverage.yaml; each of their sentences has a number within its section."""
    with open(HERE / "coverage.yaml", encoding="utf-8") as file:
        documents = yaml.safe_load(file)["documents"]
    for document in documents:
        numbers = {}
        for sentence in document["sentences"]:
            sentence["section"] = str(sentence.get("section", ""))
            sentence.setdefault("rules", [])
            sentence.setdefault("probes", [])
            numbers[sentence["section"]] = sentence["number"] = numbers.get(sentence["section"], 0) + 1
    return documents


def lines(stag, *arguments):
    done = subprocess.run([stag, *arguments, "--format", "jsonl"], stdout=subprocess.PIPE, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def rules_of(stag):
    return {rule["id"]: rule for rule in lines(stag, "rules")}


def probes_of(stag):
    return {probe["id"]: probe for peer in ([], ["--listen", "0"]) for probe in lines(stag, "probe", "--list", *peer)}


def sections_in(rule, document):
    """The sections of that document that the rule rests on; [""] where it names none, [] where it is not of it."""
    return [spec[len(document):].strip() for spec in rule["spec"] if spec == document or spec.startswith(document + " ")]


def in_order(section):
    return [int(number) if number.isdigit() else 0 for number in section.split(".")]


def is_covered(sentence, rules):
    return bool(sentence["probes"]) or any(rules[rule]["checked"] for rule in sentence["rules"])


def put_counts(out, documents, rules):
    out += ["| document | sentences | by rules | by probes | by both | by neither |", "|---|---|---|---|---|---|"]
    for document in documents:
        if not document.get("file"):
            continue
        sentences = document["sentences"]
        ruled = [any(rules[rule]["checked"] for rule in s["rules"]) for s in sentences]
        probed = [bool(s["probes"]) for s in sentences]
        both = sum(a and b for a, b in zip(ruled, probed))
        neither = sum(not a and not b for a, b in zip(ruled, probed))
        out.append(f"| {document['name']} | {len(sentences)} | {sum(ruled)} | {sum(probed)} | {both} | {neither} |")


def put_sentences(out, document, rules):
    out += ["| section | | word | what it asks | rules | probes | |", "|---|---|---|---|---|---|---|"]
    for s in document["sentences"]:
        of_rules = "<br>".join(rule + ("" if rules[rule]["checked"] else " (not checked)") for rule in s["rules"])
        of_probes = "<br>".join(f"`{probe}`" for probe in s["probes"])
        number = s["number"] if s["words"] else ""
        out.append(f"| {s['section']} | {number} | {', '.join(s['words'])} | {s['asks']} | {of_rules or 'none'} | "
                   f"{of_probes or 'none'} | {' '.join(s.get('why', '').split())} |")


def put_other_rules(out, document, rules):
    named = {rule for s in document["sentences"] for rule in s["rules"]}
    others = [rule for rule in rules.values() if sections_in(rule, document["name"]) and rule["id"] not in named]
    if not others:
        return
    out += ["", f"Rules of the catalogue that rest on other words of {document['name']}: definitions, XDR, permissions.", "",
            "| rule | sections | what it is about | not checked, for |",
            "|---|---|---|---|"]
    for rule in sorted(others, key=lambda rule: in_order(sections_in(rule, document["name"])[0])):
        sections = ", ".join(sections_in(rule, document["name"]))
        out.append(f"| {rule['id']} | {sections} | {rule['title']} | {rule['not_checked'] or ''} |")


def table(stag):
    """The text of coverage.md."""
    documents, rules = read(), rules_of(stag)
    out = ["# Coverage: from the sentences of the specification to rules and probes", "",
           "<!-- Made by coverage.py from coverage.yaml: change that, and run docs/coverage.py STAG > docs/coverage.md -->", "",
           *textwrap.wrap(ABOUT, 120), ""]
    put_counts(out, documents, rules)
    for document in documents:
        out += ["", f"## {document['name']}", ""]
        if document.get("note"):
            out += [document["note"], ""]
        put_sentences(out, document, rules)
        put_other_rules(out, document, rules)
    return "\n".join(out) + "\n"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.stdout.write(table(sys.argv[1]))
