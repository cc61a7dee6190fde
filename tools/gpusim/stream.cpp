// SPDX-License-Identifier: Apache-2.0
#include "stream.h"

namespace gpusim {

int64_t Stream::room_ns() {
  if (ends.empty()) return 0;
  return ends[next].settle() ? ends[next].ns : kUnknown;
}

void Stream::push(const When& end) {
  if (ends.empty()) ends.resize(kStreamDepth);
  ends[next] = end;
  next = (next + 1) % kStreamDepth;
}

When gate(const Stream& stream) {
  const Context& context = *stream.context;
  When gate = stream.tail;
  if (stream.legacy()) {
    gate.join(context.gone_blocking);
    for (const Stream* other : context.streams) {
      if (other->blocking) gate.join(other->tail);
    }
  } else if (stream.blocking) {
    gate.join(context.legacy->tail);
  }
  gate.settle();
  return gate;
}

When end_of(const Stream& stream) {
  return stream.legacy() ? gate(stream) : stream.tail;
}

When end_of(const Context& context) {
  When end = context.gone;
  end.join(context.legacy->tail);
  for (const Stream* stream : context.streams) end.join(stream->tail);
  end.settle();
  return end;
}

}  // namespace gpusim
