"""Headless Chromium, driven through a pipe: Browser opens a page, presses keys, clicks, and hears all that it says."""
import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time


class Browser:
    """size: of the window, in pixels; scheme: dark or light; every wait ends after patience seconds."""

    def __init__(self, size=(640, 360), scheme="dark", touch=False, card=True, patience=300):
        self.patience, self.number, self.heard, self.rest, self.requests, self.size = patience, 0, [], b"", [], size
        self.folder = tempfile.mkdtemp(prefix="nb-view-")
        (read, self.to), (self.source, write) = os.pipe(), os.pipe()
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 20) for end in (read, write)]
        card = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader"] if card else ["--disable-gpu", "--disable-3d-apis"]
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{ends[0]} 4>&{ends[1]}', "bash", "chromium", "--headless=new", "--no-sandbox", "--remote-debugging-pipe", "--no-first-run", "--disable-sync",
             "--disable-background-networking", "--disable-component-update", "--disable-extensions", "--disable-dev-shm-usage",
             "--force-color-profile=srgb", f"--user-data-dir={self.folder}", f"--window-size={size[0]},{size[1]}", *card],
            pass_fds=ends, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for end in (read, write, *ends):
            os.close(end)
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        self.call("Emulation.setDeviceMetricsOverride", width=size[0], height=size[1], deviceScaleFactor=1, mobile=touch)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        if touch:
            self.call("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=2)

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.to)
        os.close(self.source)
        shutil.rmtree(self.folder, ignore_errors=True)

    # ---- messages ----

    def _next(self, end):
        while b"\0" not in self.rest:
            if not select.select([self.source], [], [], max(end - time.monotonic(), 0))[0]:
                raise TimeoutError("the browser does not answer")
            data = os.read(self.source, 1 << 20)
            if not data:
                raise EOFError("the browser has ended")
            self.rest += data
        text, self.rest = self.rest.split(b"\0", 1)
        message = json.loads(text)
        name, told = message.get("method"), message.get("params", {})
        if name == "Runtime.consoleAPICalled":
            self.heard.append(" ".join(str(a.get("value", a.get("description"))) for a in told["args"]))
        elif name == "Runtime.exceptionThrown":
            detail = told["exceptionDetails"]
            self.heard.append(detail.get("exception", {}).get("description", detail["text"]) + f" line {detail.get('lineNumber')}")
        elif name == "Log.entryAdded":
            self.heard.append(told["entry"]["text"] + " " + told["entry"].get("url", ""))
        elif name == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])
        return message

    def call(self, method, **told):
        self.number += 1
        message = {"id": self.number, "method": method, "params": told}
        if not method.startswith(("Target.", "Browser.")):
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + self.patience
        while True:
            answer = self._next(end)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    # ---- what a person does ----

    def open(self, url):
        self.call("Page.navigate", url=url)

    def value(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(expression + ": " + str(result["exceptionDetails"]))
        return result["result"].get("value")

    def until(self, expression):
        end = time.monotonic() + self.patience
        while not self.value(f"!!({expression})"):
            if time.monotonic() > end:
                raise TimeoutError(f"never true: {expression}; the page says: {self.heard}")
            time.sleep(0.03)

    def at_rest(self):
        self.until("document.querySelector('#sky')?.getAttribute('aria-busy') === 'false'")

    def key(self, key, modifiers=0):
        text = {"text": key} if len(key) == 1 else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, modifiers=modifiers, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, modifiers=modifiers)

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x, y, count=1):
        self.mouse("mousePressed", x, y, button="left", clickCount=count)
        self.mouse("mouseReleased", x, y, button="left", clickCount=count)

    def drag(self, x, y, dx, dy, steps=4, **more):
        self.mouse("mousePressed", x, y, button="left", clickCount=1, **more)
        for k in range(1, steps + 1):
            self.mouse("mouseMoved", x + dx * k / steps, y + dy * k / steps, button="left", buttons=1, **more)
        self.mouse("mouseReleased", x + dx, y + dy, button="left", clickCount=1, **more)

    def press(self, selector):
        self.value(f"document.querySelector({json.dumps(selector)}).click()")

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def download(self, act, folder):
        """What act saves: the path of the file."""
        os.makedirs(folder, exist_ok=True)
        before = set(os.listdir(folder))
        self.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=folder)
        act()
        end = time.monotonic() + self.patience
        while True:
            new = [f for f in os.listdir(folder) if f not in before]
            if len(new) == 1 and not new[0].endswith(".crdownload") and os.path.getsize(os.path.join(folder, new[0])):
                return os.path.join(folder, new[0])
            if time.monotonic() > end:
                raise TimeoutError("nothing was saved")
            self.value("0")
            time.sleep(0.05)
