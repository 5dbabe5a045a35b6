# Topologies.
unit_tests += %D%/arcs %D%/graph %D%/graph_random %D%/spectrum %D%/switching
