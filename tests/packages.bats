#!/usr/bin/env bats
# The archive of a release, and the packages that are made of it.
# bats file_tags=once

load helper

@test "an archive of a release has the same bytes from git under another umask and from itself, and one version" {
	[ -e "$NB_TOP/.git" ] || skip 'no git'
	cd "$BATS_TEST_TMPDIR" || return 1
	local archive
	git clone -q "$NB_TOP" one
	make -s -C one dist >sums
	archive=$(echo one/build/release/*.tar.gz)
	equals "${archive##*/}" "$(nb --version | tr ' ' -).tar.gz"
	tar -xzf "$archive"
	(umask 077 && git clone -q "$NB_TOP" two && make -s -C two dist)
	touch two/tests/*
	make -s -C "$(nb --version | tr ' ' -)" dist
	for folder in two nb-*; do cmp "$archive" "$folder/build/release/${archive##*/}"; done
	equals "$(tar -tzf "$archive" | grep -vc '/$')" "$(git -C one ls-files | wc -l)"
	echo more >>two/README.md
	run make -s -C two dist
	[[ $status -ne 0 && ${lines[0]} == 'make dist: uncommitted changes'* ]]
	git -C two checkout -q .
	run make -s -C two dist VERSION=9.0
	[[ $status -ne 0 && ${lines[0]} == "make dist: NEWS begins with 'nb "*"', and the Makefile has 9.0" ]]
}

@test "make without a target builds the programs" {
	make -s -C "$NB_TOP" CUDA=0 -np help 2>/dev/null | grep -E '^\.DEFAULT_GOAL :?= all$'
}

@test "recipes get version, checksum and place from the archive, and none of them has a version of its own" {
	cd "$BATS_TEST_TMPDIR" || return 1
	local recipe
	echo archive >nb-1.2.3.tar.gz
	run "$NB_TOP/packages/update" nb-1.2.3.tar.gz https://host.example/nb-1.2.3.tar.gz "$PWD/made"
	[ "$status" -eq 0 ]
	(cd "$NB_TOP/packages" && find . -mindepth 2 -type f ! -path '*/debian/*') | sort >recipes
	[ -s recipes ]
	while read -r recipe; do
		if grep -nE '@[A-Z0-9]+@' "made/$recipe"; then return 1; fi
		grep -qF 1.2.3 "made/$recipe"
		grep -qF "$(sha256sum <nb-1.2.3.tar.gz | cut -d ' ' -f 1)" "made/$recipe"
		[[ $output == *"${recipe#./}: "* ]]
	done <recipes
	if grep -rnF "$(nb --version | sed 's/.* //')" "$NB_TOP/packages"; then return 1; fi
}

@test "Debian and containers get the libraries that a build wants, and those that programs load" {
	cd "$BATS_TEST_TMPDIR" || return 1
	local build file package stanza
	build=$(printf '%s\n' "include $NB_TOP/make/packages.mk" 'print:; @echo $(DEPS_BUILD)' | make -s -f - print)
	equals "$(sed -n 's/^Build-Depends: debhelper-compat (= [0-9]*), //p' "$NB_TOP/packages/debian/control" | tr -d ,)" \
		"${build#gcc libc6-dev }"
	# as messages name them
	(cd "$NB_TOP" && grep -rhoP '\(Debian: (apt-get install )?\K[a-z0-9.-]+' --include='*.c' tools formats) >loaded
	grep -qx libcairo2 loaded
	grep -qx 'libmicrohttpd[0-9]*' loaded
	echo archive >nb-1.2.3.tar.gz
	"$NB_TOP/packages/update" nb-1.2.3.tar.gz https://host.example/nb-1.2.3.tar.gz "$PWD/made" >/dev/null
	for file in made/container/Containerfile{,.cuda}; do grep -qF " make $build &&" "$file"; done
	# with nvcc, nb-cuda is made, too
	make_here -n deb CUDA=1 | grep -q 'dpkg-buildpackage .*-Ppkg\.nb\.cuda'
	make_here -n deb CUDA=0 | grep 'dpkg-buildpackage' | run ! grep pkg.nb.cuda
	while read -r package; do
		for file in made/container/Containerfile{,.cuda}; do sed '1,/^FROM .*\(slim\|base[^ ]*\)$/d' "$file" | grep -qw "$package"; done
		for stanza in nb nb-cuda; do
			sed -n "/^Package: $stanza\$/,/^\$/s/^Recommends: //p" "$NB_TOP/packages/debian/control" | grep -qw "$package"
		done
	done <loaded
}

