/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The heads of workers without a coordinator against their frozen vectors, as in vectors.c. */
#include "config.h"

#include <string.h>

#include "lib/wire/peer.h"
#include "tests/test.h"
#include "tests/vectorfield.h"
#include "tests/vectorfile.h"

static struct vectorfile file;

#define AS(name, member)                                                                           \
	{                                                                                          \
		name, offsetof(struct iso_peer_frame, member),                                     \
			sizeof(((struct iso_peer_frame *)0)->member)                               \
	}
#define F(member) FIELD(struct iso_peer_frame, member)

static const struct field fields[] = {
	F(kind),
	F(plan),
	F(source),
	F(destination),
	AS("boot", own.boot),
	AS("echo_boot", echo.boot),
	AS("session", own.session),
	AS("echo_session", echo.session),
	AS("base_boot", base.boot),
	F(base_session),
	AS("base_echo_session", base.session),
	F(settled),
	F(seq),
	F(ack),
	F(round),
	F(degree),
	F(age),
	F(flags),
	F(alpha),
	F(curvature),
	F(loss),
	F(payload_bytes),
	F(payload_checksum),
	F(split),
	F(params),
};

START_TEST(heads_of_peers)
{
	vectorfile_open("peer.txt", &file);
	while (vectorfile_next(&file)) {
		struct iso_peer_frame decoded, frame;
		uint8_t head[ISO_PEER_HEAD_BYTES];
		enum iso_status status = iso_peer_frame_decode(file.bytes, file.size, &decoded);

		vectorfield_status(&file, status);
		if (status != ISO_OK)
			continue;
		vectorfield_each(&file, "", fields, FIELD_COUNT(fields), &decoded, true);
		memset(&frame, 0, sizeof(frame));
		vectorfield_each(&file, "", fields, FIELD_COUNT(fields), &frame, false);
		iso_peer_frame_encode(&frame, head);
		vectorfield_bytes(&file, head, sizeof(head));
	}
	ck_assert_uint_eq(file.cases, 49);
	vectorfile_close(&file);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("vectors_peer");
	TCase *tcase = tcase_create("file");

	tcase_add_test(tcase, heads_of_peers);
	suite_add_tcase(suite, tcase);
	return suite;
}
