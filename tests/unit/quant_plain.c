/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

/*
 * The library has one copy of these loops for each width of register and takes
 * the widest the machine has.  This is the copy it would take on an old machine,
 * to be compared with the one it takes here.
 */
#define ISO_HOT_SANITIZED
#define iso_quant_vector_init   plain_quant_vector_init
#define iso_quant_vector_encode plain_quant_vector_encode
#define iso_quant_vector_decode plain_quant_vector_decode
#define iso_quant_vector_apply  plain_quant_vector_apply

#include "lib/quant/quant_vector.c"
