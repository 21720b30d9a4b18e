#!/bin/bash
# Inside of the guest of test-guest: the service under a systemd that has started the machine.
set -u
failed=0
try() { # what, command…
    local what=$1; shift
    if "$@"; then echo "TRIAL ok: $what"; else echo "TRIAL FAILED: $what"; failed=1; fi
}
within() { # seconds, command…
    local end=$((SECONDS + $1)); shift
    until "$@"; do [ $SECONDS -lt $end ] || return 1; sleep 0.2; done
}
active() { systemctl is-active --quiet windlass; }
restarts() { systemctl show -P NRestarts windlass; }
more_restarts() { [ "$(restarts)" -gt "$1" ]; }
says() { systemctl status windlass 2>&1 | grep -q "$1"; }

for end in a b; do
    ip netns add $end
    ip link add "${end}0" netns $end type veth peer name "m$end"
    ip -n $end link set "${end}0" up
    ip link set dev "m$end" up
    ethtool -K "m$end" gro on
done
ip -n a address add 10.77.0.1/24 dev a0
ip -n b address add 10.77.0.2/24 dev b0

try 'installed, it is enabled and has not started' sh -c 'systemctl is-enabled --quiet windlass && ! systemctl is-active --quiet windlass'
systemctl start windlass
try 'without interfaces there is nothing to start' sh -c '! systemctl is-active --quiet windlass && ! systemctl is-failed --quiet windlass'
try 'setup starts it' windlass setup --inside ma --outside mb
try 'it is active, by READY=1' active
try 'it observes' sh -c 'windlass status | grep -q "ma > mb"'
try 'systemctl status has its line' within 5 says 'Status: "governing, ma > mb, 1 worker(s)"'
try 'it is no root' sh -c '[ "$(ps -o user= -p "$(systemctl show -P MainPID windlass)")" != root ]'
try 'it has the four capabilities only' sh -c 'grep -q "CapEff:	000000c000003000" /proc/"$(systemctl show -P MainPID windlass)"/status'
try 'no lack of priority or memory is told' sh -c '! journalctl -u windlass | grep -qE "CAP_SYS_NICE|memlock"'
try 'packets pass' ip netns exec a ping -c 3 -q 10.77.0.2
try 'a second setup changes nothing' sh -c 'windlass setup --inside ma --outside mb | grep -q "nothing was to be changed"'
try 'a reload' systemctl reload windlass
echo 'mode = 1' >> /etc/windlass/windlass.toml
try 'a reload with a mistake fails' sh -c '! systemctl reload windlass'
try 'and changes nothing' active
sed -i '$d' /etc/windlass/windlass.toml
try 'an order is in the journal as a notice' sh -c 'journalctl -u windlass -p notice -o cat | grep -q "order: apply"'

before=$(restarts)
kill -9 "$(systemctl show -P MainPID windlass)"
try 'after kill -9 packets pass' ip netns exec a ping -c 2 -q 10.77.0.2
try 'and it is started again' within 20 more_restarts "$before"
try 'and is ready' within 20 active

mkdir -p /etc/systemd/system/windlass.service.d
printf '[Service]\nWatchdogSec=4\nTimeoutAbortSec=3\n' > /etc/systemd/system/windlass.service.d/20-trial.conf
systemctl daemon-reload
systemctl restart windlass
before=$(restarts)
sleep 10
try 'a box that works keeps the watchdog fed' sh -c "active() { systemctl is-active --quiet windlass; }; active && [ \$(systemctl show -P NRestarts windlass) = $before ]"
kill -STOP "$(systemctl show -P MainPID windlass)"
try 'a box that stands still passes packets' ip netns exec a ping -c 2 -q 10.77.0.2
try 'and is started again by the watchdog' within 30 more_restarts "$before"
try 'the journal names the watchdog' sh -c 'journalctl -u windlass | grep -q "Watchdog timeout"'
try 'and is ready again' within 20 active
try 'nothing so far was critical' sh -c '! journalctl -u windlass -p crit -o cat | grep -q windlass:'
before=$(restarts)
kill -ABRT "$(systemctl show -P MainPID windlass)"
try 'SIGABRT has it tell its last events in the journal' within 10 sh -c 'journalctl -u windlass -p crit -o cat | grep -q "the last .* event(s)"'
within 20 more_restarts "$before"; within 20 active

rm /etc/systemd/system/windlass.service.d/20-trial.conf
try 'undo' windlass setup --undo
try 'it is stopped' sh -c '! systemctl is-active --quiet windlass'
try 'the bridge is gone' sh -c '! ip link show windlass0 >/dev/null 2>&1'
try 'the interfaces are as they were' sh -c 'ethtool -k ma | grep -q "generic-receive-offload: on"'
[ $failed = 0 ] || { journalctl -u windlass --no-pager | tail -40; systemctl status windlass --no-pager; }
[ $failed = 0 ] && echo 'TRIAL all ok' || echo 'TRIAL has failed'
systemctl poweroff --force --force
