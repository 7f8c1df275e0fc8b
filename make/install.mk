# What is installed where.
INSTALL ?= install
BINDIR   = $(DESTDIR)$(PREFIX)/bin
SHARE    = $(DESTDIR)$(PREFIX)/share
COMPLETIONS = $(SHARE)/bash-completion/completions
FISH     = $(SHARE)/fish/vendor_completions.d
# below PREFIX; Debian has others, which packages/debian/rules names
ZSH_FOLDER = share/zsh/site-functions
LIB_FOLDER = lib
ZSH      = $(DESTDIR)$(PREFIX)/$(ZSH_FOLDER)
LIBDIR   = $(DESTDIR)$(PREFIX)/$(LIB_FOLDER)
INCLUDE  = $(DESTDIR)$(PREFIX)/include

# of Python; below $(SHARE)/nb, which PYTHONPATH may name
MODULE   = $(wildcard python/nb/*.py) python/nb/py.typed formats/stream/field.def

# How each tool gets its name: a soft or hard link to nb, or a copy, which can be moved alone but does not fold with others
LINKS ?= soft
LINK_soft = ln -sf nb
LINK_hard = ln -f $(BINDIR)/nb
LINK_copy = cp --remove-destination $(BINDIR)/nb
LINK = $(or $(LINK_$(LINKS)),$(error LINKS=$(LINKS) is none of soft, hard and copy))

# one program without its symbols, and its other names
install: all
	$(INSTALL) -d $(BINDIR) $(SHARE)/man/man1 $(SHARE)/man/man5 $(SHARE)/man/man7 $(COMPLETIONS) \
		$(ZSH) $(FISH) $(LIBDIR)/pkgconfig $(INCLUDE) $(SHARE)/nb/nb
	$(INSTALL) -s -m 755 $(PROGRAM) $(BINDIR)
	for t in $(TOOLS); do $(LINK) $(BINDIR)/$$t || exit 1; done
	$(INSTALL) -m 644 $(TOOLS:%=man/%.1) $(SHARE)/man/man1
	$(INSTALL) -m 644 man/nb-stream.5 $(SHARE)/man/man5
	$(INSTALL) -m 644 $(wildcard man/*.7) $(SHARE)/man/man7
	$(INSTALL) -m 644 tools/completion.bash $(COMPLETIONS)/nb
	$(INSTALL) -m 644 tools/completion.zsh $(ZSH)/_nb
	$(INSTALL) -m 644 tools/completion.fish $(FISH)/nb.fish
	for t in $(TOOLS); do ln -sf nb $(COMPLETIONS)/$$t && ln -sf nb.fish $(FISH)/$$t.fish || exit 1; done
	$(INSTALL) -m 644 formats/stream/nb.h $(INCLUDE)
	$(INSTALL) -m 644 $(LIBRARY) $(LIBDIR)
	$(INSTALL) -m 644 $(MODULE) $(SHARE)/nb/nb
	printf '%s\n' 'prefix=$(PREFIX)' 'python=$${prefix}/share/nb' 'Name: nb' \
		'Description: particle streams of the nb programs for N-body gravity' \
		'Version: $(VERSION)' \
		'Cflags: -I$${prefix}/include' 'Libs: -L$${prefix}/$(LIB_FOLDER) -lnb -lm -lpthread' >$(LIBDIR)/pkgconfig/nb.pc
	@[ -n '$(DESTDIR)' ] || ! command -v mandb >/dev/null || mandb -q 2>/dev/null || : # so that man -k finds the pages

uninstall:
	rm -rf $(SHARE)/nb/nb
	rm -f $(INCLUDE)/nb.h $(LIBDIR)/libnb.a $(LIBDIR)/pkgconfig/nb.pc \
		$(BINDIR)/nb $(TOOLS:%=$(BINDIR)/%) $(TOOLS:%=$(SHARE)/man/man1/%.1) $(SHARE)/man/man5/nb-stream.5 \
		$(patsubst man/%,$(SHARE)/man/man7/%,$(wildcard man/*.7)) $(COMPLETIONS)/nb $(TOOLS:%=$(COMPLETIONS)/%) \
		$(ZSH)/_nb $(FISH)/nb.fish $(TOOLS:%=$(FISH)/%.fish)