@test "programs of two versions make one pipeline: plain bytes, the same results" {
	cd "$BATS_TEST_TMPDIR" || return 1
	local nb version id changed tool
	nb=$(readlink -f "$NB_BIN/nb") version=$(nb --version | sed 's/.* //')
	id=$(readelf -n "$nb" | sed -n 's/.*Build ID: //p')
	changed=$(tr 0-9a-f 1-9a-f0 <<<"$id")
	mkdir new
	python3 - "$nb" "$id" "$changed" "$version" <<-'END' >new/nb
		import sys
		name, id, changed, version = sys.argv[1:]
		b = open(name, "rb").read()
		assert bytes.fromhex(id) in b and version.encode() in b
		b = b.replace(bytes.fromhex(id), bytes.fromhex(changed)).replace(version.encode(), b"9" * len(version))
		sys.stdout.buffer.write(b)
	END
	chmod +x new/nb
	for tool in "${NB_TOOLS[@]}"; do ln -s nb "new/$tool"; done
	equals "$(new/nb --version)" "nb ${version//?/9}"
	# each is followed by one of the other version
	nb-gen plummer -n 3000 --no-history | new/nb-sort-zorder --no-history | nb-build-tree --no-history |
		new/nb-force -t 0.5 -e 0.01 --potential --no-history | nb-calc --no-history 'e = pot' >mixed.nb
	nb-gen plummer -n 3000 --no-history | nb-sort-zorder --no-history | nb-build-tree --no-history |
		nb-force -t 0.5 -e 0.01 --potential --no-history | nb-calc --no-history 'e = pot' >one.nb
	cmp one.nb mixed.nb
	nb-step --no-history -d 0.01 -k 3 --every 1 'nb-force -t 0.5 -e 0.01 --no-history' <one.nb >one-run.nb
	nb-step --no-history -d 0.01 -k 3 --every 1 "$PWD/new/nb-force -t 0.5 -e 0.01 --no-history" <one.nb >mixed-run.nb
	cmp one-run.nb mixed-run.nb
	new/nb-gen plummer -n 9 | nb-sort-zorder | nb-stats --history >history
	grep -q "nb-gen ${version//?/9}:" history
	grep -q "nb-sort-zorder $version:" history
	new/nb-gen plummer -n 9 -v 2>told | nb-stats >/dev/null
	if grep ': folded: ' told; then return 1; fi
}

@test "a processor without AVX2 gets the plain variant" {
	command -v qemu-x86_64 >/dev/null || skip 'no qemu-x86_64'
	[ "$(uname -m)" = x86_64 ] || skip 'of x86-64'
	cd "$BATS_TEST_TMPDIR" || return 1
	local nb
	nb=$(readlink -f "$NB_BIN/nb")
	qemu-x86_64 -cpu qemu64 "$nb" gen plummer -n 300 >old.nb
	nb gen plummer -n 300 | cmp - old.nb
	qemu-x86_64 -cpu qemu64 "$nb" force -t 0.5 -e 0.1 old.nb | cmp - <(NB_SIMD=plain nb force -t 0.5 -e 0.1 old.nb)
	grep -qw avx2 /proc/cpuinfo || return 0
	run ! cmp <(NB_SIMD=plain nb force -t 0.5 -e 0.1 old.nb) <(nb force -t 0.5 -e 0.1 old.nb)
}

@test "without a driver -b cuda says so, and -b auto goes on without" {
	[ "$NB_CONFIG" = cuda ] || skip 'no kernels for devices'
	if ldconfig -p | grep -q 'libcuda\.so\.1'; then skip 'there is a driver'; fi
	nb-gen plummer -n 9 >"$BATS_TEST_TMPDIR/p.nb"
	fails_with 1 "backend 'cuda': no CUDA device (no NVIDIA driver is installed)" "nb-force -b cuda $BATS_TEST_TMPDIR/p.nb"
	nb-force -b auto "$BATS_TEST_TMPDIR/p.nb" | nb-stats --check
}

@test "without CUDA a program needs no library of the machine: neither libgomp nor a glibc of its age" {
	[ "$NB_CONFIG" = cpu ] || skip 'programs with CUDA and with sanitizers need some'
	[[ $(cc -print-file-name=libc.a) == /* ]] || skip 'no static libc'
	if readelf -d "$NB_BIN/nb" | grep NEEDED; then return 1; fi
	if readelf -l "$NB_BIN/nb" | grep interpreter; then return 1; fi
}
