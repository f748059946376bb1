# shellcheck shell=bash disable=SC2034 # variables are for the files that source this one
# Kernels for the guest: Debian's backports with sched_ext, fetched through an apt state of our own.
# The machine's sources are read (for its mirror), never changed; apt checks the signatures.

KERNEL_SUITE=trixie-backports
KERNEL_FLAVOUR=cloud-amd64
KERNEL_OLDEST=6.16        # the first that Debian built with sched_ext
INDEX_MAX_AGE_MINUTES=360 # versions come and go within days, not minutes
OFFLINE_PAUSE_MINUTES=10  # how long a failed refresh keeps cached kernels from waiting for the network again

# Says why no scheduler can be loaded in a version; fails when one can.
why_unusable() {
	local series
	series=$(cut -d. -f1-2 <<<"$1")
	case $series in
	7.1 | 7.2)
		echo "Debian's backport of $series describes the kernel's functions wrongly in its BTF (built with too old a" \
			'pahole), so no sched_ext scheduler can be loaded in it'
		;;
	*)
		[[ $(printf '%s\n' "$series" $KERNEL_OLDEST | sort -V | head -n 1) != "$KERNEL_OLDEST" ]] || return 1
		echo "Debian's kernels before $KERNEL_OLDEST (6.12 of trixie too) are built without sched_ext (CONFIG_SCHED_CLASS_EXT)"
		;;
	esac
}

# The Debian mirror of the machine's own apt configuration.
debian_mirror() {
	local uri
	# shellcheck disable=SC2016 # apt-get expands $(REPO_URI), not the shell
	uri=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' 2>/dev/null |
		awk 'NR == 1') || true
	[[ -n $uri ]] || return 1
	printf '%s\n' "$uri"
}

debian_keyring() {
	local file
	for file in /usr/share/keyrings/debian-archive-keyring.{gpg,pgp}; do
		[[ -r $file ]] && printf '%s\n' "$file" && return
	done
	return 1
}

# Sets APT_OPTIONS: lists, cache and package state under our cache folder, one source with its own key.
prepare_apt() {
	local state=$CACHE/apt
	mkdir -p "$state"/{lists/partial,cache/archives/partial}
	[[ -e $state/status ]] || : >"$state/status"
	APT_OPTIONS=(-qq -o Dir::Etc::sourcelist="$state/sources.list" -o Dir::Etc::sourceparts=/dev/null
		-o Dir::State="$state" -o Dir::State::lists="$state/lists" -o Dir::State::status="$state/status"
		-o Dir::Cache="$state/cache" -o APT::Architecture=amd64 -o APT::Architectures=amd64
		-o APT::Sandbox::User=root -o Acquire::Languages=none -o Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled=false
		-o Acquire::Retries=2 -o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20)
}

younger_than() { [[ -n $(find "$1" -mmin "-$2" 2>/dev/null) ]]; }

# Refreshes the package index when it is old. Fails, with a note, if that is impossible: cached kernels still work.
refresh_index() {
	local cached=$1 mirror keyring log=$CACHE/apt/update.log
	younger_than "$CACHE/apt/refreshed" $INDEX_MAX_AGE_MINUTES && return
	[[ -z $cached ]] || ! younger_than "$CACHE/apt/offline" $OFFLINE_PAUSE_MINUTES || return 1
	mirror=$(debian_mirror) ||
		{ complain "apt knows no Debian mirror here; run 'apt-get update' (as root) once"; return 1; }
	keyring=$(debian_keyring) ||
		{ complain "Debian's archive keys are missing; install debian-archive-keyring (tools/setup does)"; return 1; }
	printf 'deb [arch=amd64 signed-by=%s] %s %s main\n' "$keyring" "$mirror" "$KERNEL_SUITE" >"$CACHE/apt/sources.list"
	step_begin "refreshing the index of $KERNEL_SUITE"
	if ! apt-get "${APT_OPTIONS[@]}" -o APT::Update::Error-Mode=any update >"$log" 2>&1; then
		touch "$CACHE/apt/offline"
		complain "the index of $KERNEL_SUITE could not be refreshed: $(grep -m 1 -E '^[EW]:' "$log" || echo "see $log")"
		return 1
	fi
	touch "$CACHE/apt/refreshed"
	step_end
}

