# make repro: the papers' experiments again, as tables, repro.json and figures.  A new one
# is a program (repro.h says what it defines), listed here.
repro_programs =
repro_common = %D%/fit.c %D%/fit.h %D%/repro.c %D%/repro.h
EXTRA_DIST += $(repro_common)

# Their short forms are tests.
check_PROGRAMS += $(repro_programs)
TESTS += $(repro_programs)
EXTRA_DIST += %D%/README.md

.PHONY: repro clean-repro
repro: $(repro_programs)
	@rm -rf repro.json repro && $(MKDIR_P) repro && status=0 && \
	for program in $(repro_programs); do \
		$$program --full --json repro.json --figures repro || status=1; \
	done; exit $$status
CLEANFILES += repro.json
clean-local: clean-repro
clean-repro:
	rm -rf repro
