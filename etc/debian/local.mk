# Debian packages: `make deb` builds them from the tarball, as a distributor would,
# and leaves them in deb/.  The folder is debian/ there.
debian_files = \
	%D%/changelog \
	%D%/control \
	%D%/copyright \
	%D%/isobar-coordinator.examples \
	%D%/isobar-coordinator.install \
	%D%/isobar-coordinator.lintian-overrides \
	%D%/isobar-coordinator.postinst \
	%D%/isobar-coordinator.postrm \
	%D%/isobar-coordinator.prerm \
	%D%/isobar-exporter.install \
	%D%/isobar-exporter.lintian-overrides \
	%D%/isobar-sim.install \
	%D%/isobar-sim.lintian-overrides \
	%D%/isobar.README.Debian \
	%D%/isobar.install \
	%D%/isobar.lintian-overrides \
	%D%/isobar.postinst \
	%D%/isobar.postrm \
	%D%/isobar.prerm \
	%D%/not-installed \
	%D%/rules \
	%D%/shlibs.local \
	%D%/source/format \
	%D%/tests/control \
	%D%/tests/installed
EXTRA_DIST += $(debian_files) %D%/build.sh

.PHONY: deb
deb: dist
	$(AM_V_at)$(SHELL) $(srcdir)/%D%/build.sh $(distdir).tar.xz deb
mostlyclean-local: clean-deb
.PHONY: clean-deb
clean-deb:
	rm -rf deb
