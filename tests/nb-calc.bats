#!/usr/bin/env bats
# nb-calc: columns and attributes by expressions.
# as a filter: nb-calc e=v2/2 mass*=2

load helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
}

# one NAME: the first number of a column of the stream on stdin
one() { mutate show "$1" | head -n 1; }

# fields: name, type, components and unit of the columns on stdin, a line each; - for no unit
fields() { nb-stats --fields | awk 'NR > 1 { unit = $6; for (i = 7; i <= NF - 2; i++) unit = unit " " $i; print $2, $4, $5, unit }'; }

@test "the energy of each body is what awk makes of its CSV, to the last bits" {
	nb-gen plummer -n 3000 | nb-force -e 0.01 --potential | nb-calc 'e = 0.5*v2 + pot' 'l2 = l^2' >e.nb
	nb-convert --no-comments --to csv <e.nb >e.csv
	head -n 1 e.csv | grep -q -x 'id,mass,x,y,z,vx,vy,vz,ax,ay,az,pot,e,l2'
	awk -F, 'NR > 1 {
		e = 0.5 * ($6 * $6 + $7 * $7 + $8 * $8) + $12
		a = $4 * $8 - $5 * $7; b = $5 * $6 - $3 * $8; c = $3 * $7 - $4 * $6; l = a * a + b * b + c * c
		d = (e - $13) / (e < 0 ? -e : e); m = (l - $14) / l
		if (!(d * d < 1e-28 && m * m < 1e-28)) { print NR ": " e " " $13 " " l " " $14; exit 1 } n++ }
		END { exit n != 3000 }' e.csv
}

@test "assignments are carried out in order, and short forms change what is there" {
	nb-gen plummer -n 5 >p.nb
	nb-calc 'a = 2' 'b = a + 1' 'a *= 10' 'a -= b' 'a /= 4' 'a ^= 2' 'a %= 10' 'a += 0.5' <p.nb >q.nb
	equals "$(one a <q.nb)" 8.5625
	equals "$(one b <q.nb)" 3.0
	nb-calc 'mass *= 2' <p.nb | nb-calc 'mass /= 2' | nb-stats --format tsv >back.tsv
	nb-stats --format tsv <p.nb | cmp - back.tsv
}

@test "a component and a vector are set, and the rest stays" {
	nb-gen plummer -n 50 --no-history | mutate add strange >p.nb
	nb-calc --no-history 'x = x' 'vy = vy' 'pos = pos' 'strange = strange' 'strange_1 = strange[1]' <p.nb >same.nb
	cmp p.nb same.nb
	nb-calc 'vy = row' 'pos[2] += 1' 'strange[1] = 7' <p.nb >q.nb
	equals "$(mutate show vel <q.nb | awk '{ print $2 + 0 }' | paste -sd ' ')" "$(seq -s ' ' 0 49)"
	paste -d ' ' <(mutate show pos <p.nb) <(mutate show pos <q.nb) |
		awk '!($1 == $4 && $2 == $5 && ($6 - $3 - 1) ^ 2 < 1e-30) { exit 1 }'
	equals "$(mutate show strange <q.nb | head -n 2 | paste -sd ' ')" '0 7 2 3 7 5'
	nb-calc 'pos -= sum(mass*pos)/sum(mass)' 'vel -= sum(mass*vel)/sum(mass)' '@x = sum(x)' '@vz = sum(vz)' \
		'@d = max(abs(norm(pos) - r))' <p.nb | nb-stats --attributes >attributes
	awk -F = '$1 ~ /^(x|vz|d)$/ { n++; if (!($2 ^ 2 < 1e-26)) exit 1 } END { exit n != 3 }' attributes
	# a new column, whose name looks like a component that there is not
	equals "$(nb-calc 'strange_7 = row' <p.nb | mutate show strange_7 | tail -n 1)" 49.0
	# of a new standard column
	nb-gen kepler | nb-calc 'acc = -pos/r^3' | fields | grep -q -x 'acc <f8 3 acceleration'
}

