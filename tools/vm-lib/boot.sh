# shellcheck shell=bash disable=SC2034 # variables are for the files that source this one
# Boots the guest, carries its output, and judges how it ended.

EXIT_TIMEOUT=124
EXIT_LOST=125
RUNS_KEPT=20
CONSOLE_TAIL=40
# Lines of the kernel's log that a user will want to know of even when the command succeeded.
SUSPICIOUS='WARNING:|BUG:|Oops|Call Trace:|sched_ext:.*(error|stall|warning|aborted)'

# Sets RUN, the folder that keeps this run's console, and removes the oldest ones no longer running.
new_run() {
	local -a old
	local folder
	mkdir -p "$CACHE/runs"
	RUN=$CACHE/runs/$(date +%Y%m%d-%H%M%S)-$$
	mkdir "$RUN"
	echo $$ >"$RUN/pid"
	printf '%q ' "${COMMAND[@]}" >"$RUN/command"
	mapfile -t old < <(find "$CACHE/runs" -mindepth 1 -maxdepth 1 -type d | sort -r | tail -n +$((RUNS_KEPT + 1)))
	for folder in "${old[@]}"; do
		kill -0 "$(cat "$folder/pid" 2>/dev/null || echo none)" 2>/dev/null || rm -rf "$folder"
	done
}

# Single-threaded emulation only: with thread=multi the guest panics while a scheduler attaches (text patching).
# The vendor makes QEMU describe caches and threads the way the kernel reads them on Intel.
set_machine() {
	QEMU_MACHINE=(-nodefaults -no-user-config -no-reboot -machine q35 -display none
		-accel 'tcg,thread=single,tb-size=512' -cpu 'max,vendor=GenuineIntel')
	KERNEL_ARGS='console=ttyS0 panic=-1 oops=panic quiet loglevel=5 mitigations=off nokaslr no_timer_check'
	if [[ $CLOCK == instructions ]]; then
		QEMU_MACHINE+=(-icount 'shift=0,sleep=off' -seed 1)
		KERNEL_ARGS+=' norandmaps'
	fi
	KERNEL_ARGS+=${APPEND:+ $APPEND}
}

# Paths are relative to the run's folder: a comma in a longer one would part QEMU's options.
channel() { QEMU_CHANNELS+=(-chardev "file,id=$1,path=$2" -device "virtserialport,chardev=$1,name=$1"); }

# Notes each line that init reports, and ends the boot's progress line.
watch_status() {
	local word rest
	while read -r word rest; do
		printf '%s %s\n' "$word" "$rest" >>"$RUN/status"
		[[ $word != start ]] || step_end
	done <"$RUN/status.pipe"
}

# Copies the guest's output to ours, in a process of its own: QEMU would make a shared stdout non-blocking for everybody.
# When nobody reads our stdout any more, it ends this process, and so the guest, as a pipe ends any writer.
copy_output() { { cat || kill -PIPE $$; } <"$RUN/output.pipe" 2>/dev/null; }

# Becomes QEMU. Our own time limit is the only one that also holds when the guest no longer does anything.
start_qemu() {
	cd "$RUN" || exit
	exec timeout -k 5 "$TIMEOUT" qemu-system-x86_64 "${QEMU_MACHINE[@]}" "${QEMU_TOPOLOGY[@]}" \
		-serial file:console.log "${QEMU_CHANNELS[@]}" \
		-kernel "$KERNEL_IMAGE" -initrd "$RUN/initrd" -append "$KERNEL_ARGS" </dev/null >"$RUN/qemu.log" 2>&1
}

# Starts QEMU and the two readers, waits for all, and sets QEMU_STATUS.
boot() {
	local output_reader status_reader
	QEMU_CHANNELS=(-device virtio-serial-pci)
	channel output output.pipe
	channel status status.pipe
	channel files files.tar
	mkfifo "$RUN/output.pipe" "$RUN/status.pipe"
	: >"$RUN/status"
	step_begin "booting $KERNEL_VERSION on $TOPOLOGY (clock: $CLOCK)"
	copy_output &
	output_reader=$!
	watch_status &
	status_reader=$!
	start_qemu &
	QEMU_PID=$!
	QEMU_STATUS=0
	wait $QEMU_PID || QEMU_STATUS=$?
	QEMU_PID=''
	# If QEMU never opened the pipes, their readers still wait for a writer: be one for a moment.
	: <>"$RUN/output.pipe"
	: <>"$RUN/status.pipe"
	wait $output_reader $status_reader || true
	STEP_OPEN=0
	grep -q '^start ' "$RUN/status" || STEP_OPEN=1
}

