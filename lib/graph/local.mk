# Topologies: edges, arcs, weights, switching.
lib_libisobar_a_SOURCES += \
	%D%/arcs.c %D%/arcs.h \
	%D%/build.h \
	%D%/graph.c %D%/graph.h \
	%D%/parts.h \
	%D%/random.c %D%/random.h \
	%D%/switching.c %D%/switching.h \
	%D%/weights.c %D%/weights.h