@test "whole numbers are exact up to 2^64 - 1" {
	printf 'id,mass,x,y,z\n18446744073709551615,1,0,0,0\n18446744073709551614,1,1,0,0\n' | nb-convert --from csv >p.nb
	nb-calc --dtype u8 'last = id == 18446744073709551615' 'copy = id' 'id -= 1000' 'near = copy - id == 1000' <p.nb >q.nb
	equals "$(mutate show near <q.nb | paste -sd ' ')" '1 1'
	fails_with 1 "'copy = id': a whole number in row 0 of frame 0 is too large for type f8 (want --dtype u8)" "nb-calc 'copy = id' <p.nb"
	fails_with 1 "(want --dtype i8)" "nb-calc 'copy = 0 - id' <p.nb"
	equals "$(mutate show last <q.nb | paste -sd ' ')" '1 0'
	equals "$(mutate show copy <q.nb | paste -sd ' ')" '18446744073709551615 18446744073709551614'
	equals "$(mutate show id <q.nb | paste -sd ' ')" '18446744073709550615 18446744073709550614'
	nb-calc '@last = max(id)' '@above = max(id) + 1 - 2' '@below = min(id) - max(id)' <p.nb | nb-stats --attributes >a
	for line in last=18446744073709551615 above=18446744073709551614 below=-1; do grep -q -x -- "$line" a; done
	nb-calc '@last = max(id)' <p.nb | nb-calc 'last = @last == id' | mutate show last | paste -sd ' ' >shown
	equals "$(<shown)" '1 0'
	fails_with 1 "'id += 1': 18446744073709551616 is not a whole number from 0 to 18446744073709551615 in row 0 of frame 0" \
		"nb-calc 'id += 1' <p.nb"
}

@test "types: as the result is, as the column is, as field.def says, and as --dtype says" {
	nb-gen plummer -n 10 --precision f32 >p.nb
	nb-calc 'real = 1.5' 'natural = row' 'condition = x > 0' 'species = 1' 'radius = 1' <p.nb | fields >f
	diff - f <<-'END'
		id <u8 1 -
		mass <f4 1 mass
		pos <f4 3 length
		vel <f4 3 velocity
		real <f8 1 -
		natural <f8 1 -
		condition |u1 1 -
		species |u1 1 -
		radius <f8 1 length
	END
	nb-calc 'mass *= 2' 'pos = pos' 'x = 1' <p.nb | fields | grep -c '<f4' | grep -q -x 3
	nb-calc --dtype f8 'mass *= 2' 'id = id' 'x = 1' 'q = 1' <p.nb | fields >f
	diff - f <<-'END'
		id <u8 1 -
		mass <f8 1 mass
		pos <f4 3 length
		vel <f4 3 velocity
		q <f8 1 -
	END
	nb-calc --dtype u2 'id = row' 'mass = 1' 'q = 65535' <p.nb >q.nb
	equals "$(fields <q.nb | awk '{ print $2 }' | paste -sd ' ')" '<u2 <f4 <f4 <f4 <u2'
	equals "$(one q <q.nb)" 65535
	nb-stats --check <q.nb
	for t in f8 f4 u8 u4 u2 u1 i8 i4 i2 i1; do
		equals "$(nb-calc --dtype $t 'q = 100 + row' <p.nb | mutate show q | awk 'END { print $1 + 0 }')" 109
	done
	local set
	for set in 'pos = 1' 'pos[0] = 1' 'x = 1' 'mass[0] = 1'; do
		fails_with 2 "option '--dtype' has no effect on components of columns, and standard columns of another kind" \
			"nb-calc --dtype u8 '$set' '@a = 1' <p.nb"
	done
	fails_with 2 "option '--dtype' has no effect on components" "nb-calc --dtype f4 'pos[0] = 1' <p.nb"
	fails_with 1 'standard columns of another kind (such as u8 for f8) in frame 0' "nb-calc --dtype f4 'pos_0 = 1' <p.nb"
	equals "$(nb-calc --dtype f8 'mass[0] = 1' <p.nb | fields | grep -c '<f8')" 1
	fails_with 1 '256 is not a whole number from 0 to 255 in row 0' "nb-calc 'species = 256' <p.nb"
	fails_with 1 '0.5 is not a whole number from 0 to 255 in row 1' "nb-calc 'species = row/2' <p.nb"
	fails_with 1 '-129 is not a whole number from -128 to 127 in row 3' "nb-calc --dtype i1 'q = -126 - row' <p.nb"
	fails_with 1 'the result is inf in row 2' "nb-calc 'mass = row == 2 ? 1e39 : 1' <p.nb"
}

