# Neighbours' messages and the journal.
fuzz_targets += %D%/edge %D%/message %D%/operation %D%/record
%C%_edge_SOURCES = %D%/edge.c $(fuzz_main)
%C%_edge_LDADD = lib/libisobar.a
%C%_edge_LDFLAGS = $(AM_LDFLAGS) $(fuzz_ldflags)
%C%_message_SOURCES = %D%/message.c $(fuzz_main)
%C%_message_LDADD = lib/libisobar.a
%C%_message_LDFLAGS = $(AM_LDFLAGS) $(fuzz_ldflags)
%C%_operation_SOURCES = %D%/operation.c $(fuzz_main)
%C%_operation_LDADD = lib/libisobar.a
%C%_operation_LDFLAGS = $(AM_LDFLAGS) $(fuzz_ldflags)
%C%_record_SOURCES = %D%/record.c $(fuzz_main)
%C%_record_LDADD = lib/libisobar.a
%C%_record_LDFLAGS = $(AM_LDFLAGS) $(fuzz_ldflags)
EXTRA_DIST += \
	%D%/corpus/edge/answer \
	%D%/corpus/edge/budget \
	%D%/corpus/edge/checksum \
	%D%/corpus/edge/empty \
	%D%/corpus/edge/extreme \
	%D%/corpus/edge/first \
	%D%/corpus/edge/long \
	%D%/corpus/edge/magic \
	%D%/corpus/edge/referable \
	%D%/corpus/edge/short \
	%D%/corpus/edge/tombstone \
	%D%/corpus/edge/version \
	%D%/corpus/message/amnesia \
	%D%/corpus/message/answer \
	%D%/corpus/message/first \
	%D%/corpus/message/frozen \
	%D%/corpus/message/future \
	%D%/corpus/message/leaving \
	%D%/corpus/message/overdraft \
	%D%/corpus/message/referable \
	%D%/corpus/message/tombstone \
	%D%/corpus/operation/buried-peer \
	%D%/corpus/operation/burn \
	%D%/corpus/operation/close-waits \
	%D%/corpus/operation/drain \
	%D%/corpus/operation/freeze \
	%D%/corpus/operation/give \
	%D%/corpus/operation/lease \
	%D%/corpus/operation/leave \
	%D%/corpus/operation/mint \
	%D%/corpus/operation/open \
	%D%/corpus/operation/tombstone \
	%D%/corpus/operation/void \
	%D%/corpus/record/both \
	%D%/corpus/record/damaged \
	%D%/corpus/record/empty \
	%D%/corpus/record/full \
	%D%/corpus/record/one \
	%D%/corpus/record/torn \
	%D%/corpus/record/version
