# Pages are written by hand; tests/unit/man.c and tests/lint/man*.sh hold them to the programs.
dist_man_MANS += \
	%D%/isobard.conf.5
