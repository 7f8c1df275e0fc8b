#!/usr/bin/env bats
# The Python module: its own tests, the scripts of nb-python(7), and what pip installs.

load helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export PYTHONPATH=$NB_TOP/python PYTHONDONTWRITEBYTECODE=1
	python=$(numpy_python) || skip 'no python3 with numpy'
	[ -z "${NB_PYTHON:-}" ] || python=$NB_PYTHON # which may have more of the packages that load streams
}

# bats test_tags=once
@test "the tests of the Python module in tests/python pass" {
	"$python" -c 'import pytest' 2>/dev/null || skip 'no pytest'
	if "$python" -c 'import mypy' 2>/dev/null; then
		(cd "$NB_TOP" && "$python" -m mypy --cache-dir "$BATS_TEST_TMPDIR")
	fi
	"$python" -m pytest -q -rs -p no:cacheprovider --rootdir "$NB_TOP" "$NB_TOP/tests/python"
}

# bats test_tags=once
@test "the scripts of nb-python(7) run as they stand there" {
	local file
	for file in speed.py cluster.py; do
		sed -n "/^\.\\\\\" file: $file\$/,/^\.Ed/p" "$NB_TOP/man/nb-python.7" | sed '/^\./d; s/\\-/-/g; s/\\e/\\/g' >$file
		[ -s $file ]
	done
	nb-gen plummer -n 300 | nb-calc 'own = vel' 'metals = 2' >in.nb
	"$python" speed.py <in.nb >out.nb
	nb-stats --fields <out.nb | grep -E '^ *0 speed .* velocity '
	nb-calc 'speed *= 0' <out.nb | nb-diff - <(nb-calc 'speed = 0 * mass' <in.nb)
	nb-calc '@off = max(abs(speed - sqrt(v2)))' <out.nb | nb-stats --attributes >attributes
	at_most 1e-15 "$(sed -n 's/^off=//p' attributes)"
	run --separate-stderr bash -c "head -c 20000 in.nb | $python speed.py"
	[ "$status" -eq 1 ]
	# shellcheck disable=SC2154
	equals "$stderr" "speed.py: truncated stream: column 'vel' of frame 0 ends after 6816 of 7200 bytes"
	equals "$({ "$python" speed.py <in.nb; echo $? >code; } | head -c 100 | wc -c)" 100
	"$python" cluster.py >out
	equals "$(wc -l <out)" 4
	[[ $(tail -n 1 out) == '(300, 3) velocity^2 True' ]]
}

# bats test_tags=once
@test "pip installs programs that fold, pages and the module, which runs them" {
	[[ ${NB_BIN%/bin} == */@(cpu|cuda) ]] || skip 'a build with checks is not installed'
	"$python" -m pip --version >/dev/null 2>&1 || skip 'no pip'
	CUDA=$([[ $NB_BIN == */cuda/* ]] && echo 1 || echo 0) \
		"$python" -m pip install -q --no-index --no-deps --target root "$NB_TOP" 2>messages || { cat messages && return 1; }
	equals "$(cd root/bin && echo nb-*)" "${NB_TOOLS[*]}"
	[ -s root/share/man/man7/nb-python.7 ]
	# without a loader the program runs on any Linux
	equals "$(grep -c manylinux root/nb_gravity-*.dist-info/WHEEL)" "$(readelf -l root/bin/nb | grep -q INTERP && echo 0 || echo 2)"
	unset NB_BIN
	PATH=$(dirname "$(command -v "$python")"):/usr/bin:/bin
	PYTHONPATH=$PWD/root "$python" -c 'import nb; print(nb.chain.folder(None), nb.run("nb-gen plummer -n 3 | nb-force")[0].n)' >out
	equals "$(<out)" "$PWD/root/bin 3"
	PATH=$PWD/root/bin:$PATH
	ln -s root/bin/nb-gen linked
	folds() { ./linked plummer -n 3 | nb-force -v 2>&1 >/dev/null | grep -F 'nb-force: folded: nb-gen | nb-force'; }
	[ "${NB_FOLD:-}" = off ] || in_one_of 5 folds
}
