#!/usr/bin/env bats
# nb-field: external potentials, alone and beside the forces of bodies.
# as a filter: nb-field --alone nfw:m=1,rs=0.2

load helper

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	nb-gen plummer -n 257 --no-history >p.nb
	nb-force --no-history -e 0.1 --potential --jerk <p.nb >f.nb
}

setup() {
	cd "$BATS_FILE_TMPDIR" || return 1
}

# drift_of FIELD DT STEPS: of the energy of 257 bodies in a field
drift_of() {
	nb-step -d "$2" -k "$3" --every 0 "nb-force -e 0.3 --potential | nb-field '$1'" <p.nb | nb-stats --format tsv |
		stat_of drift | sed 's/^-//'
}

# ---- sums -------------------------------------------------------------------------------------------

@test "acc, pot and jerk grow by the field, and pot_field is it alone" {
	nb-field --no-history 'plummer m=2 a=0.5 x=1' <f.nb >g.nb
	for c in pos acc pot jerk pot_field; do mutate show $c <g.nb >$c.after; done
	for c in vel acc pot jerk; do mutate show $c <f.nb >$c.before; done
	paste -d ' ' pos.after vel.before acc.before acc.after pot.before pot.after pot_field.after jerk.before jerk.after | awk '
		function near(a, b) { return (a - b) ^ 2 < 1e-26 * (1 + a ^ 2) }
		{ x = $1 - 1; s2 = x * x + $2 * $2 + $3 * $3 + 0.25; f = 2 / s2 ^ 1.5; xv = x * $4 + $2 * $5 + $3 * $6
		if (!(near($7 - f * x, $10) && near($8 - f * $2, $11) && near($9 - f * $3, $12) && near($13 - 2 / sqrt(s2), $14) &&
			near(-2 / sqrt(s2), $15) && near($16 - f * ($4 - 3 * x * xv / s2), $19) &&
			near($18 - f * ($6 - 3 * $3 * xv / s2), $21))) { print; exit 1 } n++ }
		END { exit n != 257 }'
	nb-field --no-history plummer:m=2,a=0.5,x=1 <f.nb | mutate show acc | cmp acc.after -
	# without pot and jerk there is pot_field all the same
	nb-force <p.nb | nb-field 'plummer m=2 a=0.5 x=1' | nb-stats --fields | awk 'NR > 1 { printf "%s ", $2 }' >names
	equals "$(cat names)" 'id mass pos vel acc pot_field '
}

# bats test_tags=once
@test "two fields are the sum of both, in one program or two, and nb-force makes all anew" {
	nb-field 'nfw m=1 rs=0.2; disk m=1 a=0.5 b=0.1' <f.nb >one.nb
	nb-field --no-history 'nfw m=1 rs=0.2' 'disk:m=1,a=0.5,b=0.1' f.nb >both.nb
	nb-field --no-history 'nfw m=1 rs=0.2; disk:m=1,a=0.5,b=0.1' <f.nb | cmp - both.nb
	nb-field 'nfw m=1 rs=0.2' <f.nb | nb-field 'disk m=1 a=0.5 b=0.1' >two.nb
	for c in acc pot pot_field jerk; do
		paste -d ' ' <(mutate show $c <one.nb) <(mutate show $c <two.nb) | awk '
			{ n = NF / 2; for (k = 1; k <= n; k++) if (!(($k - $(k + n)) ^ 2 < 1e-26 * ($k ^ 2 + 1))) exit 1 }'
	done
	for f in one two; do
		equals "$(nb-stats --attributes <$f.nb | grep '^field')" 'field=nfw m=1 rs=0.2; disk m=1 a=0.5 b=0.1'
		nb-force -e 0.1 --potential --jerk <$f.nb >again.nb
		run ! grep -q '^field' <(nb-stats --attributes <again.nb)
		for c in acc pot jerk; do cmp <(mutate show $c <f.nb) <(mutate show $c <again.nb); done
		run ! grep -q pot_field <(nb-stats --fields <again.nb)
	done
}

