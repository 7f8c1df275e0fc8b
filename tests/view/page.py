"""A run is looked at while it goes on: the camera is turned, a body clicked, pictures saved and compared with those of
nb-render-ppm."""
import math
import os
import re
import subprocess
import sys

from browser import Browser

SIZE = (700, 394)
FRAMES = 4  # whose rows are sorted anew, so that bodies are found again by their ids only
RUN = ("nb-gen disk -n 3000 --seed 3 | nb-calc 'species = species == 0 ? 10 + floor(0.7957 * (atan2(y, x) + 3.1416)) : species' | "  # six of many bodies are seen
       "nb-step -d 0.02 -k 3 'nb-force -e 0.05' >all.nb; for k in 0 1 2 3; do "
       "nb-select --frames $k all.nb | nb-transform --rotate z:$((k * 50)) | nb-sort-zorder | nb-transform --rotate z:$((k * -50)) >$k.nb; done")


def output(command):
    return subprocess.run(["bash", "-o", "pipefail", "-c", command], stdout=subprocess.PIPE, check=True).stdout


def image(command):
    """Width, height and the bytes of a PPM that command writes."""
    data = output(command)
    head = re.match(rb"P6\s+(\d+)\s+(\d+)\s+255\s", data)
    return int(head[1]), int(head[2]), data[head.end():]


def check(fact, *more):
    if not fact:
        sys.exit(" ".join(str(m) for m in more))


def look(browser, run):
    """Frame by frame: each is shown when it comes, and the page turns meanwhile."""
    for k in range(FRAMES):
        with open(f"{k}.nb", "rb") as file:
            run.stdin.write(file.read())
            run.stdin.flush()
        browser.until(f"typeof start === 'function' && frames.list.length === {k + 1} && frames.shown.frame === {k}")
        check(browser.value("$('live').innerText") == "live", "frame", k, "is not live")
        browser.key("ArrowRight")
    run.stdin.close()
    browser.until("stream.ended")
    browser.at_rest()

    turned = browser.value("[camera.azimuth, camera.elevation]")
    check(turned == [-90 + 5 * FRAMES, 90], "keys turn to", turned)
    browser.drag(200, 250, 80, -60)
    (azimuth, elevation), degrees = browser.value("[camera.azimuth, camera.elevation]"), 240 / SIZE[1]
    check(abs(azimuth - turned[0] + 80 * degrees) < 1 and abs(elevation - turned[1] + 60 * degrees) < 1, "a drag turns to", azimuth, elevation)

    move(browser)
    browser.key(",")
    check(browser.value("frames.shown.frame") == FRAMES - 2, "a comma is no frame back")
    browser.at_rest()
    check(browser.value("$('command').textContent").startswith(f"nb-select --frames {FRAMES - 2} |"), "the command has another frame")
    browser.key("End")

    browser.until("curves.kinds.every(k => k.canvas) && curves.moments.at(-1).frame === %d" % (FRAMES - 1))
    virial = output(f"nb-stats --format tsv {FRAMES - 1}.nb").decode().split("\n")
    virial = float(dict(zip(virial[0].split("\t"), virial[1].split("\t")))["virial"])
    told = browser.value("curves.kinds[1].value.textContent")
    check(abs(read_number(told) - virial) < 0.002, "the curve of the virial ratio ends at", told, "not", virial)


def replay(browser):
    """Frames are played from the first to the last, and chosen; the camera goes with the centre of mass."""
    browser.key("Home")
    check(browser.value("frames.shown.frame") == 0, "Home is not the first frame")
    browser.key(" ")
    browser.until(f"frames.shown.frame === {FRAMES - 1}")
    browser.value("(e => { e.value = 1; e.dispatchEvent(new Event('input')); })($('scrub')), 0")
    check(browser.value("frames.shown.frame") == 1, "the slider does not choose a frame")
    kept = browser.value("camera.centre")
    browser.value("camera.centre = [9, 9, 9], 0")
    browser.key("f")
    rows = output("nb-stats --format tsv 1.nb").decode().split("\n")
    row = dict(zip(rows[0].split("\t"), rows[1].split("\t")))
    centre = browser.value("camera.centre")
    check(all(abs(x - float(row["com" + c])) < 1e-3 for c, x in zip("xyz", centre)), "the camera follows", centre)
    browser.value(f"set_follow(''), camera.centre = {kept}, view_changed(), 0")
    browser.key("End")


