# tests/torture/run has the parts.  Faults of calls want shared libraries: the same objects, linked once more.
TORTURE = $(BUILD)/tests/torture
# libraries for LD_PRELOAD
$(BUILD)/tests/torture/%.so: tests/torture/%.c
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(CPPFLAGS) -std=c17 $(WARN) -O2 -shared -fPIC -MMD -MP -MF $(@:.so=.d) -o $@ $< -ldl

$(TORTURE)/bin/nb: $(BUILD)/tools/main.o $(LIB)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)
	@for t in $(TOOLS); do ln -sf nb $(@D)/$$t || exit 1; done

torture-programs: all $(TORTURE)/faults.so $(TORTURE)/bin/nb $(TORTURE)/inject $(TORTURE)/vary
torture-sanitized: all $(TORTURE)/generate
# with TSAN=1, if this machine has what it takes
CAN_TSAN = $(shell command -v clang >/dev/null && ls /usr/lib/llvm-*/lib/libarcher.so 2>/dev/null)
