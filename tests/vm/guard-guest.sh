# SPDX-License-Identifier: Apache-2.0
# Runs in the guests of tests/vm/guard. The report goes to the third serial port.
. guest-lib.sh

# Who makes storage, by call chain. A hang needs bad luck; a scheduler function in such a chain does not.
trace=/sys/kernel/tracing
echo 'p:made bpf_selem_alloc' >$trace/kprobe_events || exit 1
echo hist:keys=stacktrace >$trace/events/kprobes/made/trigger || exit 1

start_target 20ms
heartbeat
fill_memory
storm tasks &
load=$!
cd /tmp
echo "begin $(uptime_s)"
whystall record -p $loop -d "${GUARD_SECONDS}s" -o guard.wst 2>said
status=$?
echo "end $(uptime_s)"
tail -n 1 said
echo "scanned $(pages_freed) pages"
tr '\r\n' '  ' <$trace/events/kprobes/made/hist | sed 's/{/\n{/g' | grep ' bpf_selem_alloc+' >chains
echo "chains $(wc -l <chains)"
# Storage is made where tasks are, and by the iterator; a scheduler function above either was preempting it.
grep -v -e ' copy_process+' -e ' bpf_iter_run_prog+' chains >wrong
grep -e ' __schedule+' -e ' try_to_wake_up+' -e ' wake_up_new_task+' chains >>wrong
echo "wrong $(sort -u wrong | wc -l)"
sort -u wrong | head -n 3
# Kill fails if it is not there any more: then the load did not last.
kill $load $reader || status=1
whystall report guard.wst --json >/dev/ttyS2 || status=1
stop_target || status=1
kill $heartbeat
exit $status
