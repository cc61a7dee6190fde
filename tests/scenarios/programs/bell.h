// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

namespace loop {

// One side rings, the other waits for it. Rings that nobody has waited for yet are one.
class Bell {
 public:
  Bell() = default;
  Bell(const Bell&) = delete;
  Bell& operator=(const Bell&) = delete;
  virtual ~Bell() = default;

  virtual void ring() = 0;
  // False if nobody will ring any more.
  virtual bool wait() = 0;

  // After a fork, in the process that has this side only.
  virtual void only_rings() {}
  virtual void only_waits() {}
};

enum class Means {
  kPipe,
  kSocket,
  kEventfd,
  kFutex,
  kSemaphore,
  kCondition,
  kSpin,
  kYield,
  kSignal
};

// Works between threads and, except for kCondition, kSpin and kYield, between processes. The waiter
// of kSignal is the thread that makes the bell.
std::unique_ptr<Bell> make_bell(Means means);

struct Bells {
  std::unique_ptr<Bell> there, back;
};

// Both directions of a TCP connection over the loopback device. Who waits `there` is the server.
Bells make_tcp_bells();

}  // namespace loop