@test "units follow from the expression, are kept, or are given" {
	nb-gen plummer -n 10 | nb-force --potential >p.nb
	nb-calc 'e = 0.5*v2 + pot' 'k = mass*e' 'j = mass*l' 'rho = mass/r^3' 't = r/v' 'f = mass*acc' 'w = vphi/R' 'q = r/x' \
		'c = sin(x) + 1' 'g = @G*mass/r' 's = sqrt(v2)' 'd = r - 1' 'given [km/s] = 3' 'mass = 1' 'x [pc] = x' \
		'u = given*r' 'm = r + mass' 'two = given + 1' <p.nb | fields | awk '{ $2 = $3 = ""; print }' | tr -s ' ' >f
	diff - f <<-'END'
		id -
		mass mass
		pos pc
		vel velocity
		e velocity^2
		k mass velocity^2
		j mass length velocity
		rho mass/length^3
		t time
		f mass acceleration
		w time^-1
		q -
		c -
		g velocity^2
		s velocity
		d length
		given km/s
		u km pc/s
		m -
		two km/s
	END
	nb-calc -v 'm = r + mass' 'pot = x' <p.nb 2>err | fields >f
	grep -q -x "nb-calc: frame 0: 'm = r + mass': units: 'length' and 'mass' at character 7; the column gets none" err
	grep -q -x "nb-calc: frame 0: 'pot = x': units: a result in 'length' for a column in 'velocity^2'" err
	grep -q -x 'pot <f8 1 velocity^2' f
	nb-calc 'm = r + mass' <p.nb 2>err >m.nb
	[ ! -s err ]
}

@test "what follows from a column is dropped when it is set" {
	nb-gen plummer -n 200 | nb-sort-zorder | nb-build-tree | nb-force --potential -t 0.5 -e 0.1 --no-history >t.nb
	names() { nb-calc "$@" <t.nb | tee out.nb | nb-stats --fields | awk 'NR > 1 && $3 == "particle" { print $2 }' | paste -sd ' '; }
	equals "$(names 'vel *= 2')" 'id mass pos vel key acc pot'
	nb-force --no-history -t 0.5 -e 0.1 <out.nb >/dev/null
	equals "$(names 'mass *= 2')" 'id mass pos vel key'
	run ! grep -q ' node ' <(nb-stats --fields out.nb)
	nb-build-tree <out.nb | nb-force -t 0.5 >/dev/null
	equals "$(names 'z += 0')" 'id mass pos vel'
	run ! grep -q -x -e 'key_cube=.*' -e 'leaf_size=.*' <(nb-stats --attributes <out.nb)
	equals "$(names 'species = 1')" 'id mass pos vel key acc pot species'
	equals "$(names '@softening = 0.1' '@G = 1')" 'id mass pos vel key acc pot'
	equals "$(names '@softening = 0.2')" 'id mass pos vel key'
	equals "$(names '@G = 2')" 'id mass pos vel key'
	nb-force -t 0.5 <out.nb >/dev/null
	nb-gen kepler | nb-force --jerk >j.nb
	equals "$(nb-calc 'vx = vx' <j.nb | fields | awk '{ print $1 }' | paste -sd ' ')" 'id mass pos vel acc'
	nb-gen boxes --level 2 | nb-sort-zorder | nb-build-tree --kind boxes --level 2 >b.nb
	nb-calc 'mass *= 2' <b.nb | nb-force -m near >/dev/null
	fails_with 1 'no boxes in frame 0' "nb-calc 'x *= 1' <b.nb | nb-sort-zorder | nb-force -m near"
	fails_with 1 "'e = pot': no column 'pot' in frame 0 ('x += 1' made it stale)" "nb-calc 'x += 1' 'e = pot' <t.nb"
	nb-calc -v 'x += 1' <t.nb 2>&1 >/dev/null | grep -q -x "nb-calc: frame 0: 'x += 1' makes stale, and drops: key acc pot tree"
	# time and the rest that rounding has left of it
	nb-gen plummer -n 2 | nb-force | nb-step -d 0.1 | nb-force | nb-step -d 0.1 | nb-force | nb-step -d 0.1 >s.nb
	nb-stats --attributes <s.nb | grep -q '^time_rest='
	run ! grep -q '^time_rest=' <(nb-calc '@time = 0' <s.nb | nb-stats --attributes)
	# names belong to ids
	run ! grep -q '^names=' <(nb-gen solar | nb-calc 'id += 1' | nb-stats --attributes)
}

