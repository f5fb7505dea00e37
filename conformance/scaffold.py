#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Begins a rule: its catalogue entry, its check, the check's line in the table, a unit test and the evidence cases.

usage: scaffold.py [--root DIR] ID Function topic "Title"

  ID        the rule, e.g. WRLIST-025: the next free number of a group, or 001 of a new one
  Function  the check's name: what is so when the rule is kept, e.g. ChunksAreSorted
  topic     the file of conformance/rules that gets the check, e.g. write_list; made when there is none
  Title     the rule in a few words

What is to be filled in says FILL_IN; a test fails while one is left. Nothing is written when anything is wrong."""
import argparse
import json
import pathlib
import re
import sys

PLACEHOLDER = "FILL_" + "IN"

RULE = """- id: {id}
  title: {title}
  requirement: {mark} what must be so, in a sentence.
  level: MUST
  sources:
  - doc: RFC8166
    section: '{mark}'
  applies_to: both
  observable:
    degree: full
    why: {mark}
  needs:
  - transport header
  check: |-
    {mark} how it is told.
    Do NOT flag: {mark}
    Common traps: TRAP-SNAPLEN, TRAP-LOSS
  traps:
  - TRAP-SNAPLEN
  - TRAP-LOSS
  severity: error
  violating_example: {mark}
  dissector: null
  differs_between_docs: null
  replay: null
"""
ADVICE = """{id}:
  why: {mark} what goes wrong for whom.
  do: {mark} what helps.
  bytes: |
    00001003  xid  {mark}
"""
CHECK = """
// {id}: {mark} what is asked, and what is not flagged.
Outcome {function}(MessageContext& c) {{
  const Message& m = c.message;
  if (!HasLists(m.header)) return Outcome::kNotApplicable;
  const bool kept = true;  // {mark}
  if (kept) return Outcome::kPass;
  return c.Fail({{.message = "{mark}", .expected = "{mark}", .actual = "{mark}"}});
}}
"""
TOPIC = """// SPDX-License-Identifier: GPL-2.0-or-later
//
// {mark} what the checks of this file are about.
#include "conformance/rules/common.h"
#include "conformance/rules/rules.h"

namespace stag::conformance {{

}}  // namespace stag::conformance
"""
TEST = """
// {mark} traffic that breaks {id}, and the nearest that does not.
TEST({suite}, {suite}{number}{function}) {{
  Checker c;
  c.script.Open();
  Greet(c);
  EXPECT_EQ(c.Ids(), Id{{"{id}"}});
}}
"""
TEST_FILE = """// SPDX-License-Identifier: GPL-2.0-or-later
//
// {mark} what these tests are about.
#include "tests/conformance/checker.h"

namespace stag::test {{
namespace {{

}}  // namespace
}}  // namespace stag::test
"""
EVIDENCE = """
    {{"{id}", kBreaks, "", "{mark}",
     [](WireScript& s) {{
       s.Open();
       s.Expect("{id}");
     }}}},
    {{"{id}", kNearMiss, "", "{mark}", [](WireScript& s) {{ s.Open(); }}}},
