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
ppm() { python3 -I -S "$BATS_FILE_TMPDIR/ppm.py" "$@"; }

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

# bats test_tags=once
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
	for o in '' '--by speed' '--by species' '--draw discs' '--neighbours 0' \
		'--draw points --by mass --label colour,scale' '--fit 95 --follow densest --hide none --by id'; do
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

# bats test_tags=once
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

@test "camera, colours, and brightness after --expose first, stay those of the first frame" {
	# half the mass a thousandth of it, moved by one length: a dimmer spot, 20 pixels further
	bodies frame,id,mass,x,y,z 0,0,4,0.025,0.025,0 1,0,2,1.025,0.025,0 >movie.nb
	nb-render-ppm -W 128 -H 96 --size 4.8 --draw density --neighbours 0 --stretch linear --colormap gray --expose first \
		<movie.nb >a.ppm
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
	for o in '' '--by speed' '--stretch log' '--draw density' '--by mass --draw points'; do
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

# bats test_tags=once
@test "the colormaps are matplotlib's" {
	python=
	for p in python3 /usr/bin/python3; do
		"$p" -c 'import matplotlib' 2>/dev/null && python=$p && break
	done
	[ -n "$python" ] || skip 'no python3 with matplotlib'
	for map in inferno viridis magma plasma cividis; do
		"$python" -c "
from matplotlib import cm
for r, g, b in cm.get_cmap('$map').colors: print('%02x%02x%02x' % tuple(round(255 * c) for c in (r, g, b)))" 2>/dev/null >want
		"$NB_BIN/../tests/unit/image/image" colormap $map >got
		diff want got
	done
}

@test "--sky light: white where nothing is, dark where bodies are, dark letters" {
	grey_at() { od -An -tu1 -j $((13 + 3 * (64 * $3 + $2))) -N 3 "$1" | awk '{ print $1 + $2 + $3 }'; }
	nb-gen plummer -n 2000 --seed 1 >sky.nb
	for o in '' '--by speed' '--draw discs --by mass' '--draw points'; do
		# shellcheck disable=SC2086 # several options
		nb-render-ppm -W 64 -H 64 --size 4000 --sky light $o sky.nb >light.ppm
		[ "$(grey_at light.ppm 2 2)" -eq 765 ]
		[ "$(grey_at light.ppm 32 32)" -lt 600 ]
	done
	for o in light:1 dark:0; do # letters are a dark blue, their outline white
		nb-render-ppm -W 64 -H 64 --size 4000 --sky ${o%:*} --title X sky.nb >titled.ppm
		nb-render-ppm -W 64 -H 64 --size 4000 --sky ${o%:*} sky.nb >plain.ppm
		[ "$(paste <(od -An -v -tu1 -w3 -j 13 titled.ppm) <(od -An -v -tu1 -w3 -j 13 plain.ppm) | awk '$1 < $4 - 100 && $3 > $1 + 5 { n++ } END { print (n > 0) }')" -eq ${o#*:} ]
	done
	nb-render-ppm -W 64 -H 64 --trail 2 --sky light sky.nb | cmp -s - <(nb-render-ppm -W 64 -H 64 --sky light sky.nb)
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
	[ "$g" -gt "$r" ]
	[ "$b" -gt "$r" ]
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

# bats test_tags=once
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

# top FILE: for each picture the per cent of the lit pixels that have inferno's last colour, or nearly
top() {
	python3 - "$1" <<-'END'
		import re, sys
		data, at = open(sys.argv[1], "rb").read(), 0
		while at < len(data):
		    head = re.compile(rb"P6\n(\d+) (\d+)\n255\n").match(data, at)
		    at, size = head.end(), 3 * int(head[1]) * int(head[2])
		    p = data[at:at + size]
		    at += size
		    lit = sum(max(p[k:k + 3]) > 20 for k in range(0, size, 3))
		    top = sum(p[k] >= 243 and p[k + 1] >= 248 and p[k + 2] >= 125 for k in range(0, size, 3))
		    print("%.2f" % (100 * top / max(lit, 1)))
	END
}

# bats test_tags=once
@test "no frame of a collapse is overexposed, unless its brightness is that of the first" {
	nb-gen sphere -n 2000 |
		nb-step -d 0.05 -k 110 --every 10 'nb-sort-zorder | nb-build-tree | nb-force -t 0.7 -e 0.05' >collapse.nb
	for o in '' '--expose frame' '--draw density'; do
		# shellcheck disable=SC2086
		nb-render-ppm -W 240 -H 240 $o <collapse.nb >a.ppm
		[ "$(top a.ppm | wc -l)" -eq 12 ]
		top a.ppm | awk '$1 > 2 { exit 1 }'
		# nor is the densest one dark
		[ "$(ppm lit a.ppm 8 128)" -gt 60 ]
	done
	nb-render-ppm -W 240 -H 240 --draw density --expose first -v <collapse.nb >a.ppm 2>said
	top a.ppm | awk '$1 > 20 { n++ } END { exit !(n > 2) }'
	equals "$(grep -c 'overexposed' said)" 1
	grep -q 'from frame [1-9] on parts of the picture are overexposed: .* % of what has light (--expose smooth shows them)' said
	# told only after -v
	nb-render-ppm -W 240 -H 240 --draw density --expose first <collapse.nb 2>said >b.ppm
	[ ! -s said ]
	cmp a.ppm b.ppm
}

@test "--expose smooth goes only a part of the way to a darker frame" {
	# one body, that loses most of its mass and keeps it so
	bodies frame,id,mass,x,y,z 0,0,1,0,0,0 1,0,0.1,0,0,0 2,0,0.1,0,0,0 3,0,0.1,0,0,0 >fade.nb
	nb-render-ppm -W 64 -H 64 --size 4 --draw density --stretch linear --colormap gray <fade.nb >smooth.ppm
	nb-render-ppm -W 64 -H 64 --size 4 --draw density --stretch linear --colormap gray --expose frame <fade.nb >frame.ppm
	brightest() { ppm brightest "$1" "$2" | cut -d' ' -f3; }
	[ "$(brightest smooth.ppm 1)" -lt $(($(brightest smooth.ppm 0) / 2)) ]
	[ "$(brightest smooth.ppm 2)" -gt "$(brightest smooth.ppm 1)" ]
	[ "$(brightest smooth.ppm 3)" -gt "$(brightest smooth.ppm 2)" ]
	at_most 3 $(($(brightest frame.ppm 0) - $(brightest frame.ppm 1)))
}

@test "--fit keeps its share of the bodies in every picture" {
	# a ring that widens threefold and narrows again, and two bodies that are always far away
	awk 'BEGIN { print "frame,id,mass,x,y,z"; for (f = 0; f < 9; f++) { r = 1 + 2 * (f > 1 && f < 5); for (i = 0; i < 200; i++)
		print f "," i ",1," (i < 2 ? 50 : r * cos(i)) "," r * sin(i) ",0" } }' | nb-convert --from csv >ring.nb
	nb-render-ppm -W 160 -H 90 --draw discs --disc-size 0.5 --fit 99 -v <ring.nb >a.ppm 2>said
	run ! grep outside said
	# all of the ring is seen: its top and bottom rows are lit, the edges of the picture are not
	for f in 0 1 2 3 4 5 8; do
		read -r top bottom edge < <(python3 - a.ppm $f <<-'END'
			import sys
			w, h, f = 160, 90, int(sys.argv[2])
			size = len(b"P6\n160 90\n255\n") + 3 * w * h
			p = open(sys.argv[1], "rb").read()[size * f + size - 3 * w * h:size * (f + 1)]
			rows = [y for y in range(h) if max(p[3 * w * y:3 * w * (y + 1)]) > 250]
			print(rows[0], rows[-1], rows[-1] - rows[0])
		END
		)
		[ "$top" -ge 0 ]
		[ "$bottom" -le 89 ]
		# large enough: at once when it widens, slowly when it narrows
		if [ "$f" -lt 5 ]; then
			[ "$edge" -ge 78 ]
		fi
	done
	# with the size of the first frame they are lost, which -v says once
	nb-render-ppm -W 160 -H 90 --size 2.1 -v <ring.nb 2>said >/dev/null
	equals "$(grep -c 'on bodies are outside' said)" 1
	grep -q 'from frame 2 on bodies are outside of the picture: [0-9.]* % (--fit 99 shows 99 % of them)' said
	# all of them: so far away that the ring is small
	nb-render-ppm -W 160 -H 90 --draw discs --fit all <ring.nb >b.ppm
	[ "$(ppm lit b.ppm 0 128)" -lt "$(ppm lit a.ppm 0 128)" ]
}

# bats test_tags=once
@test "neither --fit nor --follow densest moves the picture with each body that comes and goes" {
	# 24 samples of one sphere, and a heavy body that stays where it is
	bodies id,mass,x,y,z 999,1e6,0.7,0,0 >mark.nb
	for k in {1..24}; do nb-gen plummer -n 500 --seed "$k" --no-history | nb-merge --common -q - mark.nb; done >samples.nb
	# where it is in each picture, and how much it moves in the last ten
	steps() {
		nb-render-ppm -W 200 -H 200 --draw density --neighbours 0 --colormap gray --range 1,1e8 --stretch linear "$@" samples.nb >a.ppm
		python3 - <<-'END'
			size = 15 + 3 * 200 * 200
			data = open("a.ppm", "rb").read()
			at = []
			for f in range(24):
			    p = data[size * f + 15:size * (f + 1):3]
			    k = [k for k in range(len(p)) if p[k] > 0]
			    at.append(sum(p[i] * (i % 200) for i in k) / sum(p[i] for i in k))
			print(sum(abs(a - b) for a, b in zip(at[14:], at[13:])) / 10)
		END
	}
	at_most 0.3 "$(steps --center 0,0,0 --fit 80)"
	at_most 1.5 "$(steps --follow densest --size 4)"
}

@test "a picture that is almost empty is a warning, once, with the option that helps" {
	local option says count=0
	nb-gen plummer -n 1000 --no-history >still.nb
	for k in 0 1 2 3; do nb-transform --shift $((5 * k * k)),0,0 still.nb | nb-calc "@time=$k" 'species=7' >$k.nb; done
	cat 0.nb 1.nb 2.nb 3.nb >leaves.nb
	while IFS='|' read -r option says; do
		# shellcheck disable=SC2086
		nb-render-ppm -W 160 -H 90 $option leaves.nb 2>said >/dev/null
		equals "$(cat said)" "${says:+nb-render-ppm: from frame $says}"
		count=$((count + 1))
	done <<-'END'
		|2 on the camera follows the bodies, most of which have left the picture (--follow com does so from the start, --center holds it)
		--center 0,0|2 on the picture is empty: 100 % of the bodies are outside of it (another --center or --fit 99 shows them)
		--follow com --zoom 4000|0 on the picture is empty: 100 % of the bodies are outside of it (a smaller --zoom or --fit 99 shows them)
		--follow com|
		--fit 99|
		--follow com --range 1e5,1e6|0 on the picture is empty: the bodies are too faint for --range (without it they are seen)
		--follow com --size 800 -W 320 -H 180|0 on the picture is almost empty: the bodies fill 12 pixels of it (a smaller --size enlarges them)
		--only 3|0 on the picture is empty: all bodies are of species that --only leaves out (without it they are seen)
		--hide 7|0 on the picture is empty: all bodies are of species that --hide leaves out (without it they are seen)
		-q|
	END
	[ "$count" -eq 10 ]
	# the camera has followed them
	nb-render-ppm -q -W 160 -H 90 leaves.nb >a.ppm
	for k in 0 1 2 3; do [ "$(ppm lit a.ppm $k 128)" -gt 20 ]; done
	nb-gen disk -n 300 | nb-select --where 'species == 2' | nb-render-ppm -W 160 -H 90 2>said >/dev/null
	grep -q 'all bodies are of dark halos (--hide none shows them)' said
	nb-gen plummer -n 0 | nb-render-ppm -W 160 -H 90 2>said >/dev/null
	[ ! -s said ]
	for model in solar figure8 kepler 'plummer -n 1' 'ring -n 120'; do
		# shellcheck disable=SC2086
		nb-gen $model | nb-render-ppm -W 320 -H 180 2>said >/dev/null
		[ ! -s said ]
	done
}

@test "up to ten bodies are all in the picture; of more, the outermost does not make the rest a spot" {
	ring() { # ring N: N - 1 bodies at a distance of 1 from the origin, and one at 40
		awk -v n="$1" 'BEGIN { print "id,mass,x,y,z"
			for (i = 1; i < n; i++) print i ",1," cos(6.2832 * i / (n - 1)) "," sin(6.2832 * i / (n - 1)) ",0"
			print "0,0.001,40,0,0" }' | nb-convert --from csv
	}
	size() { nb-render-ppm -v -W 32 -H 32 2>&1 >/dev/null | sed -n 's/.*--size //p'; }
	close_to 96 "$(ring 10 | size)" 1
	for n in 11 20 50 100 101 255; do
		close_to 2.4 "$(ring $n | size)" 0.1
	done
	# planets and orbits stay whole
	at_most 85 "$(nb-gen solar | size)"
	at_most -70 "-$(nb-gen solar | size)"
	close_to 2.4 "$(nb-gen figure8 | size)" 0.01
}

@test "--follow keeps the body, the densest place or the centre of mass in the middle" {
	# a heavy body that stays, a light one that moves, and ten close together that move the other way
	awk 'BEGIN { print "frame,id,mass,x,y,z"; for (f = 0; f < 3; f++) { print f ",7,100,0,1,0"; print f ",9,1," f ",-1,0"
		for (i = 0; i < 40; i++) print f "," (10 + i) ",0.001," (0.001 * i - f - 2) ",-1,0" } }' | nb-convert --from csv >moving.nb
	middle() { # middle PICTURE OPTIONS: brightness of the pixel in the middle
		local k=$1
		shift
		nb-render-ppm -W 64 -H 64 --size 8 --draw discs --colormap gray "$@" <moving.nb >a.ppm
		ppm pixel a.ppm "$k" 32 32 | cut -d' ' -f1
	}
	for k in 0 2; do
		[ "$(middle $k --follow id:9)" -eq 255 ]
		[ "$(middle $k --follow densest)" -eq 255 ]
		[ "$(middle $k --follow com)" -eq 255 ]
	done
	[ "$(middle 0 --center 0,-1)" -eq 255 ]
	[ "$(middle 2 --center 0,-1)" -eq 0 ]
	fails_with 1 'no body with id 8 to follow in frame 0' 'nb-render-ppm -W 16 -H 16 --follow id:8 <moving.nb'
	# where the body is no more, the camera stays
	bodies frame,id,mass,x,y,z 0,1,1,2,0,0 0,2,1,-2,0,0 1,2,1,2,0,0 >gone.nb
	nb-render-ppm -W 64 -H 64 --size 8 --draw discs --colormap gray --follow id:1 <gone.nb >a.ppm
	[ "$(ppm pixel a.ppm 1 32 32)" = '255 255 255' ]
}

