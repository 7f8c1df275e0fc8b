#!/usr/bin/env bats
# Orbits under gravity: orders of convergence, returns, and what is conserved.  Measured, not assumed.

load helper


setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
}

quotient() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.17g", a / b }'; }

# one line with all coordinates of the frame on stdin
coordinates() { mutate show pos | tr '\n' ' ' && echo; }

# orders LOW HIGH: from positions after the same time with dt, dt/2, dt/4 ... (a line each on stdin), each
# log2 |x(dt) - x(dt/2)| / |x(dt/2) - x(dt/4)| must lie in between
orders() {
	awk -v low="$1" -v high="$2" '
		{
			d = 0
			for (i = 1; i <= NF; i++) { d += ($i - last[i]) ^ 2; last[i] = $i }
			difference[NR] = sqrt(d)
		}
		END {
			if (NR < 4) exit 1
			for (k = 3; k <= NR; k++) {
				order = log(difference[k - 1] / difference[k]) / log(2)
				printf "differences %g, %g: order %.4f\n", difference[k - 1], difference[k], order
				if (!(order >= low && order <= high)) bad = 1
			}
			exit bad
		}'
}

# largest |drift| of the energy in all frames on stdin
largest_drift() {
	nb-stats --format tsv | awk -F '\t' '
		NR == 1 { for (i = 1; i <= NF; i++) if ($i == "drift") c = i; next }
		{ d = $c < 0 ? -$c : $c; if (d != d || d > m) m = d }
		END { if (NR < 3) exit 1; printf "%.17g\n", m }'
}

@test "leapfrog and Taylor steps are of second order, Euler's of first, on Kepler orbits and the figure eight" {
	for model in 'kepler --eccentricity 0.5' figure8; do
		# shellcheck disable=SC2086
		nb-gen $model >start.nb
		for i in 'leapfrog 1.99 2.01' 'taylor 1.95 2.05 --jerk' 'euler 0.9 1.1'; do
			read -r integrator low high more <<<"$i"
			for k in 400 800 1600 3200 6400; do
				nb-step --integrator "$integrator" -d "$(quotient 2 $k)" -k $k --every 0 "nb-force $more" <start.nb |
					coordinates
			done >"$integrator.txt"
			echo "$model $integrator"
			orders "$low" "$high" <"$integrator.txt"
		done
		# and all go to the same place, the first two closely
		paste <(tail -n 1 leapfrog.txt) <(tail -n 1 taylor.txt) <(tail -n 1 euler.txt) | awk '{
			n = NF / 3
			for (i = 1; i <= n; i++) { d = $i - $(i + n); if (d * d > 1e-9) exit 1 }
			for (i = 1; i <= n; i++) { d = $i - $(i + 2 * n); if (d * d > 1e-3) exit 1 }
		}'
	done
}

@test "Taylor steps on the tree are of second order, with the same states folded and by pipes" {
	nb-gen plummer -n 300 -s 3 >start.nb
	local force='nb-sort-zorder | nb-build-tree -l 4 | nb-force -t 0.3 --precision f64 -e 0.3 --jerk'
	for k in 12 25 50 100 200; do
		for fold in on off; do
			NB_FOLD=${fold/on/} nb-step --integrator taylor -d "$(quotient 1 $k)" -k $k --every 0 "$force" <start.nb >$fold.nb
		done
		cmp on.nb off.nb
		mutate show id pos <on.nb | sort -n | cut -d ' ' -f 2- | tr '\n' ' '
		echo
	done >taylor.txt
	orders 1.85 2.2 <taylor.txt
}

@test "adaptive steps are of second order in eta" {
	nb-gen kepler --eccentricity 0.5 >start.nb
	for eta in 0.4 0.2 0.1 0.05 0.025; do
		nb-step --eta $eta --until 2 --every 0 'nb-force -e 0.01' <start.nb | coordinates
	done | orders 1.9 2.1
}

@test "a Kepler orbit and the figure eight close after a period, with an error that falls fourfold" {
	for model in 'kepler 6.283185307179586' 'figure8 6.32591398'; do
		read -r name period <<<"$model"
		nb-gen "$name" >start.nb
		for k in 2000 4000; do
			nb-step -d "$(quotient "$period" $k)" -k $k --every 0 nb-force <start.nb | coordinates
		done | cat <(coordinates <start.nb) - | awk '
			{ for (i = 1; i <= NF; i++) if (NR == 1) first[i] = $i; else e[NR] += ($i - first[i]) ^ 2 }
			END {
				ratio = sqrt(e[2] / e[3])
				print "errors", sqrt(e[2]), sqrt(e[3]), "ratio", ratio
				if (!(sqrt(e[3]) < 1e-4 && ratio > 3.9 && ratio < 4.1)) exit 1
			}'
	done
}

@test "the energy error of leapfrog falls fourfold when dt halves and does not grow from period to period" {
	nb-gen kepler --eccentricity 0.5 >start.nb
	for k in 200 400 800; do
		nb-step -d "$(quotient 6.283185307179586 $k)" -k $k 'nb-force --potential' <start.nb | largest_drift
	done >drifts
	read -r a b c <<<"$(tr '\n' ' ' <drifts)"
	close_to 4 "$(quotient "$a" "$b")" 0.1
	close_to 4 "$(quotient "$b" "$c")" 0.1
	nb-step -d "$(quotient 6.283185307179586 400)" -k 8000 'nb-force --potential' <start.nb | largest_drift >twenty
	close_to 1 "$(quotient "$(cat twenty)" "$b")" 0.01
	# an Euler step has no such bound
	for k in 1257 6285; do # one period and five
		nb-step --integrator euler -d 0.005 -k $k 'nb-force --potential' <start.nb | largest_drift
	done >growth
	at_most 0.5 "$(quotient "$(head -n 1 growth)" "$(tail -n 1 growth)")"
}

