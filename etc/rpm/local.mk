# rpmbuild -ta takes it out of the tarball.
EXTRA_DIST += %D%/isobar.spec