@test "--by takes any column, a vector by its length" {
	D='nb-render-ppm -W 128 -H 96 --center 0,0 --size 4.8'
	bodies id,mass,x,y,z,vx,vy,vz 0,1,-1,0,0,1,2,2 1,10,1,0,0,0,0,30 >two.nb
	$D --by mass <two.nb >a.ppm
	low=$(ppm pixel a.ppm 0 44 48)
	high=$(ppm pixel a.ppm 0 84 48)
	read -r r g b <<<"$low"
	[ "$b" -gt "$r" ]
	read -r r g b <<<"$high"
	[ "$r" -gt "$b" ]
	# the length of a vector, which speed is too
	$D --by vel <two.nb >b.ppm
	$D --by speed <two.nb | cmp - b.ppm
	# 3 is a half of 0 to 6, and in the middle of 1 to 9 in steps of the logarithm
	$D --by vel --by-range 0,6 <two.nb >a.ppm
	$D --by speed --speed-range 0,6 <two.nb | cmp - a.ppm
	$D --by vel --by-range 1,9 --by-scale log <two.nb | cmp - a.ppm
	$D --by speed --by-range 1,9 --by-scale log <two.nb | cmp - a.ppm
	[ "$(ppm pixel a.ppm 0 84 48)" = "$high" ]
	# integers, and columns that no program knows
	mutate rename vel wind <two.nb >wind.nb
	$D --by wind --by-range 0,6 <wind.nb | cmp - a.ppm
	# densities by column, and no numbers above 0
	nb-force --potential <plummer.nb | nb-render-ppm -W 64 -H 64 --by pot >a.ppm
	[ "$(ppm lit a.ppm 0 128)" -gt 20 ]
	fails_with 1 "field 'pot' has no number above 0 for a logarithmic scale in frame 0" \
		"nb-force --potential <plummer.nb | nb-render-ppm -W 64 -H 64 --by pot --by-scale log"
	fails_with 1 "no column 'heat' in frame 0 (there are: id mass x y z vx vy vz)" 'nb-render-ppm -W 16 -H 16 --by heat <plummer.nb'
	nb-convert --from princeton "$NB_TOP/tests/data/princeton-names.txt" >names.nb
	fails_with 1 "field 'name' has no numbers of bodies in frame 0" 'nb-render-ppm -W 16 -H 16 --by name <names.nb'
	nb-sort-zorder <plummer.nb | nb-build-tree >tree.nb
	fails_with 1 "field 'node_mass' has no numbers of bodies in frame 0" 'nb-render-ppm -W 16 -H 16 --by node_mass <tree.nb'
}

