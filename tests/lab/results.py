#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What the scenarios of the lab came to on each peer: tests/lab/results/PEER.json, which `./dev lab matrix` writes, and the
tables of docs/divergences.md, which are made of them.

    results.py --write      writes the tables
    results.py --check      exit status 1 where the document has others, or does not argue a probe that fails

A file has the peer's name and, for each run ("probe rxe"), whether the scenario passed, which of its parts failed, the rules
that `stag check` found broken in what it captured, and of probes their verdicts."""
import collections
import json
import pathlib
import subprocess
import sys

LAB = pathlib.Path(__file__).resolve().parent
RESULTS = LAB / "results"
DOCUMENT = LAB.parent.parent / "docs/divergences.md"
BEGIN, END = "<!-- what the lab found: tests/lab/results.py -->", "<!-- end of what the lab found -->"
VERDICTS = ["passed", "failed", "inconclusive", "skipped"]
PROBES = {"probe": ["probe", "ganesha"], "probe-client": ["probe-client"]}  # by whom it is asked: the scenarios that ask
ORDER = ["nfs", "replay", "faults", "probe", "probe-client", "ganesha"]


def of_run(stag, status, kept):
    """What one run of a scenario came to, from what it left."""
    result = {"passed": status == 0}
    failed = (kept / "failed").read_text().splitlines() if (kept / "failed").exists() else []
    if failed:
        result["failed"] = failed
    rules = collections.Counter()
    for capture in sorted(kept.glob("*.pcap")):
        lines = subprocess.run([stag, "check", "--format", "jsonl", "--fail-on", "never", capture], stdout=subprocess.PIPE,
                               text=True, check=True).stdout.splitlines()
        rules.update(f["rule"] for f in map(json.loads, lines) if f["type"] == "finding" and f["severity"] != "note")
    if list(kept.glob("*.pcap")):
        result["rules"] = dict(sorted(rules.items()))
    verdicts = kept / "probe.jsonl"
    if verdicts.exists():
        probes = [p for p in map(json.loads, verdicts.read_text().splitlines()) if p["type"] == "probe"]
        result["probes"] = {verdict: sorted(p["id"] for p in probes if p["verdict"] == verdict)
                            for verdict in VERDICTS}
    return result


def load(peer):
    file = RESULTS / f"{peer}.json"
    return json.loads(file.read_text()) if file.exists() else {"peer": peer, "runs": {}}


def save(peer, name, run, result):
    known = load(peer)
    known["peer"] = name
    known["runs"][run] = result
    known["runs"] = dict(sorted(known["runs"].items()))
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{peer}.json").write_text(json.dumps(known, indent=1) + "\n")


def differences(peer, run, result):
    """Lines about what is worse now than what is known: rules that are broken, probes that passed and fail."""
    runs = load(peer)["runs"]
    others = [known for other, known in runs.items() if other.split()[0] == run.split()[0]]  # over another fabric
    known = runs.get(run) or (others[0] if others else None)
    lines = []
    if known is not None:
        lines = [f"{rule} was not found before" for rule in result.get("rules", {}) if rule not in known.get("rules", {})]
    if run in runs and "probes" in result:  # what a probe comes to over one fabric is not known of another
        passed = runs[run].get("probes", {}).get("passed", [])
        lines += [f"{probe} fails, and did not" for probe in result["probes"]["failed"] if probe in passed]
    return lines


def known_failures(peer, run, result):
    """The parts that failed, where all of them are known to; empty: there are others."""
    parts = result.get("failed", [])
    return parts if set(parts) <= set(load(peer)["runs"].get(run, {}).get("failed", [])) else []


def cell(result):
    if result is None:
        return ""
    words = []
    if "probes" in result:
        probes = result["probes"]
        words = [f"{len(probes[verdict])} {verdict}" for verdict in VERDICTS if probes[verdict]]
    if "failed" in result:
        words.append(f"failed: {' '.join(result['failed'])}")
    elif not result["passed"]:
        words.append("the scenario failed")
    elif not words:
        words = ["passed"]
    return ", ".join(words + [f"{rule} ({count})" for rule, count in result.get("rules", {}).items()])


def applies(peer, scenario, fabric):
    """A peer in user space has a scenario of its own, and no other; software iWARP asks by probe alone."""
    return (scenario == "ganesha") != peer["peer"].startswith("Linux") and (fabric != "siw-soft" or scenario == "probe")


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def tables():
    peers = [json.loads(file.read_text()) for file in sorted(RESULTS.glob("*.json"), key=lambda f: version_of(f.stem))]
    scenarios = sorted({run.split()[0] for peer in peers for run in peer["runs"]}, key=ORDER.index)
    rows = []
    for peer in peers:
        for fabric in sorted({run.split()[1] for run in peer["runs"]}):
            rows.append([peer["peer"], fabric] + [cell(peer["runs"].get(f"{scenario} {fabric}")) if applies(peer, scenario, fabric)
                                                  else "–" for scenario in scenarios])
    text = table(["peer", "fabric", *scenarios], rows)
    for asked, scenarios in PROBES.items():
        runs = [(peer["peer"], run.split()[1], peer["runs"][run]["probes"]) for peer in peers for run in sorted(peer["runs"])
                if run.split()[0] in scenarios and "probes" in peer["runs"][run]]
        names = sorted({probe for _, _, probes in runs for probe in probes["failed"]})
        of_peers = list(dict.fromkeys(peer for peer, _, _ in runs))
        rows = []
        for name in names:
            row = [f"`{name}`"]
            for peer in of_peers:
                seen = {fabric: next((v for v in VERDICTS if name in probes[v]), "not run")
                        for of, fabric, probes in runs if of == peer}
                same = len(set(seen.values())) == 1
                row.append(next(iter(seen.values())) if same else ", ".join(f"{v} ({f})" for f, v in seen.items()))
            rows.append(row)
        if rows:
            text += f"\nProbes of `{asked}` that fail somewhere:\n\n" + table(["probe", *of_peers], rows)
    return text


def version_of(stem):
    name, _, version = stem.partition("-")
    return name != "linux", name, [int(part) for part in version.split(".")]


def main(arguments):
    if arguments not in (["--write"], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    text = DOCUMENT.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN + "\n")
    _, end, after = rest.partition(END)
    if not begin or not end:
        print(f"{DOCUMENT} has no lines {BEGIN} and {END}", file=sys.stderr)
        return 1
    new = f"{before}{begin}\n{tables()}\n{end}{after}"
    if arguments == ["--write"]:
        DOCUMENT.write_text(new, encoding="utf-8")
        return 0
    status = 0
    if new != text:
        print("docs/divergences.md has other tables than tests/lab/results: results.py --write")
        status = 1
    runs = [run for file in RESULTS.glob("*.json") for run in json.loads(file.read_text())["runs"].items()]
    named = {probe for _, run in runs for probe in run.get("probes", {}).get("failed", [])}
    named |= {rule for _, run in runs for rule in run.get("rules", {})}
    named |= {f"{name.split()[0]} {part}" for name, run in runs for part in run.get("failed", [])}
    for name in sorted(named):
        if name not in before + after:
            print(f"docs/divergences.md does not argue {name}")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