@test "attributes are numbers and texts" {
	nb-gen plummer -n 100 >p.nb
	nb-calc '@softening = 0.1' '@model = "king"' "@empty = ''" '@rms = sqrt(mean(r2))' '@many = n*10' '@is = @model == "king"' \
		'@time = time + 0.5' '@time *= 2' '@big = 1e300' '@there = count(x > 0) + count(x <= 0)' <p.nb | nb-stats --attributes >a
	for line in softening=0.1 model=king empty= many=1000 is=1 time=1 big=1e+300 there=100; do grep -q -x -F -- "$line" a; done
	[ "$(grep -c '^time=' a)" -eq 1 ]
	nb-convert --no-comments --to csv <p.nb | awk -F, 'NR > 1 { s += $3 ^ 2 + $4 ^ 2 + $5 ^ 2 } END { printf "%.12f\n", sqrt(s / 100) }' >want
	close_to "$(<want)" "$(sed -n 's/^rms=//p' a)" 1e-11
	fails_with 1 "'@a = x': an attribute is the same for all bodies of frame 0 (want such as max(x) or mean(x))" "nb-calc '@a = x' <p.nb"
	fails_with 1 "'@a = 0/0': the result is nan in frame 0" "nb-calc '@a = 0/0' <p.nb"
	fails_with 1 "'@softening = -1': softening is -1 (want a number >= 0)" "nb-calc '@softening = -1' <p.nb"
	fails_with 1 "attribute G='a' of frame 0 is not a number" "nb-calc '@G = \"a\"' <p.nb"
	fails_with 1 "attribute dim='4' of frame 0 (want 2 or 3)" "nb-calc '@dim = 4' <p.nb"
	fails_with 1 'attribute dim is 2 in frame 0, but z of the body with id 0 is' "nb-calc '@dim = 2' <p.nb"
	nb-calc 'z = 0' 'vz = 0' '@dim = 2' <p.nb | nb-sort-zorder | nb-stats --attributes | grep -q -x dim=2
	fails_with 1 'but vz of the body with id 0 is' "nb-calc 'z = 0' '@dim = 2' <p.nb"
	local set
	nb-gen uniform --dim 2 -n 3 | nb-force >flat.nb
	for set in 'z = row == 1' 'pos_2 = row == 1' 'pos[2] = row == 1' 'pos += row == 1'; do
		fails_with 1 'but z of the body with id 1 is 1' "nb-calc '$set' <flat.nb"
	done
	fails_with 1 'attribute dim is 2 in frame 0, but vz of the body with id 0 is 1' "nb-calc 'vz = 1' <flat.nb"
	fails_with 1 'but vz of the body with id 0 is' "nb-calc 'vel = normal()' <flat.nb"
	fails_with 1 'but az of the body with id 0 is 2' "nb-calc 'acc_2 = 2' <flat.nb"
	nb-calc 'pos_1 = row' 'vx = 1' 'acc = -pos' <flat.nb | nb-convert --to csv >/dev/null
	fails_with 1 "no attribute '@nothing' in frame 0 (there are: @time @G @dim" "nb-calc 'e = @nothing' <p.nb"
	fails_with 1 'is not a whole number from' "nb-calc '@a = 18446744073709551616' <p.nb"
}

