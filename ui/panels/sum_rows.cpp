#include "ui/panels/sum_rows.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

namespace warpscope::ui {
namespace {

using inspect::Explanation;
using inspect::Passage;

std::string passage_text(const models::Model& model, const Passage& passage) {
  const models::Layer& layer = model.layers[passage.output - 1];
  const std::string& name = layer.name;
  switch (passage.kind) {
    case models::LayerKind::relu:
      return fmt::format("{} = max(0, {:.6g}) = {:.6g}", name, passage.before, passage.after);
    case models::LayerKind::maxpool2d:
    case models::LayerKind::maxpool1d: {
      std::string window;
      for (const float value : passage.window)
        window += fmt::format("{}{:.4g}", window.empty() ? "" : ", ", value);
      return fmt::format("{} = the largest of {} = {:.6g}", name, window, passage.after);
    }
    case models::LayerKind::gelu:
      return fmt::format("{} of {:.6g} = {:.6g}", name, passage.before, passage.after);
    case models::LayerKind::scale:
      return fmt::format("{} = {:.6g} times {:.6g} = {:.6g}", name, layer.factor, passage.before,
                         passage.after);
    case models::LayerKind::one_hot:
      return fmt::format("{} = {:.0f}, as the character is number {:.0f} of the alphabet", name,
                         passage.after, std::round(255 * passage.before));
    case models::LayerKind::embedding:
      return fmt::format("{} = {:.6g}, from the row of character {:.0f} of the alphabet", name, passage.after,
                         std::round(255 * passage.before));
    case models::LayerKind::add:
      return fmt::format("{} = {:.6g} + {:.6g} of {} = {:.6g}", name, passage.before, passage.addend,
                         layer.from, passage.after);
    case models::LayerKind::upsample2d:
    case models::LayerKind::dropout:
      return fmt::format("{} repeats it: {:.6g}", name, passage.after);
    default:
      return fmt::format("{} makes {:.6g} of {:.6g}", name, passage.after, passage.before);
  }
}

}  // namespace

std::vector<ChannelShare> shares_of(const Explanation& sum) {
  std::vector<ChannelShare> result(static_cast<std::size_t>(sum.in_channels));
  for (int c = 0; c < sum.in_channels; ++c) result[static_cast<std::size_t>(c)].channel = c;
  for (const inspect::Term& term : sum.terms)
    result[static_cast<std::size_t>(term.channel)].sum += term.product();
  std::stable_sort(result.begin(), result.end(), [](const ChannelShare& a, const ChannelShare& b) {
    return std::abs(a.sum) > std::abs(b.sum);
  });
  return result;
}

std::vector<std::size_t> largest_terms(const Explanation& sum) {
  std::vector<std::size_t> result(sum.terms.size());
  std::iota(result.begin(), result.end(), std::size_t{0});
  std::stable_sort(result.begin(), result.end(), [&](std::size_t a, std::size_t b) {
    return std::abs(sum.terms[a].product()) > std::abs(sum.terms[b].product());
  });
  return result;
}

std::vector<std::string> words_of(const models::Model& model, const Explanation& sum) {
  std::vector<std::string> result;
  if (!sum.has_sum) {
    const std::size_t layer = sum.sum.output;
    result.push_back(
        layer == 0
            ? fmt::format("a {}: {:.6g}", model.reads_text() ? "character of the text" : "pixel of the image",
                          sum.stored)
            : fmt::format("{} = the mean over its input: {:.6g}", model.layers[layer - 1].name, sum.stored));
  } else {
    result.push_back(fmt::format("{} = bias {:.6g} + {} products = {:.6g}",
                                 model.layers[sum.sum.output - 1].name, sum.bias, sum.terms.size(),
                                 sum.total));
  }
  for (const Passage& passage : sum.passages) result.push_back(passage_text(model, passage));
  return result;
}

}  // namespace warpscope::ui