# Sets INDEX_NAMES, the names of all packages in the index; none if it was never fetched.
read_index() { INDEX_NAMES=$(apt-cache "${APT_OPTIONS[@]}" pkgnames 2>/dev/null) || true; }

# Versions in the index that can load a scheduler, oldest first, as VERSION+debNN-FLAVOUR.
archive_versions() {
	local version
	sed -nE "s/^linux-(image|binary)-([0-9][0-9.]*\+deb[0-9]+-$KERNEL_FLAVOUR)\$/\2/p" <<<"$INDEX_NAMES" | sort -Vu |
		while read -r version; do if ! why_unusable "$version" >/dev/null; then printf '%s\n' "$version"; fi; done
}

cached_versions() {
	local dir
	for dir in "$CACHE"/kernels/*/vmlinuz; do
		dir=${dir%/vmlinuz}
		if [[ -e $dir/config ]]; then printf '%s\n' "${dir##*/}"; fi
	done | sort -V
}

# The newest of the versions on stdin that a request (latest, 6.18 or 6.18.15) means.
newest_match() {
	local pattern=.
	[[ $1 == latest ]] || pattern="^${1//./\\.}[.+]"
	grep -E -- "$pattern" | tail -n 1 || true
}

# Up to 6.18 linux-image holds all; later linux-binary holds the kernel, and linux-base (from 7.2 on) its config.
packages_of() {
	local version=$1 name
	for name in linux-binary-"$version" linux-image-"$version"; do
		grep -qxF -- "$name" <<<"$INDEX_NAMES" && echo "$name" && break
	done
	grep -xF -- "linux-base-$version" <<<"$INDEX_NAMES" || true
}

# The kernel's config lies in one place or the other; libbpf needs it for a scheduler's Kconfig externs.
find_config() {
	find "$1" -type f \( -name config -o -name 'config-*' \) -path "*$2*" -print -quit
}

# Unpacks the packages named after the folder into it; runs inside it because apt-get download has no other way.
unpack_packages() (
	cd "$1" || exit
	shift
	apt-get "${APT_OPTIONS[@]}" download "$@" >log 2>&1 || exit
	for package in *.deb; do
		dpkg-deb -x "$package" . >>log 2>&1 || exit
		rm "$package"
	done
)

# The archive kept no config for some versions between 6.19 and 7.1: the nearest newer one is close enough.
borrow_config() {
	local folder=$1 version=$2 donor
	donor=$(sed -n "s/^linux-base-\([0-9].*-$KERNEL_FLAVOUR\)\$/\1/p" <<<"$INDEX_NAMES" | grep -vE -- '-(rt|dbg)' |
		{ cat; echo "$version"; } | sort -V | grep -xF -A 1 -- "$version" | sed -n 2p) || true
	[[ -n $donor ]] || return 1
	unpack_packages "$folder" "linux-base-$donor" || return
	printf '%s\n' "$donor" >"$folder/config.borrowed-from"
	find_config "$folder" "$donor"
}

# Fetches a version into the cache; it appears there only when complete.
fetch_kernel() {
	local version=$1 folder=$CACHE/kernels/.new packages config image
	rm -rf "$folder"
	mkdir -p "$folder"
	mapfile -t packages < <(packages_of "$version")
	step_begin "fetching kernel $version"
	if ! unpack_packages "$folder" "${packages[@]}"; then
		complain "kernel $version could not be fetched: $(grep -m 1 -E '^E:' "$folder/log" || tail -n 1 "$folder/log")"
		return 1
	fi
	image=$(find "$folder" -type f -name 'vmlinuz*' -print -quit)
	config=$(find_config "$folder" "$version")
	[[ -n $config ]] || config=$(borrow_config "$folder" "$version") || die "the archive has no config for kernel $version"
	[[ -n $image && -n $config ]] || die "the packages of kernel $version (${packages[*]}) hold no kernel image or no config"
	if ! { mv "$image" "$folder/vmlinuz" && mv "$config" "$folder/config" &&
		rm -rf "${folder:?}"/{boot,usr,lib,etc,log} && mv -T "$folder" "$CACHE/kernels/$version"; }; then
		die "kernel $version could not be put into $CACHE/kernels"
	fi
	step_end
}

