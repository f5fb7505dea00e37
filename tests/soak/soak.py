#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Live commands side by side on loopback, for a long time: capture with rotation and with triggers, relay with faults, serve and
generate with reconnects, replay in a loop, probe of a client in a loop. Their rates are low: what is looked for is what grows.

    soak.py STAG MINUTES [--json FILE]

Every few seconds the memory, descriptors and threads of each process are counted. At the end a process is flat when, after a
quarter of the time for warming up, the median of the last quarter of its samples is not above that of the first by more than a
tenth and a little. Registered memory: software iWARP registers ordinary memory, which is in the resident memory; what an adapter
pins is VmPin. Then the accounts: calls sent are calls answered, failed or lost. Exit status 1: something is not flat, or missing.

A command that ends by itself (a trigger has fired, a probe is over) is begun again, and its runs are one row."""
import argparse
import collections
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

CAPTURE = pathlib.Path(__file__).resolve().parents[2] / "pcaps" / "real" / "rxe-nfs3.pcap.zst"
LOOPBACK = ["--listen", "127.0.0.1:0", "--transport", "iwarp", "--format", "jsonl", "--quiet"]
# What a median may grow by, beside a tenth.
SLACK = {"memory_kib": 3072, "descriptors": 3, "threads": 1, "pinned_kib": 64}
UNITS = {"memory_kib": "memory, KiB", "descriptors": "descriptors", "threads": "threads", "pinned_kib": "pinned, KiB"}


def of_process(pid):
    """What a process has now; nothing when it has gone."""
    try:
        status = dict(line.split(":", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text("ascii").splitlines())
        number = lambda key: int(status.get(key, "0").split()[0])
        return {"memory_kib": number("VmRSS"), "descriptors": len(os.listdir(f"/proc/{pid}/fd")), "threads": number("Threads"),
                "pinned_kib": number("VmPin")}
    except (OSError, ValueError):
        return None


class Row:
    """A command: one process, or with `again` one after the other."""

    def __init__(self, name, command, again=False, statuses=(0,)):
        self.name, self.command, self.again, self.statuses = name, [str(word) for word in command], again, statuses
        self.samples, self.results, self.bad = [], [], []
        self.runs = 0
        self.process = None
        self.begin()

    def begin(self):
        self.out, self.err = tempfile.TemporaryFile(), tempfile.TemporaryFile()
        self.process = subprocess.Popen(self.command, stdout=self.out, stderr=self.err, start_new_session=True)
        self.runs += 1

    def listening(self):
        """The first line of a server."""
        until = time.monotonic() + 60
        while time.monotonic() < until and self.process.poll() is None:
            self.out.seek(0)
            line = self.out.readline()
            if line.endswith(b"\n"):
                return json.loads(line)
            time.sleep(0.05)
        self.err.seek(0)
        raise SystemExit(f"{self.name} does not listen: {self.err.read().decode(errors='replace')}")

    def take(self):
        """What a process that has ended says."""
        status = self.process.wait()
        self.out.seek(0)
        self.err.seek(0)
        for line in self.out.read().splitlines():
            try:
                self.results.append(json.loads(line))
            except ValueError:
                pass  # the last line of one that was killed
        if status not in self.statuses:
            self.bad.append(f"exit status {status}: {self.err.read().decode(errors='replace').strip()[-300:]}")

    def look(self, second):
        if self.process.poll() is None:
            sample = of_process(self.process.pid)
            if sample:
                self.samples.append((second, sample))
        elif self.again:
            self.take()
            self.begin()

    def end(self):
        early = self.process.poll() is not None and not self.again
        began = time.monotonic()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                self.bad.append("SIGTERM did not end it")
                os.killpg(self.process.pid, signal.SIGKILL)
        self.stopping = time.monotonic() - began
        self.take()
        if early:
            self.bad.append("it ended by itself")

    def of(self, kind):
        return [line for line in self.results if line.get("type") == kind]

    def verdict(self):
        """For each thing that is counted: the medians of the quarters, the most, and whether it is flat."""
        if not self.samples:
            return {}
        warm = self.samples[-1][0] / 4
        samples = [sample for second, sample in self.samples if second >= warm] or [self.samples[-1][1]]
        found = {}
        for key, slack in SLACK.items():
            values = [sample[key] for sample in samples]
            quarter = max(len(values) // 4, 1)
            medians = [statistics.median(part) for part in (values[i * quarter:(i + 1) * quarter] for i in range(4)) if part]
            found[key] = {"quarters": medians, "most": max(sample[key] for _, sample in self.samples),
                          "flat": medians[-1] <= medians[0] * 1.1 + slack}
        return found


def total(lines, *keys):
    return sum(line.get(key, 0) for line in lines for key in keys)


def accounts(rows):
    """Who made calls, how many, and what became of them."""
    found = []

    def add(name, sent, **parts):
        found.append({"who": name, "calls": sent, **parts, "whole": sent == sum(parts.values()) and sent > 0})
    for name in ("generate", "generate again"):
        lines, operations = rows[name].of("generated"), rows[name].of("operation")
        lost = total(lines, "lost")
        failed = sum(failure["calls"] for line in operations for failure in line["failures"]) - lost
        add(name, total(lines, "calls"), answered=total(lines, "ok"), failed=failed, lost=lost)
    lines = rows["replay"].of("replayed")
    add("replay", total(lines, "sent"), answered=total(lines, "answered"), failed=total(lines, "timed_out"),
        lost=total(lines, "lost"))
    lines, faults = rows["relay"].of("relayed"), rows["relay"].of("fault")
    dropped = total([line for line in faults if line["rule"].startswith("drop")], "injected")
    add("relay", total(lines, "calls"), answered=total(lines, "replies"), errors=total(lines, "errors"),
        in_flight=total(lines, "in_flight"), dropped_by_faults=dropped)
    for name in ("serve", "serve recorded"):
        lines = rows[name].of("served")
        add(name, total(lines, "calls"), answered=total(lines, "replies"), dropped=total(lines, "dropped"))
    return found


def may_capture(stag):
    done = subprocess.run([stag, "capture", "-i", "lo", "--raw", "-w", os.devnull, "--duration", "100ms"], capture_output=True,
                          timeout=60, check=False)
    return done.returncode == 0


def begin(stag, seconds, folder):
    rows = {}

    def add(name, *command, **rest):
        rows[name] = Row(name, [stag, *command], **rest)
        return rows[name]
    serve = add("serve", "serve", "--mode", "nfs-memory", "--file", "data=4M", "--memory", "64M", "--chunk-memory", "16M",
                "--mount-port", "0", "--check", *LOOPBACK, statuses=(0, 1)).listening()
    relay = add("relay", "relay", "--to", f"127.0.0.1:{serve['port']}", "--fault", "delay:20ms@READ/2", "--fault",
                "drop-reply@WRITE/1", "--fault", "disconnect@GETATTR/1", "--chunk-memory", "16M", *LOOPBACK).listening()
    recorded = add("serve recorded", "serve", CAPTURE, *LOOPBACK).listening()
    load = ["generate", "--to", f"127.0.0.1:{relay['port']}", "--transport", "iwarp", "--mode", "nfs3", "--mount-port",
            serve["mount_port"], "--file-size", "256K", "--size", "1K-32K", "--timeout", "2s", "--reconnect", "1000000", "--format",
            "jsonl", "--quiet"]
    # A call that was sent again need not have been lost for the server: a WRITE may come twice, and late.
    add("generate", *load, "--connections", "2", "--rate", "40", "--duration", f"{seconds + 3600}s", statuses=(0, 1))
    add("generate again", *load, "--rate", "40", "--duration", "5s", again=True, statuses=(0, 1))
    add("replay", "replay", CAPTURE, "--to", f"127.0.0.1:{recorded['port']}", "--transport", "iwarp", "--rate", "50", "--loop",
        "1000000", "--duration", f"{seconds + 3600}s", "--format", "jsonl", "--quiet", statuses=(0, 1))
    add("probe", "probe", "--select", "error,remote,form,grant", "--settle", "100ms", *LOOPBACK, again=True, statuses=(0, 1, 2))
    if may_capture(stag):
        on = ["capture", "-i", "lo", "--rdma", "--port", f"{serve['port']},{relay['port']},{recorded['port']}", "--buffer", "4M",
              "--queue", "8M", "--format", "jsonl", "--quiet"]
        add("capture", *on, "--check", "-w", folder / "row.pcapng", "--rotate-size", "1M", "--keep", "3", statuses=(0, 1))
        add("capture trigger", *on, "--trigger", "latency>15ms", "--before", "1s", "--after", "1s", "--rewind", "4M", "-w",
            folder / "trigger.pcapng.zst", again=True)
    else:
        print("capture: not run, for this user may not capture on lo", flush=True)
    return rows


def report(rows, seconds):
    entries = []
    for row in rows.values():
        entries.append({"process": row.name, "runs": row.runs, "samples": len(row.samples), "stopping_s": round(row.stopping, 3),
                        "counted": row.verdict(), "trouble": row.bad})
    print(f"\nafter {seconds:.0f} s; medians of the quarters behind a quarter for warming up")
    print(f"{'process':16} {'runs':>5} {'':12} {'1st':>9} {'2nd':>9} {'3rd':>9} {'4th':>9} {'most':>9}")
    for entry in entries:
        for key, counted in entry["counted"].items():
            if counted["most"] == 0:
                continue
            cells = "".join(f" {value:9.0f}" for value in [*counted["quarters"], *[0] * (4 - len(counted["quarters"]))])
            print(f"{entry['process']:16} {entry['runs']:5} {UNITS[key]:12}{cells} {counted['most']:9.0f}  "
                  f"{'flat' if counted['flat'] else 'NOT FLAT'}")
        for trouble in entry["trouble"]:
            print(f"{entry['process']:16}       {trouble}")
    calls = accounts(rows)
    print("\ncalls")
    for line in calls:
        parts = ", ".join(f"{value} {key.replace('_', ' ')}" for key, value in line.items() if key not in ("who", "calls", "whole"))
        print(f"{line['who']:16} {line['calls']:9}: {parts}  {'whole' if line['whole'] else 'NOT WHOLE'}")
    flat = all(counted["flat"] for entry in entries for counted in entry["counted"].values())
    fine = flat and all(line["whole"] for line in calls) and not any(entry["trouble"] for entry in entries)
    return {"seconds": round(seconds, 1), "fine": fine, "flat": flat, "processes": entries, "calls": calls,
            "outcomes": dict(collections.Counter(line.get("verdict") for line in rows["probe"].of("probe")))}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stag")
    parser.add_argument("minutes", type=float)
    parser.add_argument("--json", help="write the figures to this file")
    options = parser.parse_args()
    stag, seconds = os.path.abspath(options.stag), options.minutes * 60
    step = min(max(seconds / 400, 0.5), 10)
    with tempfile.TemporaryDirectory(prefix="stag-soak.") as folder:
        rows = begin(stag, int(seconds), pathlib.Path(folder))
        start = now = time.monotonic()
        try:
            while now - start < seconds:
                time.sleep(min(step, seconds - (now - start)))
                now = time.monotonic()
                for row in rows.values():
                    row.look(now - start)
        finally:
            for row in reversed(rows.values()):  # clients before their servers
                row.end()
    result = report(rows, now - start)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0 if result["fine"] else 1


if __name__ == "__main__":
    sys.exit(main())
