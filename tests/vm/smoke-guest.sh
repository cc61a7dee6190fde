# SPDX-License-Identifier: Apache-2.0
# Runs in the guest of tests/vm/smoke. The report goes to the third serial port.

# start FD COMMAND...: runs it with its output on FD and waits for its first line, which says that it is ready.
start() {
  local fd=$1 line
  shift
  mkfifo "/tmp/fifo$fd"
  "$@" >"/tmp/fifo$fd" &
  eval "exec $fd<'/tmp/fifo$fd'"
  eval "read -r line <&$fd" || { echo "$1 did not start"; exit 1; }
  echo "$line"
}

mkdir -p /tmp/backing /mnt/data /tmp/gpu
for i in 0 1 2 3 4 5 6 7; do
  dd if=/dev/urandom of=/tmp/backing/000$i.bin bs=64k count=1 2>/dev/null
done
start 3 slowfs /tmp/backing /mnt/data --read-delay 20ms
slowfs=$!
start 4 gpusimd --dir /tmp/gpu
gpusimd=$!
export GPUSIM_DIR=/tmp/gpu LD_LIBRARY_PATH=/t
start 5 loop --mode read --dir /mnt/data --kernel-ms 10
loop=$!
unset LD_LIBRARY_PATH

cd /tmp
whystall -p $loop -d 5s --json >report.json
status=$?
cat report.json >/dev/ttyS2

kill $loop
wait $loop || { echo "the target ended with $?"; status=1; }
kill $gpusimd $slowfs
wait
exit $status
