# shellcheck shell=bash disable=SC2034 # variables are for the files that source this one
# Topologies of the guest: names, the description they stand for, and QEMU's arguments for it.
#
# A description is  smp=CPUS[,sockets=N][,dies=N][,cores=N][,threads=N][;numa=CPUS,CPUS...][;dist=N]
# Each die has a last-level cache of its own. In numa= a comma parts the nodes, a plus joins ranges of one node.

# name | description | in words
TOPOLOGIES=(
	'1|smp=1|one CPU'
	'2|smp=2,cores=2|2 cores'
	'4|smp=4,cores=4|4 cores'
	'smt8|smp=8,cores=4,threads=2|4 cores x 2 threads'
	'2llc16|smp=16,dies=2,cores=4,threads=2|1 package, 1 node, 2 last-level caches x 4 cores x 2 threads'
	'2pkg16|smp=16,sockets=2,cores=4,threads=2|2 packages x 4 cores x 2 threads, 1 node'
	'2node16|smp=16,sockets=2,cores=4,threads=2;numa=0-7,8-15|2 packages x 4 cores x 2 threads, 2 nodes'
	'32|smp=32,sockets=2,dies=2,cores=4,threads=2;numa=0-15,16-31|2 packages x 2 dies x 4 cores x 2 threads, 2 nodes'
	'48|smp=48,sockets=2,cores=12,threads=2;numa=0-23,24-47|2 packages x 12 cores x 2 threads, 2 nodes'
	'60|smp=60,sockets=4,cores=15;numa=0-14,15-29,30-44,45-59|4 packages x 15 cores, 4 nodes'
	'64|smp=64,sockets=2,cores=16,threads=2;numa=0-31,32-63|2 packages x 16 cores x 2 threads, 2 nodes'
)
REMOTE_DISTANCE=21

topology_names() {
	local IFS=' ' names=("${TOPOLOGIES[@]%%|*}")
	echo "${names[*]}"
}

bad_topology() {
	die "topology '$TOPOLOGY': $1
  names: $(topology_names)
  or describe one: 'smp=8,sockets=2,cores=4;numa=0-3,4-7' (see tools/vm help)"
}

# Sets DESCRIPTION from a name; a description stands for itself.
describe_topology() {
	local row
	TOPOLOGY=$1
	DESCRIPTION=$1
	[[ $1 == smp=* ]] && return
	for row in "${TOPOLOGIES[@]}"; do
		if [[ ${row%%|*} == "$1" ]]; then
			DESCRIPTION=${row#*|}
			DESCRIPTION=${DESCRIPTION%%|*}
			return
		fi
	done
	bad_topology 'unknown name'
}

# Sets CPUS and QEMU_SMP. The product must fit: QEMU would guess a missing level in its own, changing ways.
parse_smp() {
	local -A level=([sockets]=1 [dies]=1 [cores]='' [threads]=1)
	local -a items
	local item known
	IFS=, read -ra items <<<"$1"
	CPUS=${items[0]}
	[[ $CPUS =~ ^[1-9][0-9]{0,3}$ ]] || bad_topology "smp= wants a number of CPUs first, not '$CPUS'"
	for item in "${items[@]:1}"; do
		[[ $item =~ ^(sockets|dies|cores|threads)=([1-9][0-9]{0,3})$ ]] ||
			bad_topology "'$item' is none of sockets=N dies=N cores=N threads=N"
		level[${BASH_REMATCH[1]}]=${BASH_REMATCH[2]}
	done
	known=$((level[sockets] * level[dies] * level[threads]))
	: "${level[cores]:=$((CPUS / known))}"
	((known * level[cores] == CPUS)) ||
		bad_topology "sockets x dies x cores x threads is $((known * level[cores])), not the $CPUS CPUs of smp="
	QEMU_SMP=$CPUS,sockets=${level[sockets]},dies=${level[dies]},cores=${level[cores]},threads=${level[threads]}
}

# Marks the CPUs of one range as taken by a node and adds the range to QEMU's argument of that node.
add_range() {
	local range=$1 first last cpu
	[[ $range =~ ^([0-9]{1,4})(-([0-9]{1,4}))?$ ]] || bad_topology "'$range' is no range of CPUs such as 0-3"
	first=$((10#${BASH_REMATCH[1]}))
	last=$((10#${BASH_REMATCH[3]:-$first}))
	((first <= last && last < CPUS)) || bad_topology "CPUs $range are not within 0-$((CPUS - 1))"
	for ((cpu = first; cpu <= last; cpu++)); do
		[[ -z ${NODE_OF[cpu]:-} ]] || bad_topology "CPU $cpu is in two nodes"
		NODE_OF[cpu]=$2
	done
	NODE_CPUS+=",cpus=$first-$last"
}

# Sets QEMU_NUMA: memory is dealt out evenly, every pair of nodes is equally far.
parse_numa() {
	local memory=$2 distance=$3 node other range
	local -a nodes ranges
	local -a NODE_OF=()
	IFS=, read -ra nodes <<<"$1"
	for node in "${!nodes[@]}"; do
		local NODE_CPUS=''
		IFS=+ read -ra ranges <<<"${nodes[node]}"
		for range in "${ranges[@]}"; do add_range "$range" "$node"; done
		QEMU_NUMA+=(-object "memory-backend-ram,id=mem$node,size=$((memory / ${#nodes[@]}))M"
			-numa "node,nodeid=$node,memdev=mem$node$NODE_CPUS")
		for ((other = 0; other < node; other++)); do
			QEMU_NUMA+=(-numa "dist,src=$other,dst=$node,val=$distance")
		done
	done
	((${#NODE_OF[@]} == CPUS)) || bad_topology "numa= names ${#NODE_OF[@]} of $CPUS CPUs; each must be in a node"
}

# Turns a name or description into QEMU_TOPOLOGY; the memory (MiB) is rounded so that every node gets the same.
topology_arguments() {
	local memory=$2 part smp='' numa='' distance=$REMOTE_DISTANCE nodes
	local -a parts
	describe_topology "$1"
	IFS=';' read -ra parts <<<"$DESCRIPTION"
	for part in "${parts[@]}"; do
		case $part in
		smp=*) smp=${part#smp=} ;;
		numa=*) numa=${part#numa=} ;;
		dist=*) distance=${part#dist=} ;;
		*) bad_topology "'$part' is none of smp=... numa=... dist=N" ;;
		esac
	done
	[[ $distance =~ ^[0-9]{2,3}$ && $distance -gt 10 && $distance -lt 255 ]] || bad_topology 'dist= wants 11 to 254'
	parse_smp "$smp"
	nodes=${numa//[!,]/}
	memory=$((memory / (${#nodes} + 1) * (${#nodes} + 1)))
	QEMU_NUMA=()
	[[ -z $numa ]] || parse_numa "$numa" "$memory" "$distance"
	QEMU_TOPOLOGY=(-smp "$QEMU_SMP" -m "${memory}M" "${QEMU_NUMA[@]}")
}

# For tools/vm list.
list_topologies() {
	local row name description words
	printf 'topologies:\n'
	for row in "${TOPOLOGIES[@]}"; do
		IFS='|' read -r name description words <<<"$row"
		topology_arguments "$name" 4096
		printf '  %-8s %s\n           %s\n           -smp %s\n' "$name" "$words" "$description" "$QEMU_SMP"
		((${#QEMU_NUMA[@]} == 0)) || printf '           %s\n' "${QEMU_NUMA[*]}"
	done
}
