"""Opens pages in headless Chromium and judges them: console, network, overflow, charts, contrast. Standard library only.

usage: pages.py CHROMIUM PICTURES FILE.html...
PICTURES is a directory for screenshots, or "-" for none. Talks the DevTools protocol over the browser's pipe
(https://chromedevtools.github.io/devtools-protocol/, `--remote-debugging-pipe`).
"""

import base64
import json
import os
import pathlib
import select
import subprocess
import sys
import tempfile
import time

WIDTHS = [1280, 390]
SCHEMES = ["light", "dark"]
DEADLINE_S = 30

# Evaluated in the page: a list of faults in words.
JUDGE = r"""
(() => {
  const faults = [], root = document.documentElement, width = root.clientWidth;
  if (root.scrollWidth > width) faults.push(`the page is ${root.scrollWidth} px wide in a window of ${width} px`);
  const scrolls = e => e.closest('.scroll, pre');
  const shown = e => { const r = e.getBoundingClientRect(); return r.width > 0 && r.height > 0; };
  for (const e of document.body.querySelectorAll('*')) {
    const r = e.getBoundingClientRect();
    if (r.width > 0 && !scrolls(e) && !e.closest('svg') && r.right > width + 1)
      faults.push(`<${e.tagName.toLowerCase()}> sticks out to ${Math.round(r.right)} px: ${e.textContent.trim().slice(0, 40)}`);
  }
  const figures = [...document.querySelectorAll('figure')];
  if (figures.length === 0) faults.push('there is no chart');
  for (const figure of figures) {
    const drawn = [...figure.querySelectorAll('svg')].filter(shown);
    if (drawn.length !== 1) { faults.push(`${figure.id}: ${drawn.length} drawings are shown`); continue; }
    const svg = drawn[0], box = svg.getBoundingClientRect(), scale = box.width / svg.viewBox.baseVal.width;
    if (box.width < 0.7 * Math.min(width, 960) || box.height < 120) faults.push(`${figure.id}: ${box.width} x ${box.height} px is no drawing`);
    if (svg.querySelectorAll('path').length < 5) faults.push(`${figure.id}: next to nothing is drawn`);
    for (const text of svg.querySelectorAll('text')) {
      const size = scale * parseFloat(text.getAttribute('font-size'));
      if (size < 9) { faults.push(`${figure.id}: text of ${size.toFixed(1)} px cannot be read`); break; }
    }
    for (const text of svg.querySelectorAll('text')) {
      const r = text.getBoundingClientRect();
      if (r.left < box.left - 1 || r.right > box.right + 1) faults.push(`${figure.id}: "${text.textContent}" leaves the drawing`);
    }
    const names = (svg.getAttribute('aria-labelledby') || '').split(' ').map(id => document.getElementById(id));
    if (svg.getAttribute('role') !== 'img' || names.length !== 2 || names.some(e => !e || !e.textContent))
      faults.push(`${figure.id}: has no name for those who cannot see it`);
    if (figure.querySelectorAll('details table tbody tr').length === 0) faults.push(`${figure.id}: has no numbers behind it`);
  }
  const parse = c => (c.match(/[\d.]+/g) || []).map(Number);
  const light = c => { const v = c / 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
  const luminance = c => 0.2126 * light(c[0]) + 0.7152 * light(c[1]) + 0.0722 * light(c[2]);
  const contrast = (a, b) => { const [x, y] = [luminance(a), luminance(b)]; return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05); };
  const behind = e => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] > 0) return c; } return [255, 255, 255]; };
  for (const e of document.querySelectorAll('h1, h2, h3, p, li, dt, dd, th, td, summary, a, code, .label, .value, .note')) {
    const ratio = contrast(parse(getComputedStyle(e).color), behind(e));
    if (shown(e) && ratio < 4.5) { faults.push(`contrast of ${ratio.toFixed(2)}: ${e.textContent.trim().slice(0, 40)}`); break; }
  }
  for (const svg of [...document.querySelectorAll('figure svg')].filter(shown)) {
    const paper = parse(getComputedStyle(svg.querySelector('.c-paper')).fill);
    for (const text of svg.querySelectorAll('text[class]')) {
      const ratio = contrast(parse(getComputedStyle(text).fill), paper);
      if (ratio < 4.5) { faults.push(`contrast of ${ratio.toFixed(2)} in a chart: ${text.textContent.slice(0, 40)}`); break; }
    }
  }
  const dark = matchMedia('(prefers-color-scheme: dark)').matches;
  if (luminance(behind(document.body)) > 0.5 === dark) faults.push('the page does not follow the colour scheme');
  return faults;
})()
"""


