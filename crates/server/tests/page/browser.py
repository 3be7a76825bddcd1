"""Controls Chromium over its debugging pipe, without packages, ports or windows."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome"]
KEYS = {
    "Enter": (13, "\r"), "Tab": (9, ""), "Escape": (27, ""), "ArrowDown": (40, ""), "ArrowUp": (38, ""),
    "ArrowLeft": (37, ""), "ArrowRight": (39, ""), "End": (35, ""), "Home": (36, ""), "PageDown": (34, ""), " ": (32, " "),
}
CONTROL, ALT, SHIFT = 2, 1, 8


def find():
    """Returns the path of the browser, or None."""
    named = os.environ.get("ATSDB_CHROMIUM")
    return named or next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """A browser with one page. The page's log, exceptions and requests are kept."""

    def __init__(self, program, width=1280, height=800, dark=False):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_read, self.to = os.pipe()
        self.back, to_write = os.pipe()
        # The browser reads from handle 3 and writes to handle 4.
        command = [
            "sh", "-c", f'exec "$0" "$@" 3<&{to_read} 4>&{to_write}', program, "--headless=new", "--remote-debugging-pipe",
            f"--user-data-dir={self.profile.name}", "--no-sandbox", "--no-first-run", "--disable-gpu",
            "--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--force-color-profile=srgb", "about:blank",
        ]
        self.process = subprocess.Popen(command, pass_fds=[to_read, to_write], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.rest, self.last, self.session = b"", 0, None
        self.logged, self.requests = [], []
        self.session = self.call("Target.attachToTarget", targetId=self.page(), flatten=True)["sessionId"]
        for domain in ["Page", "Runtime", "Log", "Network"]:
            self.call(f"{domain}.enable")
        self.resize(width, height)
        self.theme(dark)

    def page(self):
        """Returns the name of the first page, which opens a moment after the browser answers."""
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline:
            for target in self.call("Target.getTargets")["targetInfos"]:
                if target["type"] == "page":
                    return target["targetId"]
            time.sleep(0.03)
        raise AssertionError("the browser has no page")

    def close(self):
        try:
            self.session = None
            self.call("Browser.close")
        except (OSError, AssertionError):
            pass
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.to)
        os.close(self.back)
        self.profile.cleanup()

    def call(self, method, **parameters):
        """Sends a command to the browser and waits for its answer."""
        self.last += 1
        message = {"id": self.last, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        wanted = self.last
        deadline = time.monotonic() + 300
        while True:
            answer = self.read(deadline)
            assert answer is not None, f"{method}: the browser does not answer"
            if answer.get("id") == wanted:
                assert "error" not in answer, f"{method}: {answer.get('error')}"
                return answer["result"]
            self.note(answer)

    def read(self, deadline):
        while b"\0" not in self.rest:
            readable, _, _ = select.select([self.back], [], [], max(0, deadline - time.monotonic()))
            if not readable:
                return None
            part = os.read(self.back, 1 << 20)
            assert part, "the browser has ended"
            self.rest += part
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def note(self, event):
        method, about = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = about["exceptionDetails"]
            self.logged.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Runtime.consoleAPICalled" and about["type"] in ("error", "warning", "assert"):
            self.logged.append(" ".join(str(one.get("value", one.get("description"))) for one in about["args"]))
        elif method == "Log.entryAdded" and about["entry"]["level"] in ("error", "warning"):
            self.logged.append(f"{about['entry']['text']} {about['entry'].get('url', '')}")
        elif method == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"])

    def open(self, url):
        self.call("Page.navigate", url=url)
        self.wait("document.documentElement.dataset.ready !== undefined")

    def run(self, script):
        """Returns the value of an expression, which may be a promise."""
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True, userGesture=True)
        assert "exceptionDetails" not in answer, f"{script}: {answer['exceptionDetails']}"
        return answer["result"].get("value")

    def wait(self, condition, seconds=300):
        """Waits until an expression is true."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self.run(f"(() => {{ try {{ return Boolean({condition}) }} catch {{ return false }} }})()"):
                return
            time.sleep(0.03)
        raise AssertionError(f"in {seconds} s not true: {condition}\n{self.run('document.body.innerText')}\n{self.logged}")

    def wait_for(self, failure, holds, seconds=300):
        """Waits until a function returns true."""
        deadline = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < deadline, failure
            time.sleep(0.03)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def letters(self, text):
        """Types a text on the keyboard, letter by letter."""
        for letter in text:
            self.call("Input.dispatchKeyEvent", type="keyDown", key=letter, text=letter)
            self.call("Input.dispatchKeyEvent", type="keyUp", key=letter)

    def key(self, key, modifiers=0):
        code, text = KEYS.get(key, (ord(key.upper()[0]), key))
        common = {"key": key, "code": f"Key{key.upper()}" if len(key) == 1 and key.isalpha() else key,
                  "windowsVirtualKeyCode": code, "modifiers": modifiers}
        if text and not modifiers & (CONTROL | ALT):
            common["text"] = text
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", **common)
        common.pop("text", None)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def place(self, selector):
        box = self.run(f"(() => {{ const box = document.querySelector({json.dumps(selector)}).getBoundingClientRect();"
                       " return [box.left, box.top, box.width, box.height] })()")
        return box[0], box[1], box[2], box[3]

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, selector, count=1):
        left, top, width, height = self.place(selector)
        x, y = left + width / 2, top + height / 2
        for clicks in range(1, count + 1):
            self.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=clicks)
            self.mouse("mouseReleased", x, y, button="left", clickCount=clicks)

    def drag(self, selector, start, end):
        """Drags across an element, from one part of its width to another."""
        left, top, width, height = self.place(selector)
        y = top + height / 2
        self.mouse("mouseMoved", left + width * start, y)
        self.mouse("mousePressed", left + width * start, y, button="left", buttons=1, clickCount=1)
        for step in range(1, 6):
            self.mouse("mouseMoved", left + width * (start + (end - start) * step / 5), y, button="left", buttons=1)
        self.mouse("mouseReleased", left + width * end, y, button="left", clickCount=1)

    def theme(self, dark):
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", features=features)

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def picture(self, path):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
