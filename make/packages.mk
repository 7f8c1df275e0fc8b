# Root installs missing packages through apt; for other users the apt-get command is printed.
DEPS_BUILD = gcc libc6-dev libdeflate-dev libhdf5-dev libmicrohttpd-dev libjpeg-dev libwebp-dev libfreetype-dev \
	fonts-dejavu-core
DEPS_CHECK = bats chromium curl mandoc pkg-config python3-numpy r-base-core netpbm gnuplot-nox ffmpeg imagemagick jq \
	python3-h5py python3-yt python3-astropy python3-vtk9 python3-pytest python3-pip splash libcairo2 $(DEPS_MPI)
DEPS_MPI   = libopenmpi-dev openmpi-bin
DEPS_COVERAGE = bats mandoc python3 python3-numpy netpbm
DEPS_PLOT  = libcairo2 fonts-dejavu-core python3
DEPS_FUZZ  = clang libclang-rt-dev libomp-dev
DEPS_CI    = ccache
DEPS_DEB   = dpkg-dev debhelper fakeroot lintian
DEPS_HTML  = mandoc imagemagick
DEPS_LINT  = clang-format shellcheck mandoc groff-base binutils
define need
	@missing=; for p in $(1); do \
		dpkg-query -W -f '$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || missing="$$missing $$p"; done; \
	if [ -n "$$missing" ]; then \
		if [ "$$(id -u)" -eq 0 ]; then \
			echo "installing$$missing"; apt-get update -qq && \
			DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing >/dev/null; \
		else echo "missing packages; please run: sudo apt-get install$$missing" >&2; exit 1; fi; fi
endef
deps:
	$(call need,$(sort $(DEPS_BUILD) $(DEPS_CHECK) $(DEPS_COVERAGE) $(DEPS_LINT) $(DEPS_CI)))
deps-ci:
	$(call need,$(DEPS_CI))
deps-build:
	$(call need,$(DEPS_BUILD))
deps-check:
	$(call need,$(sort $(DEPS_BUILD) $(DEPS_CHECK)))
deps-coverage:
	$(call need,$(sort $(DEPS_BUILD) $(DEPS_COVERAGE)))
deps-plot:
	$(call need,$(sort $(DEPS_BUILD) $(DEPS_PLOT)))
deps-fuzz:
	$(call need,$(sort $(DEPS_BUILD) $(DEPS_FUZZ)))
deps-deb:
	$(call need,$(sort $(DEPS_BUILD) $(DEPS_DEB)))
deps-html:
	$(call need,$(sort $(DEPS_BUILD) $(DEPS_HTML)))
deps-lint:
	$(call need,$(sort $(DEPS_BUILD) $(DEPS_LINT)))
