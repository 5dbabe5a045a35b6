# Decentralised gradient tracking.
trackfield = tests/unit/trackfield.c tests/unit/trackfield.h

unit_tests += tests/unit/push tests/unit/track tests/unit/track_adapt tests/unit/track_step
tests_unit_track_SOURCES = tests/unit/track.c $(trackfield)
tests_unit_track_adapt_SOURCES = tests/unit/track_adapt.c $(trackfield)
tests_unit_track_step_SOURCES = tests/unit/track_step.c $(trackfield)

unit_tests += tests/unit/peer tests/unit/peer_wire tests/unit/vectors_peer
EXTRA_DIST += tests/vectors/peer.txt
