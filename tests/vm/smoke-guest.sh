# SPDX-License-Identifier: Apache-2.0
# Runs in the guest of tests/vm/smoke. The report goes to the third serial port.
. guest-lib.sh

start_target 20ms
cd /tmp
whystall -p $loop -d 5s --json >report.json
status=$?
cat report.json >/dev/ttyS2
stop_target || status=1
wait
exit $status
