# SPDX-License-Identifier: GPL-2.0-or-later
"""stag report: the page as text, held against what the other commands print, and in a browser.

report_test.py STAG    (runs as a unittest program)
"""
import collections
import os
import pathlib
import re
import sys
import unittest

from html_test import Browser, Page, contrast, expect_whole, pictures
from report_runs import ALL_CASES, Base, CASES, NAMES, REAL, ROOT, lines, stag

sys.path.insert(0, str(ROOT / "tests" / "hostile"))
import captures  # noqa: E402

LOSS = str(ROOT / "pcaps" / "real" / "rxe-loss-nfs3.pcap.zst")
MANY = str(ROOT / "pcaps" / "real" / "rxe-nfs4.1.pcap.zst")
IWARP = str(ROOT / "pcaps" / "real" / "siw-nfs4.1.pcap.zst")
REJECT = str(ROOT / "pcaps" / "real" / "rxe-reject.pcap")


def report(*arguments, data=None):
    return stag("report", *arguments, data=data)


def page_of(*arguments):
    return report(*arguments).stdout.decode()


def cells(text, label):
    """The rows of the table with that label, each a list of its cells' text."""
    table = re.search(rf'aria-label="{label}">\s*<table.*?<tbody>(.*?)</tbody>', text, re.S)[1]
    return [[re.sub(r"<title>.*?</title>|<[^>]*>", "", cell) for cell in re.findall(r"<t[hd]\b.*?</t[hd]>", row, re.S)]
            for row in re.findall(r"<tr>.*?</tr>", table, re.S)]


