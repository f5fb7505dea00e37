# SPDX-License-Identifier: GPL-2.0-or-later
"""The HTML report of `stag check`: as text, and in a browser (Chromium, driven through chromedriver).

html_test.py STAG    (runs as a unittest program)
"""
import html.parser
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest
import urllib.request
import xml.etree.ElementTree

from report_runs import ALL_CASES, Base, CASES, NAMES, REAL, ROOT, check, lines

MANY = str(ROOT / "pcaps" / "real" / "rxe-nfs4.1.pcap.zst")
SVG = "{http://www.w3.org/2000/svg}"
VOID = {"meta", "link", "br", "input", "img", "hr", "wbr"}


class Page(html.parser.HTMLParser):
    """Reads a page and insists that every element is closed in order and every id is unique."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.ids, self.hrefs, self.elements, self.text, self.external = [], set(), [], [], [], []
        self.feed(text)
        self.close()
        if self.open:
            raise AssertionError(f"not closed: {self.open}")

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.elements.append((tag, attributes))
        if tag not in VOID:
            self.open.append(tag)
        if "id" in attributes:
            if attributes["id"] in self.ids:
                raise AssertionError(f"two elements have the id {attributes['id']}")
            self.ids.add(attributes["id"])
        if "href" in attributes:
            self.hrefs.append(attributes["href"])
        for name, value in attributes.items():
            loads = name in ("src", "srcset", "data", "action", "poster", "background", "style")
            if loads or name.startswith("on"):
                self.external.append((tag, name, value))

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            raise AssertionError(f"</{tag}> closes nothing")

    def handle_data(self, data):
        self.text.append(data)

    def all(self, tag, name=""):
        return [a for t, a in self.elements if t == tag and name in a.get("class", "").split() + [""]]


def page_of(*arguments, data=None):
    return check("--format", "html", *arguments, data=data).stdout.decode()


def pictures(text):
    """The SVG elements of a page as XML."""
    for svg in re.findall(r"<svg.*?</svg>", text, re.S):
        yield xml.etree.ElementTree.fromstring(svg.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1))


def expect_whole(test, text):
    """The page needs nothing else, and its links lead somewhere. Returns it."""
    page = Page(text)
    test.assertEqual(page.external, [])
    test.assertNotRegex(text, r"[\x00-\x08\x0b-\x1f\x7f]")
    for href in page.hrefs:
        if href.startswith("#"):
            test.assertIn(href[1:], page.ids)
        else:
            test.assertRegex(href, r"^https://www\.rfc-editor\.org/rfc/rfc\d+(#[a-zA-Z0-9.-]+)?$")
    test.assertTrue(any("default-src 'none'" in a.get("content", "") for a in page.all("meta")))
    test.assertNotIn("@import", text)
    return page


class Text(Base):
    def test_every_page_is_whole_and_needs_nothing_else(self):
        for what, arguments, data, status in self.runs():
            with self.subTest(what):
                done = check("--format", "html", *arguments, data=data)
                self.assertEqual(done.returncode, status, done.stderr)
                text = done.stdout.decode("utf-8")
                expect_whole(self, text)
                self.assertNotIn("url(", text)

    def test_every_finding_is_there(self):
        for capture in CASES + REAL:
            with self.subTest(capture.name):
                *findings, summary = lines(check("--format", "jsonl", str(capture)))
                text = page_of(str(capture))
                page = Page(text)
                cards = page.all("article", "finding")
                want = sorted({(f["rule"], f["severity"], f["connection"], f["direction"]) for f in findings})
                have = ((c["data-rule"], c["data-severity"], int(c["data-connection"].split("-")[1])) for c in cards)
                self.assertEqual(sorted(have), [key[:3] for key in want])
                repeats = sum(int(n.replace(",", "")) for n in re.findall(r"<dt>Repeats</dt><dd>([\d,]+) more", text))
                self.assertEqual(len(cards) + repeats, len(findings))
                tiles = dict(re.findall(r"<dt>([^<]*)</dt><dd>([\d,]*)</dd></div>", text))
                for severity, count in summary["findings"].items():
                    self.assertEqual(tiles[severity + "s"], f"{count:,}")
                self.assertEqual(tiles["frames"], f"{summary['frames']:,}")
                visible = "".join(page.text)
                for finding in findings:
                    self.assertTrue(finding["message"] in visible, finding)

    def test_ladders_mark_what_breaks_the_rule(self):
        for capture in CASES:
            with self.subTest(capture.name):
                text = page_of(str(capture))
                findings = {(f["rule"], f["frame"]): f for f in lines(check("--format", "jsonl", str(capture)))[:-1]}
                told = 0
                for svg in pictures(text):
                    self.assertEqual(svg.get("role"), "img")
                    title, description = svg.find(SVG + "title"), svg.find(SVG + "desc")
                    self.assertEqual(svg.get("aria-labelledby"), f"{title.get('id')} {description.get('id')}")
                    rule, frame = re.fullmatch(r"What led to (\S+) in frame (\d+)", title.text).groups()
                    finding = findings[(rule, int(frame))]
                    rungs = [(g.get("class").split(), [t.text for t in g.findall(SVG + "text")])
                             for g in svg.findall(SVG + "g")]
                    culprits = [texts for classes, texts in rungs if "offending" in classes]
                    proofs = [texts for classes, texts in rungs if "proof" in classes]
                    # What breaks the rule is marked, in words, too; so is what proves it.
                    (culprit,) = culprits
                    first, *last = map(int, culprit[0].split("\u2013"))
                    self.assertTrue(first <= finding["frame"] <= (last[0] if last else first))
                    self.assertTrue(any("breaks the rule" in t for t in culprit))
                    self.assertEqual(len(proofs), finding["proven_frame"] != finding["frame"], finding)
                    for proof in proofs:
                        # What the capture shows late is told late: then the frame is an earlier one.
                        self.assertLessEqual(int(re.match(r"\d+", proof[0])[0]), finding["proven_frame"])
                        self.assertTrue(any("proves it" in t for t in proof))
                    for classes, texts in rungs:
                        if "related" in classes:
                            first, *last = map(int, texts[0].split("\u2013"))
                            last = last[0] if last else first
                            self.assertTrue(any(first <= frame <= last for frame in finding["related_frames"]))
                    told += 1
                self.assertEqual(told, len(Page(text).all("article")))

    def test_names_are_shown_and_nothing_else(self):
        for name in NAMES:
            path = self.file(name, CASES[0].read_bytes())
            page = Page(page_of(path))
            want = re.sub("[\x00-\x08\x0b-\x1f\x7f]", "\ufffd", path.decode("utf-8", "replace"))
            self.assertIn(want, "".join(page.text))

    def test_without_a_finding(self):
        clean = str(ROOT / "pcaps" / "cases" / "177-ok-reply-and-write-chunks-iwarp.pcap")
        page = Page(page_of("--select", "HDR", clean))
        self.assertEqual(page.all("article"), [])
        self.assertIn("None.", "".join(page.text))

    def test_what_could_not_be_read_is_said(self):
        cut = self.file("cut.pcap", pathlib.Path(CASES[0]).read_bytes()[:-3])
        text = "".join(Page(page_of("/nowhere & <b>.pcap", cut)).text)
        self.assertIn("Not read: cannot open /nowhere & <b>.pcap", text)
        self.assertIn("Read in part: ", text)


class Browser:
    """A session of chromedriver (W3C WebDriver)."""

    def __init__(self):
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                       text=True)
        for line in self.driver.stdout:
            if match := re.search(r"started successfully on port (\d+)", line):
                self.root = f"http://127.0.0.1:{match[1]}"
                break
        else:
            raise RuntimeError("chromedriver does not start")
        self.profile = tempfile.mkdtemp()
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--window-size=1280,1600", f"--user-data-dir={self.profile}"]
        session = self.call("POST", "/session", {"capabilities": {"alwaysMatch": {
            "browserName": "chrome", "goog:chromeOptions": {"args": arguments},
            "goog:loggingPrefs": {"browser": "ALL"}}}})
        self.root += "/session/" + session["sessionId"]

    def call(self, method, path, body=None):
        request = urllib.request.Request(self.root + path, method=method, headers={"Content-Type": "application/json"},
                                         data=None if body is None else json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.loads(answer.read())["value"]

    def close(self):
        try:
            self.call("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait()
            self.driver.stdout.close()
            shutil.rmtree(self.profile, ignore_errors=True)

    def open(self, path):
        self.call("POST", "/url", {"url": pathlib.Path(path).resolve().as_uri()})

    def run(self, script, *arguments):
        return self.call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    # The script calls its last argument when it is done.
    def later(self, script, *arguments):
        return self.call("POST", "/execute/async", {"script": script, "args": list(arguments)})

    def devtools(self, command, **parameters):
        return self.call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def log(self):
        return [entry["message"] for entry in self.call("POST", "/se/log", {"type": "browser"})]

    def keys(self, text):
        actions = [{"type": kind, "value": key} for key in text for kind in ("keyDown", "keyUp")]
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})


TAB, ENTER, SPACE = "\ue004", "\ue007", " "
SHOWN = "return [...document.querySelectorAll('article.finding')].filter((a) => a.checkVisibility()).map((a) => a.id)"


def luminance(color):
    def linear(value):
        value /= 255
        return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4
    red, green, blue = (linear(int(color[i:i + 2], 16)) for i in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    """WCAG 2.1, contrast ratio."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


