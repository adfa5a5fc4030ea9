#include "ui/panels/pictures/exciting_images.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "ui/images/byte_colours.h"
#include "ui/input/cursor.h"
#include "ui/panels/data_texts.h"
#include "ui/panels/network/latent_rows.h"
#include "ui/panels/network/network_rows.h"
#include "ui/panels/pictures/tiled_images.h"
#include "ui/settings/steering.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

using training::ChannelMeasure;

constexpr std::array<const char*, 2> kMeasures{"mean", "maximum"};
constexpr float kExcitingSide = 40, kLine = 17, kExcitingGap = 8;  // design pixels

std::string number(float value) {
  return fmt::format("{:.3g}", value);
}

}  // namespace

float ExcitingImages::height(const Frame& frame) {
  return ImGui::GetFrameHeight() + std::floor((kExcitingSide + kLine + 2 * kExcitingGap) * frame.scale);
}

void ExcitingImages::refresh(const Frame& frame, std::size_t output, std::size_t channel) {
  const auto& seen = frame.seen.activations;
  const bool fits = seen && seen->output == output && frame.snapshot.data && sees_network(frame.snapshot);
  if (!fits) {
    seen_ = nullptr;
    return images_.clear();
  }
  if (seen == seen_ && channel == channel_ && measure_ == measured_ && frame.snapshot.data == data_) return;
  seen_ = seen;
  channel_ = channel;
  measured_ = measure_;
  data_ = frame.snapshot.data;
  const training::ImageFacts& set = data_->test;
  images_ = training::most_exciting(*seen, channel, measure_, kImages);
  std::erase_if(images_, [&](const auto& one) { return one.image >= set.count; });
  const interop::PageShape shape =
      interop::make_page(kImages, set.width, set.height, interop::Texture::largest());
  if (!page_ || page_->shape() != shape) page_ = std::make_unique<interop::TilePage>(shape, frame.textures);
  for (std::size_t place = 0; place < images_.size(); ++place) {
    const auto pixels = images::byte_colours(*data_, training::DataPart::test, images_[place].image);
    if (pixels.empty()) {
      seen_ = nullptr;  // once they are there
    } else {
      page_->upload(static_cast<int>(place), pixels.data());
    }
  }
  if (!seen_) images_.clear();
}

void ExcitingImages::draw_title(const Frame& frame, const std::string& layer, float width) {
  const float s = frame.scale;
  int measure = static_cast<int>(measure_);
  segmented(
      frame, "network.exciting", kMeasures, &measure,
      "What counts as how much a channel is excited: the mean over its map, or the largest value in it");
  measure_ = static_cast<ChannelMeasure>(measure);
  ImGui::SameLine(0, 8 * s);
  const float room = width - (ImGui::GetCursorPosX() - ImGui::GetWindowContentRegionMin().x);
  if (!seen_) {
    const std::string looking =
        said_of_data(frame, "Looking for the images that excite this channel most ...");
    return caption(frame, ellipsize(frame.fonts.small, looking, room));
  }
  const auto sentences = exciting_sentences(*seen_, layer, channel_);
  const auto fits = std::find_if(sentences.begin(), sentences.end() - 1, [&](const std::string& one) {
    return text_width(frame.fonts.small, said_of_data(frame, one)) <= room;
  });
  caption(frame, ellipsize(frame.fonts.small, said_of_data(frame, *fits), room));
  tooltip(frame, said_of_data(frame, sentences.front()));
}

/// "mean 0.431", "max 2.1"
std::string ExcitingImages::figure_of(const training::ExcitingImage& one) const {
  const bool mean = measured_ == ChannelMeasure::mean;
  return fmt::format("{} {}", mean ? "mean" : "max", number(mean ? one.mean : one.maximum));
}

std::string ExcitingImages::tip(const Frame& frame, const training::ExcitingImage& one) const {
  const std::string label = class_of(frame.snapshot, static_cast<std::size_t>(one.image));
  const bool texts = data_->test.texts;
  return fmt::format("{}test {} {}{}{}. Mean {:.5g}, maximum {:.5g}. Click: all views show it.",
                     texts ? shown_text(*data_, training::DataPart::test, one.image) + "\n\n" : "",
                     texts ? "text" : "image", one.image + 1, label.empty() ? "" : ": ", label, one.mean,
                     one.maximum);
}

