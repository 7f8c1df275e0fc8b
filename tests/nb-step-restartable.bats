#!/usr/bin/env bats
# nb-step --restartable: runs by ias15, trace and ar, and with --megno, that are stopped and go on, in one system and in many.

load helper

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	nb-gen orbits --no-history 'm=1; m=1e-3 a=1; m=1e-3 a=1.1 M=90; m=1e-5 a=1.5 e=0.4' >one.nb
	nb-gen orbits --systems 4 --no-history 'm=1; m=1e-3 a=1; m=1e-3 a=1.1+0.02*system M=90' >many.nb
	nb-gen orbits --systems 1 --no-history 'm=1; a=1' >pair.nb
	nb-merge --systems --ids renumber one.nb pair.nb >unequal.nb
}

setup() {
	cd "$BATS_FILE_TMPDIR" || return 1
}

S=(nb-step --no-history --restartable --integrator)
HOW=(ias15 'ias15 --megno' 'ias15 -d -0.3' ar 'trace -d 0.07' 'whfast --megno -d 0.1')

# FILE, what runs it ...: what --resume makes of the beginning of the stream ends as the whole does.
goes_on() {
	local from=$1
	shift
	"$@" nb-force "$from" >whole.nb
	for part in 7 45; do
		head -c $(($(stat -c %s whole.nb) * part / 63)) whole.nb >cut.nb
		"$@" --resume cut.nb nb-force >rest.nb 2>said
		[ "$(nb-select --frames -1 rest.nb --no-history | cksum)" = "$(nb-select --frames -1 whole.nb --no-history | cksum)" ]
	done
}

@test "a run that is cut and goes on has the bytes of one that was not" {
	for how in "${HOW[@]}"; do
		read -ra words <<<"$how"
		sign=
		[[ $how != *-0.3* ]] || sign=-
		for file in one unequal; do
			goes_on $file.nb "${S[@]}" "${words[@]}" --until ${sign}12 --every-time 0.9
		done
		goes_on many.nb "${S[@]}" "${words[@]}" --until ${sign}12 --every-time 0.9 --stop-when 'dmin < 0.09' --stop-every 3
	done
	nb-gen plummer -n 1 >n1.nb
	for how in ias15 ar 'trace -d 0.07'; do
		read -ra words <<<"$how"
		goes_on one.nb "${S[@]}" "${words[@]}" -k 40 --every 3
		goes_on n1.nb "${S[@]}" "${words[@]}" --until 12 --every-time 0.9
	done
}

@test "a state of an archive is the input of a run that goes on from it" {
	"${S[@]}" ias15 --until 12 --every-time 0.9 nb-force one.nb >whole.nb
	nb-select --time :5.5 whole.nb | nb-select --frames -1 | "${S[@]}" ias15 --until 12 --every 0 nb-force >rest.nb
	cmp <(last_state whole.nb) <(last_state rest.nb)
	[ "$(nb-select --time 4.5 whole.nb | nb-stats --attributes | grep ^time=)" = time=4.5 ]
	# what is between two states, too, and the state changes no number of a run without the option
	nb-select --time 4.5 whole.nb | nb-step --no-history --integrator ias15 --until 5 --every 0 nb-force >five.nb
	nb-step --no-history --integrator ias15 --until 5 --every 0 nb-force one.nb | cmp <(last_state five.nb) <(last_state /dev/stdin)
	run ! grep -q ias15_state five.nb
}

@test "a state that other programs have changed, or that is of another run, is not gone on from" {
	for how in ias15 ar 'trace -d 0.07'; do
		read -ra words <<<"$how"
		"${S[@]}" "${words[@]}" --until 4 --every-time 2 nb-force one.nb >whole.nb
		nb-select --frames -1 whole.nb | nb-calc 'vx += 1e-9' >moved.nb
		fails_with 1 "has no state of that run (want 'nb-select --frames -1 moved.nb | nb-step ...', for another run)" \
			"${S[*]} $how --until 6 --resume moved.nb nb-force"
		"${S[@]}" "${words[@]}" --until 6 --every 0 nb-force moved.nb >a.nb
		mutate drop "${words[0]}_state" <moved.nb | "${S[@]}" "${words[@]}" --until 6 --every 0 nb-force >b.nb
		cmp <(last_state a.nb) <(last_state b.nb)
	done
	"${S[@]}" ias15 --until 4 --every-time 2 nb-force one.nb >whole.nb
	fails_with 1 'has no state of that run' "${S[*]} ias15 --megno --until 6 --resume whole.nb nb-force"
	nb-step --integrator whfast --megno -d 0.1 --until 4 --every-time 2 nb-force one.nb >map.nb
	fails_with 1 'has no state of that run' "nb-step --integrator whfast --megno -d 0.1 --until 6 --resume map.nb nb-force"
	fails_with 1 'has no state of that run' "${S[*]} ias15 -d 1e-3 --until 6 --resume whole.nb nb-force"
	fails_with 1 'has no state of that run' "${S[*]} ias15 -d -1 --until 0 --resume whole.nb nb-force"
	fails_with 1 'has no state of that run' "${S[*]} ar --until 6 --resume whole.nb nb-force"
	# forces have changed within the last step of ias15; that of ar would go on with the energy of other forces
	fails_with 1 'has no state of that run' "${S[*]} ias15 --until 6 --resume whole.nb 'nb-force -e 0.1'"
	fails_with 1 'has no state of that run' "${S[*]} ias15 --until 6 --resume whole.nb 'nb-force | nb-extra \"oblate j2=0.1 r=0.2\"'"
	"${S[@]}" ar -k 6 --every 0 nb-force one.nb | mutate attribute G 4 >heavy.nb
	fails_with 1 'has no state of that run' "${S[*]} ar -k 9 --resume heavy.nb nb-force"
	fails_with 2 "option '--restartable' needs '--integrator ias15', 'trace' or 'ar'" 'nb-step --restartable --integrator whfast -d 1 nb-force one.nb'
	fails_with 2 "option '--restartable' needs '--integrator ias15', 'trace' or 'ar'" 'nb-step --restartable -d 1 -k 2 nb-force one.nb'
}

@test "a MEGNO goes on with steps of another length, by --resume and from a frame" {
	local s="${S[*]} whfast --megno --no-history"
	megno_of() { nb-select --frames -1 "$1" | nb-stats --attributes | sed -n 's/^megno=//p'; }
	$s -d 0.1 --until 2000 --every-time 1000 nb-force one.nb >whole.nb
	nb-select --frames -1 whole.nb >last.nb
	for dt in 0.1 0.05 0.13; do
		$s -d $dt --until 2013 --every 0 --resume whole.nb nb-force >rest.nb
		$s -d $dt --until 2013 --every 0 nb-force last.nb >again.nb
		equals "$(megno_of again.nb)" "$(megno_of rest.nb)"
		close_to "$(megno_of rest.nb)" "$(megno_of whole.nb)" 0.5
	done
	fails_with 1 'has no state of that run' "$s -d -0.1 --until 0 --resume whole.nb nb-force"
}
