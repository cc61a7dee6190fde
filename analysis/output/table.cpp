// SPDX-License-Identifier: Apache-2.0
#include "output/table.h"

#include <algorithm>
#include <vector>

#include "output/layout.h"
#include "output/paint.h"
#include "output/words.h"

namespace whystall::output {

namespace {

using model::Cause;
using model::Diagnosis;
using model::DurationNs;
using model::Finding;

constexpr int kIndent = 18;

class Table {
 public:
  Table(const TextStyle& style, const model::Meta& meta)
      : style_(style), paint_{style.color}, meta_(meta) {}

  std::string row(int rank, int share, const Finding& f, int chain_lines) const {
    const std::string left = (rank ? format("%2d", rank) : std::string("  ")) +
                             format("  %3d %%  ", share) + pad(seconds(f.ns), 8) + " ";
    const std::string cause =
        pad(cause_name(f.cause), std::max(15, width(cause_name(f.cause)) + 1));
    const bool known = f.cause != Cause::kUnknown;
    const std::string word = known ? "  " + std::string(confidence_name(f.confidence)) : "";
    const int room = style_.columns - width(left) - width(cause) - width(word);
    const int columns = style_.columns - kIndent;
    const std::string object = known ? printable(f.object) : reasons(f, columns);
    const bool beside = width(object) <= room;
    std::string text = left + paint_.bold(cause) + pad(beside ? object : "", room) + word;
    text.erase(text.find_last_not_of(' ') + 1);
    text += "\n";
    if (!beside) text += std::string(kIndent, ' ') + fit(object, columns) + "\n";
    if (!known) return text;
    text += indented(how_often(f, meta_, columns));
    // A chain of the thread alone that is the object says nothing.
    if (chain_lines == 0 || f.path == f.object || f.object.starts_with(f.path + ", in "))
      return text;
    for (const std::string& line :
         wrap_chain(printable(f.path), style_.columns - kIndent, chain_lines)) {
      text += indented(line);
    }
    return text;
  }

  std::string rest(int share, DurationNs ns, std::size_t count) const {
    return "    " + format("%3d %%  ", share) + pad(seconds(ns), 8) +
           format(" %zu smaller causes\n", count);
  }

 private:
  std::string indented(const std::string& text) const {
    return std::string(kIndent, ' ') + paint_.dim(fit(text, style_.columns - kIndent)) + "\n";
  }

  TextStyle style_;
  Paint paint_;
  const model::Meta& meta_;
};

}  // namespace

std::string findings_table(const Diagnosis& d, const TextStyle& style, const TableDetail& detail) {
  const std::vector<const Finding*> known = d.ranked();
  const Finding* unknown = nullptr;
  for (const Finding& f : d.findings) {
    if (f.cause == Cause::kUnknown) unknown = &f;
  }
  const std::size_t shown = known.size() <= detail.shown + 1 ? known.size() : detail.shown;
  std::vector<DurationNs> parts;
  for (std::size_t i = 0; i < shown; i++) parts.push_back(known[i]->ns);
  DurationNs rest = 0;
  for (std::size_t i = shown; i < known.size(); i++) rest += known[i]->ns;
  parts.push_back(rest);
  parts.push_back(unknown ? unknown->ns : 0);
  const std::vector<int> shares = whole_percents(parts);

  const Table rows(style, d.meta);
  std::string text;
  for (std::size_t i = 0; i < shown; i++) {
    const int chain_lines = i == 0 ? detail.first_chain : detail.other_chains;
    text += rows.row(static_cast<int>(i + 1), shares[i], *known[i], chain_lines);
  }
  if (known.size() > shown) text += rows.rest(shares[shown], rest, known.size() - shown);
  if (unknown) text += rows.row(0, shares[shown + 1], *unknown, 0);
  return text;
}

}  // namespace whystall::output
