# Samples go beside the documentation: nobody's configuration is overwritten.
sampledir = $(docdir)/examples
dist_sample_DATA = %D%/isobard.conf
dist_sample_DATA += %D%/isobar-coordinator.conf
dist_sample_DATA += %D%/cluster.conf
