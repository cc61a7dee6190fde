# SPDX-License-Identifier: Apache-2.0
# What the guest scripts of tests/vm share; they read it with ". guest-lib.sh".

uptime_s() { read -r up _ </proc/uptime && echo "$up"; }

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

# heartbeat: tells once a second that the guest lives. It stops when the scheduler or the console does.
heartbeat() {
  while :; do
    echo "beat $(uptime_s)"
    sleep 1
  done &
  heartbeat=$!
}

pages_freed() { sed -n 's/^pgscan_kswapd //p' /proc/vmstat; }

# fill_memory: reads the scratch disk over and over into the page cache; returns when memory is short, and it stays so.
# The less the kernel keeps free, the more often kswapd, which frees some, must be woken.
fill_memory() {
  local tries=300
  echo 1024 >/proc/sys/vm/min_free_kbytes
  storm pages /dev/vda &
  reader=$!
  while [ "$(pages_freed)" = 0 ]; do
    tries=$((tries - 1))
    [ $tries -gt 0 ] || { echo "memory did not get short"; exit 1; }
    sleep 0.2
  done
  echo "short of memory $(uptime_s)"
}

# start_target DELAY: a loop that reads files, each read taking DELAY, and feeds a simulated device. Sets $loop.
start_target() {
  mkdir -p /tmp/backing /mnt/data /tmp/gpu
  for i in 0 1 2 3 4 5 6 7; do
    dd if=/dev/urandom of=/tmp/backing/000$i.bin bs=64k count=1 2>/dev/null
  done
  start 3 slowfs /tmp/backing /mnt/data --read-delay "$1"
  slowfs=$!
  start 4 gpusimd --dir /tmp/gpu
  gpusimd=$!
  export GPUSIM_DIR=/tmp/gpu LD_LIBRARY_PATH=/t
  start 5 loop --mode read --dir /mnt/data --kernel-ms 10
  loop=$!
  unset LD_LIBRARY_PATH
}

# stop_target: its status is that of the loop, which must have come through unharmed.
stop_target() {
  local status=0
  kill $loop
  wait $loop || { status=$?; echo "the target ended with $status"; }
  kill $gpusimd $slowfs
  return $status
}