def read_number(text):
    """Of 2×10⁶ or 10⁻⁵."""
    mantissa, _, power = text.rpartition("10") if any(c in "⁰¹²³⁴⁵⁶⁷⁸⁹" for c in text) else (text, "", "0")
    mantissa = mantissa.rstrip("×")
    return float(mantissa + "1" if mantissa in ("", "-") else mantissa) * 10.0 ** int(power.translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")))


def move(browser):
    """The wheel and two fingers enlarge, Shift and dragging move; the camera is put back."""
    browser.value("window.kept = structuredClone(camera), 0")
    browser.mouse("mouseWheel", 300, 200, deltaX=0, deltaY=-100)
    browser.until("camera.size < kept.size")
    wheel = browser.value("camera.size / kept.size")
    check(abs(wheel - math.exp(-0.16)) < 1e-6, "the wheel enlarges to", wheel)
    browser.drag(200, 250, 80, -60, modifiers=8)
    moved = browser.value("camera.centre.map((x, k) => x - kept.centre[k])")
    check(any(abs(x) > 0.01 for x in moved) and browser.value("camera.azimuth === kept.azimuth"), "Shift and a drag move by", moved)
    browser.value("Object.assign(camera, structuredClone(kept)), 0")
    browser.call("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=2)
    for kind, half in (("touchStart", 30), ("touchMove", 45), ("touchMove", 60), ("touchEnd", 0)):
        fingers = [{"x": 300 + side * half, "y": 200, "id": id} for id, side in enumerate((-1, 1)) if half]
        browser.call("Input.dispatchTouchEvent", type=kind, touchPoints=fingers)
    browser.until("camera.size < 0.6 * kept.size")
    check(abs(browser.value("camera.size / kept.size") - 0.5) < 0.01, "two fingers twice as far apart enlarge to", browser.value("camera.size / kept.size"))
    browser.call("Emulation.setTouchEmulationEnabled", enabled=False)
    browser.value("Object.assign(camera, kept), view_changed(), 0")


def ask(browser):
    """A body far from others is clicked; what is told of it is what the stream says."""
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
    told = browser.value("[...$('about').querySelectorAll('tr')].map(r => [r.cells[0].firstChild.data, r.cells[1].innerHTML.split('<br>')])")
    rows = output(f"nb-select --where 'id == {number}' {FRAMES - 1}.nb | nb-convert --to csv | grep -v '^#'").decode().split()
    row = dict(zip(rows[0].split(","), map(float, rows[1].split(","))))
    for name, values in told:
        for component, value in zip({"pos": "xyz", "vel": ("vx", "vy", "vz")}.get(name, [name]), values):
            value = read_number(value)
            check(component not in row or abs(value - row[component]) <= 1e-5 * abs(row[component]), name, value, "is told, not", row)
    check({"pos", "vel", "mass"} <= {name for name, values in told}, "columns are missing:", told)
    browser.key("Escape")


def follow(browser):
    """Trails go from where bodies were to where they are: none is longer than the fastest body gets."""
    browser.key("t")
    browser.until("trails.count > 0")
    pieces, longest = browser.value("""(() => {
        const f = frames.shown, length = (a, b) => Math.hypot(...a.map((x, k) => x - b[k]));
        const pairs = trailing(f).map(row => [row, rows_in(frames.list[0], f, [row])[0]]);
        return [trails.count, Math.max(...pairs.map(([to, from]) => length(place_of(f, to), place_of(frames.list[0], from))))];
    })()""")
    shown = browser.value("Math.min(seen_bodies(frames.shown), MOST_TRAILS)")
    check(pieces == (FRAMES - 1) * shown, "trails have", pieces, "pieces")
    fastest = float(output(f"nb-calc --quiet 'speed = v' {FRAMES - 1}.nb | nb-convert --to csv | awk -F, '!/^[#i]/ {{ v = $5^2 + $6^2 + $7^2; if (v > m) m = v }} END {{ print sqrt(m) }}'"))
    check(longest < 1.5 * fastest * 0.02 * (FRAMES - 1), "a trail is", longest, "long, of a speed of", fastest)
    browser.value("set_trails('0')")


def compare(browser, by):
    picture = browser.download(lambda: browser.press("#picture"), os.path.abspath("saved"))
    command = browser.value("$('command').textContent").split("| ")[-1]
    saved, drawn = image(f"pngtopnm '{picture}' 2>/dev/null"), image(f"{command} <{FRAMES - 1}.nb")
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


def draw(browser):
    """The same view by nb-render-ppm, of density, a speed, and species of which one more is hidden."""
    browser.key("l")
    for by, mode in (("density", 0), ("speed", 1), ("species", 2)):
        browser.value(f"set_by('{by}')")
        browser.until(f"colour_mode(frames.shown) === {mode}")
        if by == "species":
            browser.press("#species li:nth-child(3) button")
            check(browser.value("$('species').querySelectorAll('button')[2].ariaPressed") == "false", "a click on a species does not hide it")
        if by == "speed":
            said = output(f"nb-render-ppm -v --by speed -W 64 -H 36 {FRAMES - 1}.nb 2>&1 >/dev/null").decode()
            want = [float(v) for v in re.search(r"--by-range (\S+)", said)[1].split(",")]
            told = browser.value("frames.shown.range")
            check(all(abs(a - b) < 1e-6 for a, b in zip(told, want)), "colours go from", told, "not", want)
        browser.at_rest()
        compare(browser, by)
    browser.key("i")
    browser.at_rest()
    compare(browser, "species on a light sky")
    browser.value("set_by('density')")
    browser.until("colour_mode(frames.shown) === 0")
    browser.at_rest()
    compare(browser, "density on a light sky")
    browser.key("i")


def film(browser):
    browser.key("r")
    browser.key("ArrowLeft")
    browser.at_rest()
    with open(browser.download(lambda: browser.key("r"), os.path.abspath("films")), "rb") as file:
        head = file.read(4)
    check(head == b"\x1a\x45\xdf\xa3", "the film is no WebM but", head)


def main():
    output(RUN)
    browser = None
    with open("passed.nb", "wb") as passed:
        run = subprocess.Popen(["nb-view"], stdin=subprocess.PIPE, stdout=passed, stderr=subprocess.PIPE)
    try:
        url = re.search(rb"http://\S+", run.stderr.readline())[0].decode()
        browser = Browser(SIZE)
        browser.open(url)
        look(browser, run)
        replay(browser)
        ask(browser)
        follow(browser)
        draw(browser)
        film(browser)
        check(not browser.heard, "the page says:", browser.heard)
        place = re.match(r"http://[^/]*/[^/]*/", url)[0]
        other = [r for r in browser.requests if not r.startswith((place, "data:", "blob:", "about:"))]
        check(not other, "the page asks elsewhere:", other)
    finally:
        if browser:
            browser.close()
        run.kill()
        run.wait()


main()
