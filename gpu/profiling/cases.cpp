#include <algorithm>

#include "gpu/plan/program.h"
#include "gpu/profiling/bench.h"

namespace warpscope::profiling {
namespace {

constexpr std::int64_t kImages = 10000;  // of the data set that batches are gathered from
constexpr std::int64_t kRing = 4096;

}  // namespace

std::vector<BenchCase> cases_of(const models::Model& model, int batch, core::Precision precision) {
  std::vector<BenchCase> cases;
  const auto add = [&](const plan::Node& node) {
    const bool known = std::any_of(cases.begin(), cases.end(), [&](const BenchCase& known_case) {
      return known_case.op == node.op && known_case.shape == node.shape;
    });
    if (!known) cases.push_back({node.op, node.layer, node.shape});
  };
  const auto lower = [&](plan::Purpose purpose, bool blocks) {
    return plan::lower(model, purpose, batch, kImages, kRing, precision, {}, blocks).nodes;
  };
  for (const plan::Node& node : lower(plan::Purpose::training, false)) add(node);
  for (const plan::Node& node : lower(plan::Purpose::training, true)) {
    if (ops::is_block(node.op)) add(node);
  }
  for (const plan::Node& node : lower(plan::Purpose::inference, false)) {
    if (node.op == ops::Op::images_widen) add(node);  // the pictures
  }
  std::stable_sort(cases.begin(), cases.end(),
                   [](const BenchCase& a, const BenchCase& b) { return a.op < b.op; });
  return cases;
}

}  // namespace warpscope::profiling