@test "random numbers are those of the body: in every run, frame and order" {
	nb-gen plummer -n 20000 >p.nb
	cat p.nb p.nb | nb-calc 'u = random()' 'g = normal()' 'h = normal()' >two.nb
	nb-calc -j 3 'u = random()' 'g = normal()' 'h = normal()' <p.nb | mutate show u >u.txt
	mutate show u <two.nb | cmp - u.txt
	nb-convert --no-comments --to csv --frame 1 <two.nb | cut -d , -f 9 | tail -n +2 | awk '{ printf "%.17g\n", $1 }' >second
	awk '{ printf "%.17g\n", $1 }' u.txt | cmp - second
	nb-sort-zorder <p.nb | nb-calc 'u = random()' >s.nb
	mutate show id u <s.nb | sort -n | cut -d ' ' -f 2 | cmp - u.txt
	run cmp -s <(nb-calc -s 1 'u = random()' <p.nb | mutate show u) u.txt
	[ "$status" -eq 1 ]
	fails_with 2 "option '--seed' needs random() or normal()" "nb-calc -s 1 'u = x' <p.nb"
	# mean, variance and correlation within four standard deviations
	paste -d ' ' u.txt <(mutate show g <two.nb) <(mutate show h <two.nb) | awk '{ a += $1; b += $1 ^ 2; c += $2; d += $2 ^ 2; e += $2 * $3
		if (!($1 > 0 && $1 < 1)) exit 1 } END { n = NR; exit !(n == 20000 && (a / n - 0.5) ^ 2 < 16 / 12 / n &&
		(b / n - 1 / 3) ^ 2 < 16 * 4 / 45 / n && (c / n) ^ 2 < 16 / n && (d / n - 1) ^ 2 < 16 * 2 / n && (e / n) ^ 2 < 16 / n) }'
	nb-calc 'vel = normal()' <p.nb | mutate show vel | awk '{ a += $1 * $2; b += $2 * $3 } END { exit !((a / NR) ^ 2 < 16 / NR && (b / NR) ^ 2 < 16 / NR) }'
}

# bats test_tags=once
@test "formulas are made of pos and vel, whatever other columns are called" {
	nb-gen plummer -n 50 >p.nb
	local f
	for f in r R v speed vr vt vphi phi; do
		nb-calc 'r2 = 4711' 'R = 7' 'l = 2' 'v2 = 1' 'lx = 3' 'lz = 8' "q = $f" <p.nb | mutate show q >got
		[ "$f" = R ] || nb-calc "q = $f" <p.nb | mutate show q | cmp - got
	done
	nb-calc 'r = 100' 'q = vr' <p.nb | mutate show q | cmp - <(nb-calc 'q = vr' <p.nb | mutate show q)
	# the name itself is the column
	for f in r R v speed r2 v2 vr vt vphi lx lz l; do
		equals "$(nb-calc "$f = 5" "q = $f" <p.nb | one q)" 5.0
	done
	fails_with 1 "'e = v': no column 'vel' in frame 0 (there are: id mass x y z)" "nb-select --drop vel p.nb | nb-calc 'e = v'"
}

@test "assignments are operands, or divided by ';' outside of quotes and braces" {
	nb-gen plummer -n 10 >p.nb
	nb-calc --no-history 'vel.z = 0' '@model = "a;b"' '{c;d} = x' 'q = random()' <p.nb >want.nb
	nb-calc --no-history 'vel.z = 0; @model = "a;b";{c;d} = x ; q = random();' <p.nb | cmp - want.nb
	nb-calc --no-history 'vz = 0;@model = "a;b"' '{c;d} = x; q = random() ; ' p.nb | cmp - want.nb
	nb-calc 'pos.y *= 0; vel.x = 1' <p.nb | nb-select --where 'not (y != 0 or vx != 1) and pos[1] == 0' | nb-stats --format tsv | stat_of n >count
	equals "$(cat count)" 10
	fails_with 2 "'b': expected NAME = EXPRESSION: '=' at character 2" "nb-calc 'a = 1; b' <p.nb"
	fails_with 2 "'': expected NAME = EXPRESSION: a name at character 1" "nb-calc 'a = 1;; b = 2' <p.nb"
	fails_with 2 "'pos.w = 1': expected .x, .y or .z" "nb-calc 'pos.w = 1' <p.nb"
}