@test "the constant of the frame multiplies masses, and not speeds" {
	nb-gen plummer -n 50 --G 4 >G.nb
	nb-calc '@G = 1' <G.nb >1.nb
	for pair in 'plummer m=1 a=1/plummer m=4 a=1' 'nfw m=1 rs=1/nfw m=4 rs=1' 'nfw v=2 rs=1/nfw m=4 rs=1' 'log v0=1 rc=1/log v0=1 rc=1'; do
		nb-field --alone "${pair%/*}" <G.nb | mutate show acc >got
		nb-field --alone "${pair#*/}" <1.nb | mutate show acc >want
		paste -d ' ' got want | awk '!(($1 - $4) ^ 2 + ($2 - $5) ^ 2 + ($3 - $6) ^ 2 < 1e-28 * $4 ^ 2) { print; exit 1 }'
	done
}

@test "the centre moves with the time of the frame" {
	nb-calc '@time = 3' <p.nb | nb-field --alone 'hernquist m=1 a=0.3 x=1 vx=2 vy=-1' | mutate show acc >got
	nb-field --alone 'hernquist m=1 a=0.3 x=7 y=-3' <p.nb | mutate show acc | cmp got -
	equals "$(nb-field --alone 'point m=1 vz=1' <p.nb | nb-stats --attributes | grep varies)" field_varies=1
	run ! grep -q varies <(nb-field --alone 'point m=1' <p.nb | nb-stats --attributes)
}

@test "one field is alone with --alone, and else needs forces" {
	fails_with 1 "field 'acc' missing in frame 0 (put 'nb-force' before, or give '--alone')" "nb-field 'point m=1' <p.nb"
	nb-field --alone 'point m=1 eps=1' <f.nb >a.nb
	nb-field --alone 'point m=1 eps=1' <p.nb >b.nb
	for c in acc pot pot_field; do cmp <(mutate show $c <a.nb) <(mutate show $c <b.nb); done
	cmp <(mutate show pot <a.nb) <(mutate show pot_field <a.nb)
	run ! grep -q jerk <(nb-stats --fields <a.nb)
}

# ---- motion -----------------------------------------------------------------------------------------

# bats test_tags=once
@test "the jerk of a field alone moves bodies by every integrator that needs it" {
	nb-field --no-history --alone --jerk 'plummer m=1 a=0.5' <p.nb | mutate show jerk >alone
	nb-calc 'mass = 0' <p.nb | nb-force --jerk | nb-field 'plummer m=1 a=0.5' | mutate show jerk | cmp alone -
	fails_with 2 "'--jerk' needs '--alone'" 'nb-field --jerk "plummer m=1 a=1" <f.nb'
	for step in '--integrator hermite -d 0.1' '--integrator hermite --levels max --eta 0.02 -d 0.1' '--integrator taylor -d 0.001'; do
		fails_with 1 'want nb-force --jerk, or nb-field --alone --jerk' \
			"nb-step $step --until 0.5 'nb-field --alone \"plummer m=1 a=1\"' <p.nb"
		# shellcheck disable=SC2086
		nb-step $step --until 0.5 --every 0 'nb-field --alone --jerk "plummer m=1 a=1"' <p.nb >out.nb
		at_most 1e-4 "$(nb-stats --format tsv <out.nb | stat_of drift | sed 's/^-//')"
	done
}

@test "bodies without gravity feel a field that has a G of its own, and are warned without" {
	nb-field --no-history --alone 'plummer m=2 a=0.5' <p.nb | mutate show acc >want
	nb-force --G 0 <p.nb >free.nb
	nb-field --G 1 'plummer m=2 a=0.5' <free.nb 2>err | mutate show acc | cmp want -
	[ ! -s err ]
	nb-field 'plummer m=2 a=0.5' <free.nb 2>&1 >/dev/null | grep -qx 'nb-field: G of frame 0 is 0, and so is the field of the masses (give nb-field --G)'
	[ -z "$(nb-field 'log v0=1 rc=1' <free.nb 2>&1 >/dev/null)" ]
	equals "$(nb-field --G 0.5 'plummer m=2 a=0.5' <free.nb | nb-stats --attributes | grep '^field=')" 'field=plummer m=2 a=0.5 (G 0.5)'
}

