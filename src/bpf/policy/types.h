/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * types.h - what every policy file builds on: integer names and function attributes.
 *
 * The policy files compile unchanged for BPF (vmlinux.h supplies the integer names) and for the
 * host (this file does).  They use nothing else of either world.
 */
#ifndef PLACE_TYPES_H
#define PLACE_TYPES_H

#ifndef __VMLINUX_H__
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed int s32;
typedef signed long long s64;
#endif

/* Marks for the BPF verifier; the host has no use for them. */
#ifndef __arg_nonnull
#define __arg_nonnull
#endif

#define place_inline static inline __attribute__((always_inline))
/* Rare paths: out of the way of the callers' registers.  Not static: the BPF verifier proves each once. */
#define place_rare __attribute__((noinline, unused))

/*
 * Loops over CPUs, where one is unavoidable, pass through this condition.  For BPF it is the
 * may_goto of can_loop, which bounds the loop for the verifier; on the host it is always true.
 */
#ifndef place_can_loop
#define place_can_loop 1
#endif

#endif /* PLACE_TYPES_H */
