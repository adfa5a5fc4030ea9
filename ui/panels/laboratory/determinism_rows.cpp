#include "ui/panels/laboratory/determinism_rows.h"

#include <algorithm>

#include <fmt/format.h>

#include "gpu/files/file.h"

namespace warpscope::ui {
namespace {

bool differs(const training::TensorDifference& difference) {
  return difference.different > 0;
}

}  // namespace

int tensors_that_differ(const training::DeterminismReport& report) {
  return static_cast<int>(std::count_if(report.tensors.begin(), report.tensors.end(), differs));
}

std::string determinism_summary(const training::DeterminismReport& report) {
  const int count = tensors_that_differ(report);
  if (count == 0)
    return "all bits equal in " + files::counted(static_cast<std::int64_t>(report.tensors.size()), "tensor");
  const auto first = std::find_if(report.tensors.begin(), report.tensors.end(), differs);
  return fmt::format("{} of {} {}, first {} of {} {}", count,
                     files::counted(static_cast<std::int64_t>(report.tensors.size()), "tensor"),
                     count == 1 ? "differs" : "differ", first->tensor, ops::to_string(first->op),
                     first->variant);
}

std::string part_text(const training::TensorDifference& difference) {
  if (difference.different == 0) return "0";
  const double percent =
      100 * static_cast<double>(difference.different) / static_cast<double>(difference.elements);
  return percent < 0.005 ? "<0.01 %" : fmt::format("{:.2f} %", percent);
}

}  // namespace warpscope::ui
