#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The one-definition rule: a type, and an inline function, is defined in one place. Two definitions of one name in one program
are an error that no compiler or linker reports.

    one_definition.py [ROOT]      checks a tree (default: the one this file is in); exit status 1 and a line per violation
    one_definition.py --self-test plants violations in small sources and makes sure that they are found

The sources are read as text: namespaces and classes are followed by their braces. What is in an unnamed namespace or in a
function belongs to one source alone. Tests are programs of their own, so their folders are left out but for tests/support."""
import collections
import os
import re
import sys

FOLDERS = ["protocol", "session", "conformance", "capture", "replay", "scale", "cli", "plugin", "pcaps/generator",
           "tests/support"]

# Comments, literals, preprocessor lines and default arguments, which may hold braces of their own.
NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\b\'|\'(?:\\.|[^\'\\\n])+\'|'
                   r'^[ \t]*#(?:[^\n]*\\\n)*[^\n]*|(?<==)\s*\{[^{};]*\}', re.S | re.M)
NAME = r"[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*"
NAMESPACE = re.compile(rf"(?:inline\s+)?namespace(?:\s+({NAME}))?\s*$")
TYPE = re.compile(rf"(?:^|\s)(?:struct|class|union|enum(?:\s+(?:class|struct))?)\s+(?:alignas\([^)]*\)\s*)?(?:\[\[.*?\]\]\s*)?"
                  rf"({NAME}(?:\s*<.*>)?)\s*(?:final\s*)?(?::(?!:).*)?$", re.S)
INLINE = re.compile(rf"(?:^|\s)(?:inline|constexpr|consteval|template)\b.*?({NAME}|operator\s*\S+?)\s*(\(.*\))"
                    r"\s*(?:const\s*)?(?:noexcept\s*)?(?:->.*)?(?:requires.*)?$", re.S)


def types(parameters):
    """The types in a list of parameters, without names and defaults."""
    words = [re.sub(r"\s*=.*", "", word.strip(), flags=re.S) for word in re.split(r",(?![^<(]*[>)].)", parameters[1:-1])]
    return "(" + ",".join(re.sub(r"(?<=[\w>&*])(\s+|(?<=[&*]))\w+$", "", word) for word in words) + ")"


def definitions(text):
    """(what, line) of each type and inline function that other sources could see."""
    text = NOISE.sub(lambda found: " " + "\n" * found[0].count("\n"), text)
    scopes, start = [], 0  # of each open brace: the name of a namespace or type, "" for extern "C", or None
    for found in re.finditer(r"[{};]", text):
        before = text[start:found.start()].strip()
        start = found.end()
        if found[0] == "}":
            if scopes:
                scopes.pop()
        elif found[0] == "{":
            visible = None not in scopes
            line = text.count("\n", 0, found.start()) + 1
            qualified = "::".join([scope for scope in scopes if scope])
            before = re.sub(r"^(?:\s*(?:public|private|protected)\s*:)+\s*", "", before)
            if match := NAMESPACE.match(before):
                scopes.append(match[1])
            elif (match := TYPE.search(before)) and "(" not in before[:match.start(1)].replace("alignas(", ""):
                name = re.sub(r"\s", "", match[1])
                scopes.append(name)
                if visible:
                    yield f"{qualified}::{name}".removeprefix("::"), line
            elif before == "extern":
                scopes.append("")
            else:
                scopes.append(None)
                if visible and (match := INLINE.search(before)):
                    template = re.match(r"template\s*(<.*?>)\s", before, re.S)
                    what = f"{qualified}::{match[1]}{types(match[2])}{template[1] if template else ''}"
                    yield re.sub(r"\s+", " ", what).removeprefix("::"), line


def sources(root):
    for folder in FOLDERS:
        for directory, _, files in sorted(os.walk(os.path.join(root, folder))):
            for file in sorted(files):
                if file.endswith((".h", ".cc")):
                    yield os.path.relpath(os.path.join(directory, file), root)


def violations(texts):
    """A line for each definition that there is more than once in `texts`, pairs of a path and its text."""
    places = collections.defaultdict(list)
    for path, text in texts:
        for what, line in definitions(text):
            places[what].append(f"{path}:{line}")
    for what, where in sorted(places.items()):
        if len(where) > 1:
            yield f"{where[0]}: {what} is defined again in {', '.join(where[1:])}"


def self_test():
    def found(*texts):
        return [line.split(" ")[1] for line in violations((f"{i}.h", text) for i, text in enumerate(texts))]

    plain = "namespace a::b {\nstruct Part {\n  int x;\n};\n}  // namespace a::b\n"
    expectations = [
        ((plain, "namespace a { namespace b { class Part final : public Other { }; } }"), ["a::b::Part"]),
        ((plain, "namespace a { enum class Part : int { kOne }; }"), []),  # another namespace
        ((plain, "namespace a::b { namespace { struct Part { }; } }"), []),  # of one source alone
        ((plain, "namespace a::b { struct Part; void F() { struct Part { }; } }"), []),  # declared; in a function
        ((plain, "namespace a::b { struct Whole { struct Part { }; }; }"), []),  # in a class
        ((plain, "// namespace a::b {\nconst char* text = \"struct Part {\"; char c = '{';\n#define X {\n"), []),
        (("struct A::Impl { };", "struct A { struct Impl { }; };"), ["A::Impl"]),
        (("struct A { public: enum E { k }; };", "struct A { };"), ["A"]),
        (("inline int F(int a, A& b) { return a; }", "constexpr int F(int c, A& d = {}) { return 0; }"), ["F(int,A&)"]),
        (("inline int F(int a) { return a; }", "inline int F(long a) { return 0; }"), []),
        (("struct V<int> { };", "struct V<long> { };"), []),
        (("constexpr int kA = 1'000; struct A { };", "struct A { };"), ["A"]),
    ]
    failed = [case for case in expectations if found(*case[0]) != case[1]]
    for texts, expected in failed:
        print(f"self-test: {texts}: {found(*texts)} instead of {expected}")
    return 1 if failed else 0


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    root = arguments[0] if arguments else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    texts = [(path, open(os.path.join(root, path), encoding="utf-8").read()) for path in sources(root)]
    lines = list(violations(texts))
    print("\n".join(lines) if lines else f"{len(texts)} sources: each type is defined once")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
