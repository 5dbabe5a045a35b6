# What the agent and isobarctl read: ledgers, key files, /proc, the limit of before, requests.
fuzz_targets += %D%/control %D%/keyfile %D%/ledger %D%/mounts %D%/opjson %D%/saved
%C%_control_SOURCES = %D%/control.c $(fuzz_main)
%C%_control_LDADD = $(agent_libs)
%C%_control_LDFLAGS = $(AM_LDFLAGS) $(fuzz_ldflags)
%C%_keyfile_SOURCES = %D%/keyfile.c %D%/memory.h $(fuzz_main)
%C%_keyfile_LDADD = $(agent_libs)
%C%_keyfile_LDFLAGS = $(AM_LDFLAGS) $(fuzz_ldflags)
%C%_ledger_SOURCES = %D%/ledger.c $(fuzz_main)
%C%_ledger_LDADD = $(agent_libs)
%C%_ledger_LDFLAGS = $(AM_LDFLAGS) $(fuzz_ldflags)
%C%_mounts_SOURCES = %D%/mounts.c $(fuzz_main)
%C%_mounts_LDADD = $(agent_libs)
%C%_mounts_LDFLAGS = $(AM_LDFLAGS) $(fuzz_ldflags)
%C%_opjson_SOURCES = %D%/opjson.c $(fuzz_main)
%C%_opjson_LDADD = $(agent_libs)
%C%_opjson_LDFLAGS = $(AM_LDFLAGS) $(fuzz_ldflags)
%C%_saved_SOURCES = %D%/saved.c %D%/memory.h $(fuzz_main)
%C%_saved_LDADD = $(agent_libs)
%C%_saved_LDFLAGS = $(AM_LDFLAGS) $(fuzz_ldflags)
EXTRA_DIST += \
	%D%/corpus/control/after-the-end \
	%D%/corpus/control/array \
	%D%/corpus/control/bad-utf8 \
	%D%/corpus/control/change \
	%D%/corpus/control/cut-character \
	%D%/corpus/control/cut-off \
	%D%/corpus/control/echo \
	%D%/corpus/control/empty \
	%D%/corpus/control/large-number \
	%D%/corpus/control/nested \
	%D%/corpus/control/no-command \
	%D%/corpus/control/nul-in-name \
	%D%/corpus/control/too-nested \
	%D%/corpus/control/twice \
	%D%/corpus/control/unknown \
	%D%/corpus/keyfile/beyond-32-bits \
	%D%/corpus/keyfile/carriage-return \
	%D%/corpus/keyfile/comments-only \
	%D%/corpus/keyfile/empty \
	%D%/corpus/keyfile/no-newline \
	%D%/corpus/keyfile/other-label \
	%D%/corpus/keyfile/public \
	%D%/corpus/keyfile/secret \
	%D%/corpus/keyfile/secret-beyond-32-bits \
	%D%/corpus/keyfile/short-key \
	%D%/corpus/keyfile/too-long \
	%D%/corpus/keyfile/two-keys \
	%D%/corpus/keyfile/with-nul \
	%D%/corpus/ledger/amounts-that-wrap \
	%D%/corpus/ledger/cluster \
	%D%/corpus/ledger/cut-off \
	%D%/corpus/ledger/edge-generation-zero \
	%D%/corpus/ledger/empty \
	%D%/corpus/ledger/enforced-unknown \
	%D%/corpus/ledger/old-donor \
	%D%/corpus/ledger/one \
	%D%/corpus/ledger/too-many-edges \
	%D%/corpus/ledger/twice \
	%D%/corpus/ledger/unlimited \
	%D%/corpus/mounts/disabled \
	%D%/corpus/mounts/empty \
	%D%/corpus/mounts/escaped \
	%D%/corpus/mounts/hybrid \
	%D%/corpus/mounts/long-path \
	%D%/corpus/mounts/many-fields \
	%D%/corpus/mounts/outside-namespace \
	%D%/corpus/mounts/part-then-whole \
	%D%/corpus/mounts/unmounted \
	%D%/corpus/mounts/v1 \
	%D%/corpus/mounts/v2 \
	%D%/corpus/mounts/with-nul \
	%D%/corpus/opjson/admit \
	%D%/corpus/opjson/applied \
	%D%/corpus/opjson/busy \
	%D%/corpus/opjson/close \
	%D%/corpus/opjson/fold \
	%D%/corpus/opjson/mint \
	%D%/corpus/opjson/of-a-terminal \
	%D%/corpus/opjson/open \
	%D%/corpus/opjson/stale \
	%D%/corpus/opjson/unknown-field \
	%D%/corpus/saved/cut-off \
	%D%/corpus/saved/empty \
	%D%/corpus/saved/long \
	%D%/corpus/saved/other-group \
	%D%/corpus/saved/other-version \
	%D%/corpus/saved/period-zero \
	%D%/corpus/saved/quota-too-large \
	%D%/corpus/saved/too-deep \
	%D%/corpus/saved/unlimited \
	%D%/corpus/saved/whole

fuzz_targets += %D%/registry
%C%_registry_SOURCES = %D%/registry.c $(fuzz_main)
%C%_registry_LDADD = $(agent_libs)
%C%_registry_LDFLAGS = $(AM_LDFLAGS) $(fuzz_ldflags)
EXTRA_DIST += \
	%D%/corpus/registry/amount \
	%D%/corpus/registry/buried \
	%D%/corpus/registry/burying \
	%D%/corpus/registry/created \
	%D%/corpus/registry/empty \
	%D%/corpus/registry/joined \
	%D%/corpus/registry/left \
	%D%/corpus/registry/sealed \
	%D%/corpus/registry/unknown
