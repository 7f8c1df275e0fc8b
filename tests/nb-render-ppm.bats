#!/usr/bin/env bats
# nb-render-ppm: pictures of known bodies, pixel by pixel, and what a movie keeps fixed.
# as a filter: nb-render-ppm -W 16 -H 16

load helper


# bodies 'id,mass,x,y,z' or another header from the lines given
bodies() { printf '%s\n' "$@" | nb-convert --from csv --no-history; }

# grey picture of 128 x 96 pixels, 20 to a length, whose pixel values are surface densities
GREY='nb-render-ppm -W 128 -H 96 --center 0,0,0 --size 4.8 --neighbours 0 --stretch linear --colormap gray --range'

# ppm COMMAND FILE...: a strict reader of concatenated P6
#   sizes         "WIDTHxHEIGHT" of each picture
#   pixel I X Y   red, green, blue
#   brightest I   "X Y VALUE" of the first brightest pixel, by the sum of its colours
#   total I       sum of the red values
#   lit I LEVEL   number of pixels whose strongest colour is above LEVEL
#   mirror I      largest difference between the picture and its mirror image, left to right
#   differ J      largest difference between picture 0 and picture J of the file, or FILE2
ppm() { python3 "$BATS_FILE_TMPDIR/ppm.py" "$@"; }

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	cat >ppm.py <<'END'
import re, sys
command, path, args = sys.argv[1], sys.argv[2], sys.argv[3:]
def read(path):
    data, at, images = open(path, "rb").read(), 0, []
    while at < len(data):
        head = re.compile(rb"P6\n(\d+) (\d+)\n255\n").match(data, at)
        assert head, "no picture at byte %d" % at
        w, h, at = int(head[1]), int(head[2]), head.end()
        assert at + 3 * w * h <= len(data), "picture %d is cut" % len(images)
        images.append((w, h, data[at:at + 3 * w * h]))
        at += 3 * w * h
    return images
images = read(path)
if command == "sizes":
    print(" ".join("%dx%d" % i[:2] for i in images))
    sys.exit()
w, h, p = images[int(args[0]) if command not in ("differ",) else 0]
if command == "pixel":
    at = 3 * (int(args[2]) * w + int(args[1]))
    print(*p[at:at + 3])
