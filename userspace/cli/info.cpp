// SPDX-License-Identifier: Apache-2.0
#include "output/info.h"
#include "commands.h"
#include "load/summary.h"

namespace whystall::cli {

int run_info(const InfoOptions& options) {
  const auto summary = load::summarize(options.file);
  if (!summary) return fail(summary.error());
  return write_out(options.format == Format::kJson
                       ? output::render_info_json(summary.value(), options.file)
                       : output::render_info_text(summary.value(), options.file),
                   "");
}

}  // namespace whystall::cli
