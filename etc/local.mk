# Samples go beside the documentation: nobody's configuration is overwritten.
sampledir = $(docdir)/examples
dist_sample_DATA = %D%/isobard.conf
dist_sample_DATA += %D%/isobar-coordinator.conf
dist_sample_DATA += %D%/cluster.conf

# The papers' experiments, for isobar-sim and `make repro`.
scenariosdir = $(pkgdatadir)/scenarios
dist_scenarios_DATA = \
	%D%/scenarios/ata-laws \
	%D%/scenarios/ata-pooled \
	%D%/scenarios/ata-prior \
	%D%/scenarios/ata-quadratic \
	%D%/scenarios/ata-regret \
	%D%/scenarios/ata-table-1 \
	%D%/scenarios/ata-table-2 \
	%D%/scenarios/many-workers \
	%D%/scenarios/ringleader \
	%D%/scenarios/ringleader-capped \
	%D%/scenarios/ringmaster \
	%D%/scenarios/ringmaster-capped \
	%D%/scenarios/share-moving \
	%D%/scenarios/slow-down \
	%D%/scenarios/uneven-tasks
