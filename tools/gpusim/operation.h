// SPDX-License-Identifier: Apache-2.0
// What a call asks of the device, and graphs of such operations.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "shared_device.h"
#include "when.h"

namespace gpusim {

struct Operation {
  OpKind kind = OpKind::kKernel;
  int64_t api_ns = 0;
  uint64_t bytes = 0;
  int64_t least_ns = 0;  // a kernel's duration, the shortest one of a copy
  std::string name;
  // A host function; or what moves a copy's bytes, run by the submitting call.
  std::function<void()> run;
};

struct GraphNode {
  Operation operation;
  std::vector<uint32_t> after;  // earlier nodes
};

struct Graph {
  std::vector<GraphNode> nodes;
};

struct Stream;

// Of one stream and those that joined it. Broken: what the program did has no place in a graph.
struct Capture {
  Graph graph;
  const Stream* origin = nullptr;
  bool broken = false;
  bool ended = false;
};

// A graph to launch. Its launches run one after the other.
struct GraphExec {
  uint32_t id = 0;
  Graph graph;
  When last;
};

}  // namespace gpusim
