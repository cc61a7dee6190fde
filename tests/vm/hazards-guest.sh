# SPDX-License-Identifier: Apache-2.0
# Runs in the guests of tests/vm/hazards: $LAB_MODE under its load for $LAB_SECONDS.
. guest-lib.sh

heartbeat
case $LAB_MODE in
  storage-*) fill_memory ;;
esac
start 3 lab "$LAB_MODE"
lab=$!
cat <&3 &
echo "begin $(uptime_s)"
case $LAB_MODE in
  storage-*) storm tasks & ;;
  ring-*) storm locks /tmp/written & ;;
esac
load=$!
sleep "$LAB_SECONDS"
echo "end $(uptime_s)"
[ -z "$reader" ] || echo "scanned $(pages_freed) pages"
# Kill fails if it is not there any more: then nothing was shown.
kill $lab && kill $load $reader $heartbeat || exit 1
echo survived