"""


class Tree:
    """Files of the repository as they will be; nothing is written before commit()."""

    def __init__(self, root):
        self.root = root
        self.texts = {}

    def get(self, path, new=None):
        if path not in self.texts:
            file = self.root / path
            if not file.exists() and new is None:
                sys.exit(f"{path} is not there")
            self.texts[path] = file.read_text() if file.exists() else new
        return self.texts[path]

    def insert(self, path, before, text, what):
        """Puts `text` before the last line that is `before`."""
        whole = self.get(path)
        at = whole.rfind(before)
        if at < 0:
            sys.exit(f"{path}: {what} was not found; begin the rule by hand")
        self.texts[path] = whole[:at] + text + whole[at:]

    def commit(self):
        for path, text in self.texts.items():
            (self.root / path).write_text(text)
        return sorted(self.texts)


def add_source(tree, path, name, stem):
    """Names `name` in a CMakeLists.txt, beside the other sources that start with `stem`."""
    text = tree.get(path)
    if re.search(rf"(?<![\w/]){re.escape(name)}(?!\w)", text):
        return
    first = re.search(rf"[ (]({re.escape(stem)}\w+\.cc)", text)
    if not first:
        sys.exit(f"{path}: no place for {name} was found; begin the rule by hand")
    tree.texts[path] = text[: first.start(1)] + name + " " + text[first.start(1) :]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[1])
    parser.add_argument("id", metavar="ID")
    parser.add_argument("function", metavar="Function")
    parser.add_argument("topic")
    parser.add_argument("title", metavar="Title")
    options = parser.parse_args()
    if not re.fullmatch(r"[A-Z]{2,8}-\d{3}", options.id):
        sys.exit(f"{options.id} is no rule id: GROUP-NNN was expected, e.g. WRLIST-025")
    if not re.fullmatch(r"[A-Z][A-Za-z0-9]+", options.function):
        sys.exit(f"{options.function} is no name of a function: PascalCase was expected")
    if not re.fullmatch(r"[a-z][a-z0-9_]*", options.topic):
        sys.exit(f"{options.topic} is no topic: lower case and underscores were expected")
    group, number = options.id.split("-")
    tree = Tree(options.root)
    catalogue = tree.get("conformance/catalogue/rules.yaml")
    if f"\n- id: {options.id}\n" in catalogue:
        sys.exit(f"{options.id} is there already; ids are never used again")
    if re.search(rf"\b{options.function}\b", tree.get("conformance/rules/rules.h")):
        sys.exit(f"a check named {options.function} is there already")
    values = {
        "id": options.id, "function": options.function, "topic": options.topic, "title": json.dumps(options.title),
        "number": number, "suite": group.capitalize(), "mark": PLACEHOLDER,
    }

    # The catalogue: behind the last rule of the group, or at the end.
    entries = [m.end() for m in re.finditer(rf"^- id: {group}-\d+\n(?:(?!- id: ).*\n)*", catalogue, re.M)]
    at = entries[-1] if entries else len(catalogue)
    tree.texts["conformance/catalogue/rules.yaml"] = catalogue[:at] + RULE.format(**values) + catalogue[at:]
    advice = tree.get("conformance/catalogue/advice.yaml")
    tree.texts["conformance/catalogue/advice.yaml"] = advice.rstrip("\n") + "\n" + ADVICE.format(**values)

    # The check and its line in the table.
    check = f"conformance/rules/{options.topic}.cc"
    tree.get(check, TOPIC.format(**values))
    tree.insert(check, "\n}  // namespace stag::conformance", CHECK.format(**values).rstrip("\n") + "\n", "its end")
    tree.insert("conformance/rules/rules.h", "\n}  // namespace", f"\n// {options.topic}.cc\nCheck<MessageContext> {options.function};\n",
                "its end")
    tree.insert("conformance/rules/checks.cc", "};\n\nconstexpr NoCheckEntry",
                f'\n    {{"{options.id}", {options.function}}},\n', "the end of the table")
    if not re.search(rf"\brules/{options.topic}\.cc\b", tree.get("conformance/CMakeLists.txt")):
        text = tree.get("conformance/CMakeLists.txt")
        tree.texts["conformance/CMakeLists.txt"] = text.replace(
            "    rules/checks.cc\n", f"    rules/checks.cc\n    rules/{options.topic}.cc\n", 1)

    # Its tests.
    test = f"tests/conformance/{options.topic}_test.cc"
    tree.get(test, TEST_FILE.format(**values))
    tree.insert(test, "\n}  // namespace\n", TEST.format(**values).rstrip("\n") + "\n", "its end")
    add_source(tree, "tests/conformance/CMakeLists.txt", f"{options.topic}_test.cc", "")

    # Its evidence, in the file that has the group's cases already.
    for file in sorted((options.root / "pcaps/generator").glob("*.cc")):
        if f'{{"{group}-' in file.read_text():
            tree.insert(f"pcaps/generator/{file.name}", "};\n", EVIDENCE.format(**values), "the end of its cases")
            break
    else:
        sys.exit(f"no file of pcaps/generator has cases of {group}: begin one first (pcaps/generator/README.md)")

    for path in tree.commit():
        print(f"  {path}")
    print(f"Now fill in what says {PLACEHOLDER} (git grep {PLACEHOLDER}), then ./dev evidence and ./dev test.")


if __name__ == "__main__":
    main()
