// Package rocevm proves code on real kernel verbs, on any Debian 12 machine
// without an RDMA NIC: it boots one or two small virtual machines whose kernel
// has Soft-RoCE (rdma_rxe), runs programs or Go tests in them and brings back
// their output and exit status.
//
// # Use
//
//	script/deps rdma        # once: QEMU, verbs libraries and tools, by apt-get
//	alias rocevm='go run ./test/rocevm/cmd/rocevm'
//
//	rocevm test ./fabric/verbs                        # go test -c -tags rdma, run in a guest
//	rocevm test ./fabric/verbs -run 'RC/' -json log.json -timeout 3m
//	rocevm test -guests 2 ./fabric/verbs -run Wire    # the same binary in both guests at once
//	rocevm run -- ibv_devinfo -v                      # any program; one word is a shell command
//	rocevm run -file bin/remora:/usr/bin/remora -fetch /tmp/out.json -- 'remora doctor >/tmp/out.json'
//	rocevm run -guests 2 -ready-port 18515 -server 'ib_read_lat -d rxe0 -x 1' \
//	    -client 'ib_read_lat -d rxe0 -x 1 server'
//	rocevm run -guests 2 -ready ^ready -server 'prog serve' -client 'prog load server' \
//	    -client-decides -at 'client~^under way=>server:killall -9 prog'
//	rocevm probe -json probe.json                     # what the kernel's verbs can do
//	rocevm scenario -guests 2                         # perftest, loss, cut, link down, kill -9, remora
//	rocevm scenario -guests 2 remora-verbs            # remora bench verbs: every test, rc, uc and ud
//	rocevm scenario remora-latency remora-doctor      # against perftest; what doctor sees
//	rocevm scenario -accel icount                     # against perftest, in instructions
//	rocevm results docs/results/2026-11-15-verbs.md   # the same at length, as tables
//
// A test or program finds in its environment
//
//	ROCEVM_GUEST   guest, or server and client of two
//	ROCEVM_DEVICE  rxe0
//	ROCEVM_GID     1, the index of the IPv4-mapped RoCEv2 GID
//	ROCEVM_IFACE   the network interface below: veth0, or eth0 of two guests
//	ROCEVM_SELF    its address: 10.77.0.1, and 10.77.0.2 for the client
//	ROCEVM_PEER    the address of the other guest; its own when there is none
//	ROCEVM_PROBE   tests only: the file with the answers of the probe
//
// and runs as root, with memlock unlimited, and with ip, rdma, tc, perftest's
// ib_* and the ibv_* tools at hand: a test may set its own link down. Both
// addresses are in /etc/hosts as server and client. The working directory of a
// test is its package's, with testdata; other files come by -file. The first
// run downloads a kernel (70 MB) and takes half a minute longer; later ones need
// no network. The exit status is that of the program (of the client of two), 1
// when a test failed, and 2 when the harness itself could not do its work.
//
// From Go, Boot returns a Cluster of Guests that start programs, wait for their
// lines, kill them, and disturb the wire between them. Scenarios are built of the
// same steps.
//
// # How it works
//
//	host                                        guest
//	+----------------------------+              +-------------------------+
//	| kernel, modules: apt-get   |  -kernel     | init.sh: modules, veth  |
//	|   download, dpkg-deb -x    | -----------> |   or virtio-net, rxe0   |
//	| base: tools, libraries     |  -initrd     |   ACTIVE                |
//	| payload: agent, files      | -----------> | agent: runs programs    |
//	| Guest, Process             | <- virtio -> |   (package agent)       |
//	+----------------------------+    serial    +-------------------------+
//
// The kernel package of Debian is unpacked into the cache (remora/rocevm in the
// user's cache directory) and not installed. The base image is kept there too,
// under a key made of everything in it. What changes with each run is a second
// archive behind it, so that a rebuilt test costs no rebuilt image. The bzImage
// is unpacked once on the host, since an emulated processor takes four seconds
// for it.
//
// Two guests are joined by a socket pair between the two QEMUs: there is no port
// to choose, nothing to collide with, no other traffic on the wire.
//
// # Invariants
//
//	V1  A run has passed only if the end of its program was reported by the
//	    agent. A guest that dies, hangs or stops talking is a failure, with
//	    the end of its console.
//	V2  Nothing is left behind: QEMU is killed at the end, on a timeout, on an
//	    interrupt, and by the kernel when the harness itself is killed; a
//	    guest that loses its host powers off.
//	V3  KVM is used only if a probe boot has proved it on this boot of the
//	    host: /dev/kvm has been seen to open and then hang the guest.
//	V4  The guest's clock is right: an emulated guest is told the rate of the
//	    time-stamp counter, which it cannot measure on a busy host. That of a
//	    guest that counts instructions (AccelCount) is behind, never ahead.
//	V5  A fault that did not happen is an error. So is loss without a packet
//	    lost.
//
// # What Soft-RoCE does
//
// Debian 12's rdma_rxe does RC, UC and UD, all verbs, inline up to 512 bytes,
// completion and solicited events, as rocevm probe shows. Known oddities:
//
//   - A retry count of 7 is forever: RC never notices that its peer is gone.
//     Use 6 or less. perftest and ibv_rc_pingpong use 7 and hang.
//   - The side whose own link goes down fails with "local QP operation error",
//     the other one with "transport retry counter exceeded".
//   - Within one guest packets never reach the interface: loss and link faults
//     need two guests.
//   - A READ wakes the kernel's thread for soft interrupts, which finds nothing
//     to do: two switches of thread, more than half of what a READ takes.
//   - Times are those of an emulated processor that shares its cores. A ratio
//     between programs of one run may mean something, microseconds do not. Where
//     the host itself is a virtual machine, it has been seen to be 1.7 times
//     slower from one moment to the next: compare what ran side by side, often, or
//     count instructions.
package rocevm
