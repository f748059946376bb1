/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * floor.bpf.c - the least that a sched_ext scheduler can be: every task runs on the CPU it last
 * ran on, in the order of arrival.  What a hop costs under it is the price of sched_ext itself.
 */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

UEI_DEFINE(uei);

void BPF_STRUCT_OPS(floor_enqueue, struct task_struct *p, u64 enq_flags)
{
	scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, SCX_SLICE_DFL, enq_flags);
}

/* Runs once, when the scheduler ends: the loader learns why. */
void BPF_STRUCT_OPS(floor_exit, struct scx_exit_info *ei)
{
	UEI_RECORD(uei, ei);
}

SCX_OPS_DEFINE(floor_ops,
	       .enqueue	= (void *)floor_enqueue,
	       .exit	= (void *)floor_exit,
	       .name	= "floor");