# bats test_tags=once
@test "--by takes expressions as --where does" {
	D='nb-render-ppm -W 64 -H 48 --center 0,0 --size 4.8'
	cat plummer.nb plummer.nb >two.nb
	for pair in x=pos_0 'vy=0+vy' 'r=sqrt(x*x+y*y+z*z)' 'v=vel' 'v2/2=(vx^2+vy^2+vz^2)/2' '-vel=vel' 'row=id+0'; do
		nb-calc "q [] = ${pair%%=*}" <two.nb | $D --by q >want.ppm
		$D --by "${pair%%=*}" <two.nb | cmp - want.ppm
		$D --by "${pair#*=}" <two.nb | cmp - want.ppm
		nb-sort-zorder <two.nb | nb-select --sort id | $D --by "${pair%%=*}" | cmp - want.ppm
		NB_FOLD=off bash -c "nb-sort-zorder <two.nb | nb-select --sort id | $D --by '${pair%%=*}'" | cmp - want.ppm
	done
	# of the bodies that are drawn only
	nb-calc 'q [] = vz' <merger.nb | $D --by q --only 1,3 >want.ppm
	$D --by vz --only 1,3 <merger.nb | cmp - want.ppm
	# a column of that name comes first, whatever it is called
	printf 'x,y,T[K],x+\n-1,0,1,2\n1,0,4,8\n' | nb-convert --from csv | nb-calc mass=1 >odd.nb
	$D --by 'x+' odd.nb >want.ppm
	$D --by 'T[K]' odd.nb | cmp - want.ppm
	fails_with 2 "invalid by 'x*' (no column in frame 0 has that name, and: expected a number, a name or '(' at character 3)" "$D --by 'x*' plummer.nb"
	fails_with 1 "'vx>0' is not a number" "$D --by 'vx>0' plummer.nb"
	fails_with 1 "no column 'vw' in frame 0" "$D --by 'vw+1' plummer.nb"
}

@test "colours of bodies that begin at rest have the range of the frames that follow" {
	frames() { awk -v list="$1" 'BEGIN { print "frame,id,mass,x,y,z,vx,vy,vz"; n = split(list, v, " ")
		for (f = 1; f <= n; f++) for (i = 0; i < 4; i++) print f "," i ",1," (i - 1.5) ",0,0," i * v[f] / 3 ",0,0" }' | nb-convert --from csv; }
	D='nb-render-ppm -W 128 -H 96 --center 0,0 --size 4.8'
	frames '0 0 0.03 0.06' >rest.nb
	for by in speed vel vx; do
		$D --by $by <rest.nb >a.ppm
		# blue and red are the slowest and the fastest of the first frame that moves, and of one with faster ones
		for k in 2 3; do
			read -r r g b < <(ppm pixel a.ppm $k 34 48)
			[ "$b" -gt $((r + 40)) ]
			read -r r g b < <(ppm pixel a.ppm $k 94 48)
			[ "$r" -gt $((b + 40)) ]
		done
	done
	# one that does not begin so keeps its range, and so does one that is given
	frames '0.03 0.06' >moves.nb
	$D --by speed <moves.nb >b.ppm
	[ "$(ppm pixel b.ppm 1 74 48)" = "$(ppm pixel b.ppm 0 94 48)" ]
	$D --by speed --by-range 0,0.03 <rest.nb >c.ppm
	[ "$(ppm pixel c.ppm 3 94 48)" = "$(ppm pixel b.ppm 0 94 48)" ]
	[ "$(ppm pixel c.ppm 3 74 48)" = "$(ppm pixel b.ppm 0 94 48)" ]
}

@test "--by colour draws the colours of a Princeton file, --by id different ones" {
	printf '2\n9\n-1 0 0 1 1e10 200 0 0\n1 0 0 -1 1e10 0 0 255\n' | nb-convert --from princeton >two.nb
	D='nb-render-ppm -W 128 -H 96 --center 0,0 --size 4.8'
	for shape in discs density points; do
		$D --by colour --draw $shape <two.nb >a.ppm
		read -r r g b < <(ppm pixel a.ppm 0 44 48)
		[ "$r" -gt 150 ]
		[ "$g" -eq "$b" ]
		[ "$b" -lt "$r" ]
		read -r r g b < <(ppm pixel a.ppm 0 84 48)
		[ "$b" -gt 150 ]
		[ "$g" -eq "$r" ]
		[ "$r" -lt "$b" ]
	done
	$D --by id <two.nb >b.ppm
	[ "$(ppm pixel b.ppm 0 44 48)" != "$(ppm pixel b.ppm 0 84 48)" ]
	fails_with 1 "field 'colour' missing in frame 0" 'nb-render-ppm -W 16 -H 16 --by colour <plummer.nb'
	mutate rename vel colour <plummer.nb >bad.nb
	fails_with 1 "field 'colour' is 3 x <f8 in frame 0 (want 3 x |u1: red, green, blue)" 'nb-render-ppm -W 16 -H 16 --by colour <bad.nb'
}

@test "a trail shows where a body has been, and fades" {
	# from the left to the right in five frames; another body stays
	bodies frame,id,mass,x,y,z 0,0,1,-2,0,0 0,1,1,0,2,0 1,0,1,-1,0,0 1,1,1,0,2,0 2,0,1,0,0,0 2,1,1,0,2,0 \
		3,0,1,1,0,0 3,1,1,0,2,0 4,0,1,2,0,0 4,1,1,0,2,0 >way.nb
	D='nb-render-ppm -W 128 -H 96 --center 0,0 --size 4.8 --colormap gray --disc-size 1 --draw discs'
	$D --trail 3 <way.nb >a.ppm
	light() { ppm pixel a.ppm "$1" "$2" 48 | cut -d' ' -f1; }
	# nothing in the first frame; then brighter where the body was last, to nothing after three frames
	[ "$(light 0 44)" -eq 0 ]
	[ "$(light 4 94)" -gt 80 ]
	[ "$(light 4 74)" -lt "$(light 4 94)" ]
	[ "$(light 4 54)" -lt "$(light 4 74)" ]
	[ "$(light 4 54)" -gt 5 ]
	[ "$(light 4 34)" -eq 0 ]
	$D <way.nb >a.ppm
	[ "$(light 4 74)" -eq 0 ]
	# in the colour of the body; also in the order that a sort leaves
	${D/--colormap gray/} --by id --trail 3 <way.nb >a.ppm
	read -r r g b < <(ppm pixel a.ppm 4 94 48)
	[ "$r" -gt "$g" ]
	[ "$g" -gt "$b" ]
	nb-sort-zorder <way.nb | ${D/--colormap gray/} --by id --trail 3 | cmp - a.ppm
	# velocities bend it: a quarter of a circle passes through its middle
	bodies time,frame,id,mass,x,y,z,vx,vy,vz 0,0,0,1,2,0,0,0,2,0 1.5707963,1,0,1,0,2,0,-2,0,0 >arc.nb
	$D --trail 3 <arc.nb >a.ppm
	[ "$(ppm pixel a.ppm 1 91 19 | cut -d' ' -f1)" -gt 100 ]
	[ "$(ppm pixel a.ppm 1 84 28 | cut -d' ' -f1)" -eq 0 ]
	# without them it is straight
	bodies frame,id,mass,x,y,z 0,0,1,2,0,0 1,0,1,0,2,0 >line.nb
	$D --trail 3 <line.nb >a.ppm
	[ "$(ppm pixel a.ppm 1 84 28 | cut -d' ' -f1)" -gt 100 ]
	fails_with 1 'trails of 100000 frames of 3000 bodies are too long in frame 0' 'nb-render-ppm -W 16 -H 16 --trail 100000 <plummer.nb'
}

