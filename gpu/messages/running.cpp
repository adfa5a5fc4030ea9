#include "gpu/messages/running.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

namespace warpscope::training {
namespace {

constexpr std::string_view kBetween = "; ";

ops::OpSet covered_in(std::span<const OpTiming* const> layers) {
  ops::OpSet covered;
  for (const OpTiming* layer : layers) {
    for (const OpPlace& other : layer->covers) covered.add(other.op);
  }
  return covered;
}

/// The layers of the op that an item like "conv2d.forward: naive -> hopper" is about; none of one about the
/// precision.
std::vector<const OpTiming*> layers_of(std::string_view item, const std::vector<OpTiming>& timings) {
  std::vector<const OpTiming*> layers;
  const std::string_view op = item.substr(0, item.find(": "));
  for (const OpTiming& timing : timings) {
    if (ops::to_string(timing.op) == op) layers.push_back(&timing);
  }
  return layers;
}

}  // namespace

std::string running_text(std::span<const OpTiming* const> layers) {
  std::vector<std::string_view> names;
  const OpTiming* inside = nullptr;
  for (const OpTiming* layer : layers) {
    if (layer->covered_by) {
      inside = layer;
    } else if (std::find(names.begin(), names.end(), layer->variant) == names.end()) {
      names.push_back(layer->variant);
    }
  }
  if (names.empty())
    return inside == nullptr ? "" : fmt::format("in {}", ops::to_string(inside->covered_by->op));
  const std::string variants = fmt::format("{}", fmt::join(names, "/"));
  const ops::OpSet covered = covered_in(layers);
  return covered.empty() ? variants : fmt::format("{}, with {}", variants, ops::describe(covered));
}

std::string with_covered(const std::string& change, const std::vector<OpTiming>& timings) {
  std::string text;
  for (std::size_t begin = 0; begin < change.size();) {
    const std::size_t end = std::min(change.find(kBetween, begin), change.size());
    const std::string_view item = std::string_view(change).substr(begin, end - begin);
    const ops::OpSet covered = covered_in(layers_of(item, timings));
    if (!text.empty()) text += kBetween;
    text += item;
    if (!covered.empty()) text += fmt::format(", with {}", ops::describe(covered));
    begin = end + kBetween.size();
  }
  return text;
}

}  // namespace warpscope::training
