#!/bin/busybox sh
# The first process of the guest: sets it up, runs /job/command, switches it off. What it says goes
# to the console; what the command prints goes to the port.
export PATH=/usr/bin:/bin HOME=/root

must() {
    "$@" || { echo "guest: failed: $*"; poweroff -f; sleep 9; }
}

/bin/busybox mkdir -p /proc /sys /dev /run /tmp /root /var/log
/bin/busybox --install -s /bin
must mount -t devtmpfs dev /dev
exec </dev/null >/dev/ttyS0 2>&1
must mount -t proc proc /proc
must mount -t sysfs sys /sys
must mount -t tmpfs run /run
must mount -t tmpfs tmp /tmp
must mount -t bpf bpf /sys/fs/bpf

while read -r module; do
    must insmod "/modules/$module"
done </modules/order

must ip link set lo up
cd /proc/sys/net/ipv4 || echo "guest: no IPv4"
cat tcp_available_congestion_control >tcp_allowed_congestion_control || echo "guest: not allowed"

# The clock is exact, and timers are, as soon as the kernel trusts the TSC.
clock=/sys/devices/system/clocksource/clocksource0/current_clocksource
for _ in $(seq 50); do grep -qx tsc $clock && break; sleep 0.1; done
must grep -qx tsc $clock
sleep 0.1
must grep -q 'hres_active *: 1' /proc/timer_list

port=$(ls /dev/vport*p1)
[ -c "$port" ] || must find_the_port
cd /root || echo "guest: no /root"
echo "guest: begin $(cat /proc/uptime)"
sh /job/command >"$port"
status=$?
echo "guest: used $(cat /proc/uptime)"
echo "guest: end $status"
poweroff -f