class Browser:
    """A headless Chromium on its pipe."""

    def __init__(self, program, profile):
        to_read, self.to = os.pipe()
        self.back, back_write = os.pipe()
        # The browser reads from file 3 and writes to file 4.
        shell = 'exec "$0" "$@" 3<&%d 4>&%d' % (to_read, back_write)
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                   "--no-first-run", "--disable-extensions", "--disable-background-networking", "--disable-component-update",
                   "--disable-sync", "--disable-default-apps", f"--user-data-dir={profile}", "--remote-debugging-pipe"]
        self.process = subprocess.Popen(["bash", "-c", shell, program, *options], pass_fds=(to_read, back_write),
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(back_write)
        self.waiting, self.events, self.count = b"", [], 0

    def receive(self, deadline):
        while b"\0" not in self.waiting:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.back], [], [], left)[0]:
                raise TimeoutError("the browser does not answer")
            piece = os.read(self.back, 1 << 16)
            if not piece:
                raise ConnectionError("the browser is gone")
            self.waiting += piece
        message, self.waiting = self.waiting.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, session=None, **parameters):
        self.count += 1
        message = {"id": self.count, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + DEADLINE_S
        while True:
            answer = self.receive(deadline)
            if answer.get("id") == self.count:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def await_event(self, method):
        deadline = time.monotonic() + DEADLINE_S
        while not any(event.get("method") == method for event in self.events):
            self.events.append(self.receive(deadline))

    def close(self):
        try:
            self.call("Browser.close")
            self.process.wait(10)
        except (OSError, RuntimeError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()


def judge(browser, session, file, width, scheme, pictures):
    """The faults of one page in one window."""
    browser.call("Emulation.setDeviceMetricsOverride", session, width=width, height=844, deviceScaleFactor=1, mobile=width < 600)
    browser.call("Emulation.setEmulatedMedia", session, features=[{"name": "prefers-color-scheme", "value": scheme}])
    browser.events.clear()
    url = file.as_uri()
    browser.call("Page.navigate", session, url=url)
    browser.await_event("Page.loadEventFired")
    result = browser.call("Runtime.evaluate", session, expression=JUDGE, returnByValue=True)
    faults = [str(result["exceptionDetails"])] if "exceptionDetails" in result else list(result["result"]["value"])
    for event in browser.events:
        method, said = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown" or (method == "Runtime.consoleAPICalled" and said["type"] in ("error", "warning")):
            faults.append(f"console: {json.dumps(said)[:200]}")
        if method == "Log.entryAdded" and said["entry"]["level"] in ("error", "warning"):
            faults.append(f"console: {said['entry']['text']}")
        if method == "Network.requestWillBeSent" and said["request"]["url"] != url:
            faults.append(f"asks for {said['request']['url'][:100]}")
    if pictures:
        shot = browser.call("Page.captureScreenshot", session, format="png", captureBeyondViewport=True)
        name = f"{file.parent.name}-{width}-{scheme}.png"
        (pictures / name).write_bytes(base64.b64decode(shot["data"]))
    return faults


def main():
    program, pictures = sys.argv[1], None if sys.argv[2] == "-" else pathlib.Path(sys.argv[2])
    files = [pathlib.Path(name).resolve() for name in sys.argv[3:]]
    if pictures:
        pictures.mkdir(parents=True, exist_ok=True)
    failed = 0
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(program, profile)
        try:
            target = browser.call("Target.createTarget", url="about:blank")["targetId"]
            session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            for domain in ["Page", "Runtime", "Log", "Network"]:
                browser.call(f"{domain}.enable", session)
            for file in files:
                for width in WIDTHS:
                    for scheme in SCHEMES:
                        faults = judge(browser, session, file, width, scheme, pictures)
                        failed += len(faults)
                        print(f"{'FAILED' if faults else 'ok'}: {file.parent.name}/{file.name} at {width} px, {scheme}")
                        for fault in faults[:10]:
                            print(f"  {fault}")
        finally:
            browser.close()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
