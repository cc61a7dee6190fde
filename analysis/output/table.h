// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "model/diagnosis.h"
#include "output/output.h"

namespace whystall::output {

/// How much is told of each finding.
struct TableDetail {
  std::size_t shown = 0;  // findings with lines of their own; the rest share one
  int first_chain = 0;    // lines for the chain of the first
  int other_chains = 0;   // of each other one
};

/// The findings by rank, what is unknown last. The shares are whole percents that sum to 100.
std::string findings_table(const model::Diagnosis& diagnosis, const TextStyle& style,
                           const TableDetail& detail);

}  // namespace whystall::output