/// As many as there is room for, a line each behind its figure.
void ExcitingImages::draw_texts(const Frame& frame, float width) const {
  const float s = frame.scale, line = std::floor(20 * s), figures = std::floor(92 * s);
  ImDrawList* const list = ImGui::GetWindowDrawList();
  const ImFont* const font = frame.fonts.small;
  const auto rows = static_cast<std::size_t>(ImGui::GetContentRegionAvail().y / line);
  for (std::size_t place = 0; place < std::min(rows, images_.size()); ++place) {
    const training::ExcitingImage& one = images_[place];
    const ImVec2 min = ImGui::GetCursorScreenPos();
    const std::string name = fmt::format("network.exciting.{}", place);
    const bool clicked = hit_area(name.c_str(), ImVec2(width, line));
    trace_item(name);
    if (ImGui::IsItemHovered() || is_pointed_at_image(frame, one.image)) {
      list->AddRectFilled(min, ImVec2(min.x + width, min.y + line),
                          blend(frame.palette.accent, frame.palette.panel, 0.16f), 3 * s);
    }
    const float baseline = min.y + std::floor(14 * s);
    draw_text(list, font, min.x + 4 * s, baseline, frame.palette.muted, figure_of(one));
    const std::string text = shown_text(*data_, training::DataPart::test, one.image);
    draw_text(list, font, min.x + figures, baseline, frame.palette.text,
              ellipsize(font, text, width - figures));
    tooltip(frame, tip(frame, one));
    if (clicked) point_at_image(frame, one.image);
    ImGui::SetCursorScreenPos(ImVec2(min.x, min.y + line));
  }
}

void ExcitingImages::draw_image(const Frame& frame, std::size_t place, ImVec2 min, float side) const {
  const float s = frame.scale;
  const training::ExcitingImage& one = images_[place];
  const training::ImageFacts& set = data_->test;
  const float unit = side / static_cast<float>(std::max(set.width, set.height));
  const ImVec2 max(min.x + std::floor(unit * static_cast<float>(set.width)),
                   min.y + std::floor(unit * static_cast<float>(set.height)));
  const std::string name = fmt::format("network.exciting.{}", place);
  ImGui::SetCursorScreenPos(min);
  const bool clicked = hit_area(name.c_str(), ImVec2(max.x - min.x, max.y - min.y + std::floor(kLine * s)));
  trace_item(name);
  ImDrawList* const list = ImGui::GetWindowDrawList();
  page_->draw(list, static_cast<int>(place), min, max);
  if (ImGui::IsItemHovered() || is_pointed_at_image(frame, one.image)) {
    const float line = std::max(1.0f, std::floor(2 * s));
    outline(list, min, max, frame.palette.accent, line);
  }
  draw_text(list, frame.fonts.small, min.x, max.y + std::floor((kLine - 3) * s), frame.palette.text,
            figure_of(one));
  tooltip(frame, tip(frame, one));
  if (clicked) point_at_image(frame, one.image);
}

void ExcitingImages::draw(const Frame& frame, std::size_t output, std::size_t channel,
                          const std::string& layer, float width) {
  const float s = frame.scale;
  ImGui::BeginChild(
      "network.exciting_images", ImVec2(width, height(frame)), false,
      ImGuiWindowFlags_NoNav | ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse);
  refresh(frame, output, channel);
  draw_title(frame, layer, width);
  refresh(frame, output, channel);  // the measure may be the other one now
  const float side = std::floor(kExcitingSide * s), gap = std::floor(kExcitingGap * s),
              edge = std::floor(2 * s);
  const float taken = std::max(side, text_width(frame.fonts.small, "mean -0.0123"));
  const ImVec2 corner = ImGui::GetCursorScreenPos();
  const bool texts = data_ && data_->test.texts;
  if (texts) draw_texts(frame, width);
  for (std::size_t place = 0; !texts && place < images_.size(); ++place) {
    const float left = edge + (gap + taken) * static_cast<float>(place);
    if (left + taken > width) break;
    draw_image(frame, place, ImVec2(corner.x + left, corner.y + edge), side);
  }
  ImGui::EndChild();
}

std::string ExcitingImages::trace_text() const {
  std::string images;
  for (const training::ExcitingImage& one : images_) {
    if (!images.empty()) images += ',';
    images += std::to_string(one.image);
  }
  return fmt::format("\"measure\":{},\"exciting\":[{}]", static_cast<int>(measured_), images);
}

}  // namespace warpscope::ui
