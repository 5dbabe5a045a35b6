# Topologies.
lib_libisobar_a_SOURCES += \
	%D%/graph.c %D%/graph.h
