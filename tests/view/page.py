"""A run is looked at: the camera is turned, a body clicked, a picture saved and compared with that of nb-render-ppm."""
import os
import re
import subprocess
import sys

from browser import Browser

MODEL = "nb-gen disk -n 3000 --seed 3"
SIZE = (700, 394)
RUN = MODEL + " | nb-step -d 0.02 -k 3 'nb-force -e 0.05' | tee all.nb | nb-view | cat >passed.nb"


def image(command):
    """Width, height and the bytes of a PPM that command writes."""
    data = subprocess.run(["bash", "-o", "pipefail", "-c", command], stdout=subprocess.PIPE, check=True).stdout
    head = re.match(rb"P6\s+(\d+)\s+(\d+)\s+255\s", data)
    return int(head[1]), int(head[2]), data[head.end():]


def check(fact, *more):
    if not fact:
        sys.exit(" ".join(str(m) for m in more))


def look(browser, url):
    browser.open(url)
    browser.until("typeof start === 'function' && frames.list.length && stream.ended && frames.shown === frames.list[frames.list.length - 1]")
    browser.at_rest()

    # turned by keys and by the mouse
    before = browser.value("[camera.azimuth, camera.elevation]")
    browser.key("ArrowRight")
    browser.key("ArrowDown")
    check(browser.value("[camera.azimuth, camera.elevation]") == [before[0] + 5, before[1] - 5], "keys do not turn")
    browser.drag(200, 250, 80, -60)
    turned, degrees = browser.value("[camera.azimuth, camera.elevation]"), 240 / SIZE[1]
    check(abs(turned[0] - before[0] - 5 + 80 * degrees) < 1 and abs(turned[1] - before[1] + 5 + 60 * degrees) < 1, "a drag turns to", turned)

    # a body far from others is clicked; what is told of it is what the stream says
    x, y, index = browser.value("""(() => {
        const lens = lens_of(innerWidth, innerHeight), f = frames.shown, seen = [];
        for (let i = 0; i < f.got; i++) {
            const [x, y] = project(lens, place_of(f, i));
            if (x > 60 && x < 420 && y > 60 && y < 320 && !ui.hidden.has(f.kind[i])) seen.push([x, y, i]);
        }
        const gap = ([x, y, i]) => Math.min(...seen.map(q => q[2] === i ? 1e9 : Math.hypot(q[0] - x, q[1] - y)));
        return seen.reduce((a, b) => gap(b) > gap(a) ? b : a);
    })()""")
    browser.click(x, y)
    browser.until("chosen && !$('about').hidden")
    check(browser.value("chosen.index") == index, "another body was chosen")
    number = browser.value("String(chosen.id)")
    told = browser.value("[...$('about').querySelectorAll('tr')].map(r => [r.cells[0].firstChild.data, r.cells[1].innerHTML.split('<br>').map(Number)])")
    rows = subprocess.run(f"nb-select --frames 3 --where 'id == {number}' all.nb | nb-convert --to csv | grep -v '^#'", shell=True,
                          check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    row = dict(zip(rows[0].split(","), map(float, rows[1].split(","))))
    for name, values in told:
        for component, value in zip({"pos": "xyz", "vel": ("vx", "vy", "vz")}.get(name, [name]), values):
            check(component not in row or abs(value - row[component]) <= 1e-5 * abs(row[component]), name, value, "is told, not", row)
    check({"pos", "vel", "mass"} <= {name for name, values in told}, "columns are missing:", told)

    # the same view by nb-render-ppm
    browser.key("Escape")
    for by in ("density", "speed", "species"):
        browser.value(f"set_by('{by}')")
        if by != "density":
            browser.until(f"colour_mode(frames.shown) === {1 if by == 'speed' else 2}")
        if browser.value("ui.labels"):
            browser.key("l")
        browser.at_rest()
        compare(browser, by)


def compare(browser, by):
    picture = browser.download(lambda: browser.press("#picture"), os.path.abspath("saved"))
    command = browser.value("document.querySelector('#command').textContent")
    last = command.split("| ")[-1]
    saved = image(f"pngtopnm '{picture}' 2>/dev/null")
    drawn = image(f"nb-select --frames {browser.value('frames.shown.frame')} all.nb | {last}")
    os.remove(picture)
    check(saved[:2] == drawn[:2], "sizes differ:", saved[:2], drawn[:2])
    difference = [abs(a - b) for a, b in zip(saved[2], drawn[2])]
    light = sum(drawn[2]) / len(drawn[2])
    mean = sum(difference) / len(difference)
    far = sum(d > 12 for d in difference) / len(difference)
    print(f"{by}: mean {light:.1f}, difference {mean:.3f}, {100 * far:.3f} % differ by more than 12")
    # positions have 16 bits, which is a twentieth of a pixel, wide kernels are drawn on fewer pixels and enlarged, and colours
    # have 8 bits: measured 0.03.  Another rule for brightness or for the width of bodies differs by more than 1.
    check(light > 5, "nothing is seen")
    check(mean < 0.25 and far < 0.001, "the page shows something else than", command)


def main():
    run = subprocess.Popen(["bash", "-o", "pipefail", "-c", RUN], stderr=subprocess.PIPE, text=True, start_new_session=True)
    browser = None
    try:
        url = re.search(r"http://\S+", run.stderr.readline())[0]
        browser = Browser(SIZE)
        look(browser, url)
        check(not browser.heard, "the page says:", browser.heard)
        place = re.match(r"http://[^/]*/[^/]*/", url)[0]
        other = [r for r in browser.requests if not r.startswith((place, "data:", "blob:", "about:"))]
        check(not other, "the page asks elsewhere:", other)
    finally:
        if browser:
            browser.close()
        os.killpg(run.pid, 2)
        run.wait(20)


main()
