# Written by hand; tests/unit/man.c and tests/lint/man*.sh hold them to the programs.
dist_man_MANS += \
	%D%/isobar-cluster.conf.5 \
	%D%/isobar-coordinator.8 \
	%D%/isobar-coordinator.conf.5 \
	%D%/isobar-data.5 \
	%D%/isobar-deployment.7 \
	%D%/isobar-guard.8 \
	%D%/isobar-plan.conf.5 \
	%D%/isobar-scenario.5 \
	%D%/isobar-sim.1 \
	%D%/isobar-task.3 \
	%D%/isobar-worker.8 \
	%D%/isobar-protocol.7 \
	%D%/isobar.7 \
	%D%/isobarctl.8 \
	%D%/isobard.8 \
	%D%/isobard.conf.5
if WITH_EXPORTER
dist_man_MANS += %D%/isobar-exporter.8
else
EXTRA_DIST += %D%/isobar-exporter.8
endif

# The sources name the usual paths; what is installed names its own.
install-data-hook: install-man-paths
.PHONY: install-man-paths
install-man-paths:
	$(AM_V_at)for page in $(dist_man_MANS); do \
	  installed='$(DESTDIR)$(mandir)'/man$${page##*.}/$${page##*/}; \
	  sed -e 's|/etc/isobar|$(sysconfdir)/isobar|g' \
	    -e 's|/var/lib/isobar|$(localstatedir)/lib/isobar|g' \
	    -e 's|/usr/sbin/isobard|$(sbindir)/isobard|g' \
	    -e 's|/usr/share/isobar/|$(pkgdatadir)/|g' \
	    -e 's|/usr/share/isobar/schema|$(schemadir)|g' \
	    -e 's|/usr/libexec/isobar|$(pkglibexecdir)|g' "$$installed" >"$$installed.new" && \
	  $(INSTALL_DATA) "$$installed.new" "$$installed" && rm -f "$$installed.new" || exit 1; \
	done
