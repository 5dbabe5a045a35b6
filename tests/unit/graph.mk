# Topologies.
unit_tests += %D%/arcs %D%/graph %D%/switching
