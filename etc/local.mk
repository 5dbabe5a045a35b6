# Samples go beside the documentation: nobody's configuration is overwritten.
sampledir = $(docdir)/examples
dist_sample_DATA = %D%/isobard.conf
dist_sample_DATA += %D%/isobar-coordinator.conf
dist_sample_DATA += %D%/cluster.conf
dist_sample_DATA += %D%/plan.conf

# Where something else starts the agents: isobar-deployment(7).
slurmdir = $(sampledir)/slurm
dist_slurm_SCRIPTS = %D%/deployment/slurm/prolog %D%/deployment/slurm/epilog
kubernetesdir = $(sampledir)/kubernetes
dist_kubernetes_DATA = %D%/deployment/kubernetes/daemonset.yaml
ansibledir = $(sampledir)/ansible
dist_ansible_DATA = %D%/deployment/ansible/isobard.conf.j2 %D%/deployment/ansible/playbook.yml

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
	%D%/scenarios/ringleader-loss \
	%D%/scenarios/ringmaster \
	%D%/scenarios/ringmaster-capped \
	%D%/scenarios/share-moving \
	%D%/scenarios/slow-down \
	%D%/scenarios/uneven-tasks

# What isobarctl --json prints; tests/cli holds the output against it.
schemadir = $(pkgdatadir)/schema
dist_schema_DATA = %D%/schema/isobarctl.json

# For systemd.  Paths are filled in by make: they may hang on its prefix.
systemdsystemunit_DATA = %D%/systemd/isobard@.service %D%/systemd/isobar-coordinator@.service
exporter_unit = %D%/systemd/isobar-exporter.service
sysusersdir = $(prefix)/lib/sysusers.d
dist_sysusers_DATA = %D%/sysusers.d/isobar.conf %D%/sysusers.d/isobar-coordinator.conf
# For Prometheus and Grafana, which take them from there or get a copy.
prometheusdir = $(pkgdatadir)/prometheus
grafanadir = $(pkgdatadir)/grafana
if WITH_EXPORTER
dist_prometheus_DATA = %D%/prometheus/isobar.rules.yml
dist_grafana_DATA = %D%/grafana/isobar.json
systemdsystemunit_DATA += $(exporter_unit)
dist_sysusers_DATA += %D%/sysusers.d/isobar-exporter.conf
else
EXTRA_DIST += $(exporter_unit).in %D%/sysusers.d/isobar-exporter.conf \
	%D%/prometheus/isobar.rules.yml %D%/grafana/isobar.json
endif
tmpfilesdir = $(prefix)/lib/tmpfiles.d
tmpfiles_DATA = %D%/tmpfiles.d/isobar.conf %D%/tmpfiles.d/isobar-coordinator.conf
etc_filled = $(systemdsystemunit_DATA) $(tmpfiles_DATA)
EXTRA_DIST += $(etc_filled:=.in)
CLEANFILES += $(etc_filled)
$(etc_filled): %: %.in Makefile
	$(AM_V_GEN)$(MKDIR_P) $(@D) && sed -e 's|[@]sbindir[@]|$(sbindir)|g' -e 's|[@]bindir[@]|$(bindir)|g' \
		-e 's|[@]sysconfdir[@]|$(sysconfdir)|g' $(srcdir)/$@.in >$@.new && mv $@.new $@

# Each shell has a folder and a way to call the file.
bashcompletiondir = $(datadir)/bash-completion/completions
zshcompletiondir = $(datadir)/zsh/site-functions
fishcompletiondir = $(datadir)/fish/vendor_completions.d
dist_zshcompletion_DATA = %D%/completion/_isobarctl
dist_fishcompletion_DATA = %D%/completion/isobarctl.fish
EXTRA_DIST += %D%/completion/isobarctl.bash
install-data-local:
	$(MKDIR_P) $(DESTDIR)$(bashcompletiondir)
	$(INSTALL_DATA) $(srcdir)/%D%/completion/isobarctl.bash $(DESTDIR)$(bashcompletiondir)/isobarctl
uninstall-local:
	rm -f $(DESTDIR)$(bashcompletiondir)/isobarctl

include etc/debian/local.mk
include etc/rpm/local.mk