# bats test_tags=once
@test "circular orbits keep their radius in every potential" {
	local -A speed=(
		['point m=1']=1 ['plummer m=1 a=0.5']=0.84589701 ['hernquist m=1 a=0.5']=0.66666667 ['nfw m=1 rs=0.5']=1.4954447 ['dehnen m=1 a=0.5 gamma=2']=0.81649658
		['nfw v=1.3 rs=1']=1.3 ['log v0=1.5 rc=0.5']=1.3416408 ['disk m=1 a=0.3 b=0.1']=0.8946551 ['bar m=1 a=1e-5 b=0.3 c=0.1']=0.8946551)
	local field
	nb-gen plummer -n 1 | nb-calc 'mass = 0' 'pos = 0' 'x = 1' 'vel = 0' >one.nb
	[ ${#speed[@]} -eq 9 ]
	for field in "${!speed[@]}"; do
		# the speed of the circle, from the field itself, is the one above
		nb-field --alone "$field" <one.nb | nb-calc 'vy = sqrt(-ax)' >start.nb
		close_to "${speed[$field]}" "$(mutate show vel <start.nb | awk '{ print $2 }')" 1e-5
		nb-step -d 0.01 -k 1000 --every 100 "nb-field --alone '$field'" <start.nb | mutate show pos | awk -v of="$field" '
			{ r = sqrt($1 * $1 + $2 * $2); if (!((r - 1) ^ 2 < 1e-8 && $3 == 0)) { print of ": " r; exit 1 } n++ } END { exit n != 1 }'
	done
}

@test "a circle in the Milky Way of the page has the speed that the page says" {
	local MW
	MW=$(awk -f "$NB_TOP/man/examples.awk" "$NB_TOP/man/nb-field.1" | tr '\001' ' ' | sed -n "s/.*'\\(hernquist .* rs=15.62\\).*/\\1/p")
	nb-gen plummer -n 1 --G 4.30091e-6 | nb-calc 'mass = 0' 'pos = 0' 'x = 8.1' | nb-field --alone "$MW" | nb-calc 'vy = sqrt(-ax * x)' >one.nb
	close_to 231.6 "$(mutate show vel <one.nb | awk '{ print $2 }')" 0.05
}

# bats test_tags=once
@test "the energy of bodies in a field is conserved to the order of the step" {
	local field coarse fine
	at_most 2e-3 "$(drift_of 'nfw m=1 rs=0.5; hernquist m=0.3 a=0.5' 0.01 100)"
	for field in 'plummer m=1 a=0.4; disk m=0.5 a=0.5 b=0.3' 'log v0=1 rc=0.5 qy=0.9 qz=0.8 inc=30' 'bar m=1 a=1 b=0.4 c=0.3 node=20'; do
		coarse=$(drift_of "$field" 0.04 25)
		fine=$(drift_of "$field" 0.02 50)
		at_most 1e-3 "$coarse"
		close_to 4 "$(awk -v c="$coarse" -v f="$fine" 'BEGIN { printf "%.6g", c / f }')" 0.1
	done
	# also by a direct sum of nb-stats, for each species and for frames of f32
	nb-field 'nfw m=1 rs=0.5' <f.nb >g.nb
	local want
	want=$(mutate show mass pot pot_field <g.nb |
		awk '{ w += $1 * ($2 + $3) / 2 } END { printf "%.15g\n", w }')
	close_to "$want" "$(nb-stats --format tsv <g.nb | stat_of epot)" 1e-12
	close_to "$want" "$(nb-stats --epot direct --format tsv <g.nb | stat_of epot)" 1e-12
	close_to "$want" "$(nb-select --drop pot <g.nb | nb-stats --format tsv | stat_of epot)" 1e-12
	close_to "$want" "$(nb-calc 'species = id % 3' <g.nb | nb-force -e 0.1 --potential | nb-field 'nfw m=1 rs=0.5' |
		nb-stats --by species --format tsv | awk -F '\t' 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "epot") c = i } NR > 1 { w += $c }
		END { printf "%.15g\n", w }')" 1e-12
	nb-gen plummer -n 257 --precision f32 | nb-force -e 0.1 --potential | nb-field 'nfw m=1 rs=0.5' >narrow.nb
	nb-stats --fields <narrow.nb | grep -q 'pot_field .*<f4'
	close_to "$want" "$(nb-stats --format tsv <narrow.nb | stat_of epot)" 1e-5
}

