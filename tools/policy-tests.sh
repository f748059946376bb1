# shellcheck shell=bash
# For tools/sanitize and tools/mutants: tests that take the policy files from a shared library, so that another build of
# those can be put in place without building or linking anything else. The caller is in the repository's root.

POLICY=src/bpf/policy
SWAP=$PWD/${CARGO_TARGET_DIR:-target}/policy-lib

# compile_policy FOLDER SOURCE FLAG...: the policy files as FOLDER/libplace_policy.so.
compile_policy() {
	mkdir -p "$1"
	gcc -std=gnu11 -g -Wno-unknown-pragmas -shared -fPIC -Wl,-soname,libplace_policy.so "${@:3}" "$2/host.c" \
		-o "$1/libplace_policy.so"
}

# rustc runs this instead of the linker. The library comes first and answers for every symbol, so the policy files that
# are linked into everything else are not pulled.
write_linker() {
	compile_policy "$SWAP" $POLICY -O2
	printf '#!/bin/sh\nexec gcc %q "$@"\n' "$SWAP/libplace_policy.so" >"$SWAP/linker"
	chmod +x "$SWAP/linker"
}

# Builds the tests of these names; PROGRAMS becomes their programs.
build_policy_tests() {
	local test program
	write_linker
	PROGRAMS=()
	for test; do
		program=$(cargo rustc --release --test "$test" --message-format json -- -C "linker=$SWAP/linker" |
			sed -n 's/.*"name":"'"$test"'".*"executable":"\([^"]*\)".*/\1/p')
		# By its bare name, or the loader would not look where it is told to.
		if [[ -z $program ]] || ! readelf -d "$program" | grep 'NEEDED.*\[libplace_policy\.so\]' >/dev/null; then
			printf '%s was not built, or does not take the policy files from a library\n' "$test" >&2
			return 1
		fi
		PROGRAMS+=("$program")
	done
}

# run_policy_test FOLDER PROGRAM...: a test with the policy files of FOLDER.
run_policy_test() {
	LD_LIBRARY_PATH=$1 "${@:2}" --quiet
}
