unit_tests += %D%/demand %D%/draw %D%/quantity %D%/rng
unit_tests += %D%/cpuclock %D%/hooks %D%/meter %D%/procuse
%C%_hooks_SOURCES = %D%/hooks.c %D%/hooks_kernel.h
if WITH_EBPF
unit_tests += %D%/meter_missing
%C%_meter_missing_SOURCES = %D%/meter_missing.c tests/fs/tree.c tests/fs/tree.h
%C%_meter_missing_CPPFLAGS = $(AM_CPPFLAGS) $(LIBBPF_CFLAGS)
endif

unit_tests += %D%/demo %D%/demo_training %D%/observer
%C%_demo_LDADD = tests/demo/libdemo.a $(test_libs)
%C%_demo_training_LDADD = tests/demo/libdemo.a $(test_libs)
%C%_observer_LDADD = tests/demo/libobserver.a $(test_libs)
include tests/unit/train.mk

unit_tests += %D%/cluster_conf %D%/registry %D%/registry_file
unit_tests += %D%/admin %D%/conf %D%/control %D%/control_place %D%/freeze %D%/handover %D%/link %D%/link_allowed %D%/opjson %D%/peers %D%/reload %D%/status %D%/trust
%C%_control_SOURCES = %D%/control.c %D%/control_server.c %D%/control_server.h
%C%_control_place_SOURCES = %D%/control_place.c %D%/control_server.c %D%/control_server.h
%C%_link_SOURCES = %D%/link.c %D%/link_ends.c %D%/link_ends.h
%C%_link_allowed_SOURCES = %D%/link_allowed.c %D%/link_ends.c %D%/link_ends.h
unit_tests += %D%/metrics %D%/statuspage
if WITH_EXPORTER
unit_tests += %D%/http
%C%_http_SOURCES = %D%/http.c $(web_server)
%C%_http_CPPFLAGS = $(AM_CPPFLAGS) $(MICROHTTPD_CFLAGS)
%C%_http_LDADD = $(test_libs) $(MICROHTTPD_LIBS)
endif
unit_tests += %D%/directory %D%/gnuplot %D%/log %D%/man %D%/user %D%/wholefile
EXTRA_DIST += %D%/badconf

include tests/unit/learn.mk
unit_tests += %D%/drift %D%/facts %D%/property %D%/quota %D%/sleep %D%/telling

include tests/unit/track.mk
include tests/unit/graph.mk
include tests/unit/trade.mk
unit_tests += %D%/queue %D%/scenario %D%/speeds %D%/split %D%/times
unit_tests += %D%/training %D%/training_any
%C%_training_SOURCES = %D%/training.c %D%/whole_run.c %D%/whole_run.h
%C%_training_any_SOURCES = %D%/training_any.c %D%/whole_run.c %D%/whole_run.h

unit_tests += %D%/fit
%C%_fit_SOURCES = %D%/fit.c tests/repro/fit.c tests/repro/fit.h