@test "leapfrog run back with -dt returns to its start within round-off" {
	for model in 'figure8' 'kepler --eccentricity 0.7' 'plummer -n 200'; do
		# shellcheck disable=SC2086
		nb-gen $model --no-history >start.nb
		nb-step -d 0.01 -k 300 --every 0 'nb-force -e 0.01' <start.nb |
			nb-step -d -0.01 -k 300 --every 0 'nb-force -e 0.01' >back.nb
		for field in pos vel; do
			paste <(mutate show $field <start.nb) <(mutate show $field <back.nb) | awk -v name="$model $field" '
				{ for (k = 1; k <= 3; k++) { d = $k - $(k + 3); if (d < 0) d = -d; if (d != d || d > m) m = d } }
				END { print name, m; if (!(m < 1e-10)) exit 1 }'
		done
	done
}

@test "a Plummer sphere keeps energy, momentum, angular momentum and shape over 10 crossing times" {
	# crossing time 2 sqrt(2) in Henon units
	nb-gen plummer -n 1000 -s 3 | nb-step -d 0.02 --until 28.3 --every 50 'nb-force -e 0.05 --potential' >out.nb
	at_most 5e-5 "$(largest_drift <out.nb)"
	nb-stats --format tsv <out.nb | awk -F '\t' '
		NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next }
		NR == 2 { for (i = 1; i <= NF; i++) first[i] = $i }
		{
			for (k = 1; k <= 3; k++) {
				x = substr("xyz", k, 1)
				p = $(c["p" x]); l = $(c["l" x]) - first[c["l" x]]
				if (!(p * p < 1e-28 && l * l < 1e-28)) { print "momentum", p, "angular", l, "at", $(c["time"]); exit 1 }
			}
			if (!($(c["virial"]) > 0.45 && $(c["virial"]) < 0.55)) { print "virial", $(c["virial"]); exit 1 }
			if (!($(c["r50"]) > 0.68 && $(c["r50"]) < 0.86)) { print "r50", $(c["r50"]); exit 1 }
		}
		END { if (NR < 30) exit 1 }'
}

@test "adaptive steps get a body round a close pericentre that as many equal steps miss" {
	nb-gen kepler --eccentricity 0.95 >start.nb
	nb-step --eta 0.1 --until 6.283185307179586 'nb-force -e 1e-4 --potential' <start.nb >adaptive.nb
	k=$(($(nb-stats --format tsv <adaptive.nb | wc -l) - 2))
	nb-step -d "$(quotient 6.283185307179586 $k)" -k $k 'nb-force -e 1e-4 --potential' <start.nb >equal.nb
	[ "$(nb-stats --format tsv <equal.nb | wc -l)" -eq $((k + 2)) ]
	echo "$k steps: $(largest_drift <adaptive.nb) against $(largest_drift <equal.nb)"
	at_most 0.2 "$(quotient "$(largest_drift <adaptive.nb)" "$(largest_drift <equal.nb)")"
}

@test "a King sphere with a wide range of block steps keeps its energy as published, with a quarter of the forces" {
	# 36000 bodies for a unit of time in 10 steps: 5e-6 by PKDGRAV, as in teststep of ChaNGa
	local n=36000 eta=0.15 most=5e-6
	[ "${NB_CONFIG:-}" != san ] || n=1500 eta=0.4 most=1e-3
	nb-gen king -n $n --w0 12 -s 1 | nb-step -v -d 0.1 --levels 10 --eta $eta --blocks whole --until 1 \
		'nb-sort-zorder | nb-build-tree | nb-force -m tree -t 0.5 -p 4 -e 0.01 --potential' 2>said | nb-select --frames last >out.nb
	cat said
	at_most $most "$(sed -n 's/.*error \([-+.0-9e]*\) in the end.*/\1/p' said)"
	at_most "$(awk "BEGIN { print 2 * $most }")" "$(sed -n 's/.* in the end, \([-+.0-9e]*\) at most.*/\1/p' said)"
	at_most "$(sed -n 's/.*dt\/[0-9]*; \([-+.0-9e]*\) times as many forces.*/\1/p' said)" 4
	# the shortest steps are those of a few
	nb-stats --levels --format tsv <out.nb >levels.tsv
	awk -F'\t' '$4 > 0 { levels++; last = $5 } END { print levels, last; exit !(levels >= 5 && last < 0.1) }' levels.tsv
}

@test "a tree and the direct sum carry bodies to the same places" {
	nb-gen plummer -n 2000 -s 5 >start.nb
	nb-step -d 0.02 -k 50 --every 0 'nb-force -e 0.05' <start.nb >direct.nb
	nb-step -d 0.02 -k 50 --every 0 'nb-sort-zorder | nb-build-tree | nb-force -t 0.3 -e 0.05' <start.nb >tree.nb
	mutate show id pos <direct.nb | sort -n >a
	mutate show id pos <tree.nb | sort -n >b
	paste -d ' ' a b | awk '
		$1 != $5 { exit 1 }
		{ d = sqrt(($2 - $6) ^ 2 + ($3 - $7) ^ 2 + ($4 - $8) ^ 2); s += d * d; if (d > m) m = d }
		END { print "rms", sqrt(s / NR), "largest", m; if (NR != 2000 || !(sqrt(s / NR) < 1e-4)) exit 1 }'
}
