// SPDX-License-Identifier: Apache-2.0
#include "capture/check.h"

#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "base/time.h"
#include "capture/driver_api.h"
#include "capture/kernel.h"
#include "capture/nvml_sampler.h"
#include "capture/preflight.h"
#include "capture/price.h"

namespace whystall::capture {

namespace {

/// What was measured; negative: was not.
struct Prices {
  double own_wait = -1;      // of a watched thread, ns
  double foreign_wait = -1;  // of any other thread of the host, ns
  double call = -1;          // of the driver, ns
  double ends_ms = -1;       // one look through all open files
};

double difference(double with, double without) {
  return with < 0 || without < 0 ? -1 : std::max(0.0, with - without);
}

Prices measure(Kernel& kernel, PricedLoad& load, double plain_wait, double plain_call) {
  Prices prices;
  prices.foreign_wait = difference(load.wait_ns(), plain_wait);
  if (!kernel.add_targets({load.pid()})) return prices;
  prices.own_wait = difference(load.wait_ns(), plain_wait);
  if (auto site = call_site()) {
    ApiProbe probe{};
    probe.probe_offset = site->probe_offset;
    probe.call = WST_API_SUBMIT;
    probe.stream_arg = WST_ARG_NONE;
    probe.event_arg = WST_ARG_NONE;
    probe.bytes_arg = WST_ARG_NONE;
    if (kernel.attach_api(site->path, {probe}, 0))
      prices.call = difference(load.call_ns(), plain_call);
  }
  const TimeNs begin = monotonic_now();
  if (kernel.dump_ends()) prices.ends_ms = static_cast<double>(monotonic_now() - begin) / 1e6;
  return prices;
}

std::string price_of(Source source, const Prices& p) {
  switch (source) {
    case Source::kWaits:
      if (p.own_wait < 0) return "";
      return format("%.1f us a wait of a watched thread, %.1f of another", p.own_wait / 1e3,
                    p.foreign_wait / 1e3);
    case Source::kWakeContext:
      return "in the price of a wait";
    case Source::kEnds:
      return p.ends_ms < 0 ? "" : format("%.0f ms each 10 s", p.ends_ms);
    case Source::kSamples:
      return "99 times a second on each CPU";
    case Source::kPageFaults:
      return "0.1 us a page that is not mapped yet";
    case Source::kDriverCalls:
      if (p.call < 0) return "";
      return format("%.2f us a call: 1 %% of a CPU at %.0f a second", p.call / 1e3,
                    1e7 / std::max(1.0, p.call));
    case Source::kDriverQueries:
      return "some 1.5 times that, each";
  }
  return "";
}

/// What this version does not have; the report says "not checked" of it.
CheckedSource absent(const char* name, const char* tells, const char* effect) {
  return {name, SourceState::kMissing, tells, "not in this version", effect, "", ""};
}

/// NVML's first answer takes a second or so where the driver was idle.
constexpr DurationNs kNvmlWithin = 2 * kSecond;

CheckedSource check_nvml(NvmlSampler& nvml) {
  const TimeNs until = monotonic_now() + kNvmlWithin;
  while (!nvml.facts().settled() && monotonic_now() < until) {
    usleep(20'000);
    nvml.step();
  }
  nvml.end(100);
  const SourceReport report = nvml.facts().report();
  const bool live = report.state == SourceState::kLive;
  const double reading = nvml.facts().reading_ns();
  return {"device counters",
          report.state,
          "the device's own utilisation, by NVML",
          report.why,
          live ? "" : "the GPU's own utilisation is not cross-checked",
          report.remedy,
          reading < 0 ? "" : format("%.2f ms a reading, 5 a second", reading / 1e6)};
}

}  // namespace

Result<std::vector<CheckedSource>> check_sources() {
  if (auto status = check_host(); !status) return status.error();
  NvmlSampler nvml;
  nvml.start(0);
  auto load = PricedLoad::start();
  if (!load) return load.error();
  const double plain_wait = load->wait_ns(), plain_call = load->call_ns();
  auto kernel = Kernel::load({});
  if (!kernel) return kernel.error();
  if (auto status = kernel->attach(); !status) return status.error();
  const Prices prices = measure(*kernel, *load, plain_wait, plain_call);

  std::vector<CheckedSource> checked;
  for (std::size_t i = 0; i < kSources; i++) {
    const auto source = static_cast<Source>(i);
    const SourceFacts& facts = facts_of(source);
    SourceReport report = kernel->sources()[i];
    if (source == Source::kDriverCalls && report.state == SourceState::kLive &&
        !kernel->multi_probes()) {
      report = {SourceState::kDegraded,
                "this kernel detaches probes slowly, so that only 30 are placed",
                "kernel 6.6 or later"};
    }
    const bool live = report.state == SourceState::kLive;
    checked.push_back({std::string(facts.name), report.state, std::string(facts.what), report.why,
                       live ? "" : std::string(facts.without), report.remedy,
                       report.state == SourceState::kMissing ? "" : price_of(source, prices)});
  }
  checked.push_back(check_nvml(nvml));
  checked.push_back(absent("GPU clock", "when the device itself worked",
                           "idle time is a lower bound, by the driver's calls"));
  checked.push_back(
      absent("page-cache look-ups", "reads that did not wait", "a hit rate cannot be given"));
  return checked;
}

}  // namespace whystall::capture