elif command == "brightest":
    light = [p[k] + p[k + 1] + p[k + 2] for k in range(0, len(p), 3)]
    at = light.index(max(light))
    print(at % w, at // w, light[at])
elif command == "total":
    print(sum(p[0::3]))
elif command == "lit":
    print(sum(max(p[k:k + 3]) > int(args[1]) for k in range(0, len(p), 3)))
elif command == "mirror":
    print(max(abs(p[3 * (y * w + x) + c] - p[3 * (y * w + w - 1 - x) + c])
              for y in range(h) for x in range(w // 2) for c in range(3)))
elif command == "differ":
    q = read(args[0])[0] if not args[0].isdigit() else images[int(args[0])]
    assert q[:2] == (w, h)
    print(max(abs(a - b) for a, b in zip(p, q[2])))
END
	nb-gen plummer -n 3000 >plummer.nb
	nb-gen merger -n 3000 >merger.nb
	bodies id,mass,x,y,z 7,3,1.025,0.525,0 >single.nb
}

setup() {
	cd "$BATS_FILE_TMPDIR" || return 1
}

@test "-b says where to draw: auto is the CPU" {
	bodies id,mass,x,y,z,vx,vy,vz 0,1,0,0,0,1,0,0 1,2,1,1,0,0,1,0 >two.nb
	nb-render-ppm -W 64 -H 64 <two.nb >auto.ppm
	nb-render-ppm -W 64 -H 64 -b cpu <two.nb | cmp - auto.ppm
	nb-render-ppm -W 64 -H 64 --backend auto <two.nb | cmp - auto.ppm
	fails_with 2 "backend 'gpu'" 'nb-render-ppm -b gpu <two.nb'
}

@test "the kernels pass their unit test" {
	"$NB_BIN/../tests/unit/picture/splat"
}

@test "each frame gives one picture of the size asked for, 1280 x 720 by default" {
	cat plummer.nb plummer.nb single.nb | nb-render-ppm -W 64 -H 36 >a.ppm
	[ "$(ppm sizes a.ppm)" = '64x36 64x36 64x36' ]
	nb-render-ppm <plummer.nb >a.ppm
	[ "$(ppm sizes a.ppm)" = 1280x720 ]
	nb-render-ppm --width 2 --height 2 <plummer.nb >a.ppm
	[ "$(ppm sizes a.ppm)" = 2x2 ]
}

@test "a body lies in the middle of its pixel" {
	# x = 128 / 2 + 20 * 1.025 = 84.5; y = 96 / 2 - 20 * 0.525 = 37.5
	$GREY 0,600 <single.nb >a.ppm
	read -r x y _ < <(ppm brightest a.ppm 0)
	[ "$x $y" = '84 37' ]
	# the same on its four sides, and nothing away from it
	v=$(ppm pixel a.ppm 0 85 37)
	[ "${v%% *}" -gt 50 ]
	for at in '83 37' '84 36' '84 38'; do
		# shellcheck disable=SC2086
		[ "$(ppm pixel a.ppm 0 $at)" = "$v" ]
	done
	[ "$(ppm pixel a.ppm 0 84 41)" = '0 0 0' ]
}

@test "the pixels of a body add up to its mass" {
	# value / 255 * 600 is mass per area, a pixel is 1/400
	bodies id,mass,x,y,z 0,3,0,0,0 1,1,-2,1,0 >two.nb
	for s in single two; do
		$GREY 0,600 <$s.nb >$s.ppm
		mass=$(ppm total $s.ppm 0 | awk '{ print $1 / 255 * 600 / 400 }')
		close_to "$([ $s = single ] && echo 3 || echo 4)" "$mass" 0.06
	done
	# also where many bodies are smoothed over their neighbours
	awk 'BEGIN { print "mass,x,y,z"; srand(4); for (i = 0; i < 3000; i++) print 0.002 "," rand()*3-1.5 "," rand()*3-1.5 ",0" }' |
		nb-convert --from csv | ${GREY/--neighbours 0/--neighbours 40} 0,1.5 >many.ppm
	close_to 6 "$(ppm total many.ppm 0 | awk '{ print $1 / 255 * 1.5 / 400 }')" 0.06
}

@test "views: which axis points where" {
	bodies id,mass,x,y,z 0,1,1,0,0 >x.nb
	bodies id,mass,x,y,z 0,1,0,1,0 >y.nb
	bodies id,mass,x,y,z 0,1,0,0,1 >z.nb
	where() { # where VIEW AXIS: left, middle or right, top, middle or bottom
		$GREY 0,1000 --view "$1" <"$2.nb" >a.ppm
		ppm brightest a.ppm 0 | awk '{ print ($1 < 60 ? "left" : $1 > 67 ? "right" : "middle"), ($2 < 44 ? "top" : $2 > 51 ? "bottom" : "middle") }'
	}
	[ "$(where xy x), $(where xy y), $(where xy z)" = 'right middle, middle top, middle middle' ]
	[ "$(where xz x), $(where xz y), $(where xz z)" = 'right middle, middle middle, middle top' ]
	[ "$(where yz x), $(where yz y), $(where yz z)" = 'middle middle, right middle, middle top' ]
	# seen from (1, -1, 0): x to the right and near, y to the right and far
	[ "$(where -45,0 x), $(where -45,0 y), $(where -45,0 z)" = 'right middle, right middle, middle top' ]
	[ "$(where 90,0 x), $(where -90,-90 y)" = 'left middle, middle bottom' ]
	for pair in xy/-90,90 xz/-90,0 yz/0,0 yz/360,0; do
		nb-render-ppm -W 64 -H 48 --view "${pair%/*}" <plummer.nb >a.ppm
		nb-render-ppm -W 64 -H 48 --view "${pair#*/}" <plummer.nb >b.ppm
		cmp a.ppm b.ppm
	done
}

@test "zoom and size scale the picture about its centre" {
	$GREY 0,9999 <single.nb >a.ppm
	$GREY 0,9999 --zoom 2 <single.nb >b.ppm
	${GREY/4.8/2.4} 0,9999 <single.nb >c.ppm
	cmp b.ppm c.ppm
	read -r x y _ < <(ppm brightest b.ppm 0)
	# 64 + 41 and 48 - 21 are edges of pixels
	close_to 104.5 "$x" 0.5
	close_to 26.5 "$y" 0.5
	# the smaller edge counts: upright, 96 pixels wide, the same scale
	$GREY 0,9999 -W 96 -H 128 <single.nb >d.ppm
	[ "$(ppm brightest d.ppm 0)" = "$(ppm brightest a.ppm 0 | awk '{ print $1 - 16, $2 + 16, $3 }')" ]
}

@test "symmetric bodies give a symmetric picture" {
	awk 'BEGIN { print "mass,x,y,z"; srand(2); for (i = 0; i < 1500; i++) { x = 0.03 + rand()^2; y = rand()-0.5
		print 1 "," x "," y ",0"; print 1 "," (-x) "," y ",0" } }' | nb-convert --from csv >mirror.nb
	nb-render-ppm -W 200 -H 120 --center 0,0 <mirror.nb >a.ppm
	[ "$(ppm lit a.ppm 0 128)" -gt 1000 ]
	at_most 1 "$(ppm mirror a.ppm 0)"
}

@test "the same bytes for any number of threads" {
	nb-gen merger -n 30000 >big.nb
	for o in '' '--by speed' '--by species' '--draw discs' '--neighbours 0'; do
		# shellcheck disable=SC2086
		{
			nb-render-ppm -W 320 -H 180 -j 1 $o <big.nb >a.ppm
			nb-render-ppm -W 320 -H 180 -j 2 $o <big.nb >b.ppm
			nb-render-ppm -W 320 -H 180 -j 5 $o <big.nb >c.ppm
		}
		cmp a.ppm b.ppm
		cmp a.ppm c.ppm
	done
}

@test "no bodies give a dark picture; few and odd numbers of bodies a lit one" {
	for map in inferno/0\ 0\ 4 viridis/68\ 1\ 84 gray/0\ 0\ 0; do
		nb-gen plummer -n 0 | nb-render-ppm -W 20 -H 10 --colormap "${map%/*}" >a.ppm
		[ "$(ppm sizes a.ppm)" = 20x10 ]
		[ "$(ppm brightest a.ppm 0 | cut -d' ' -f1,2)" = '0 0' ]
		[ "$(ppm pixel a.ppm 0 10 5)" = "${map#*/}" ]
	done
	for o in '--by speed' '--by species'; do
		# shellcheck disable=SC2086
		bodies id,mass,x,y,z,vx,vy,vz,species | nb-render-ppm -W 20 -H 10 $o >a.ppm
		[ "$(ppm pixel a.ppm 0 10 5)" = '0 0 0' ]
	done
	for n in 1 2 3 100 101 255 257; do
		for o in '' '--by speed' '--draw density' '--draw discs'; do
			# shellcheck disable=SC2086
			nb-gen plummer -n $n | nb-render-ppm -W 160 -H 90 $o >a.ppm
			[ "$(ppm sizes a.ppm)" = 160x90 ]
			[ "$(ppm lit a.ppm 0 200)" -gt 3 ]
		done
	done
}

@test "an empty first frame leaves the scene to the next" {
	nb-gen plummer -n 0 >none.nb
	cat none.nb plummer.nb | nb-render-ppm -W 64 -H 36 >a.ppm
	nb-render-ppm -W 64 -H 36 <plummer.nb >b.ppm
	[ "$(ppm lit a.ppm 0 10)" -eq 0 ]
	cmp <(tail -c 6912 a.ppm) <(tail -c 6912 b.ppm)
}

@test "brightness, camera and colours stay those of the first frame" {
	# half the mass a thousandth of it, moved by one length: a dimmer spot, 20 pixels further
	bodies frame,id,mass,x,y,z 0,0,4,0.025,0.025,0 1,0,2,1.025,0.025,0 >movie.nb
	nb-render-ppm -W 128 -H 96 --size 4.8 --draw density --neighbours 0 --stretch linear --colormap gray <movie.nb >a.ppm
	read -r x0 y0 v0 < <(ppm brightest a.ppm 0)
	read -r x1 y1 v1 < <(ppm brightest a.ppm 1)
	[ $((x1 - x0)) -eq 20 ]
	[ "$y0" -eq "$y1" ]
	close_to 2 "$(awk "BEGIN { print $v0 / $v1 }")" 0.05
	# as discs, and by speed: the fast one of frame 1 is as slow as the slow one of frame 0
	bodies frame,id,mass,x,y,z,vx,vy,vz 0,0,1,-1,0,0,1,0,0 0,1,1,1,0,0,0,3,0 1,0,1,-1,0,0,0,0,1 1,1,1,1,0,0,-1,0,0 >movie.nb
	nb-render-ppm -W 128 -H 96 --size 4.8 --by speed <movie.nb >a.ppm
	slow=$(ppm pixel a.ppm 0 44 48)
	fast=$(ppm pixel a.ppm 0 84 48)
	[ "$(ppm pixel a.ppm 1 84 48)" = "$slow" ]
	# slow is blue, fast is red
	read -r r g b <<<"$slow"
	[ "$b" -gt "$r" ]
	[ "$b" -gt "$g" ]
	read -r r g b <<<"$fast"
	[ "$r" -gt "$g" ]
	[ "$r" -gt "$b" ]
	nb-render-ppm -W 128 -H 96 --size 4.8 --by speed --speed-range 0,1 <movie.nb >b.ppm
	[ "$(ppm pixel b.ppm 0 44 48)" = "$fast" ]
}

@test "what -v says gives the same picture" {
	for o in '' '--by speed' '--stretch log'; do
		# shellcheck disable=SC2086
		nb-render-ppm -W 160 -H 90 -v $o <plummer.nb >a.ppm 2>said
		mapfile -t given < <(sed -n 's/.*: --/--/p' said | tr ' ' '\n')
		[ "${#given[@]}" -ge 6 ]
		# shellcheck disable=SC2086
		nb-render-ppm -W 160 -H 90 $o "${given[@]}" <plummer.nb >b.ppm
		at_most 1 "$(ppm differ a.ppm b.ppm)"
	done
}

@test "a saturated body shows the last colour, an empty corner the first" {
	for map in inferno/0\ 0\ 4/252\ 255\ 164 viridis/68\ 1\ 84/253\ 231\ 37 gray/0\ 0\ 0/255\ 255\ 255; do
		IFS=/ read -r name first last <<<"$map"
		nb-render-ppm -W 64 -H 48 --colormap "$name" <single.nb >a.ppm
		[ "$(ppm pixel a.ppm 0 0 0)" = "$first" ]
		[ "$(ppm pixel a.ppm 0 32 24)" = "$last" ]
	done
}

@test "inferno and viridis are matplotlib's" {
	python=
	for p in python3 /usr/bin/python3; do
		"$p" -c 'import matplotlib' 2>/dev/null && python=$p && break
	done
	[ -n "$python" ] || skip 'no python3 with matplotlib'
	for map in inferno viridis; do
		"$python" -c "
from matplotlib import cm
for r, g, b in cm.get_cmap('$map').colors: print('%02x%02x%02x' % tuple(round(255 * c) for c in (r, g, b)))" 2>/dev/null >want
		"$NB_BIN/../tests/unit/image/image" colormap $map >got
		diff want got
	done
}

@test "log and linear stretches order the same surface densities differently" {
	bodies id,mass,x,y,z 0,1,-1.025,0.025,0 1,10,0.025,0.025,0 2,100,1.025,0.025,0 >three.nb
	values() { for x in 43 64 84; do ppm pixel "$1" 0 $x 47 | cut -d' ' -f1; done | paste -sd' '; }
	peak=$(awk 'BEGIN { print 100 * 400 * 5 / (4 * 3.14159265) }')
	$GREY "0,$peak" <three.nb >a.ppm
	read -r a b c < <(values a.ppm)
	close_to 255 "$c" 40
	close_to 10 "$(awk "BEGIN { print $c / $b }")" 1.5
	at_most 4 "$a"
	# four decades: equal steps for equal ratios
	${GREY/linear/log} "$(awk "BEGIN { print $peak / 10000 }"),$peak" <three.nb >b.ppm
	read -r a b c < <(values b.ppm)
	close_to 63.75 $((c - b)) 2
	close_to 63.75 $((b - a)) 2
	# asinh keeps what lies below its lower end, log does not
	${GREY/linear/log} "$peak,1e9" <three.nb >b.ppm
	${GREY/linear/asinh} "$peak,1e9" <three.nb >c.ppm
	[ "$(ppm pixel b.ppm 0 64 47)" = '0 0 0' ]
	[ "$(ppm pixel c.ppm 0 64 47)" != '0 0 0' ]
}

@test "species have their colours, and can be hidden" {
	bodies id,mass,x,y,z,species 0,1,-1,0,0,0 1,1,1,0,0,3 2,1,0,1,0,2 >three.nb
	D='nb-render-ppm -W 128 -H 96 --center 0,0 --size 4.8 --by species'
	$D <three.nb >a.ppm
	read -r r g b < <(ppm pixel a.ppm 0 44 48)
	# warm
	[ "$r" -gt "$g" ]
	[ "$g" -gt "$b" ]
	read -r r g b < <(ppm pixel a.ppm 0 84 48)
	# cool
	[ "$b" -gt "$g" ]
	[ "$g" -gt "$r" ]
	[ "$(ppm pixel a.ppm 0 64 28)" != '0 0 0' ]
	$D --hide 2 <three.nb >b.ppm
	[ "$(ppm pixel b.ppm 0 64 28)" = '0 0 0' ]
	$D --only 0,3 <three.nb >c.ppm
	cmp b.ppm c.ppm
	fails_with 1 "field 'species' missing in frame 0" 'nb-render-ppm -W 16 -H 16 --only 0 <plummer.nb'
	fails_with 1 "field 'species' missing in frame 0" 'nb-render-ppm -W 16 -H 16 --by species <plummer.nb'
}

@test "the halos of a merger are hidden unless asked for" {
	nb-render-ppm -W 160 -H 90 <merger.nb >a.ppm
	nb-render-ppm -W 160 -H 90 --hide 2,5 <merger.nb >b.ppm
	nb-render-ppm -W 160 -H 90 --hide none <merger.nb >c.ppm
	cmp a.ppm b.ppm
	[ "$(ppm differ a.ppm c.ppm)" -gt 50 ]
	nb-render-ppm -W 160 -H 90 --hide none --only 2 <merger.nb 2>err >d.ppm || code=$?
	[ "${code:-0}" -eq 2 ]
	# another model's species 2 is shown
	mutate attribute model clusters <merger.nb | nb-render-ppm -W 160 -H 90 >d.ppm
	cmp c.ppm d.ppm
}

@test "units do not matter: SI scales give the same picture" {
	# random numbers of its own: not every awk repeats those of rand()
	bodies_at() { awk -v l="$1" -v m="$2" 'function random() { x = (x * 16807) % 2147483647; return x / 2147483648 }
		BEGIN { print "mass,x,y,z"; x = 5
		for (i = 0; i < 400; i++) printf "%.17g,%.17g,%.17g,%.17g\n", m * (1 + i % 3), l * random()^2, l * random(), l * random() }' |
		nb-convert --from csv; }
	bodies_at 1 1 | nb-render-ppm -W 160 -H 90 >a.ppm
	# powers of 2, so that nothing is rounded
	bodies_at 1.8014398509481984e16 1.2676506002282294e30 | nb-render-ppm -W 160 -H 90 >b.ppm
	cmp a.ppm b.ppm
}

@test "extreme positions, masses and coincident bodies still give a picture" {
	bodies mass,x,y,z 1,1e299,0,0 1,-1e299,0,0 1,0,-2e299,1 >a.nb
	bodies mass,x,y,z 1e-300,0,0,0 1e300,1,0,0 0,0,1,0 >b.nb
	bodies mass,x,y,z 1,1e-300,0,0 1,0,2e-300,0 >c.nb
	bodies mass,x,y,z 0,0,0,0 0,1,0,0 >massless.nb
	awk 'BEGIN { print "mass,x,y,z"; for (i = 0; i < 5000; i++) print "1,3,3,3" }' | nb-convert --from csv >same.nb
	for s in a b c massless same; do
		for o in '--draw density' '--draw discs'; do
			# shellcheck disable=SC2086
			nb-render-ppm -W 64 -H 48 $o <$s.nb >a.ppm
			[ "$(ppm sizes a.ppm)" = 64x48 ]
			[ "$(ppm lit a.ppm 0 200)" -gt 1 ]
		done
	done
	# as far as numbers go: a picture, though of nothing
	bodies mass,x,y,z 1,1e308,0,0 1,-1e308,0,0 1,0,-1.7e308,1 | nb-render-ppm -W 64 -H 48 >b.ppm
	[ "$(ppm sizes b.ppm)" = 64x48 ]
	# bodies without mass count equally
	read -r _ _ v < <(ppm brightest a.ppm 0)
	[ "$v" -gt 600 ]
}

@test "bodies outside of the view do not show" {
	bodies mass,x,y,z 1,0.025,0.025,0 >one.nb
	bodies mass,x,y,z 1,0.025,0.025,0 1000,3.4,0,0 1e6,0,1e9,0 >more.nb
	$GREY 0,200 <one.nb >a.ppm
	$GREY 0,200 <more.nb >b.ppm
	cmp a.ppm b.ppm
	nb-render-ppm -W 64 -H 48 --center 1e9,0,0 --size 1 <plummer.nb >c.ppm
	[ "$(ppm lit c.ppm 0 4)" -eq 0 ]
}

@test "five bodies of very unequal mass are all visible at 1280 x 720" {
	bodies mass,x,y,z 5e41,0,0,0 8e34,5.8e10,0,0 1e36,1.1e11,0,0 1.5e36,1.5e11,0,0 1.6e35,2.3e11,0,0 |
		nb-render-ppm >a.ppm
	# size 2.4 * 2.3e11: each is a disc of its own, at least 5 pixels across and round
	for x in 640 716 783 836 940; do
		for at in "$x 360" "$((x + 2)) 360" "$x 362"; do
			# shellcheck disable=SC2086
			read -r r g b < <(ppm pixel a.ppm 0 $at)
			[ "$r" -gt 200 ]
			[ "$g" -gt 200 ]
		done
		read -r r g b < <(ppm pixel a.ppm 0 $x 405)
		[ "$g" -eq 0 ]
	done
}

@test "a radius in the stream is drawn to scale" {
	bodies mass,x,y,z,radius 1,0,0,0,1 >ball.nb
	nb-render-ppm -W 128 -H 96 --size 4.8 --colormap gray <ball.nb >a.ppm
	[ "$(ppm pixel a.ppm 0 82 48)" = '255 255 255' ]
	[ "$(ppm pixel a.ppm 0 85 48)" != '255 255 255' ]
}

@test "a flat frame can be seen from any side" {
	bodies mass,x,y 1,0,0 1,1,0 >flat.nb
	nb-render-ppm -W 64 -H 48 --view 30,20 <flat.nb >a.ppm
	[ "$(ppm lit a.ppm 0 200)" -gt 2 ]
}

@test "a body that is not finite is refused by its id" {
	for field in pos vel mass; do
		for value in nan inf; do
			mutate set $field 2 0 $value <plummer.nb >bad.nb
			id=$(mutate show id <plummer.nb | sed -n 3p)
			fails_with 1 "field '$field' of the body with id $id is not finite in frame 0" 'nb-render-ppm -W 16 -H 16 <bad.nb'
		done
	done
}

@test "a broken stream ends in an error after the pictures before it" {
	cat plummer.nb plummer.nb | head -c $(($(stat -c %s plummer.nb) + 5000)) >cut.nb
	run bash -c 'nb-render-ppm -W 64 -H 36 <cut.nb 2>&1 >a.ppm'
	[ "$status" -eq 1 ]
	[[ $output == *'truncated stream'* ]]
	[ "$(ppm sizes a.ppm)" = 64x36 ]
	fails_with 1 'truncated stream' 'nb-render-ppm </dev/null'
}

@test "output that cannot be written is an error" {
	run bash -c 'nb-render-ppm -W 64 -H 36 <plummer.nb 2>&1 >/dev/full'
	[ "$status" -eq 1 ]
	[[ $output == "nb-render-ppm: cannot write picture 0: No space left on device" ]]
	# a reader that leaves ends it quietly
	run bash -c 'cat plummer.nb plummer.nb | nb-render-ppm | head -c 10 >/dev/null; echo "${PIPESTATUS[1]}"'
	[ "$output" -eq 141 ]
}

@test "a terminal is refused" {
	command -v script >/dev/null || skip 'no script(1)'
	run script -qec "nb-render-ppm <plummer.nb" /dev/null
	[ "$status" -eq 2 ]
	[[ $output == *'standard output is a terminal'* ]]
}

@test "bad options are usage errors" {
	R='nb-render-ppm'
	S='<plummer.nb'
	for o in '-W 641' '-H 3' '-W 0' '-H -2' '-W 20000' '-W 64x'; do
		word=$([[ $o == -W* ]] && echo width || echo height)
		fails_with 2 "invalid $word" "$R $o $S"
	done
	for o in xw 1 1,2,3 400,0 0,91 x,y ''; do
		fails_with 2 "invalid view '$o'" "$R --view '$o' $S"
	done
	for o in 1 1,2,3,4 a,b nan,0 ''; do
		fails_with 2 "invalid center '$o'" "$R --center '$o' $S"
	done
	for o in 1 2,1 1,1 0,1 -1,1 1,2,3 1,inf; do
		fails_with 2 "invalid range '$o'" "$R --range '$o' $S"
	done
	fails_with 2 "invalid range '3,2'" "$R --stretch linear --range 3,2 $S"
	$R -W 16 -H 16 --stretch linear --range -1,1 <plummer.nb >a.ppm
	for o in -1 256 1.5 a 1,,2 ''; do
		fails_with 2 "invalid hide '$o'" "$R --hide '$o' $S"
		fails_with 2 "invalid only '$o'" "$R --only '$o' $S"
	done
	for o in '--zoom 0' '--zoom -1' '--size 0' '--size x' '--neighbours -1' '--colormap jet' '--by mass' '--draw dots' \
		'--stretch sqrt' '--speed-range 2,1 --by speed'; do
		read -r name value _ <<<"$o"
		fails_with 2 "invalid ${name#--} '$value'" "$R $o $S"
	done
	fails_with 2 "unknown or ambiguous option '--colour'" "$R --colour $S"
	fails_with 1 "'x.ppm': No such file or directory" "$R x.ppm $S"
}

@test "options that would be ignored are refused" {
	R='nb-render-ppm'
	S='<plummer.nb'
	fails_with 2 "'--colormap' needs '--by density'" "$R --by speed --colormap viridis $S"
	fails_with 2 "'--colormap' needs '--by density'" "$R --by species --colormap viridis $S"
	fails_with 2 "'--speed-range' needs '--by speed'" "$R --speed-range 0,1 $S"
	fails_with 2 "'--hide' and '--only' exclude each other" "$R --hide 1 --only 2 $S"
	for o in '--range 1,2' '--stretch log' '--neighbours 3'; do
		fails_with 2 "'${o%% *}' has no meaning with '--draw discs'" "$R --draw discs $o $S"
	done
	fails_with 1 "range '1e-300,2e-300' is out of scale" "$R --range 1e-300,2e-300 $S"
}

@test "ffmpeg takes the pictures as a movie" {
	command -v ffmpeg >/dev/null && command -v ffprobe >/dev/null || skip 'no ffmpeg'
	cat plummer.nb plummer.nb plummer.nb | nb-render-ppm -W 128 -H 72 |
		ffmpeg -y -loglevel error -f image2pipe -c:v ppm -framerate 30 -i - -pix_fmt yuv420p out.mp4
	[ "$(ffprobe -v error -count_frames -show_entries stream=nb_read_frames,width,height -of csv=p=0 out.mp4)" = 128,72,3 ]
}

@test "netpbm takes the pictures" {
	command -v pamfile >/dev/null || skip 'no netpbm'
	cat plummer.nb plummer.nb | nb-render-ppm -W 128 -H 72 >a.ppm
	[ "$(pamfile -allimages a.ppm | grep -c 'PPM raw, 128 by 72 *maxval 255')" -eq 2 ]
}