@test "nb-step watches the energy with the field, and not where the field moves" {
	nb-step -d 0.01 -k 20 --every 10 "nb-force -e 0.1 --potential | nb-field 'nfw m=5 rs=0.5'" <p.nb >run.nb
	close_to "$(nb-force -e 0.1 --potential <p.nb | nb-field 'nfw m=5 rs=0.5' | nb-stats --format tsv | stat_of etot)" \
		"$(nb-stats --attributes <run.nb | sed -n 's/^etot0=//p' | tail -n 1)" 1e-12
	# a law of its own, for a run that goes on
	nb-step -d 0.01 -k 1 --every 0 "nb-force -e 0.1 --potential | nb-field 'nfw m=4 rs=0.5'" <run.nb | nb-select --frames last >other.nb
	run ! grep -q -x "$(nb-stats --attributes <run.nb | grep '^etot0=' | tail -n 1)" <(nb-stats --attributes <other.nb)
	nb-step -d 0.1 -k 20 --every 0 "nb-force -e 0.1 --potential | nb-field 'point m=5 eps=0.01'" <p.nb 2>err >/dev/null
	grep -q 'the energy is off by' err
	nb-step -d 0.1 -k 20 --every 0 "nb-force -e 0.1 --potential | nb-field 'point m=5 eps=0.01 vx=1e-6'" <p.nb 2>err >/dev/null
	[ ! -s err ]
	# nb-force alone afterwards, or another field: the first energy is of another system
	run ! grep -q etot0 <(nb-force <run.nb | nb-stats --attributes)
	run ! grep -q etot0 <(nb-field 'point m=1' <run.nb | nb-stats --attributes)
}

@test "a run in a field goes on where it was stopped, with the same bytes, and has jerks for Taylor steps" {
	local pipe="nb-force -e 0.1 --potential | nb-field 'nfw m=1 rs=1 vx=0.1; bar m=1 a=1 b=0.3 c=0.2 omega=0.7'"
	nb-step -d 0.01 -k 20 --every 5 "$pipe" <p.nb >whole.nb
	head -c 100000 whole.nb >cut.nb
	nb-step --resume cut.nb -d 0.01 -k 20 --every 5 "$pipe" <p.nb >rest.nb
	nb-select --frames last <whole.nb >want.nb
	nb-select --frames last <rest.nb >got.nb
	for c in pos vel acc pot pot_field; do cmp <(mutate show $c <want.nb) <(mutate show $c <got.nb); done
	equals "$(nb-stats --attributes <got.nb)" "$(nb-stats --attributes <want.nb)"
	# second order, as without a field
	local steps
	for steps in 10 20 40; do
		nb-step --integrator taylor -d "$(awk -v k=$steps 'BEGIN { print 0.2 / k }')" -k $steps --every 0 \
			"nb-force -e 0.3 --jerk --potential | nb-field 'plummer m=1 a=0.5; disk m=1 a=0.5 b=0.4'" <p.nb |
			nb-stats --format tsv | stat_of drift | sed 's/^-//' >drift.$steps
	done
	paste drift.10 drift.20 drift.40 | awk '{ print; exit !($1 / $2 > 3.4 && $1 / $2 < 9 && $2 / $3 > 3.4 && $2 / $3 < 9) }'
}