@test "in a periodic box a trail ends at a wall and goes on at the opposite one, seen from anywhere" {
	# out where x is 4, and in the middle of the step where y is 0; with velocities and without
	bodies frame,time,id,mass,x,y,z,vx,vy,vz 0,0,0,1,3.2,0.4,2,1.2,-0.8,0.4 1,1,0,1,0.4,3.6,2.4,1.2,-0.8,0.4 | nb-calc '@box = 4' >way.nb
	# trail AZIMUTH ELEVATION SCALE: pixels of a.ppm have light where they are on the way, and nowhere else
	trail() { python3 - "$@" <<-'END'
		import math, sys
		a, e, scale = map(float, sys.argv[1:])
		sa, ca, se, ce = [f(math.radians(x)) for x in (a, e) for f in (math.sin, math.cos)]
		right, up = (-sa, ca, 0), (-se * ca, -se * sa, ce)
		seen = lambda p: [h + s * scale * sum((x - 2) * d for x, d in zip(p, axis)) for h, s, axis in ((64, 1, right), (48, -1, up))]
		way = [[(3.2 + 1.2 * t) % 4, (0.4 - 0.8 * t) % 4, 2 + 0.4 * t] for t in (k / 400 + 0.001 for k in range(400))]
		way, light = [seen(p) for p in way], open("a.ppm", "rb").read()[-3 * 96 * 128::3]
		lit = [(k % 128 + 0.5, k // 128 + 0.5) for k in range(96 * 128) if light[k] > 40]
		far = lambda a, b: max(min(math.hypot(x - u, y - v) for u, v in b) for x, y in a if 0 < x < 128 and 0 < y < 96)
		assert far(lit, way) < 4 and far(way, lit) < 2, (far(lit, way), far(way, lit))
	END
	}
	D='nb-render-ppm -W 128 -H 96 --center 2,2,2 --size 4.8 --colormap gray --disc-size 1 --draw discs --trail 2'
	for fields in id,mass,pos,vel id,mass,pos; do
		nb-select --fields $fields way.nb >a.nb
		$D a.nb >a.ppm
		trail -90 90 20
		$D --view 30,20 a.nb >a.ppm
		trail 30 20 20
		$D --view 30:75,20 --zoom 1:2 a.nb >a.ppm
		trail 75 20 40
	done
	# what is beyond the walls has the colour that it had
	for o in 'dark --by density' 'dark --by id' 'light --by density' 'light --by id'; do
		# shellcheck disable=SC2086 # words
		for trail in 0 2; do nb-render-ppm -W 128 -H 96 --center 2,2,2 --size 4.8 --trail $trail --sky $o way.nb >$trail.ppm; done
		[ "$(ppm pixel 0.ppm 1 2 2)" = "$(ppm pixel 2.ppm 1 2 2)" ]
	done
	# bodies about 0 have walls that nobody knows: trails go across none of them, nor to where there are no bodies
	bodies frame,id,mass,x,y,z 0,0,1,1.9,0,0 1,0,1,-1.9,0,0 2,0,1,-0.9,0,0 | nb-calc '@box = 4' | ${D/2,2,2/0,0,0} >a.ppm
	[ "$(ppm pixel a.ppm 2 64 48)" = '0 0 0' ]
	[ "$(ppm pixel a.ppm 2 36 48 | cut -d' ' -f1)" -gt 80 ]
}

# bats test_tags=once
@test "labels: time, scale bar, colour bar and title" {
	D='nb-render-ppm -W 320 -H 240 --center 0,0 --size 4.8 --colormap gray --draw density'
	$D <single.nb >plain.ppm
	# box FILE X Y W H: number of bright pixels in a part of the picture
	box() {
		python3 - "$@" <<-'END'
			import sys
			x, y, w, h = map(int, sys.argv[2:])
			p = open(sys.argv[1], "rb").read()[-3 * 320 * 240:]
			print(sum(p[3 * (320 * r + c)] > 110 for r in range(y, y + h) for c in range(x, x + w)))
		END
	}
	$D --label time <single.nb >a.ppm
	[ "$(box plain.ppm 0 0 80 20)" -eq 0 ]
	[ "$(box a.ppm 6 6 60 7)" -gt 40 ]
	[ "$(box a.ppm 0 20 320 100)" -eq "$(box plain.ppm 0 20 320 100)" ]
	mutate attribute time 12.5 <single.nb | $D --label time >b.ppm
	run ! cmp a.ppm b.ppm
	# 50 pixels are a length; the bar is 1 long, 320 / 4 / 50 rounded down
	$D --label scale <single.nb >a.ppm
	[ "$(box a.ppm 6 232 50 2)" -eq 100 ]
	[ "$(box a.ppm 57 232 100 2)" -eq 0 ]
	# a bar of 1000000 pc is one of 1 Mpc, and there are no letters of an exponent
	scale() { mutate attribute units "$1,Msun,km/s" <single.nb | ${D/4.8/$2} --label scale | tail -c $((3 * 320 * 18)) | head -c $((3 * 320 * 8)); }
	cmp <(scale pc 4.8e6) <(scale Mpc 4.8)
	cmp <(scale Mpc 4.8e-3) <(scale kpc 4.8)
	run ! cmp <(scale km 4.8e6) <(scale km 4.8e7)
	$D --label colour <single.nb >a.ppm
	[ "$(box a.ppm 290 200 30 40)" -gt 60 ]
	$D --title 'One body' <single.nb >a.ppm
	[ "$(box a.ppm 136 6 48 7)" -gt 60 ]
	$D --label time,scale,colour --title 'One body' <single.nb >a.ppm
	[ "$(box a.ppm 6 6 60 7)" -gt 40 ]
	[ "$(box a.ppm 6 232 50 2)" -eq 100 ]
	# of a column and of species
	${D/--colormap gray/} --by mass --label colour <single.nb >a.ppm
	[ "$(box a.ppm 290 200 30 40)" -gt 60 ]
	bodies id,mass,x,y,z,species 0,1,-1,0,0,0 1,1,1,0,0,3 >kinds.nb
	${D/--colormap gray/} --by species --label colour <kinds.nb >a.ppm
	# square FILE: where the one of species 0 begins, and how many pixels of it are in a row
	square() { python3 -c "
p = open('$1', 'rb').read()[-3 * 320 * 240:][3 * 320 * 230:][:960]
at = [x for x in range(320) if p[3 * x:3 * x + 3] == bytes([255, 194, 122])]
print(at[0], len(at))"; }
	read -r first size < <(square a.ppm)
	[ "$size" -eq 7 ]
	# names: of the only body of a species, and beside bodies, where they do not lie on another
	mutate attribute names '0 One' <kinds.nb | ${D/--colormap gray/} --by species --label colour >b.ppm
	[ "$(square b.ppm | cut -d' ' -f1)" -lt $((first - 8)) ]
	bodies id,mass,x,y,z,species 0,1,-1,0,0,0 2,0,-1,0,0,0 1,1,1,0,0,3 | mutate attribute names '0 One' | ${D/--colormap gray/} --by species --label colour >c.ppm
	[ "$(square c.ppm)" = "$first $size" ]
	mutate attribute names '1 I, 7 None' <kinds.nb | ${D/--draw*/--draw discs} --label name >b.ppm
	[ "$(box b.ppm 216 112 100 14)" -ge 7 ]
	[ "$(box b.ppm 222 112 100 14)" -eq 0 ]
	bodies id,mass,x,y,z 0,1,1,0,0 1,1,1,0,0 >one.nb
	mutate attribute names '0 I' <one.nb | $D --label name >a.ppm
	mutate attribute names '1 MM, 0 I' <one.nb | $D --label name | cmp - a.ppm
	nb-gen plummer -n 0 | $D --label name >a.ppm
	fails_with 1 'no names to label in frame 0' "$D --label name <kinds.nb"
	# a frame without bodies has its time, a picture too small for any of them is one
	nb-gen plummer -n 0 | $D --label time,scale,colour >a.ppm
	[ "$(box a.ppm 6 6 60 7)" -gt 40 ]
	nb-render-ppm -W 8 -H 6 --label time,scale,colour --title 'too long for it' <plummer.nb >a.ppm
	[ "$(ppm sizes a.ppm)" = 8x6 ]
}

@test "axes have ticks at coordinates, with numbers and names" {
	D='nb-render-ppm -W 320 -H 240 --size 4.8 --colormap gray --stretch linear --range 1e8,1e9'
	# ticks EDGE: columns (bottom) or rows (left) of the long ticks
	ticks() { python3 - "$1" <<-'END'
		import sys
		p = open("a.ppm", "rb").read()[-3 * 320 * 240:]
		lit = lambda x, y: p[3 * (320 * y + x)] == 225
		print(*([x for x in range(320) if lit(x, 236)] if sys.argv[1] == "bottom" else [y for y in range(240) if lit(4, y)]))
	END
	}
	# 50 pixels are a length: ticks of x at -2, 0, 2 and y at 0
	$D --center 0,0 --label axes single.nb >a.ppm
	equals "$(ticks bottom)" '60 160 260'
	equals "$(ticks left)" '20 120 220'
	cp a.ppm b.ppm
	# coordinates, wherever the centre is
	$D --center 0.5,-1 --label axes single.nb >a.ppm
	equals "$(ticks bottom)" '35 135 235'
	equals "$(ticks left)" '70 170'
	# seen from behind, x grows to the left
	$D --center 0.5,-1,0 --view 90,0 --label axes single.nb >a.ppm
	equals "$(ticks bottom)" '85 185 285'
	# at an angle: distances from the centre, and no names
	$D --center 0.5,-1 --view 30,20 --label axes single.nb >a.ppm
	equals "$(ticks bottom)" '60 160 260'
	[ "$(ppm differ a.ppm b.ppm)" -gt 100 ]
	# what else stands on the lower edge makes room
	$D --center 0,0 --label scale single.nb >a.ppm
	[ "$(ppm pixel a.ppm 0 10 232)" = '225 225 225' ]
	$D --center 0,0 --label scale,axes single.nb >a.ppm
	[ "$(ppm pixel a.ppm 0 10 217)" = '225 225 225' ]
	[ "$(ppm pixel a.ppm 0 10 232)" = '0 0 0' ]
	# numbers too large to tell ticks apart have none
	$D --center 1e12,0 --label axes single.nb >a.ppm
	equals "$(ticks bottom)" ''
}

@test "a colormap gives its hues to the numbers of a column" {
	bodies id,mass,x,y,z 0,1,-1,0,0 1,3,1,0,0 >two.nb
	D='nb-render-ppm -W 128 -H 96 --center 0,0 --size 4.8 --by mass'
	$D --colormap viridis two.nb >a.ppm
	# its first colour is violet, its last one yellow
	read -r r g b < <(ppm pixel a.ppm 0 44 48)
	[ "$b" -gt "$r" ]
	[ "$r" -gt $((g + 50)) ]
	read -r r g b < <(ppm pixel a.ppm 0 84 48)
	[ "$r" -gt "$b" ]
	[ "$g" -gt $((b + 50)) ]
	run ! cmp -s a.ppm <($D two.nb)
}

# bats test_tags=once
@test "labels say units, where the stream has them" {
	nb-gen plummer -n 200 --G 4.3009e-3 | nb-force --potential | nb-transform --from-units pc,Msun --units kpc,Msun,km/s >u.nb
	D='nb-render-ppm -W 640 -H 360'
	# where the time ends, and where the name of the bar begins
	plain() { python3 - "$1" <<-'END'
		import sys
		p = open(sys.argv[1], "rb").read()[-3 * 640 * 360:]
		lit = [i // 3 % 640 for i in range(0, 3 * 640 * 20, 3) if p[i] > 110]
		low = [i // 3 % 640 for i in range(3 * 640 * 331, 3 * 640 * 340, 3) if i // 3 % 640 > 320 and 110 < p[i] == p[i + 1] == p[i + 2]]
		print(max(lit, default=0), min(low, default=640))
	END
	}
	for o in density speed pot vx v2; do
		$D --by $o --draw density --label time,colour u.nb >a.ppm
		nb-transform --scale length=1 <u.nb | python3 "$NB_TOP/tests/mutate.py" attribute units '' | nb-convert --no-comments --to csv -q | nb-convert --from csv |
			$D --by $o --draw density --label time,colour >b.ppm
		read -r time_a left_a < <(plain a.ppm)
		read -r time_b left_b < <(plain b.ppm)
		# "t = 0.000 Gyr" and "speed [km/s]" are longer
		close_to 22 $((time_a - time_b)) 4
		[ "$left_a" -lt "$left_b" ]
	done
	# kpc/(km/s) is 0.978 Gyr
	mutate attribute time 10 <u.nb | $D --label time >a.ppm
	mutate attribute time 9.77792 <u.nb | mutate attribute units kpc,Msun,Gyr | $D --label time | cmp a.ppm
	mutate attribute time 0.977792 <u.nb | mutate attribute units kpc,Msun,Gyr | run ! cmp -s a.ppm <($D --label time)
	# days of the planets, seconds of SI
	nb-gen solar | $D --label time >a.ppm
	nb-gen solar | python3 "$NB_TOP/tests/mutate.py" attribute units none | $D --label time >b.ppm
	read -r time_a _ < <(plain a.ppm)
	read -r time_b _ < <(plain b.ppm)
	close_to 10 $((time_a - time_b)) 3
}

# bats test_tags=once
@test "labels that have no room are shortened or left out, and never lie on each other" {
	# edge W H FILE: whether letters touch the left edge of the picture, and how far to the right they go in the top line
	edge() { python3 - "$@" <<-'END'
		import sys
		w, h = int(sys.argv[1]), int(sys.argv[2])
		p = open(sys.argv[3], "rb").read()[-3 * w * h:]
		at = lambda x, y: 110 < p[3 * (y * w + x)] == p[3 * (y * w + x) + 1] == p[3 * (y * w + x) + 2]
		print(sum(at(x, y) for x in range(5) for y in range(h)), max((x for x in range(w) for y in range(14) if at(x, y)), default=0),
			min((x for x in range(w) for y in range(14) if at(x, y)), default=0))
	END
	}
	nb-gen plummer -n 200 | nb-calc 'species [] = row % 30' 'big [] = x * 1.23e9' 'same [] = 1.23e8 + x * 1e3' >many.nb
	long='A title that is much longer than the picture is wide, by far'
	for o in '--by big' '--by same' '--by species' '--by r' '--draw density'; do
		for w in 8 40 100 160 240 320; do
			# shellcheck disable=SC2086
			nb-render-ppm -W $w -H 120 $o --label time,scale,colour --title "$long" many.nb >a.ppm
			read -r touches end begin < <(edge $w 120 a.ppm)
			equals "$touches" 0
			[ "$end" -lt $((w > 6 ? w - 6 : w)) ]
		done
	done
	# a title that is shortened begins behind the time
	nb-render-ppm -W 240 -H 120 --title "$long" many.nb >a.ppm
	read -r _ end begin < <(edge 240 120 a.ppm)
	[ "$begin" -ge 6 ]
	[ "$end" -gt 200 ]
	nb-render-ppm -W 240 -H 120 --title "$long" --label time many.nb >b.ppm
	nb-render-ppm -W 240 -H 120 --label time many.nb >c.ppm
	cut_left() { python3 -c "
import sys
p = open(sys.argv[1], 'rb').read()[-3 * 240 * 120:]
sys.stdout.buffer.write(b''.join(p[3 * 240 * y:3 * 240 * y + 3 * 56] for y in range(16)))" "$1"; }
	cmp <(cut_left b.ppm) <(cut_left c.ppm)
	# all of 30 species are in the legend: as many squares of their colours
	nb-render-ppm -W 160 -H 120 --by species --label colour --center 99,99 --size 1 many.nb >a.ppm
	python3 - a.ppm <<-'END'
		import sys
		w, h = 160, 120
		p = open(sys.argv[1], "rb").read()[-3 * w * h:]
		px = lambda x, y: p[3 * (y * w + x):3 * (y * w + x) + 3]
		squares = sum(all(px(x + i, y + j) == px(x, y) for i in range(7) for j in range(7)) and max(px(x, y)) > 100
			for x in range(w - 7) for y in range(h - 7))
		assert squares == 30, squares
	END
}

# bats test_tags=once
@test "stars with a mass function are points, not spots" {
	for imf in kroupa salpeter; do
		nb-gen king -n 3000 --imf $imf >few.nb
		nb-render-ppm -W 160 -H 120 few.nb | cmp - <(nb-render-ppm -W 160 -H 120 --draw points --neighbours 0 few.nb)
		nb-gen king -n 12000 --imf $imf >many.nb
		nb-render-ppm -W 160 -H 120 many.nb | cmp - <(nb-render-ppm -W 160 -H 120 --neighbours 0 many.nb)
	done
	# equal masses, and those of two kinds of bodies, are smoothed
	nb-gen king -n 12000 >equal.nb
	nb-calc 'mass = row % 3 == 0 ? 10 : 1' <equal.nb >two.nb
	nb-calc 'species [] = row % 2' <many.nb >kinds.nb
	for f in equal two kinds; do
		nb-render-ppm -W 160 -H 120 $f.nb >a.ppm
		nb-render-ppm -W 160 -H 120 --neighbours 0 $f.nb >b.ppm
		[ "$(ppm differ a.ppm b.ppm)" -gt 50 ]
	done
}

@test "each species is smoothed over its own neighbours" {
	# a dense square of light bodies around and between a few heavy ones: no speckles
	awk 'function random() { x = (x * 16807) % 2147483647; return x / 2147483648 }
		BEGIN { print "mass,x,y,z,species"; x = 5
		for (i = 0; i < 20000; i++) print "1," random() "," random() ",0,0"
		for (i = 0; i < 400; i++) print "200," random() "," random() ",0,1" }' | nb-convert --from csv >mixed.nb
	D='nb-render-ppm -W 200 -H 200 --center 0.5,0.5 --size 1 --colormap gray --stretch linear --range 0,200000'
	# roughness: mean difference of neighbouring pixels, as per cent of their mean
	rough() {
		python3 - "$1" <<-'END'
			import sys
			p = open(sys.argv[1], "rb").read()[-3 * 200 * 200::3]
			rows = [p[200 * y + 30:200 * y + 170] for y in range(30, 170)]
			print(100 * sum(abs(a - b) for r in rows for a, b in zip(r, r[1:])) / sum(map(sum, rows)))
		END
	}
	$D <mixed.nb >a.ppm
	mutate rename species kind <mixed.nb | $D >b.ppm
	awk "BEGIN { exit !($(rough a.ppm) < $(rough b.ppm) / 2) }"
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
	for o in '--zoom 0' '--zoom -1' '--size 0' '--size x' '--neighbours -1' '--colormap jet' '--draw dots' \
		'--stretch sqrt' '--speed-range 2,1 --by speed' '--by-range 2,1 --by mass' '--by-range 0,1 --by mass --by-scale log' \
		'--speed-range 0,1 --by speed --by-scale log' '--by-scale sqrt' '--expose last' '--follow mass' '--follow id:' \
		'--follow id:-1' '--fit 0' '--fit 101' '--fit most' '--label clock' '--label time,,scale' '--trail -1' \
		'--disc-size 0'; do
		read -r name value _ <<<"$o"
		fails_with 2 "invalid ${name#--} '$value'" "$R $o $S"
	done
	fails_with 2 "invalid title 'a?b'" "$R --title \$'a\\tb' $S"
	fails_with 2 "invalid title 'a?'" "$R --title \$'a\\xff' $S"
	fails_with 2 "unknown option '--colour'" "$R --colour $S"
	fails_with 1 "'x.ppm': No such file or directory" "$R x.ppm $S"
}

# bats test_tags=once
@test "a name says the format: PNG has the pixels of PPM, JPEG and WebP nearly" {
	command -v convert >/dev/null || skip 'no imagemagick'
	nb-gen plummer -n 20000 | nb-render-ppm -W 160 -H 90 -o want.ppm --label scale --title T
	for name in a.png B.PNG c.jpg d.jpeg e.webp f.g; do
		if ! nb-gen plummer -n 20000 | nb-render-ppm -W 160 -H 90 -o $name --label scale --title T 2>err; then
			grep -q 'is not built in: install lib[a-z]*-dev, and build nb again$' err
			continue
		fi
		[ ! -s err ]
		case $name in
		*.g) cmp $name want.ppm ;;
		*.[Pp][Nn][Gg]) convert $name -depth 8 ppm:- | cmp - want.ppm ;;
		*)
			convert $name -depth 8 ppm:got.ppm
			[ "$(ppm sizes got.ppm)" = 160x90 ]
			close_to "$(ppm total want.ppm 0)" "$(ppm total got.ppm 0)" $((160 * 90))
			[ "$(ppm differ want.ppm got.ppm)" -gt 0 ]
			at_most 70 "$(ppm differ want.ppm got.ppm)"
			;;
		esac
	done
}

# part K FILE: the picture with that number, of 128 x 96
part() { tail -c +$((1 + $1 * 36878)) "$2" | head -c 36878; }

@test "a camera moves evenly from one end of view and zoom to the other" {
	bodies id,mass,x,y,z 0,3,1.025,0.525,0.3 1,1,-0.5,0.2,-1 >pair.nb
	cat pair.nb pair.nb pair.nb pair.nb pair.nb >five.nb
	$GREY 0,600 --view 0:360,25 five.nb >a.ppm
	[ "$(ppm sizes a.ppm | wc -w)" -eq 5 ]
	for k in 0 1 2 3 4; do
		$GREY 0,600 --view $((90 * k)),25 pair.nb | cmp - <(part $k a.ppm)
	done
	# of one frame there are as many as asked for, also through a pipe
	$GREY 0,600 --view 0:360,25 --pictures 5 <pair.nb | cmp - a.ppm
	cat pair.nb | $GREY 0,600 --view 0:360,25 --pictures 5 | cmp - a.ppm
	cat five.nb | $GREY 0,600 --view 0:360,25 --pictures 5 | cmp - a.ppm
	[ "$($GREY 0,600 --view 0:360,25 --pictures 2 five.nb | part 4 - | cmp - <(part 0 a.ppm) && echo arrived)" = arrived ]
	# evenly in the logarithm
	$GREY 0,99 --zoom 1:4 --view xz --pictures 3 pair.nb >b.ppm
	for k in 0 1 2; do
		$GREY 0,99 --zoom $((1 << k)) --view xz pair.nb >c.ppm
		part $k b.ppm >d.ppm
		at_most 1 "$(ppm differ c.ppm d.ppm)"
	done
	fails_with 2 '(want --pictures N)' "cat five.nb | $GREY 0,600 --view 0:360,25"
	fails_with 2 "option '--pictures' needs a camera that moves" "$GREY 0,600 --pictures 3 pair.nb"
	for o in 0:400,0 0,0:91 0:,0 :1,0 0:1:2,0; do fails_with 2 "invalid view '$o'" "$GREY 0,1 --view $o pair.nb"; done
	for o in 0 1:0 -1:2 a 1:2:3 1e13; do fails_with 2 "invalid zoom '$o'" "$GREY 0,1 --zoom $o pair.nb"; done
}

@test "a camera goes smoothly through the key frames of a file" {
	for t in 0 1 2 3 4 5 6; do bodies id,mass,x,y,z 0,3,1.025,0.525,0.3 1,1,-0.5,0.2,-1 | nb-calc "@time = $t"; done >seven.nb
	printf '%s\n' '# time view zoom' '1 0,0 1' '' '3 90,30 2   # near' '5 180,60 1' >camera.txt
	$GREY 0,600 --camera camera.txt seven.nb >a.ppm
	for want in '0 0,0 1' '1 0,0 1' '3 90,30 2' '5 180,60 1' '6 180,60 1'; do
		read -r k view zoom <<<"$want"
		$GREY 0,600 --view "$view" --zoom "$zoom" seven.nb | part 0 - >b.ppm
		part "$k" a.ppm >c.ppm
		at_most 1 "$(ppm differ b.ppm c.ppm)"
	done
	# it starts slowly, and its way is one half in the middle of a straight one
	printf '%s\n' '0 0,0 1 0,0,0' '4 0,0 1 0,0.8,0' >way.txt
	x_at() { part "$1" b.ppm >c.ppm; ppm brightest c.ppm 0 | cut -d' ' -f1; }
	bodies id,mass,x,y,z 0,3,0,0,0 >one.nb
	for t in 0 1 2 3 4; do nb-calc "@time = $t" one.nb; done >ways.nb
	${GREY/--center 0,0,0/} 0,600 --camera way.txt ways.nb >b.ppm
	# smoothstep of 1/4 is 5/32, and a length is 20 pixels
	for want in '0 64' '1 61.5' '2 56' '3 50.5' '4 48'; do close_to "${want#* }" "$(x_at "${want% *}")" 1; done
	R="$GREY 0,1 --camera bad.txt seven.nb"
	while IFS='|' read -r text says; do
		printf '%b' "$text" >bad.txt
		fails_with "${says%% *}" "${says#* }" "$R"
	done <<-'END'
		0 0,0|2 line 1 is no key frame
		0 0,0 1\n\n1 0,0 0|2 line 3 is no key frame
		0 0,99 1|2 line 1 is no key frame
		0 0,0 1 3,4|2 line 1 is no key frame
		0 0,0 1 x,4,5|2 line 1 is no key frame
		0 0,0 1\n0 1,1 1|2 line 2 is not later than the one before
		0 0,0 1\n1 1,1 1 0,0,0|2 line 2 has a centre, or none, unlike those before
		#|1 'bad.txt' has no key frame
	END
	fails_with 1 "'none.txt': No such file or directory" "$GREY 0,1 --camera none.txt seven.nb"
	seq 0 10000 | sed 's/$/ 0,0 1/' >bad.txt
	fails_with 1 "'bad.txt' has more than 10000 key frames" "$R"
	sed -i '$d' bad.txt
	$R | cmp - <($GREY 0,1 --view 0,0 seven.nb)
	for o in '--view xz' '--zoom 2'; do
		fails_with 2 "options '--camera' and '${o% *}' exclude each other" "$GREY 0,1 --camera camera.txt $o seven.nb"
	done
	fails_with 2 "'way.txt' and option '--center' both say where the centre is" "$GREY 0,1 --camera way.txt seven.nb"
}

@test "bodies go on along their orbits between frames" {
	# one is pulled from rest, one flies past where its velocity cannot have led, one is gone later
	bodies frame,time,id,mass,x,y,z,vx,vy,vz 0,0,0,1,-1,1,0,0,0,0 0,0,1,1,-1,0,0,9,0,0 0,0,2,1,-1,-1,0,0.4,0,0 \
		1,1,1,1,1,0,0,9,0,0 1,1,0,1,1,1,0,4,0,0 >two.nb
	nb-render-ppm -W 128 -H 96 --center 0,0,0 --size 4.8 --disc-size 2 --draw discs --between 3 two.nb >a.ppm
	[ "$(ppm sizes a.ppm | wc -w)" -eq 5 ]
	# at ROW PLACE...: where a row is brightest, in each picture: so many lengths from the middle
	at() { python3 - "$@" <<-'END'
		import sys
		data, y = open("a.ppm", "rb").read(), int(sys.argv[1])
		for k, want in enumerate(map(float, sys.argv[2:])):
		    p = data[36878 * k + 14 + 384 * y:][:384:3]
		    lit = [x for x in range(128) if p[x] > 240]
		    assert lit and abs(sum(lit) / len(lit) + 0.5 - 64 - 20 * want) < 0.6, (y, k, lit, want)
	END
	}
	at 28 -1 -0.875 -0.5 0.125 1
	at 48 -1 -0.5 0 0.5 1
	at 68 -1 -0.9 -0.8 -0.7
	[ "$(part 4 a.ppm >b.ppm; ppm pixel b.ppm 0 52 68)" = '0 0 4' ]
	# in a periodic box a body leaves by one side and comes in by the other
	bodies frame,time,id,mass,x,y,z 0,0,0,1,1.9,1,0 0,0,1,1,0.3,-1,0 1,1,0,1,-1.9,1,0 1,1,1,1,-0.5,-1,0 | nb-calc '@box = 4' |
		nb-render-ppm -W 128 -H 96 --center 0,0,0 --size 4.8 --disc-size 2 --draw discs --between 1 >a.ppm
	at 28 1.9 2
	at 68 0.3 -0.1 -0.5
	# it has come in once it is beyond the wall, if the bodies are in [0, 4)
	bodies frame,time,id,mass,x,y,z 0,0,0,1,3.7,2,0 1,1,0,1,0.9,2,0 | nb-calc '@box = 4' |
		nb-render-ppm -W 128 -H 96 --center 2,1,0 --size 4.8 --disc-size 2 --draw discs --between 1 >a.ppm
	at 28 1.7 -1.7 -1.1
	# frames themselves are as without
	nb-render-ppm -W 128 -H 96 --by speed plummer.nb >b.ppm
	cat plummer.nb plummer.nb | nb-render-ppm -W 128 -H 96 --by speed --between 1 --expose first >a.ppm
	for k in 0 1 2; do part $k a.ppm | cmp - b.ppm; done
}

@test "pictures of several frames are files with numbers from 0, of one it is the file" {
	cat plummer.nb plummer.nb single.nb >three.nb
	nb-render-ppm -W 8 -H 8 -o one.png plummer.nb
	nb-render-ppm -W 8 -H 8 -o run.png three.nb
	nb-render-ppm -W 8 -H 8 -o 'n%d.png' three.nb
	nb-render-ppm -W 8 -H 8 -o 'z-%04d-x.png' plummer.nb
	for f in z-0000-x.png one.png run-000000.png run-000001.png n1.png; do cmp $f n0.png; done
	cmp run-000002.png n2.png
	run ! cmp -s n1.png n2.png
	equals "$(echo one.png* run-* run.png n[0-9].png z-*)" 'one.png run-000000.png run-000001.png run-000002.png run.png n0.png n1.png n2.png z-0000-x.png'
	[ ! -e run.png ]
	for name in 'a%.png' 'a%s.png' 'a%d%d.png' 'a%3d.png' '%05.png' 'a%d%%.jpg'; do
		fails_with 2 "invalid output '$name' (want one %d or %06d" "nb-render-ppm -W 8 -H 8 -o '$name' plummer.nb"
	done
	fails_with 1 "there is no frame, and so no 'none.png'" 'nb-render-ppm -o none.png "$NB_TOP/tests/corpus/good/no-frames.nb"'
	fails_with 1 "'/dev/full/a.png': Not a directory" 'nb-render-ppm -W 8 -H 8 -o /dev/full/a.png plummer.nb'
	# a broken stream leaves no picture under the name that is only right for a whole one
	head -c 5000 plummer.nb | cat plummer.nb - >cut.nb
	run ! nb-render-ppm -W 8 -H 8 -o cut.png cut.nb
	equals "$(echo cut*)" cut.nb
}

# a program in the place of ffmpeg that keeps what it gets
fake_ffmpeg() {
	mkdir -p fake
	printf '#!/bin/sh\necho "$@" >args\n%s\n' "$1" >fake/ffmpeg
	chmod +x fake/ffmpeg
}

@test "the name of a film starts ffmpeg, which gets all pictures and the file" {
	cat plummer.nb plummer.nb single.nb >three.nb
	nb-render-ppm -W 16 -H 8 three.nb | python3 -c "
import re, sys
sys.stdout.buffer.write(re.sub(rb'P6\n16 8\n255\n', b'', sys.stdin.buffer.read()))" >want.rgb
	[ "$(wc -c <want.rgb)" -eq $((3 * 3 * 16 * 8)) ]
	fake_ffmpeg 'cat'
	PATH=$PWD/fake:$PATH nb-render-ppm -W 16 -H 8 --fps 12.5 -o f.mp4 three.nb 2>said
	cmp f.mp4 want.rgb
	equals "$(<said)" "nb-render-ppm: 'f.mp4' lasts 0.24 seconds: 3 pictures, 12.5 in a second (--between draws more, --fps shows each for longer)"
	grep -q -- '-f rawvideo -pix_fmt rgb24 -s 16x8 -framerate 12.5 -i pipe:0 -f mp4 .* /dev/fd/1$' args
	PATH=$PWD/fake:$PATH nb-render-ppm -W 16 -H 8 -o h.mp4 single.nb 2>said
	equals "$(<said)" "nb-render-ppm: 'h.mp4' is a film of one picture, as the stream has one frame (nb-step --every 1 writes more, --pictures goes round one)"
	PATH=$PWD/fake:$PATH nb-render-ppm -W 16 -H 8 --pictures 3 --view 0:360,20 -o h.mp4 single.nb 2>said
	equals "$(<said)" "nb-render-ppm: 'h.mp4' lasts 0.1 seconds: 3 pictures, 30 in a second (--pictures draws more, --fps shows each for longer)"
	for o in '--fps 3' '--between 14'; do
		# shellcheck disable=SC2086 # words
		PATH=$PWD/fake:$PATH nb-render-ppm -W 16 -H 8 $o -o h.mp4 three.nb 2>said
		equals "$(<said)" ''
	done
	# what goes wrong there is said, and leaves nothing
	fake_ffmpeg 'head -c 10; exit 3'
	fails_with 1 "ffmpeg, which makes 'g.mp4', ended with exit status 3" 'PATH=$PWD/fake:$PATH nb-render-ppm -W 1600 -H 900 -o g.mp4 three.nb'
	fake_ffmpeg 'kill -9 $$'
	fails_with 1 "ended with signal 9" 'PATH=$PWD/fake:$PATH nb-render-ppm -W 8 -H 8 -o g.mp4 three.nb'
	equals "$(echo g.*)" 'g.*'
	# the film of what came before a failure of the input has the name of a part
	fake_ffmpeg 'cat'
	head -c 5000 plummer.nb | cat three.nb - >cut.nb
	run ! env PATH="$PWD/fake:$PATH" nb-render-ppm -W 16 -H 8 -o g.mp4 cut.nb
	cmp g.mp4.part want.rgb
	[ ! -e g.mp4 ]
	fails_with 1 "'g.gif' needs ffmpeg, which is not there (install ffmpeg" 'p=$(command -v nb-render-ppm); PATH=/nowhere "$p" -o g.gif three.nb'
	fails_with 2 "output 'a.bmp': no such pictures are written (want .png" 'nb-render-ppm -o a.bmp three.nb'
	fails_with 2 "output 'a.BMP': no such pictures are written (want .png" 'nb-render-ppm -o a.BMP three.nb'
	fails_with 2 "option '--fps' needs a film" 'nb-render-ppm --fps 3 -o a.png three.nb'
	fails_with 2 "option '--fps' needs a film" 'nb-render-ppm --fps 3 three.nb'
}

# interrupted_film FILE COMMAND: a film whose command gets Ctrl-C once two pictures of it are there is whole, under its name
interrupted_film() {
	fake_ffmpeg 'cat'
	PATH=$PWD/fake:$PATH timeout 600 env --default-signal=INT setsid bash -c "echo \$\$ >pid; $2" 2>said &
	two_are_there() { [ -e "$1" ] && [ "$(stat -c %s "$1")" -ge $((2 * 3 * 16 * 8)) ]; }
	wait_until two_are_there "$1.part"
	kill -INT -- -"$(<pid)"
	wait || true
	[ ! -e "$1.part" ]
	[ -s "$1" ]
	[ $(($(stat -c %s "$1") % (3 * 16 * 8))) -eq 0 ]
}

@test "Ctrl-C in a run ends its film with the last frame" {
	interrupted_film c.mp4 "nb-gen plummer -n 200 |
		nb-step -d 0.001 -k 200000 --every 1 'nb-force -e 0.05' | nb-render-ppm -W 16 -H 8 -o c.mp4"
}

@test "Ctrl-C while the camera goes round the last frame ends the film with what there is" {
	interrupted_film r.mp4 "exec nb-render-ppm -W 16 -H 8 --pictures 100000000 --view 0:360,20 -o r.mp4 single.nb"
	equals "$(<said)" ''
}

# bats test_tags=once
@test "ffmpeg makes films of all kinds" {
	command -v ffmpeg >/dev/null && command -v ffprobe >/dev/null || skip 'no ffmpeg'
	cat plummer.nb plummer.nb plummer.nb >three.nb
	for ending in mp4 gif; do
		nb-render-ppm -W 128 -H 72 --fps 10 -o film.$ending three.nb
		[[ $(ffprobe -v error -count_frames -show_entries stream=nb_read_frames,width,height,r_frame_rate -of csv=p=0 film.$ending) == 128,72,10/1,3* ]]
		[[ $(ffprobe -v error -show_entries format=format_name -of csv=p=0 film.$ending) == *$ending* ]]
	done
}

@test "options that would be ignored are refused" {
	R='nb-render-ppm'
	S='<plummer.nb'
	fails_with 2 "'--colormap' has no meaning with '--by species'" "$R --by species --colormap viridis $S"
	fails_with 2 "colormap 'gray' has no hues for '--by speed'" "$R --by speed --colormap gray $S"
	fails_with 2 "'--speed-range' needs '--by speed'" "$R --speed-range 0,1 $S"
	fails_with 2 "'--hide' and '--only' exclude each other" "$R --hide 1 --only 2 $S"
	fails_with 2 "'--by-range' needs '--by speed' or a column" "$R --by-range 0,1 $S"
	fails_with 2 "'--by-scale' needs '--by speed' or a column" "$R --by id --by-scale log $S"
	fails_with 2 "'--by-range' and '--speed-range' exclude each other" "$R --by speed --by-range 0,1 --speed-range 0,1 $S"
	fails_with 2 "'--center' and '--follow' exclude each other" "$R --center 0,0 --follow com $S"
	fails_with 2 "'--size' and '--fit' exclude each other" "$R --size 2 --fit all $S"
	fails_with 2 "'--range' and '--expose' exclude each other" "$R --range 1,2 --expose first $S"
	fails_with 2 "'--disc-size' needs '--draw discs'" "$R --disc-size 3 $S"
	fails_with 2 "label 'colour' has no meaning with '--by id'" "$R --by id --label colour $S"
	fails_with 1 'no colours to label in frame 0' "$R --draw discs --label colour $S"
	for o in '--range 1,2' '--stretch log' '--neighbours 3' '--expose frame'; do
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

@test "bodies that fill a periodic box are shown in it; a part of them, and what is given, as in an open system" {
	seen() { nb-render-ppm -v -W 32 -H 32 "$@" 2>&1 >/dev/null | sed -n 's/.*--\(center\|size\) /\1 /p' | paste -s -d ' '; }
	nb-gen uniform -n 2000 | nb-calc 'pos = 8 * (pos + 0.5)' '@box = 8' >box.nb
	[ "$(seen <box.nb)" = 'center 4,4,4 size 8' ]
	[[ "$(seen --view 45,0 <box.nb)" = 'center 4,4,4 size 11.3'* ]]
	[[ "$(seen --center 1,2,3 <box.nb)" = 'center 1,2,3 size 8' ]]
	[[ "$(seen --size 20 <box.nb)" = *' size 20' ]]
	# a few beyond the wall change nothing; where many are, all are seen
	[ "$(nb-calc 'x += id < 90 ? 40 : 0' box.nb | seen)" = 'center 4,4,4 size 8' ]
	nb-calc 'x += id % 2 * 40' box.nb >wide.nb
	[ "$(seen <wide.nb)" = "$(nb-calc '@box = 0' wide.nb | seen)" ]
	[ "$(nb-select --where 'x < 2 and y < 2 and z < 2' <box.nb | seen)" = \
		"$(nb-select --where 'x < 2 and y < 2 and z < 2' <box.nb | nb-calc '@box = 0' | seen)" ]
}

@test "a periodic box that is moved across its walls is the same picture, moved, and nothing is outside of the walls" {
	# rolls A B: pixels of B are those of A half a box, 48 of 160 x 96, further to the right and up, in the box and around it
	rolls() { python3 - "$1" "$2" <<-'END'
		import sys
		a, b = [open(name, "rb").read()[-3 * 160 * 96:] for name in sys.argv[1:]]
		at = lambda p, x, y: p[3 * (160 * y + x):3 * (160 * y + x) + 3]
		box = [(x, y) for y in range(96) for x in range(96)]
		off = [abs(i - k) for x, y in box for i, k in zip(at(a, 32 + x, y), at(b, 32 + (x + 48) % 96, (y - 48) % 96))
			if min(abs(x - 48), abs(y - 48), x, y, 95 - x, 95 - y) < 3]
		mean = sum(off) / len(off)
		outside = [at(p, x, y) for p in (a, b) for y in range(96) for x in [*range(32), *range(128, 160)]]
		assert mean <= 2 and len(set(outside)) == 1 and len({at(a, 32 + x, y) for x, y in box}) > 9, (mean, len(set(outside)))
	END
	}
	nb-gen uniform -n 12000 | nb-calc 'pos = 8 * (pos + 0.5)' 'pos += sin(2 * pi * pos / 8)' 'vx = random()' '@box = 8' |
		nb-transform --shift 0,0,0 >many.nb
	nb-select --where 'id < 3000' <many.nb >box.nb
	nb-calc 'species = id % 3' box.nb >kinds.nb
	nb-select --where 'id % 200 == 0' <box.nb | nb-calc 'radius = 0.5' >few.nb
	nb-step -d 0.7 -k 3 --every 1 'nb-force -e 1' few.nb >moves.nb
	for o in box many few 'moves --trail 3' 'kinds --by species' 'box --by speed --draw density --view xz' 'box --draw discs --sky light'; do
		# shellcheck disable=SC2086 # words
		set -- $o --center 4,4,4 --size 8
		nb-render-ppm -W 160 -H 96 "${@:2}" "$1.nb" >a.ppm
		nb-transform --shift 4,4,4 "$1.nb" | nb-render-ppm -W 160 -H 96 "${@:2}" >b.ppm
		rolls a.ppm b.ppm
	done
	# enlarged at a corner, what is beyond the opposite walls still comes in
	nb-render-ppm -W 64 -H 64 --size 8 --zoom 8 --center 0.5,0.5,4 --draw discs few.nb >a.ppm
	nb-transform --shift 4,4,4 few.nb | nb-render-ppm -W 64 -H 64 --size 8 --zoom 8 --center 4.5,4.5,4 --draw discs >b.ppm
	cmp a.ppm b.ppm
	[ "$(ppm lit a.ppm 0 40)" -gt 0 ]
	# without a box, and where the axes are no edges of the picture, bodies fade out
	nb-calc '@box = 0' box.nb | nb-render-ppm -W 160 -H 96 --center 4,4,4 --size 8 >a.ppm
	run ! rolls a.ppm a.ppm
}

@test "a cosmological frame is labelled with its redshift and the units of its box" {
	D='nb-render-ppm -W 640 -H 360'
	nb-gen lpt -n 512 --box 50 --redshift 4 | nb-calc '@softening = 0' >box.nb
	$D --label time box.nb >z.ppm
	# neither its scale factor nor a time
	nb-calc '@omega0 = 0' box.nb | $D --label time | run ! cmp -s z.ppm -
	nb-calc '@omega0 = 0' '@time = 4' box.nb | $D --label time >t.ppm
	mutate attribute units none <box.nb | $D --label time | cmp z.ppm
	run ! cmp -s z.ppm t.ppm
	nb-calc '@redshift = 9' '@time = 0.1' box.nb | $D --label time | run ! cmp -s z.ppm -
	# what does not agree is no redshift
	nb-calc '@redshift = 3' box.nb | $D --label time >wrong.ppm
	nb-calc '@omega0 = 0' box.nb | $D --label time | cmp - wrong.ppm
	$D --label scale box.nb >a.ppm
	mutate attribute units Mpc/h,1e10Msun/h,km/s <box.nb | $D --label scale | cmp a.ppm
	mutate attribute units none <box.nb | $D --label scale | run ! cmp -s a.ppm -
	# (1e10 Msun/h) / (Mpc/h)^2
	mutate attribute units 'Mpc,1e10 Msun h,km/s' <box.nb | $D --draw density --label colour >b.ppm
	$D --draw density --label colour box.nb | cmp b.ppm
}
