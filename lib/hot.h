/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_HOT_H
#define ISO_HOT_H

#include <stdint.h>

/*
 * A loop over many numbers is compiled for wider registers too, and the C
 * library picks one at load time (an ifunc).  All give the same bits, since nothing
 * in lib/ is contracted or reordered.  Sanitizers cannot run in a resolver, and
 * clang (14) names the ifunc otherwise than callers in other files do.
 */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
	__has_feature(memory_sanitizer) || __has_feature(coverage_sanitizer)
#define ISO_HOT_SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ISO_HOT_SANITIZED
#endif

#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__) && \
	!defined(ISO_HOT_SANITIZED)
#define ISO_HOT __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define ISO_HOT
#endif

#endif