@test "a table is found from where the program was started, also where it folds" {
	mkdir -p folder
	printf '0 -1\n1 -0.5\n2 -0.3\n' >folder/t.txt
	printf '0 -7\n1 -0.5\n2 -0.3\n' >t.txt
	nb-field --alone 'table file=folder/t.txt' <p.nb | mutate show acc >want
	nb-gen plummer -n 257 | env -C folder nb-field --alone table:file=t.txt | nb-calc 'e = 1' | mutate show acc | cmp want -
	nb-field --alone 'table file=/dev/fd/9' <p.nb 9<folder/t.txt | mutate show acc | cmp want -
	nb-gen plummer -n 257 | nb-field --alone 'table file=/dev/fd/9' 9<folder/t.txt | nb-calc 'e = 1' | mutate show acc | cmp want -
}

@test "bodies are bound to each other, not to the field" {
	local want
	want=$(nb-stats --bound --format tsv <f.nb | stat_of nbound)
	for how in auto direct; do
		equals "$(nb-field 'nfw m=100 rs=1' <f.nb | nb-stats --bound --epot $how --format tsv | stat_of nbound)" "$want"
		equals "$(nb-field 'log v0=100 rc=0.1 x=5' <f.nb | nb-stats --bound --epot $how --format tsv | stat_of nbound)" "$want"
	done
}

# bats test_tags=once
@test "a cluster on an orbit in a fixed galaxy is where an independent integration has it" {
	local python
	python=$(numpy_python)
	nb-gen plummer -n 500 -s 4 | nb-transform --scale length=0.1,mass=0.05,velocity=virial --shift 2,0,0.3 --boost 0,0.9,0.1 >c.nb
	nb-convert --no-comments --to csv <c.nb >c.csv
	cat >galaxy.py <<'PYTHON'
import sys
import numpy as np
b = np.loadtxt("c.csv", delimiter=",", skiprows=1)
m, x, v = b[:, 1], b[:, 2:5].copy(), b[:, 5:8].copy()
def field(x, t):
    r = np.sqrt((x**2).sum(1))[:, None]
    a = -1 / (np.log(2) - 0.5) * (np.log(1 + r / 0.8) - r / (0.8 + r)) * x / r**3
    s = np.sqrt(x[:, 2]**2 + 0.1**2)
    d = (x[:, 0]**2 + x[:, 1]**2 + (0.5 + s)**2)**1.5
    a += -0.7 * np.stack([x[:, 0] / d, x[:, 1] / d, x[:, 2] * (0.5 + s) / s / d], 1)
    # uniform rod along x', softened as above: sums of 2000 points for an integral of Gauss and Legendre
    phi = 0.4 * t
    c, sn = np.cos(phi), np.sin(phi)
    X, Y = c * x[:, 0] + sn * x[:, 1], -sn * x[:, 0] + c * x[:, 1]
    h = 0.2 + np.sqrt(x[:, 2]**2 + 0.1**2)
    u, w = np.polynomial.legendre.leggauss(60)
    D = X[:, None] - 0.6 * u
    q = w / 2 * 0.5 / (D**2 + (Y**2 + h**2)[:, None])**1.5
    A, B, C = -(q * D).sum(1), -Y * q.sum(1), -x[:, 2] * h / np.sqrt(x[:, 2]**2 + 0.1**2) * q.sum(1)
    return a + np.stack([c * A - sn * B, sn * A + c * B, C], 1)
def acc(x, t):
    d = x[None] - x[:, None]
    q = m / ((d**2).sum(2) + 0.02**2)**1.5
    return np.einsum("ij,ijk->ik", q, d) + field(x, t)
dt, t = 0.01, 0.0
a = acc(x, t)
for k in range(200):
    v += a * dt / 2
    x += v * dt
    t += dt
    a = acc(x, t)
    v += a * dt / 2
np.savetxt("want.txt", np.hstack([x, v]))
PYTHON
	"$python" galaxy.py
	nb-step -d 0.01 -k 200 --every 0 \
		"nb-force -e 0.02 | nb-field 'nfw m=1 rs=0.8; disk m=0.7 a=0.5 b=0.1; bar m=0.5 a=0.6 b=0.2 c=0.1 omega=0.4'" <c.nb >c2.nb
	paste -d ' ' <(mutate show pos <c2.nb) <(mutate show vel <c2.nb) want.txt | awk '
		{ for (k = 1; k <= 6; k++) { d = $k - $(k + 6); if (!(d * d < 1e-16)) { print NR ": " $k " " $(k + 6); exit 1 } } }
		END { exit NR != 500 }'
	# its centre is far from where it began, and it is still a cluster
	nb-stats --center density --format tsv <c2.nb >after.tsv
	at_most 0.5 "$(stat_of r50 <after.tsv)"
	at_most 1 "$(stat_of comx <after.tsv)"
}

