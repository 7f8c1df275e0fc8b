# Benchmarks; tests/bench/run-* have the methods.
bench: deps-build
	@$(MAKE) all bench-programs
	tests/bench/run-cpu $(BUILD)

bench-gpu:
	@$(MAKE) CUDA=1 all bench-programs
	tests/bench/run-gpu build/cuda

# one GPU against several; ARGS=large: 2^28 bodies, too
bench-devices:
	@$(MAKE) CUDA=1 build/cuda/tests/bench/devices
	tests/bench/run-devices build/cuda $(ARGS)

# one process against several ranks, on this host; ARGS=--quick takes some seconds
bench-ranks: deps-build
	@$(MAKE) MPI=1 CUDA=0 all
	tests/bench/run-ranks $(ARGS) build/mpi

# steps, and passes of a frame, by number of threads; ARGS=--quick takes some seconds; ROWS="step*"
bench-scaling: deps-build
	@$(MAKE) all
	tests/bench/run-scaling $(ARGS) $(BUILD) $(foreach r,$(ROWS),'$r')

# ROWS="step-* film": these rows only; ARGS=--quick, --best
bench-pipes: deps-build
	@$(MAKE) all bench-programs
	tests/bench/run-pipes $(ARGS) $(BUILD) $(foreach r,$(ROWS),'$r')

# nb.run() and nb.pipe() of Python beside the pipes of a shell: tests/bench/run-python
bench-python: deps-build
	@$(MAKE) all
	tests/bench/run-python $(ARGS) $(BUILD) $(ROWS)

# speed and memory of nb-convert for each format: tests/bench/run-formats
bench-formats: deps-build
	@$(MAKE) all
	tests/bench/run-formats $(ARGS) $(BUILD) $(foreach r,$(ROWS),'$r')

# orbits of few bodies beside known states, which are below DATA=FOLDER: tests/bench/run-orbits; ROWS="solar energy"
bench-orbits: deps-build
	@$(MAKE) all
	tests/bench/run-orbits $(BUILD) '$(DATA)' $(foreach r,$(ROWS),'$r')

# PLOT=1: pictures too; SHORT=1: every row with few bodies
bench-papers: $(if $(filter 1,$(PLOT)),deps-plot,deps-build)
	@$(MAKE) $(BUILD)/tests/bench/papers $(if $(filter 1,$(PLOT)),all)
	tests/bench/run-papers $(if $(filter 1,$(PLOT)),--plot) $(if $(filter 1,$(SHORT)),--short) $(BUILD)
