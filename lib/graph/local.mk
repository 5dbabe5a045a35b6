# Topologies: edges, arcs, weights and their spectra, switching.
lib_libisobar_a_SOURCES += \
	%D%/arcs.c %D%/arcs.h \
	%D%/build.h \
	%D%/distance.c %D%/distance.h \
	%D%/graph.c %D%/graph.h \
	%D%/parts.h \
	%D%/random.c %D%/random.h \
	%D%/spectrum.c %D%/spectrum.h \
	%D%/switching.c %D%/switching.h \
	%D%/text.c %D%/text.h \
	%D%/weights.c %D%/weights.h