@test "the message says what is wrong, and where" {
	nb-gen plummer -n 10 >p.nb
	calc() { fails_with "$1" "nb-calc: '$2': $3" "nb-calc \"$2\" <p.nb"; }
	calc 1 'e = 0.5*v3' "no column 'v3' in frame 0 (there are: id mass x y z vx vy vz)"
	calc 1 'e = 0.5*v2 + pot' "no column 'pot' in frame 0 (there are: id mass x y z vx vy vz)"
	calc 2 'e = (1 + 2' "expected ')' at character 11"
	calc 2 'e = 1 +' "expected a number, a name or '(' at character 8"
	calc 2 'e == 1' "expected NAME = EXPRESSION: '=' at character 3"
	calc 2 'e' "expected NAME = EXPRESSION: '=' at character 2"
	calc 2 'e = x < y < z' 'comparisons are not chained (a < b && b < c) at character 11'
	calc 2 'e = foo(1)' "no function 'foo' (there are: abs acos"
	calc 1 'e = x ? 1 : 2' 'expected a condition, such as r < 2, at character 5'
	calc 1 'mass = pos' 'the result is a vector of 3 components, where 1 is expected'
	calc 1 'e = pos + strange' "no column 'strange'"
	calc 1 'vx = 1/(row - 3)' 'the result is inf in row 3 of frame 0'
	calc 1 'e = log(-r)' 'the result is nan in row 0 of frame 0'
	calc 1 'e = id % row' 'a remainder of a division by 0 at character 8 in row 0 of frame 0'
	calc 1 "e = 'text'" "a column cannot be set to a text (an attribute can: '@e = ...')"
	calc 1 'ax = 1' "no column 'acc' in frame 0 (set the whole of it before: 'acc = 0')"
	calc 1 'pos[3] = 1' "no component 3 of 'pos' in frame 0, which has 3"
	calc 1 'vx[1] = 1' "no component 1 of 'vx' in frame 0, which has 1"
	calc 1 'q[1] = 1' "no column 'q' in frame 0"
	calc 2 'time = 1' "'time' is the same for all bodies (want '@time = ...')"
	calc 2 'n = 1' "'n' cannot be set"
	calc 2 'key = 1' "column 'key' is made by nb-sort-zorder, and cannot be set"
	calc 2 'node_mass = 1' "column 'node_mass' is made by nb-build-tree, and cannot be set"
	calc 2 '@history = 1' "every program adds its line to 'history', which cannot be set"
	calc 2 '@tree = 1' "'tree' says what nb-sort-zorder and nb-build-tree have made, and cannot be set"
	calc 2 '@{a b} = 1' "'a b' is no name of an attribute (want letters, digits and _)"
	calc 2 '{a b} = 1' 'the name of a column is plain ASCII without blanks'
	calc 2 'a123456789012345678901234567890123 = 1' 'the name of a column has at most 32 characters'
	calc 2 'e [a123456789012345678901234] = 1' 'a unit has at most 24 characters'
	fails_with 1 "field 'mass' of the body with id 4 is -1 in frame 0 (want a number >= 0)" "nb-calc 'mass = row == 4 ? -1 : 1' <p.nb"
	fails_with 1 'id 0 appears twice in frame 0 (bodies 0 and 1)' "nb-calc 'id = 0' <p.nb"
	fails_with 2 "nothing to compute (want an assignment, such as 'e = 0.5*v2 + pot')" 'nb-calc <p.nb'
	fails_with 2 "operand 'p.nb' is no assignment (want such as 'e = 0.5*v2 + pot' before files)" 'nb-calc p.nb'
	fails_with 2 "option '--dtype' has no effect on attributes" "nb-calc --dtype f4 '@a = 1' <p.nb"
	fails_with 2 "invalid dtype 'f2' (want f8|f4|u8|u4|u2|u1|i8|i4|i2|i1)" "nb-calc --dtype f2 'a = 1' <p.nb"
	# the frame that fails, in a stream of several
	printf 'frame,id,x,y,z,q\n0,0,1,1,1,1\n1,0,1,1,1,0\n' | nb-convert --from csv >two.nb
	run bash -c "nb-calc 'e = 1/q' <two.nb 2>&1 >/dev/null"
	equals "$output" "nb-calc: 'e = 1/q': the result is inf in row 0 of frame 1"
}

