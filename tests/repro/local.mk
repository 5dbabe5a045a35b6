# make repro: the papers' experiments again, as tables, repro.json and figures.  A new one
# is a program (repro.h says what it defines), listed here.
repro_programs =
coopt_common = %D%/coopt.c %D%/coopt.h
repro_common = %D%/fit.c %D%/fit.h %D%/repro.c %D%/repro.h %D%/simulate.c %D%/simulate.h

if HAVE_CHECK
repro_programs += %D%/ata_tables %D%/ata_quadratic %D%/ata_laws %D%/ata_regret %D%/ata_prior
repro_programs += %D%/ringmaster %D%/ringleader %D%/capped %D%/ours %D%/remedies
repro_programs += %D%/coopt_cost %D%/coopt_learn %D%/coopt_mnist
repro_programs += %D%/coopt_nonconvex %D%/coopt_rho
%C%_ata_laws_SOURCES = %D%/ata_laws.c $(repro_common)
%C%_ata_prior_SOURCES = %D%/ata_prior.c $(repro_common)
%C%_ata_quadratic_SOURCES = %D%/ata_quadratic.c $(repro_common)
%C%_ata_regret_SOURCES = %D%/ata_regret.c $(repro_common)
%C%_ata_tables_SOURCES = %D%/ata_tables.c $(repro_common)
%C%_capped_SOURCES = %D%/capped.c $(repro_common)
%C%_coopt_cost_SOURCES = %D%/coopt_cost.c $(coopt_common) $(repro_common)
%C%_coopt_learn_SOURCES = %D%/coopt_learn.c $(coopt_common) $(repro_common)
%C%_coopt_mnist_SOURCES = %D%/coopt_mnist.c $(coopt_common) $(repro_common)
%C%_coopt_nonconvex_SOURCES = %D%/coopt_nonconvex.c $(coopt_common) $(repro_common)
%C%_coopt_rho_SOURCES = %D%/coopt_rho.c $(coopt_common) $(repro_common)
%C%_ours_SOURCES = %D%/ours.c $(repro_common)
%C%_remedies_SOURCES = %D%/remedies.c tests/sim/remedy.c tests/sim/remedy.h $(repro_common)
%C%_ringleader_SOURCES = %D%/ringleader.c $(repro_common)
%C%_ringmaster_SOURCES = %D%/ringmaster.c $(repro_common)
endif

# Their short forms are tests.
check_PROGRAMS += $(repro_programs)
TESTS += $(repro_programs)
EXTRA_DIST += %D%/README.md

.PHONY: repro clean-repro
repro: $(repro_programs)
	@rm -rf repro.json repro && $(MKDIR_P) repro && status=0 && \
	for program in $(repro_programs); do \
		top_srcdir=$(abs_top_srcdir) $$program --full --json repro.json --figures repro || \
			status=1; \
	done; exit $$status
CLEANFILES += repro.json
clean-local: clean-repro
clean-repro:
	rm -rf repro