class Text(Base):
    def test_every_page_is_whole_and_needs_nothing_else(self):
        for what, arguments, data, status in self.runs():
            with self.subTest(what):
                done = report(*arguments, data=data)
                self.assertEqual(done.returncode, status, done.stderr)
                text = done.stdout.decode("utf-8")
                page = expect_whole(self, text)
                for name in re.findall(r"url\((.*?)\)", text):
                    self.assertIn(name.removeprefix("#"), page.ids)
                for svg in pictures(text):  # each has a name, or is ornament
                    self.assertIn((svg.get("role"), svg.get("aria-hidden")), (("img", None), (None, "true")))
                    self.assertTrue(svg.get("aria-labelledby") or svg.get("aria-label") or svg.get("aria-hidden"))

    def test_every_frame_is_one_of_the_capture(self):
        for path in map(str, CASES + REAL):
            (told,) = lines(stag("summary", "--format", "jsonl", path))
            page = Page(page_of(path))
            frames = [int(a["data-frame"]) for _, a in page.elements if "data-frame" in a]
            self.assertEqual({a["data-file"] for _, a in page.elements if "data-frame" in a} - {"0"}, set())
            self.assertTrue(told["connections"] == 0 or frames, path)
            for frame in frames:
                self.assertTrue(0 < frame <= told["frames"], (path, frame))

    def test_what_is_wrong_comes_first_and_is_what_summary_says(self):
        for path in map(str, CASES + REAL):
            text = page_of(path)
            (told,) = lines(stag("summary", "--format", "jsonl", path))
            part = text[text.index('<h2 id="wrong">'):text.index('<h2 id="about">')]
            self.assertLess(text.index('<h2 id="wrong">'), text.index('<dl class="tiles">'))
            items = re.findall(r"<li>(.*?)</li>", part, re.S)
            self.assertEqual(len(items), len(told["wrong"]), path)
            for item, wrong in zip(items, told["wrong"]):
                words = "".join(Page(f"<p>{item}</p>").text)
                where = f"frame {wrong['frame']}" if wrong["frame"] else ""
                badge = "known" if wrong["harm"] == "known" else wrong["severity"]
                self.assertEqual(words, badge + wrong["text"] + wrong["next"].replace("FILE", path) + where, path)
            if not items:
                self.assertIn("Nothing that the capture shows." if told["connections"] else
                              "There is no RPC-over-RDMA in the capture: nothing was judged.", part)

    def test_tables_agree_with_the_other_commands(self):
        for path in (LOSS, MANY, IWARP):
            text = page_of(path)
            # Counted here, from what transactions prints.
            answered = [t for t in lines(stag("transactions", "--format", "jsonl", path)) if t["rtt_us"] is not None]
            rows = cells(text, "Round-trip times by procedure")
            self.assertEqual(sum(int(row[1].replace(",", "")) for row in rows), len(answered))
            if path == LOSS:
                counts = collections.Counter(t["name"] for t in answered if t["program"] == 100003)
                self.assertEqual({row[0].removeprefix("NFSv3 "): int(row[1]) for row in rows if row[0].startswith("NFSv3 ")},
                                 counts)
            slowest = sorted(answered, key=lambda t: -t["rtt_us"])[:10]
            told = [(int(row[3]), int(row[4])) for row in cells(text, "The slowest RPCs")]
            self.assertEqual(told, [(t["call_frame"], t["reply_frame"]) for t in slowest])
            for row, limits in zip(cells(text, "What the time of each connection is spent on"),
                                   lines(stag("limits", "--format", "jsonl", path)), strict=True):
                shares = [limits[name + "_us"] / limits["span_us"] * 100
                          for name in ("idle", "credit_limited", "recovery", "moving_data", "server")]
                self.assertAlmostEqual(sum(shares), 100, places=3)
                self.assertEqual(row[3:8], [f"{share:.1f} %" for share in shares])
            sent = [(row[0], row[1], int(row[2].replace(",", ""))) for row in cells(text, "What the fabric did")]
            want = [(str(t["connection"]), {"c2s": "client", "s2c": "server"}[t["direction"]],
                     t.get("packets", t.get("segments"))) for t in lines(stag("transport", "--format", "jsonl", path))]
            self.assertEqual(sent, want)
            credits = [line for line in lines(stag("credits", "--format", "jsonl", path))
                       if line["type"] == "credit_summary" and line["direction"] == "c2s"]
            for row, line in zip(cells(text, "Credits of the client's Calls"), credits, strict=True):
                self.assertEqual(int(row[1].replace(",", "")), line["calls"])
            findings = re.findall(r'<article class="finding', text)
            other = re.findall(r'<article class="finding', stag("check", "--fail-on", "never", "--format", "html", path)
                               .stdout.decode())
            self.assertEqual(len(findings), len(other))

    def test_what_a_bug_report_needs(self):
        path = self.file("my mount.pcap", pathlib.Path(REJECT).read_bytes())
        text = "".join(Page(page_of("--profile", "rfc5666", "--ignore", "PVT", path)).text)
        self.assertIn("RPC-over-RDMA report", text)
        self.assertIn(f"{os.path.getsize(path):,} bytes", text)
        self.assertIn(stag("--version").stdout.decode().strip(), text)
        self.assertIn(f"stag report --profile rfc5666 --ignore PVT '{os.fsdecode(path)}'", text)
        self.assertIn("profile rfc5666, without PVT", text)
        times = [t["time"] for t in lines(stag("credits", "--format", "jsonl", LOSS)) if t.get("time")]
        self.assertIn(times[0][:16], "".join(Page(page_of(LOSS)).text))

    def test_what_was_dropped_is_said_also_when_quiet(self):
        cut = self.file("cut.pcap", pathlib.Path(CASES[0]).read_bytes()[:-3])
        done = report("--quiet", cut, "/nowhere & <b>.pcap")
        self.assertEqual(done.returncode, 2)
        self.assertEqual(len(done.stderr.splitlines()), 2)  # errors are said on stderr, too
        text = "".join(Page(done.stdout.decode()).text)
        self.assertIn("Not read: cannot open /nowhere & <b>.pcap", text)
        self.assertIn("Read in part: ", text)
        fragments = self.directory / "fragments.pcap"
        with open(fragments, "wb") as out:
            captures.write("fragments", 100, out)
        (remark,) = stag("summary", str(fragments)).stderr.decode().splitlines()
        self.assertIn("not looked into: IP fragments without the others", remark)
        done = report("--quiet", str(fragments))
        self.assertEqual(done.stderr, b"")
        self.assertIn(remark.removeprefix("stag: "), "".join(Page(done.stdout.decode()).text))

    def test_names_and_titles_are_shown_and_nothing_else(self):
        for name in NAMES:
            path = self.file(name, CASES[0].read_bytes())
            page = Page(page_of("--title", b"<script>alert('1')</script> & \"quotes\" \xff", path))
            want = re.sub("[\x00-\x08\x0b-\x1f\x7f]", "\ufffd", path.decode("utf-8", "replace"))
            words = "".join(page.text)
            self.assertIn(want, words)
            self.assertIn("<script>alert('1')</script> & \"quotes\" \ufffd", words)
            self.assertEqual(len([tag for tag, _ in page.elements if tag == "script"]), 1)

    def test_several_files_and_bounds(self):
        some = [str(path) for path in ALL_CASES[:25]]
        text = page_of(*some)
        self.assertEqual(len(cells(text, "The captures")), 25)
        self.assertIn("5 further files left out of the sections", text)
        self.assertEqual(len(re.findall('class="picture latency"', text)), 4)
        self.assertLess(len(text), 3_000_000)
        two = page_of(LOSS, IWARP)
        for path in (LOSS, IWARP):
            self.assertIn(f'<h3 class="part"><bdi>{path}</bdi></h3>', two)

    def test_into_a_file(self):
        out = self.directory / "page.html"
        for option in ("-o", "--out", "--output"):
            done = report(LOSS, option, str(out))
            self.assertEqual((done.returncode, done.stdout), (0, b""))
            self.assertTrue(Page(out.read_text()).ids)
            out.unlink()