class InABrowser(Base):
    @classmethod
    def setUpClass(cls):
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)

    def show(self, *arguments):
        path = self.file("report.html", check("--format", "html", *arguments).stdout)
        self.browser.open(os.fsdecode(path))
        self.addCleanup(lambda: self.assertEqual(self.browser.log(), []))

    def shown(self):
        return self.browser.run(SHOWN)

    def status(self):
        return self.browser.run("return document.getElementById('shown').textContent")

    def test_shows_every_finding_without_complaint(self):
        self.show(*map(str, ALL_CASES))
        count = self.browser.run("return document.querySelectorAll('article.finding').length")
        self.assertGreater(count, 50)
        self.assertEqual(len(self.shown()), count)
        self.assertEqual(self.status(), f"Showing {count} of {count}.")
        # Pictures have a size, and what breaks a rule is drawn thicker than what does not.
        heights = "return [...document.querySelectorAll('svg.ladder')].map((s) => s.getBoundingClientRect().height)"
        self.assertGreater(min(self.browser.run(heights)), 60)
        width = "return parseFloat(getComputedStyle(document.querySelector(arguments[0])).strokeWidth)"
        self.assertGreater(self.browser.run(width, "svg .offending .line"),
                           self.browser.run(width, "svg .send:not(.offending) .line"))

    def test_the_filter(self):
        self.show(*map(str, ALL_CASES))
        cards = self.browser.run("return [...document.querySelectorAll('article.finding')]"
                                 ".map((a) => ({id: a.id, ...a.dataset, text: a.textContent}))")
        change = ("const [selector, value] = arguments; const field = document.querySelector('#filter ' + selector);"
                  "if (field.type === 'checkbox') field.checked = value; else field.value = value;"
                  "field.dispatchEvent(new Event('input', {bubbles: true}))")
        reset = "document.querySelector('#filter button[type=reset]').click()"

        def expect(fits):
            want = [card["id"] for card in cards if fits(card)]
            self.assertTrue(0 < len(want) < len(cards))
            self.assertEqual(self.shown(), want)
            self.assertEqual(self.status(), f"Showing {len(want)} of {len(cards)}.")

        self.browser.run(change, "input[value=error]", False)
        expect(lambda card: card["severity"] != "error")
        self.browser.run(change, "[name=rule]", "HDR-003")
        expect(lambda card: card["severity"] != "error" and card["rule"] == "HDR-003")
        self.browser.run(reset)
        self.browser.later("setTimeout(arguments[0])")
        self.assertEqual(len(self.shown()), len(cards))
        self.browser.run(change, "[name=connection]", cards[3]["connection"])
        expect(lambda card: card["connection"] == cards[3]["connection"])
        self.browser.run(reset)
        self.browser.later("setTimeout(arguments[0])")
        self.browser.run(change, "[name=text]", "  reserved BITS ")
        expect(lambda card: "reserved" in card["text"].lower() and "bits" in card["text"].lower())
        # A rule's link shows its findings alone; a link to a finding that is hidden shows it again.
        self.browser.run("document.querySelector('a[data-filter-rule=\"PVT-003\"]').click()")
        self.browser.later("setTimeout(arguments[0])")
        expect(lambda card: card["rule"] == "PVT-003")
        hidden = next(card["id"] for card in cards if card["rule"] != "PVT-003")
        self.browser.later("location.hash = arguments[0]; setTimeout(arguments[1], 50)", hidden)
        self.assertIn(hidden, self.shown())

    def test_with_the_keyboard_alone(self):
        self.show(MANY)
        focus = "const e = document.activeElement; return [e.tagName, e.className || e.name || e.textContent.trim()]"
        self.browser.keys(TAB)
        self.assertEqual(self.browser.run(focus), ["A", "skip"])
        self.assertTrue(self.browser.run("return document.activeElement.getBoundingClientRect().left >= 0"))
        self.browser.keys(ENTER)
        self.assertEqual(self.browser.run("return location.hash"), "#findings")
        self.browser.keys(TAB)  # the first field after the heading
        self.assertEqual(self.browser.run(focus), ["INPUT", "severity"])
        self.browser.keys(SPACE)
        self.assertEqual(self.shown(), [])  # all of them are errors
        self.browser.keys(SPACE)
        self.assertEqual(self.shown(), ["f1"])
        seen = []
        for _ in range(40):
            self.browser.keys(TAB)
            seen.append(self.browser.run(focus))
            if seen[-1] == ["SUMMARY", "What happened"]:
                break
        self.assertEqual(seen[-1], ["SUMMARY", "What happened"], seen)
        self.assertIn(["INPUT", "text"], seen)
        self.assertTrue(self.browser.run("return document.querySelector('svg.ladder').checkVisibility()"))
        outline = self.browser.run("return getComputedStyle(document.activeElement).outlineStyle")
        self.assertNotEqual(outline, "none")
        self.browser.keys(ENTER)
        self.assertFalse(self.browser.run("return document.querySelector('svg.ladder').checkVisibility()"))
        self.browser.keys(ENTER)
        self.browser.keys(TAB)
        self.assertEqual(self.browser.run(focus), ["DIV", "scroll"])  # a wide picture can be moved
        self.browser.keys(TAB)
        self.browser.keys(ENTER)
        self.assertTrue(self.browser.run("return document.querySelector('details.steps').open"))

    def test_light_and_dark(self):
        self.show(str(CASES[0]))
        grounds = {}
        for scheme in ("light", "dark"):
            feature = {"name": "prefers-color-scheme", "value": scheme}
            self.browser.devtools("Emulation.setEmulatedMedia", features=[feature])
            names = ("ground", "surface", "sunken", "text", "muted", "link", "error", "error-ground", "warning",
                     "warning-ground", "note", "note-ground", "fine", "send", "rdma", "life")
            color = self.browser.run(
                "const style = getComputedStyle(document.documentElement);"
                "return Object.fromEntries(arguments[0].map((n) => [n, style.getPropertyValue('--' + n).trim()]))",
                names)
            grounds[scheme] = luminance(color["surface"])
            texts = [(text, ground) for text in ("text", "muted", "link") for ground in ("ground", "surface", "sunken")]
            texts += [(text, "surface") for text in ("error", "warning", "note", "fine")]
            texts += [(name, name + "-ground") for name in ("error", "warning", "note")]
            texts += [(name, "error-ground") for name in ("text", "muted")]
            for text, ground in texts:
                self.assertGreaterEqual(contrast(color[text], color[ground]), 4.5, (scheme, text, ground))
            for line in ("send", "rdma", "error"):  # WCAG 1.4.11
                self.assertGreaterEqual(contrast(color[line], color["surface"]), 3, (scheme, line))
            self.assertEqual(self.browser.run("return getComputedStyle(document.body).backgroundColor"),
                             "rgb({}, {}, {})".format(*bytes.fromhex(color["ground"][1:])))
        self.assertGreater(grounds["light"], grounds["dark"])
        # On paper the ground is white, whatever the screen's.
        self.browser.devtools("Emulation.setEmulatedMedia", media="print", features=[feature])
        self.addCleanup(self.browser.devtools, "Emulation.setEmulatedMedia", media="")
        color = self.browser.run("return getComputedStyle(document.documentElement).getPropertyValue('--text').trim()")
        self.assertGreaterEqual(contrast(color, "#ffffff"), 7)

    def test_without_script_all_can_be_read(self):
        path = self.file("report.html", check("--format", "html", *map(str, ALL_CASES)).stdout)
        self.browser.devtools("Emulation.setScriptExecutionDisabled", value=True)
        self.addCleanup(self.browser.devtools, "Emulation.setScriptExecutionDisabled", value=False)
        self.browser.open(os.fsdecode(path))
        self.assertEqual(len(self.shown()), self.browser.run("return document.querySelectorAll('article').length"))
        self.assertFalse(self.browser.run("return document.getElementById('filter').checkVisibility()"))

    def test_all_is_printed(self):
        self.show(*map(str, ALL_CASES))
        self.browser.run("document.querySelectorAll('article').forEach((a) => { a.hidden = true; });"
                         "document.querySelectorAll('details').forEach((d) => { d.open = false; })")
        self.browser.devtools("Emulation.setEmulatedMedia", media="print")
        self.addCleanup(self.browser.devtools, "Emulation.setEmulatedMedia", media="")
        self.browser.run("dispatchEvent(new Event('beforeprint'))")
        self.assertEqual(len(self.shown()), self.browser.run("return document.querySelectorAll('article').length"))
        pictures = "return [...document.querySelectorAll('svg.ladder')].every((s) => s.checkVisibility())"
        self.assertTrue(self.browser.run(pictures))
        self.assertFalse(self.browser.run("return document.getElementById('filter').checkVisibility()"))
        self.browser.run("dispatchEvent(new Event('afterprint'))")
        self.assertFalse(self.browser.run("return document.querySelector('details').open"))

    def test_nothing_in_a_name_is_run(self):
        folder = self.directory / "a<" / "script><script>window.pwned=1<"
        folder.mkdir(parents=True)
        (folder / "script>.pcap").write_bytes(CASES[0].read_bytes())
        image = self.file(b"<img src=x onerror=window.pwned=2>\" onmouseover=window.pwned=3 x=\".pcap",
                          CASES[0].read_bytes())
        self.show(str(folder / "script>.pcap"), os.fsdecode(image))
        self.assertIsNone(self.browser.run("return window.pwned ?? null"))
        self.assertEqual(self.browser.run("return document.querySelectorAll('img, [onmouseover]').length"), 0)
        # Were there a hole in the escaping, the policy would still keep what came through it from running.
        self.browser.run("const s = document.createElement('script'); s.textContent = 'window.pwned = 4';"
                         "document.body.append(s)")
        self.assertIsNone(self.browser.run("return window.pwned ?? null"))
        self.assertTrue(any("Content Security Policy" in line for line in self.browser.log()))


if __name__ == "__main__":
    unittest.main()
