#!/bin/sh
# Runs as process 1 of a guest: mounts, loads modules, brings up the network and
# the Soft-RoCE device, then hands over to the agent. What fails is written down
# for the agent, which tells the host.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
/bin/busybox mkdir -p /proc /sys /dev /run /tmp /root /var/tmp
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
mount -t tmpfs tmpfs /run
mount -t tmpfs -o mode=1777 tmpfs /tmp
ln -s /proc/self/fd /dev/fd

fail() {
	echo "rocevm: $*"
	echo "$*" >>/run/rocevm.failure
}

# rocevm.NAME=VALUE on the kernel's command line becomes ROCEVM_NAME.
for word in $(cat /proc/cmdline); do
	case $word in
	rocevm.*=*)
		word=${word#rocevm.}
		name=$(echo "${word%%=*}" | tr a-z A-Z)
		export "ROCEVM_$name=${word#*=}"
		;;
	esac
done

ulimit -l unlimited
ulimit -n 65536
ulimit -c 0
hostname "$ROCEVM_GUEST"
for module in virtio_pci virtio_console; do
	modprobe "$module" || fail "modprobe $module failed"
done

# ROCEVM_BARE asks only whether the machine gets this far.
if [ -z "$ROCEVM_BARE" ]; then
	# Packets of Soft-RoCE are the adapter's as soon as they are sent. If they waited for an interrupt, one
	# that a link down has held up would outlive its queue pair, and this kernel with it.
	modprobe virtio_net napi_tx=0 || fail "modprobe virtio_net failed"
	for module in veth crc32_generic ib_uverbs rdma_rxe rdma_ucm; do
		modprobe "$module" || fail "modprobe $module failed"
	done
	ip link set lo up
	if [ "$ROCEVM_IFACE" = veth0 ]; then
		ip link add veth0 type veth peer name veth1 || fail "cannot make a veth pair"
		ip link set veth1 mtu "$ROCEVM_MTU" up
	fi
	ip link set "$ROCEVM_IFACE" mtu "$ROCEVM_MTU" up || fail "cannot bring $ROCEVM_IFACE up"
	ip addr add "$ROCEVM_SELF/24" dev "$ROCEVM_IFACE" || fail "cannot give $ROCEVM_IFACE its address"
	rdma link add "$ROCEVM_DEVICE" type rxe netdev "$ROCEVM_IFACE" || fail "cannot make $ROCEVM_DEVICE"
	state=/sys/class/infiniband/$ROCEVM_DEVICE/ports/1/state
	tries=0
	until grep -q ACTIVE "$state" 2>/dev/null && [ -e /dev/infiniband/uverbs0 ]; do
		tries=$((tries + 1))
		if [ $tries -gt 200 ]; then
			fail "port of $ROCEVM_DEVICE is not active: $(cat "$state" 2>&1)"
			break
		fi
		sleep 0.05
	done
fi

# What the kernel says from here on belongs to the programs under test.
dmesg -c >/run/rocevm.boot

/usr/bin/rocevm-agent
echo "rocevm: the agent ended with status $?"
poweroff -f