# ---- tables -----------------------------------------------------------------------------------------

@test "a table of a Plummer sphere is the Plummer sphere" {
	awk 'BEGIN { print "# r Phi\n"; for (k = 0; k <= 2000; k++) { r = k / 200; printf "%.17g\t%.17g  # row %d\n", r, -2 / sqrt(r * r + 0.25), k } }' >t.txt
	nb-field --alone 'table file=t.txt x=0.2; point m=0' <p.nb >t.nb
	nb-field --alone 'plummer m=2 a=0.5 x=0.2' <p.nb >want.nb
	at_most 2e-5 "$(compare want.nb rms_ratio <t.nb)"
	# beyond its end too, where mass is missing
	nb-gen plummer -n 10 | nb-transform --shift 100,0,0 >far.nb
	nb-field --alone 'table file=t.txt' <far.nb >t.nb
	nb-field --alone 'point m=1.9925' <far.nb >want.nb
	at_most 1e-4 "$(compare want.nb rms_ratio <t.nb)"
}

@test "a table that is none is refused with its line" {
	local text
	printf '0 -1\n1 -0.5\n' >good.txt
	nb-field --alone 'table file=good.txt' <p.nb | nb-stats --check
	while IFS=/ read -r text message; do
		printf '%b' "$text" >bad.txt
		fails_with 1 "$message" "nb-field --alone 'table file=bad.txt' <p.nb"
	done <<-'END'
		0 -1\n1 x\n/'bad.txt' line 2 is not two numbers, r and Phi
		0 -1\n\n1 2 3\n/'bad.txt' line 3 is not two numbers, r and Phi
		0\n/'bad.txt' line 1 is not two numbers, r and Phi
		0 nan\n1 2\n/'bad.txt' line 1 is not two numbers, r and Phi
		-1 2\n/'bad.txt' line 1: r is -1 (want a number >= 0)
		#\n1 2\n1 3\n/'bad.txt' line 3: r is 1 after 1 (want ascending radii)
		0 1\n2 3\n1 3\n/'bad.txt' line 3: r is 1 after 2 (want ascending radii)
		0 1\n/'bad.txt' has 1 row of r and Phi (want 2 or more)
		#\n/'bad.txt' has 0 rows of r and Phi (want 2 or more)
		0 -1e308\n1e-300 1e308\n/'bad.txt' leaves the range of numbers between two rows
	END
	fails_with 1 "'/dev/zero' line 1 is not two numbers" 'nb-field --alone table:file=/dev/zero p.nb'
	fails_with 1 "'p.nb' line 1 is not two numbers" "nb-field --alone 'table file=p.nb' <p.nb"
	fails_with 1 "'none.txt': No such file or directory" "nb-field --alone 'table file=none.txt' <p.nb"
	fails_with 1 "'.': Is a directory" "nb-field --alone 'table file=.' <p.nb"
}

# ---- texts ------------------------------------------------------------------------------------------

