# The table of "tools/bench verify": the counts kept, lines "KERNEL PROGRAM COUNT", then records parted by tabs.
BEGIN {
	row = "%-8s %-20s %12s %12s %8s %10s%s\n"
}
FILENAME == ARGV[1] { split($0, word, " "); kept[word[1], word[2]] = word[3]; next }
{ split($0, field, "\t"); kernel = field[1] }
field[2] == "program" {
	if (!(kernel in total)) {
		kernels[++n] = kernel
		printf row, "kernel", "program", "instructions", "before", "change", "ms", ""
	}
	before = kept[kernel, field[3]]
	change = before ? sprintf("%+.0f %%", 100 * field[4] / before - 100) : "new"
	mark = before && field[4] > before * (1 + rise / 100) ? "  <- more than " rise " % above" : ""
	printf row, kernel, field[3], field[4], before ? before : "-", change, sprintf("%.1f", field[5] / 1000), mark
	total[kernel] += field[4]
	ms[kernel] += field[5] / 1000
}
field[2] == "load" { load[kernel] = field[3] }
field[2] == "failed" { printf "%s: %s\n", kernel, field[3] }
END {
	for (i = 1; i <= n; i++)
		printf row, kernels[i], "all", total[kernels[i]], "", "", sprintf("%.0f", ms[kernels[i]]), \
			"  of " load[kernels[i]] " ms from start to attached"
}