@test "what comes in as not a number may go out as one" {
	printf 'id,x,y,z,q\n0,1,1,1,2\n1,1,1,1,\n2,1,1,1,0\n' | nb-convert --from csv >p.nb
	equals "$(nb-calc 'a = q + 1' <p.nb | mutate show a | paste -sd ' ')" '3.0 nan 1.0'
	equals "$(nb-calc 'a = isnan(q) ? 7 : q' <p.nb | mutate show a | paste -sd ' ')" '2.0 7.0 0.0'
	equals "$(nb-calc 'a = q > 1' 'b = q <= 1' 'c = q != q' <p.nb | nb-convert --no-comments --to csv | cut -d , -f 6-8 | paste -sd ' ')" 'a,b,c 1,0,0 0,0,1 0,1,0'
	fails_with 1 'the result is inf in row 2 of frame 0' "nb-calc 'a = 1/q' <p.nb"
	fails_with 1 "field 'pos' of the body with id 1 is not finite in frame 0" "nb-calc 'x = q' <p.nb"
}

@test "texts are compared" {
	printf 'id,x,y,z,name\n0,1,1,1,Sun\n1,1,1,1,Earth\n' | nb-convert --from csv >p.nb
	equals "$(nb-calc 'sun = name == "Sun"' "other = 'Sun' != name" <p.nb | nb-convert --no-comments --to csv | cut -d , -f 5-7 | paste -sd ' ')" \
		'name,sun,other "Sun",1,0 "Earth",0,1'
	fails_with 1 'a text is compared with a number at character 10' "nb-calc 'e = name == 1' <p.nb"
	fails_with 1 "column 'name' of frame 0 has type '|S" "nb-calc 'name = 1' <p.nb"
	fails_with 1 'expected a number, not a text, at character 5' "nb-calc 'e = name' <p.nb" ||
		fails_with 1 'a column cannot be set to a text' "nb-calc 'e = name' <p.nb"
}

@test "streams without frames, frames without bodies, and several frames" {
	for n in 0 1 2 255 257 513; do
		nb-gen uniform -n $n | nb-calc 'e = v2' 'pos -= mean(pos)' 'u = random()' 'c = count(x > 0) + 0*x' '@n = n' >q.nb
		nb-stats --check <q.nb
		nb-stats --attributes <q.nb | grep -q -x "n=$n"
	done
	equals "$(nb-gen uniform -n 0 | nb-calc 'e = v2' 'q = row' | fields | tail -n 2 | paste -sd ' ')" 'e <f8 1 velocity^2 q <f8 1 -'
	nb-gen plummer -n 3 >p.nb
	nb-calc 'e = 1' <"$NB_TOP/tests/corpus/good/no-frames.nb" >none.nb
	cmp none.nb "$NB_TOP/tests/corpus/good/no-frames.nb"
	cat p.nb p.nb p.nb | nb-calc 'f = frame' | nb-convert --no-comments --to csv | cut -d , -f 1,11 | tail -n +2 | awk -F, '$1 != $2 { exit 1 } END { exit NR != 9 }'
	# a mean and an extreme of nothing
	nb-gen uniform -n 0 >empty.nb
	cat p.nb empty.nb p.nb | nb-calc -v '@m = 5' '@n = n' '@m = max(x)' '@w = @m*2' '@s = sum(x)' 'x -= @m' 'e = @w' >three.nb 2>err
	for k in 0 1 2; do
		nb-select --frames $k three.nb | nb-stats --attributes | cut -d = -f 1 | grep -xE 'm|n|w|s' | sort | paste -sd ' '
	done >names
	diff - names <<-'END'
		m n s w
		n s
		m n s w
	END
	equals "$(grep -c 'frame 1: no bodies, and so no attribute' err)" 2
	grep -q -x "nb-calc: frame 1: no bodies, and so no attribute '@m'" err
	fails_with 1 "no attribute '@q' in frame 0" "nb-calc '@m = max(x)' 'e = @q' <empty.nb"
	fails_with 1 "'@m = -1/0': the result is -inf in frame 0" "nb-calc '@m = -1/0' <empty.nb"
	fails_with 1 "'@time = mean(x)': the result is nan in frame 0" "nb-calc '@time = mean(x)' <empty.nb"
}

