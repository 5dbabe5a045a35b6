# Topologies: edges, arcs, weights.
lib_libisobar_a_SOURCES += \
	%D%/arcs.c %D%/arcs.h \
	%D%/graph.c %D%/graph.h \
	%D%/weights.c %D%/weights.h