@test "a text that is none is refused with one line" {
	fails_with 2 "no potential given (want such as 'plummer m=1 a=0.5'; 'help' lists them)" 'nb-field <f.nb'
	fails_with 2 "operand 'f.nb' is no potential (want such as 'plummer m=1 a=0.5' before files)" 'nb-field f.nb'
	fails_with 2 "unknown potential 'nwf'" "nb-field 'nwf m=1' <f.nb"
	fails_with 2 "potential plummer: unknown key 'q'" "nb-field 'plummer m=1 a=1 q=2' <f.nb"
	fails_with 2 "potential plummer: key 'a' is missing" "nb-field 'plummer m=1' <f.nb"
	fails_with 2 "potential plummer: invalid a '-1' (want a number > 0)" "nb-field 'plummer m=1 a=-1' <f.nb"
	fails_with 2 "potential plummer: invalid m 'x' (want a number >= 0)" "nb-field 'plummer m=x a=1' <f.nb"
	fails_with 2 "potential plummer: key 'm' is given twice" "nb-field 'plummer m=1 a=1 m=1' <f.nb"
	fails_with 2 "empty potential" "nb-field 'plummer m=1 a=1;' <f.nb"
	fails_with 1 'attribute G=-1 of frame 0 is negative' "nb-calc '@G = -1' <p.nb | nb-field --alone 'point m=1'"
	fails_with 1 "overflows in frame 0 (are the units extreme?)" "nb-field 'point m=1e308 eps=1e-10' <f.nb"
	fails_with 1 "field 'vel' missing" "nb-select --drop vel <f.nb | nb-field 'point m=1'"
}

@test "help lists every potential with its keys, and each works" {
	nb-field help >list
	nb-field --help | grep -qF 'potentials, each with'
	equals "$(grep -c '^  [a-z]' list)" "$(grep -c '^NB_POTENTIAL(' "$NB_TOP/kernels/field/potential.def")"
	local name keys
	printf '0 -1\n1 -0.5\n' >good.txt
	while read -r name keys; do
		[ "$name" != table ] || keys='file'
		keys=$(tr ' ' '\n' <<<"$keys" | sed 's/|.*//; s/?//; s/$/=0.5/; s/file=0.5/file=good.txt/' | paste -sd ' ')
		echo "$name $keys"
		nb-field "$name $keys" <f.nb | nb-stats --check
		grep -q "Cm $name " "$NB_TOP/man/nb-field.1"
	done < <(grep '^  [a-z]' list)
}

@test "any number of bodies, any number of threads, two dimensions, and transforms" {
	local n j
	for n in 0 1 2 255; do
		nb-gen uniform -n $n | nb-force --potential | nb-field 'hernquist m=1 a=1' | nb-stats --check
		nb-gen uniform -n $n | nb-field --alone 'hernquist m=1 a=1' | nb-stats --check
	done
	nb-gen plummer -n 5000 >many.nb
	for j in 1 2 3; do nb-field -j $j --alone 'nfw m=1 rs=1; bar m=1 a=1 b=1 c=1 inc=20' <many.nb >$j.nb; done
	cmp 1.nb 2.nb
	cmp 1.nb 3.nb
	nb-calc 'pos = 0' <p.nb | nb-field --alone 'point m=1; nfw m=1 rs=1; hernquist m=1 a=1' | nb-stats --check
	nb-gen uniform -n 50 --dim 2 >flat.nb
	nb-field --alone 'disk m=1 a=1 b=1 node=20; bar m=1 a=1 b=0 c=1 omega=1 x=2' <flat.nb >g.nb
	nb-stats --check <g.nb
	mutate show acc <g.nb | awk '$3 != 0 { exit 1 }'
	for f in 'point m=1 z=1' 'point m=1 vz=1' 'disk m=1 a=1 b=1 inc=10'; do
		fails_with 1 'would pull bodies out of the plane of frame 0' "nb-field --alone '$f' <flat.nb"
	done
	nb-field 'nfw m=1 rs=1' <f.nb | nb-transform --scale length=2,mass=3 >g.nb
	close_to "$(nb-field 'nfw m=1 rs=1' <f.nb | mutate show pot_field | awk 'NR == 1 { printf "%.17g", 1.5 * $1 }')" \
		"$(mutate show pot_field <g.nb | awk 'NR == 1')" 1e-14
	run ! grep -q '^field=' <(nb-stats --attributes <g.nb)
}
