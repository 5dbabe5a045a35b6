# Debian packages: `make deb` builds them from the tarball, as a distributor would,
# and leaves them in deb/.  The folder is debian/ there.
debian_files = \
	%D%/changelog \
	%D%/control \
	%D%/copyright \
	%D%/isobar-coordinator.examples \
	%D%/isobar-coordinator.install \
	%D%/isobar-coordinator.lintian-overrides \
	%D%/isobar-sim.install \
	%D%/isobar-sim.lintian-overrides \
	%D%/isobar.install \
	%D%/isobar.lintian-overrides \
	%D%/not-installed \
	%D%/rules \
	%D%/source/format
EXTRA_DIST += $(debian_files) %D%/build.sh

.PHONY: deb
deb: dist
	$(AM_V_at)$(SHELL) $(srcdir)/%D%/build.sh $(distdir).tar.xz deb
mostlyclean-local: clean-deb
.PHONY: clean-deb
clean-deb:
	rm -rf deb