# Now and then the emulation itself makes a kernel panic while it boots: a guest whose command has not started gets a
# second try. A command that makes it panic gets none.
boot_again() {
	! grep -q '^start ' "$RUN/status" || return 0
	grep -a -q 'Kernel panic' "$RUN/console.log" 2>/dev/null || return 0
	mv "$RUN/console.log" "$RUN/console.first.log"
	rm -f "$RUN"/{output.pipe,status.pipe,files.tar}
	((STEP_OPEN == 0)) || step_fail
	say "the guest panicked before the command started (console: $RUN/console.first.log); once more"
	boot
}

# A failure of the guest itself: its console is the evidence, also that it says nothing, as some boots do.
lost() {
	local status=$1
	shift
	complain "$@"
	printf -- '--- last lines of the console ---\n' >&2
	tail -n $CONSOLE_TAIL "$RUN/console.log" 2>/dev/null | tr -d '\r' >&2 || true
	printf -- '--- console log: %s/console.log (%s bytes) ---\n' \
		"$RUN" "$(stat -c %s "$RUN/console.log" 2>/dev/null || echo no)" >&2
	exit "$status"
}

# A guest is believed only if it reported a status, did not panic and powered off in time.
judge() {
	local panic
	if panic=$(grep -a -m 1 -o 'Kernel panic.*[^[:space:]]' "$RUN/console.log" 2>/dev/null); then
		lost $EXIT_LOST "the guest panicked: $panic"
	elif ((QEMU_STATUS == 124 || QEMU_STATUS == 137)); then
		lost $EXIT_TIMEOUT "the guest did not end within $TIMEOUT s"
	elif ((QEMU_STATUS != 0)) && [[ ! -s $RUN/console.log ]]; then
		die "QEMU failed: $(cat "$RUN/qemu.log")"
	elif ((QEMU_STATUS != 0)); then
		lost $EXIT_LOST "QEMU ended with status $QEMU_STATUS: $(cat "$RUN/qemu.log")"
	fi
	GUEST_STATUS=$(sed -n 's/^status //p' "$RUN/status")
	[[ -n $GUEST_STATUS ]] || lost $EXIT_LOST 'the guest powered off or restarted before the command ended'
}

# Puts the files of --get where they were wanted; one that the guest did not have makes a success a failure.
deliver_files() {
	local number file
	mkdir "$RUN/back"
	[[ ! -s $RUN/files.tar ]] || tar -x -f "$RUN/files.tar" --no-same-owner -C "$RUN/back" || true
	rm -f "$RUN/files.tar"
	[[ ! -e $RUN/back/dmesg ]] || mv "$RUN/back/dmesg" "$RUN/dmesg"
	for number in "${!GET_FILES[@]}"; do
		file=${GET_FILES[number]}
		if [[ -e $RUN/back/$number ]]; then
			cp -rT "$RUN/back/$number" "${file#*:}" || die "${file#*:} could not be written"
		else
			complain "the guest has no ${file%%:*}"
			((GUEST_STATUS != 0)) || GUEST_STATUS=$EXIT_SETUP
		fi
	done
	rm -rf "$RUN/back"
}

# Hands out the guest's whole kernel log if it lived to send it, else what its console showed.
save_kernel_log() {
	KERNEL_LOG=$RUN/dmesg
	[[ -e $KERNEL_LOG ]] || KERNEL_LOG=$RUN/console.log
	[[ -z $DMESG_OUT || ! -e $KERNEL_LOG ]] || cp "$KERNEL_LOG" "$DMESG_OUT"
}

# A command may succeed while the kernel complains: that must not go unseen.
report_suspicious_lines() {
	local count
	count=$(grep -a -c -E "$SUSPICIOUS" "$KERNEL_LOG") || return 0
	say "the guest's kernel log has suspicious lines ($count): $(grep -a -m 1 -E "$SUSPICIOUS" "$KERNEL_LOG" | tr -d '\r')"
	say "kernel log: $KERNEL_LOG"
}

# What must not outlive this process, however it ends.
clean_up() {
	[[ -z ${QEMU_PID:-} ]] || kill "$QEMU_PID" 2>/dev/null || true
	[[ -z ${RUN:-} ]] || rm -rf "$RUN"/{initrd,output.pipe,status.pipe,files.tar,back,pid} "$RUN"/root.*
}

run_guest() {
	new_run
	trap clean_up EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
	trap 'exit 141' PIPE
	build_run_initramfs "$RUN/initrd"
	set_machine
	boot
	boot_again
	trap 'save_kernel_log; clean_up' EXIT
	judge
	deliver_files
	save_kernel_log
	report_suspicious_lines
	exit "$GUEST_STATUS"
}
