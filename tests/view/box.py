"""A body goes out of a periodic box in the middle of a step, and once more: its trail ends at the walls and goes on at the
opposite ones.  The edges of the box are seen until w is pressed."""
import contextlib
import re
import subprocess
import sys

from browser import Browser

# red of the picture, with all that is over it, at places of the frame
LIGHT = """places => {
    const canvas = make('canvas', {width: sky.width, height: sky.height}), lens = lens_of(sky.width, sky.height);
    compose(canvas);
    const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
    return places.map(p => project(lens, p).map(Math.floor)).map(([x, y]) => pixels[4 * (y * canvas.width + x)]);
}"""
CORNERS = [[4 * (k & 1), 4 * (k >> 1 & 1), 4 * (k >> 2)] for k in range(8)]
EDGES = [[0.3 * a + 0.7 * b for a, b in zip(p, q)] for p in CORNERS for q in CORNERS if p < q and sum(a != b for a, b in zip(p, q)) == 1]
WAY = [(3.2 + 1.2 * t, 0.4 - 0.8 * t, 2 + 0.4 * t) for t in (0.3, 0.4, 0.45, 0.55, 0.6, 0.63, 0.7, 0.75, 0.8)]  # out at 1/2 and 2/3
WITHIN = [(x % 4, y % 4, z) for x, y, z in WAY]
ACROSS = [(3.2 - 2.8 * t, 0.4 + 3.2 * t, 2 + 0.4 * t) for t in (0.35, 0.5, 0.65)]


def shifted(places, by):
    return [[x + by for x in p] for p in places]


@contextlib.contextmanager
def look(browser, box, shift):
    """The page at rest after both frames, moved by shift; seen from aside, without letters."""
    with subprocess.Popen(["nb-view"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as run:
        try:
            browser.open(re.search(rb"http://\S+", run.stderr.readline())[0].decode())
            for k, place in enumerate(("3.2,0.4,2", "0.4,3.6,2.4")):
                make = f"printf 'id,mass,x,y,z\\n0,1,{place}\\n' | nb-convert --from csv | nb-calc '@box = {box}' 'pos += {shift}'"
                run.stdin.write(subprocess.run(["bash", "-c", make], stdout=subprocess.PIPE, check=True).stdout)
                run.stdin.flush()
                browser.until(f"typeof start === 'function' && frames.list.length === {k + 1}")
            run.stdin.close()
            browser.until("stream.ended")
            browser.value(f"Object.assign(camera, {{centre: {[2 + shift] * 3}, size: 8}}), turn(33, -50), toggle('labels'), set_trails('5')")
            browser.at_rest()
            yield lambda places: browser.value(f"({LIGHT})({shifted(places, shift)})")
            if browser.heard:
                sys.exit(f"the page says: {browser.heard}")
            browser.open("about:blank")
        finally:
            run.kill()


def check(lights, lit, *said):
    if any((x > 25) != lit for x in lights):
        sys.exit(f"{' '.join(map(str, said))}: {lights}")


def main():
    browser = Browser((640, 480))
    try:
        with look(browser, 4, 0) as light:
            check(light(EDGES), True, "edges of the box")
            browser.key("ArrowLeft")
            browser.at_rest()
            check(light(EDGES), True, "edges after a turn")
            browser.key("w")
            browser.at_rest()
            check(light(EDGES), False, "edges after w")
            check(light(WITHIN), True, "the trail within the walls")
            check(light(WAY[3:] + ACROSS), False, "beyond them, and across the box")
        with look(browser, 4, -2) as light:  # walls that nobody knows
            check(light(EDGES + ACROSS), False, "edges of a box that the bodies are not in")
            check(light(WAY), True, "the trail to the nearest image")
        with look(browser, 0, 0) as light:
            check(light(EDGES + WAY[3:]), False, "edges without a box")
            check(light(ACROSS), True, "the trail without a box")
    finally:
        browser.close()


main()