TAB, ENTER = "\ue004", "\ue007"
# Elements that reach over the page, and words of pictures that reach over their picture.
OVERFLOW = """
const wide = document.documentElement.scrollWidth - innerWidth;
const clipped = [];
document.querySelectorAll('svg.picture').forEach((svg) => {
  const box = svg.getBoundingClientRect();
  svg.querySelectorAll('text').forEach((text) => {
    const t = text.getBoundingClientRect();
    if (t.left < box.left - 1 || t.right > box.right + 1 || t.top < box.top - 1 || t.bottom > box.bottom + 1)
      clipped.push(text.textContent);
  });
});
document.querySelectorAll('main > *').forEach((e) => {
  if (e.getBoundingClientRect().right > innerWidth + 1) clipped.push(e.className || e.tagName);
});
return [wide, clipped];
"""


class InABrowser(Base):
    @classmethod
    def setUpClass(cls):
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)

    def show(self, *arguments):
        path = self.file("report.html", report(*arguments).stdout)
        self.browser.open(os.fsdecode(path))
        self.addCleanup(lambda: self.assertEqual(self.browser.log(), []))  # nor does its policy refuse anything

    def scheme(self, name):
        self.browser.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def color(self, selector, name):
        rgb = self.browser.run("return getComputedStyle(document.querySelector(arguments[0]))[arguments[1]]", selector, name)
        return "#{:02x}{:02x}{:02x}".format(*map(int, re.findall(r"\d+", rgb)[:3]))

    def test_nothing_is_cut_off_wide_or_narrow(self):
        self.addCleanup(self.browser.devtools, "Emulation.clearDeviceMetricsOverride")
        for paths in ([LOSS], [MANY], [IWARP, LOSS], [str(path) for path in CASES[:6]]):
            self.show(*paths)
            for width in (1600, 1280, 768, 390):
                self.browser.devtools("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1,
                                      mobile=False)
                wide, clipped = self.browser.run(OVERFLOW)
                self.assertLessEqual(wide, 0, (paths, width))
                self.assertEqual(clipped, [], (paths, width))

    def test_light_and_dark(self):
        self.show(LOSS)
        grounds = []
        for name in ("light", "dark"):
            self.scheme(name)
            surface = self.color(".panel", "backgroundColor")
            grounds.append(surface)
            for part in [f".{kind}{i}" for kind in "sp" for i in range(5)]:  # WCAG 1.4.11
                self.assertGreaterEqual(contrast(self.color(part, "fill"), surface), 3, (name, part))
            self.assertGreaterEqual(contrast(self.color(".frame", "color"), surface), 4.5)
            for picture in ("latency", "transport", "credits"):
                ground = self.color(f"svg.{picture} .ground", "fill")
                self.assertGreaterEqual(contrast(self.color(f"svg.{picture} .text", "fill"), ground), 7, (name, picture))
                self.assertGreaterEqual(contrast(self.color(f"svg.{picture} .muted", "fill"), ground), 4.5, (name, picture))
        self.assertGreater(contrast(grounds[0], "#000000"), contrast(grounds[1], "#000000"))

    def test_with_the_keyboard_alone(self):
        self.show(MANY)
        focus = ("const e = document.activeElement; return [e.tagName, e.getAttribute('aria-label') || "
                 "e.textContent.trim()]")
        seen = []
        for _ in range(30):
            self.browser.keys(TAB)
            seen.append(tuple(self.browser.run(focus)))
            self.assertNotEqual(self.browser.run("return getComputedStyle(document.activeElement).outlineStyle"), "none")
            if seen[-1] == ("SUMMARY", "Credits over time"):
                break
        for want in (("A", "Latency"), ("A", "PVT-006"), ("DIV", "Connections"), ("DIV", "Round-trip times by procedure"),
                     ("SUMMARY", "The slowest RPCs"), ("DIV", "What the fabric did"), ("SUMMARY", "Credits over time")):
            self.assertIn(want, seen)
        visible = "return document.querySelector('svg.credits').checkVisibility()"
        self.assertTrue(self.browser.run(visible))
        self.browser.keys(ENTER)
        self.assertFalse(self.browser.run(visible))
        # The rule of a sentence leads to its findings.
        self.browser.run("document.querySelector('ol.wrong a').focus()")
        self.browser.keys(ENTER)
        self.browser.later("setTimeout(arguments[0], 50)")
        self.assertEqual(self.browser.run("return [location.hash, document.getElementById('filter').elements.rule.value]"),
                         ["#findings", "PVT-006"])


if __name__ == "__main__":
    unittest.main()
