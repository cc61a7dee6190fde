# SPDX-License-Identifier: Apache-2.0
# Runs in the guest of tests/vm/x32. What the program did and what was recorded goes to the third serial port.
. guest-lib.sh

cd /tmp
mkfifo go
exec 6<>go
start 3 sh -c 'exec x32 /t/libcuda.so.1 <go'
program=$(pidof x32)
whystall record -p "$program" -o x32.wst &
recorder=$!
tries=600
while [ ! -s x32.wst ]; do
  tries=$((tries - 1))
  [ $tries -gt 0 ] || { echo "whystall did not begin"; exit 1; }
  sleep 0.1
done
echo go >&6
cat <&3 >truth
wait $recorder || exit 1
{ echo "tid $program"; cat truth; dump_waits x32.wst; } >/dev/ttyS2