# bats test_tags=linux
@test "it folds: the same bytes as separate programs, and as part of a force pipeline" {
	local line="nb-gen plummer -n 2000 --no-history | nb-sort-zorder --no-history | nb-calc --no-history 'mass *= 2' 'e = v2/2' |
		nb-force --no-history -e 0.1 --potential | nb-calc --no-history 'e += pot' '@k = sum(mass*e)'"
	bash -c "$line" >folded.nb
	NB_FOLD=off bash -c "$line" | cmp - folded.nb
	export NB_FOLD=on
	for ((k = 0; k < 20; k++)); do # a busy machine may start a program too late
		nb-gen plummer -n 10 | nb-calc -v 'e = v2' 2>said >/dev/null
		! grep -q 'folded: nb-gen | nb-calc' said || break
	done
	[ "$k" -lt 20 ]
	# an external field keeps the energy of the run
	nb-gen plummer -n 500 | nb-step -d 0.02 -k 50 --every 50 \
		"nb-force -e 0.1 --potential | nb-calc 'acc -= pos/(1 + r2)^1.5' 'pot -= 2/sqrt(1 + r2)'" >run.nb
	at_most 1e-3 "$(nb-stats --format tsv <run.nb | stat_of drift | sed 's/^-//')"
	# f32 columns are rounded between programs, folded or not
	line="nb-gen plummer -n 100 --precision f32 --no-history | nb-calc --no-history 'x *= 1.1' | nb-calc --no-history 'y = x/3'"
	bash -c "$line" >folded.nb
	NB_FOLD=off bash -c "$line" | cmp - folded.nb
}

@test "hostile text is refused, also with the smallest stack" {
	nb-gen plummer -n 2 >p.nb
	local deep
	deep=$(printf '(%.0s' {1..40})x$(printf ')%.0s' {1..40})
	(ulimit -s 256 && nb-calc "e = $deep" <p.nb >q.nb)
	equals "$(mutate show e <q.nb)" "$(mutate show pos <p.nb | cut -d ' ' -f 1)"
	for c in '(' '-' '!' '2^' 'sin(' '1<2?' 'min(1,'; do
		deep=$(printf -- "$c%.0s" {1..5000})
		run bash -c 'ulimit -s 256; nb-calc "e = $1" <p.nb 2>&1 >/dev/null' - "$deep"
		[[ $output == "nb-calc: 'e = "*"': the expression is nested too deeply at character "* ]]
	done
	deep=$(printf 'f%.0s' {1..500})
	fails_with 2 "no function '${deep:0:63}' (there are: abs acos" "nb-calc 'e = $deep(1)' <p.nb"
	deep=$(printf -- '+1%.0s' {1..5000})
	run bash -c 'ulimit -s 256; nb-calc "e = $1" <p.nb 2>&1 >/dev/null' - "$deep"
	[[ $output == *'the expression is too long at character '* ]]
	(ulimit -s 256 && nb-calc "e = 1${deep:0:4000}" <p.nb >q.nb)
	equals "$(one e <q.nb)" 2001.0
}

@test "velocities that lag behind are completed before acc goes or velocities are seen" {
	nb-gen plummer -n 100 | nb-force -e 0.1 | nb-step -d 0.5 | nb-force -e 0.1 >lag.nb
	ekin() { nb-stats --epot none --format json | grep -o '"ekin":[^,]*' | cut -d : -f 2; }
	close_to "$(ekin <lag.nb)" "$(nb-calc 'pos += 1' <lag.nb | nb-force -e 0.1 | ekin)" 1e-12
	close_to "$(awk "BEGIN { print 4 * $(ekin <lag.nb) }")" "$(nb-calc 'vel *= 2' <lag.nb | ekin)" 1e-6
	# a filter behind nb-force changes the acceleration of the kick itself
	nb-calc 'acc *= 2' <lag.nb | nb-stats --attributes | grep -q pending_kick
}