# A kernel of one's own: a path to its image, with config-VERSION or config beside it if there is one.
use_own_kernel() {
	local image=$1 file
	[[ -r $image && -f $image ]] || die "kernel '$image': no such file"
	KERNEL_IMAGE=$(realpath "$image")
	KERNEL_FOLDER=$(dirname "$KERNEL_IMAGE")
	KERNEL_VERSION=$(file_version "$KERNEL_IMAGE")
	KERNEL_CONFIG=''
	for file in "$KERNEL_FOLDER/config-$KERNEL_VERSION" "$KERNEL_FOLDER/config" "$KERNEL_FOLDER/.config"; do
		[[ -r $file ]] && KERNEL_CONFIG=$file && break
	done
	[[ -n $KERNEL_CONFIG ]] || say "no config beside $image: a scheduler with Kconfig externs will not load"
}

# The boot protocol keeps a pointer to the version text at offset 0x20e of the image.
file_version() {
	local offset
	offset=$(od -An -tu2 -j $((0x20e)) -N 2 "$1" | tr -d ' ')
	tail -c +$((offset + 0x200 + 1)) "$1" | head -c 200 | tr '\0' '\n' | awk 'NR == 1 {print $1}' || true
}

# Explains a request that nothing matches, with the newest version of each series that would work.
no_such_kernel() {
	local request=$1 offered reason
	offered=$( (archive_versions; cached_versions) | sed 's/+.*//' | sort -Vu |
		awk -F. '{newest[$1 "." $2] = $0} END {for (series in newest) print newest[series]}' | sort -V | paste -sd ' ')
	reason=$(why_unusable "$request") || reason="not in $KERNEL_SUITE and not cached"
	die "kernel $request: $reason
  kernels that work: ${offered:-none known here} (or latest)"
}

# Refuses what is no version at all.
check_kernel_request() {
	[[ $1 == latest || $1 =~ ^[0-9]+\.[0-9]+(\.[0-9]+)?$ ]] ||
		die "kernel '$1': give a version such as 6.18 or 6.18.15, latest, or the path of an image"
}

# Sets KERNEL_VERSION, KERNEL_FOLDER, KERNEL_IMAGE and KERNEL_CONFIG for a request, fetching what is missing.
resolve_kernel() {
	local request=$1 wanted='' cached
	if [[ $request == */* ]]; then use_own_kernel "$request"; return; fi
	check_kernel_request "$request"
	mkdir -p "$CACHE/kernels"
	lock "$CACHE/kernels.lock"
	prepare_apt
	cached=$(cached_versions | newest_match "$request")
	refresh_index "$cached" || [[ -n $cached ]] || die "no kernel $request is cached, and none can be fetched (see above)"
	read_index
	wanted=$(archive_versions | newest_match "$request")
	if [[ -n $wanted && ! -e $CACHE/kernels/$wanted/vmlinuz ]]; then
		fetch_kernel "$wanted" || wanted=''
	fi
	KERNEL_VERSION=${wanted:-$cached}
	[[ -n $KERNEL_VERSION ]] || no_such_kernel "$request"
	[[ -n $wanted ]] || say "using the cached kernel $KERNEL_VERSION"
	unlock
	KERNEL_FOLDER=$CACHE/kernels/$KERNEL_VERSION
	KERNEL_IMAGE=$KERNEL_FOLDER/vmlinuz
	KERNEL_CONFIG=$KERNEL_FOLDER/config
}
