# Topologies.
unit_tests += %D%/arcs %D%/graph %D%/graph_random %D%/graph_text %D%/spectrum %D%/switching
