# Topologies.
unit_tests += %D%/arcs %D%/distance %D%/graph %D%/graph_random %D%/graph_text %D%/spectrum %D%/switching
