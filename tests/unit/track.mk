# Decentralised gradient tracking.
trackfield = tests/unit/trackfield.c tests/unit/trackfield.h

unit_tests += tests/unit/push tests/unit/track
tests_unit_track_SOURCES = tests/unit/track.c $(trackfield)
