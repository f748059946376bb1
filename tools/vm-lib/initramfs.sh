# shellcheck shell=bash
# The guest's root file system: a cached base with the tools, and a small second archive for each run.

# What must be on the guest's PATH beside busybox's applets.
GUEST_TOOLS=(bash hackbench stress-ng perf bpftool lscpu taskset chrt)

# Sets TOOL_PATHS, busybox first.
find_guest_tools() {
	local tool
	TOOL_PATHS=()
	for tool in busybox "${GUEST_TOOLS[@]}"; do
		TOOL_PATHS+=("$(PATH=$PATH:/usr/sbin:/sbin type -P "$tool")") || die "$tool is missing: run tools/setup"
	done
}

# Shared libraries of the given programs, and the loader.
libraries_of() {
	{ ldd "$@" 2>/dev/null || true; } | grep -oE '(^|[[:space:]])/[^ :)]+( |$)' | tr -d ' \t' | sort -u
}

# Copies a file or folder into a root folder; for a program its libraries come along, unless the base has them.
install_into() {
	local root=$1 source=$2 target=$3 library
	mkdir -p "$root$(dirname "$target")"
	rm -f "$root$target"
	cp -rL "$source" "$root$target"
	[[ -f $source ]] || return 0
	while read -r library; do
		[[ -e $root$library ]] || grep -qxF -- "$library" "${BASE_LIBRARIES:-/dev/null}" && continue
		mkdir -p "$root$(dirname "$library")"
		cp -L "$library" "$root$library"
	done < <(libraries_of "$source")
}

# Owner and order are fixed, so that the same input gives the same archive.
pack() {
	(cd "$1" && find . -mindepth 1 | LC_ALL=C sort | cpio -o -H newc -R 0:0 --quiet --reproducible)
}

build_base() {
	local root=$1 applet tool
	mkdir -p "$root"/{bin,sbin,usr/bin,usr/sbin,lib,lib64,dev,proc,sys,tmp,run,etc,root,mnt,boot,vm}
	chmod 1777 "$root/tmp"
	cp -L "${TOOL_PATHS[0]}" "$root/bin/busybox"
	for applet in $("$root/bin/busybox" --list); do ln -s busybox "$root/bin/$applet" 2>/dev/null || true; done
	for tool in "${TOOL_PATHS[@]:1}"; do install_into "$root" "$tool" "/bin/${tool##*/}"; done
	install -m 755 "$HERE/guest/init" "$root/init"
	echo 'root:x:0:0:root:/root:/bin/bash' >"$root/etc/passwd"
	echo 'root:x:0:' >"$root/etc/group"
	echo '127.0.0.1 localhost' >"$root/etc/hosts"
}

# Sets BASE_CPIO and BASE_LIBRARIES. The key is made of all that goes in: a new package version builds a new base.
prepare_base() {
	local key folder=$CACHE/base libraries root
	find_guest_tools
	libraries=$(libraries_of "${TOOL_PATHS[@]}")
	# shellcheck disable=SC2086 # one word per library
	key=$({
		stat -L -c '%n %s %Y' "${TOOL_PATHS[@]}" $libraries
		cat "$HERE/guest/init" "$HERE/vm-lib/initramfs.sh"
	} | sha256sum | cut -c 1-16)
	BASE_CPIO=$folder/$key.cpio
	BASE_LIBRARIES=$folder/$key.libraries
	[[ ! -e $BASE_CPIO ]] || return 0
	mkdir -p "$folder"
	lock "$CACHE/base.lock"
	if [[ ! -e $BASE_CPIO ]]; then
		step_begin "building the guest's base file system"
		root=$(mktemp -d "$folder/.root.XXXXXX")
		BASE_LIBRARIES='' build_base "$root"
		pack "$root" >"$BASE_CPIO.new"
		rm -rf "$root"
		printf '%s\n' "$libraries" >"$BASE_LIBRARIES"
		mv "$BASE_CPIO.new" "$BASE_CPIO"
		prune_bases "$folder"
		step_end
	fi
	unlock
}

# Bases of older package versions are never used again; a few are kept for other checkouts that share the cache.
prune_bases() {
	local old
	# shellcheck disable=SC2012 # names are ours: hexadecimal digits
	ls -t "$1"/*.cpio | tail -n +5 | while read -r old; do rm -f "$old" "${old%.cpio}.libraries"; done
}

# Sets SCX_PLACE to the program under test; it may be missing, then the guest has none.
find_scx_place() {
	local built=${CARGO_TARGET_DIR:-$HERE/../target}/release/scx_place
	SCX_PLACE=${SCX_PLACE_BIN:-}
	[[ -z $SCX_PLACE || -x $SCX_PLACE ]] || die "SCX_PLACE_BIN names no program: $SCX_PLACE"
	[[ -n $SCX_PLACE || ! -x $built ]] || SCX_PLACE=$built
}

# Writes the run's archive, base and all, to a file. Arguments are parted by NUL, so each survives as it is.
build_run_initramfs() {
	local target=$1 root file
	root=$(mktemp -d "$RUN/root.XXXXXX")
	mkdir -p "$root"/{vm,boot}
	printf '%s\0' "${COMMAND[@]}" >"$root/vm/command"
	: >"$root/vm/get"
	for file in "${GET_FILES[@]}"; do printf '%s\0' "${file%%:*}" >>"$root/vm/get"; done
	[[ -z $KERNEL_CONFIG ]] || cp "$KERNEL_CONFIG" "$root/boot/config-$KERNEL_VERSION"
	[[ -z $SCX_PLACE ]] || install_into "$root" "$SCX_PLACE" /bin/scx_place
	for file in "${PUT_FILES[@]}"; do install_into "$root" "${file%:*}" "${file##*:}"; done
	{ cat "$BASE_CPIO"; pack "$root"; } >"$target"
	rm -rf "$root"
}
