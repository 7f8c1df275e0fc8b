#!/usr/bin/env python3
"""view-client.py URL WANT [FRAMES] - a page of nb-view without a browser: says what it wants, and prints each message of
the stream as a line of JSON, the points of a frame in one, until FRAMES frames are whole or the stream ends.
view-client.py WANT - writes what a page sends that wants this."""
import http.client, json, struct, sys
from urllib.parse import urlsplit

PARTS = ((1, "value", "H", 1), (2, "species", "B", 1), (4, "weight", "H", 1), (8, "id", "Q", 1))


def packed(text):
    want = json.loads(text)
    camera, hidden = want.get("camera", {}), want.get("hidden", [])
    return struct.pack(
        "<10I12d256s256s", want.get("number", 0), want.get("columns", 0), want.get("draw", 0), want.get("most", 1 << 20),
        *want.get("size", (640, 360)), 0, want.get("map", 0), want.get("paper", 0), 0,
        *(x for name in ("centre", "right", "up") for x in camera.get(name, (0, 0, 0))), camera.get("scale", 1),
        *want.get("range", (0, 0)), bytes(k in hidden for k in range(256)), want.get("by", "density").encode())


def ask(url, what, text, client=7):
    at = urlsplit(url)
    c = http.client.HTTPConnection(at.hostname, at.port, timeout=120)  # of silence: what only hangs needs
    c.request("POST", f"{at.path}{what}?client={client}", packed(text))
    return c.getresponse()


def messages(url, text):
    answer = ask(url, "stream", text)
    assert answer.status == 200, answer.status
    while head := answer.read(16):
        kind, length, frame = struct.unpack("<IIQ", head)
        body = answer.read(length) if length else b""  # read(0) would wait
        assert len(body) == length and length % 8 == 0, (kind, length)
        yield kind, frame, body


def columns(body, to):
    first, n, what, _ = struct.unpack("<4I", body[:16])
    at = 16
    for bit, name, item, ncomp in ((0, "pos", "H", 3),) + PARTS:
        if bit and not what & bit:
            continue
        assert first == len(to.setdefault(name, [])) // ncomp, "points are missing"
        to[name] += struct.unpack_from(f"<{n * ncomp}{item}", body, at)
        at += (n * ncomp * struct.calcsize(item) + 7) // 8 * 8
    assert at == len(body), (at, len(body))


def main(url, text, frames="1"):
    left, points, info = int(frames), {}, None
    for kind, frame, body in messages(url, text):
        if kind == 3:
            columns(body, points)
        elif kind in (1, 2):
            info = json.loads(body.rstrip(b"\0"))
            print(json.dumps(info if kind == 2 else {"hello": sorted(info)}), flush=True)
            points = {}
        elif kind == 4:
            number, form = struct.unpack("<II", body[:8])
            with open("picture.jpeg", "wb") as file:
                file.write(body[8:])
            print(json.dumps({"picture": number, "format": form}), flush=True)
            left -= 1
            if left == 0:
                return
        elif kind == 5:
            print('{"end":1}', flush=True)
            if '"draw":1' not in text:
                return
        if kind in (2, 3) and len(points.get("pos", [])) == 3 * info["sent"]:
            print(json.dumps({"points": points}), flush=True)
            left -= 1
            if left == 0:
                return


if __name__ == "__main__":
    if sys.argv[2:]:
        main(*sys.argv[1:])
    else:
        sys.stdout.buffer.write(packed(sys.argv[1]))
