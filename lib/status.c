/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/status.h"

const char *iso_status_text(enum iso_status status)
{
	switch (status) {
#define X(name, text) case name: return text;
	ISO_STATUS_MAP(X)
#undef X
	}
	return "unknown status";
}
