# Rules that a person would otherwise have to remember.
lint_tests = \
	%D%/bootstrap.sh \
	%D%/foreign.sh \
	%D%/hardening.sh \
	%D%/layers.sh \
	%D%/man.sh \
	%D%/mandiag.sh \
	%D%/manhelp.sh \
	%D%/maninstall.sh \
	%D%/packages.sh \
	%D%/purity.sh \
	%D%/readme.sh \
	%D%/tidy.sh \
	%D%/units.sh
dist_check_SCRIPTS += $(lint_tests)
TESTS += $(lint_tests)
EXTRA_DIST += %D%/mandiag.awk
