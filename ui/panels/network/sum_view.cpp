#include "ui/panels/network/sum_view.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "gpu/files/file.h"
#include "ui/images/conversion.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

using inspect::Explanation;
using inspect::Passage;
using inspect::Term;

enum : std::size_t { kPlace, kChannel, kInput, kWeight, kProduct };
constexpr std::array<Column, 5> kTermColumns{{
    {"y, x", "Where the input stands; outside of it padding is 0.", 44, true},
    {"channel", "The input's channel.", 48, true},
    {"input", "The value that the layer before has there.", 60, true},
    {"weight", "The filter's weight, rounded as the precision multiplies it.", 60, true},
    {"product", "input \u00d7 weight", 72, true},
}};

enum : std::size_t { kShareChannel, kShareSum };
constexpr std::array<Column, 2> kShareColumns{{
    {"channel", "The input's channel.", 56, true},
    {"sum of its products", "What this channel adds to the sum.", 96, true},
}};

ImU32 opaque(images::Rgba pixel) {
  return IM_COL32(pixel.r, pixel.g, pixel.b, 255);
}

/// A map of height x width cells around 0, `side` pixels wide and high at the most.
void draw_map(const Frame& frame, ImVec2 at, float side, const Explanation& sum,
              const std::vector<float>& values) {
  float largest = 0;
  for (const float value : values) largest = std::max(largest, std::abs(value));
  const float cell = std::max(1.0f, std::floor(side / static_cast<float>(std::max(sum.width, sum.height))));
  ImDrawList* const list = ImGui::GetWindowDrawList();
  for (int y = 0; y < sum.height; ++y) {
    for (int x = 0; x < sum.width; ++x) {
      const float value = values[static_cast<std::size_t>(y * sum.width + x)];
      const ImVec2 min(at.x + cell * static_cast<float>(x), at.y + cell * static_cast<float>(y));
      const ImVec2 max(min.x + cell, min.y + cell);
      list->AddRectFilled(min, max, opaque(images::signed_colour(largest > 0 ? value / largest : 0.0f)));
      area_tooltip(frame, min, max, fmt::format("y {}, x {}: {:.6g}", y, x, value));
    }
  }
}

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

void draw_words(const Frame& frame, const models::Model& model, const Explanation& sum) {
  for (const std::string& line : words_of(model, sum)) paragraph(frame.fonts.text, frame.palette.text, line);
  if (!sum.has_sum) return;
  const double off = static_cast<double>(sum.stored) - sum.total;
  const std::string stored = fmt::format("the network has {:.6g}: {:+.1e} from rounding", sum.stored, off);
  paragraph(frame.fonts.small, frame.palette.muted, stored);
  tooltip(frame,
          "The sum here is made in double precision of the numbers as they are stored. The kernel adds in "
          "FP32, in another order, and stores the result in the precision of the training.");
}

void draw_maps(const Frame& frame, const Explanation& sum, int channel) {
  std::array<std::vector<float>, 3> maps;
  for (const Term& term : sum.terms) {
    if (term.channel != channel) continue;
    maps[0].push_back(term.input);
    maps[1].push_back(term.weight);
    maps[2].push_back(static_cast<float>(term.product()));
  }
  constexpr std::array<const char*, 3> kTermNames{"input", "\u00d7 weight", "= product"};
  const float gap = std::floor(12 * frame.scale), line = std::floor(18 * frame.scale);
  const float side = std::floor(std::min((ImGui::GetContentRegionAvail().x - 2 * gap) / 3, 84 * frame.scale));
  const ImVec2 at = ImGui::GetCursorScreenPos();
  for (std::size_t i = 0; i < maps.size(); ++i) {
    const float x = at.x + (side + gap) * static_cast<float>(i);
    draw_text(ImGui::GetWindowDrawList(), frame.fonts.small, x, at.y + line - 5 * frame.scale,
              frame.palette.muted, kTermNames[i]);
    draw_map(frame, ImVec2(x, at.y + line), side, sum, maps[i]);
  }
  ImGui::SetCursorScreenPos(at);
  ImGui::Dummy(ImVec2(3 * side + 2 * gap, side + line + gap));
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
    result.push_back(
        fmt::format("{} = bias {:.6g} + {} = {:.6g}", model.layers[sum.sum.output - 1].name, sum.bias,
                    files::counted(static_cast<std::int64_t>(sum.terms.size()), "product"), sum.total));
  }
  for (const Passage& passage : sum.passages) result.push_back(passage_text(model, passage));
  return result;
}

std::span<const Column> SumView::columns() {
  return kTermColumns;
}

void SumView::draw_terms(const Frame& frame, const Explanation& sum, int channel) {
  if (every_term_ || sum.in_channels <= 3) {
    const std::vector<std::size_t> order = largest_terms(sum);
    Table table(frame, "network.terms", kTermColumns);
    table.rows(static_cast<int>(order.size()), [&](int i) {
      const inspect::Term& term = sum.terms[order[static_cast<std::size_t>(i)]];
      table.number(kPlace, fmt::format("{}, {}", term.y, term.x), frame.palette.muted);
      table.number(kChannel, std::to_string(term.channel), frame.palette.muted);
      table.number(kInput, fmt::format("{:.5g}", term.input), frame.palette.text);
      table.number(kWeight, fmt::format("{:.5g}", term.weight), frame.palette.text);
      table.number(kProduct, fmt::format("{:+.6f}", term.product()), frame.palette.text);
    });
    return;
  }
  const std::vector<ChannelShare> shares = shares_of(sum);
  Table table(frame, "network.shares", kShareColumns);
  table.rows(static_cast<int>(shares.size()), [&](int i) {
    const ChannelShare& share = shares[static_cast<std::size_t>(i)];
    const ImU32 text = share.channel == channel ? frame.palette.accent : frame.palette.text;
    table.number(kShareChannel, std::to_string(share.channel), text);
    table.number(kShareSum, fmt::format("{:+.6f}", share.sum), text);
    const ImVec2 min = table.cell_min(kShareChannel), max = table.cell_max(kShareSum);
    if (ImGui::IsWindowHovered() && ImGui::IsMouseHoveringRect(min, max) &&
        ImGui::IsMouseClicked(ImGuiMouseButton_Left)) {
      channel_ = share.channel;
    }
  });
}

void SumView::draw(const Frame& frame, const models::Model& model, const Explanation& sum) {
  if (!(place_ == sum.place)) channel_.reset();
  place_ = sum.place;
  draw_words(frame, model, sum);
  if (!sum.has_sum) return;
  const int channel = channel_ ? std::min(*channel_, sum.in_channels - 1) : shares_of(sum).front().channel;
  draw_maps(frame, sum, channel);
  if (sum.in_channels > 3) {
    caption(frame, fmt::format("maps of input channel {}", channel));
    ImGui::SameLine(0, 12 * frame.scale);
    toggle(frame, "network.every_term", "every term", &every_term_,
           "All products one by one, the largest first, instead of a sum for each channel of the input");
  }
  draw_terms(frame, sum, channel);
}

}  // namespace warpscope::ui
