#include "ui/panels/network_panel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "gpu/data/dataset.h"
#include "ui/cursor.h"
#include "ui/images/colour_bar.h"
#include "ui/paragraph.h"
#include "ui/pointing.h"
#include "ui/steering.h"
#include "ui/terms.h"
#include "ui/widgets.h"

namespace warpscope::ui {
namespace {

constexpr std::array<const char*, 3> kLooks{"outputs", "weights", "gradients"};
constexpr float kControlsWidth =
    440;  ///< design pixels: the image, the look, and the input channel of filters
constexpr float kLeastTilesHeight = 72;
constexpr std::array<const char*, 3> kOrders{"by index", "largest mean", "largest variance"};

std::string number(float value) {
  return fmt::format("{:.4g}", value);
}

void name_and_number(const Frame& frame, std::string_view name, const std::string& value) {
  caption(frame, name);
  ImGui::SameLine(0, 6 * frame.scale);
  row_text(frame, frame.fonts.numbers, frame.palette.text, value);
}

/// The colours from one end of the scale to the other, with the values of the ends.
void scale_bar(const Frame& frame, const ColourScale& scale) {
  const auto colour = [&scale](float part) {
    const float value = scale.range * (scale.has_signs ? 2 * part - 1 : part);
    return value_colour(&value, 1, scale);
  };
  images::colour_bar(frame, {scale.has_signs ? number(-scale.range) : "0", number(scale.range), colour},
                     std::floor(96 * frame.scale));
}

/// "-" 12 "+", which step a number from 0 to `most`.
void stepper(const Frame& frame, const char* name, const std::string& text, std::string_view tip,
             std::int64_t most, std::int64_t& value) {
  const float s = frame.scale;
  if (text_button(frame, fmt::format("{}.less", name).c_str(), "-", tip, value > 0)) --value;
  ImGui::SameLine(0, 0);
  const float width = std::floor(44 * s);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  draw_text(ImGui::GetWindowDrawList(), frame.fonts.numbers,
            at.x + (width - text_width(frame.fonts.numbers, text)) / 2, row_baseline(frame, at.y),
            frame.palette.text, text);
  ImGui::Dummy(ImVec2(width, ImGui::GetFrameHeight()));
  tooltip(frame, tip);
  ImGui::SameLine(0, 0);
  if (text_button(frame, fmt::format("{}.more", name).c_str(), "+", tip, value < most)) ++value;
}

}  // namespace

void NetworkPanel::draw(const Frame& frame) {
  if (frame.cursor == nullptr || frame.request == nullptr) {
    panel_body(frame, false);
    centered_text(frame,
                  "The folder of a run holds nothing of this: the network is seen while it trains here.");
    return;
  }
  frame.request->inspected_image = frame.cursor->image;
  seen_ = frame.seen.inspection;
  const bool ready = seen_ && seen_->outputs.size() == model_.layers.size() + 1;
  // Where the title row has no room left, the choices have a row of their own.
  const bool in_title = title_room(frame) >= kControlsWidth * frame.scale;
  if (ready && in_title) draw_controls(frame, title_room(frame));
  panel_body(frame, false);
  if (!ready) {
    centered_text(frame, "Looking into the network ...");
    return;
  }
  Cursor& cursor = *frame.cursor;
  cursor.output = std::min(cursor.output, model_.layers.size());
  refresh(frame);
  ImGui::Dummy(ImVec2(1, std::floor(3 * frame.scale)));
  if (!in_title) draw_controls(frame, ImGui::GetContentRegionAvail().x);
  draw_strip(frame);
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const float s = frame.scale;
  const float detail = std::floor(std::clamp(room.x * 0.44f, 280 * s, 720 * s));
  const bool beside = room.x > detail + 160 * s;
  draw_left(frame, ImVec2(beside ? room.x - detail - 8 * s : room.x, room.y));
  if (!beside) return;
  ImGui::SameLine(0, 8 * s);
  draw_detail(frame, ImVec2(detail, room.y));
  trace(frame);
}

void NetworkPanel::trace(const Frame& frame) {
  if (!trace_enabled()) return;
  const Cursor& cursor = *frame.cursor;
  std::string now = fmt::format(
      "\"number\":{},\"step\":{},\"image\":{},\"output\":{},\"look\":{},\"channel\":{},\"tiles\":{}",
      seen_->number, seen_->step, seen_->image, json_string(output_name()), look_, cursor.channel,
      pictures_.count);
  if (cursor.has_pixel && explained_) {
    now += fmt::format(",\"y\":{},\"x\":{},\"value\":{},\"sum\":{},\"terms\":{}", cursor.y, cursor.x,
                       explained_->value, explained_->total, explained_->terms.size());
  }
  now.append(",").append(exciting_.trace_text());
  if (now == traced_) return;
  traced_ = now;
  trace_event("network", now);
}

void NetworkPanel::draw_image_choice(const Frame& frame) {
  const std::int64_t count = frame.snapshot.data ? frame.snapshot.data->test.count : 1;
  caption(frame, "image");
  ImGui::SameLine(0, 4 * frame.scale);
  std::int64_t image = frame.cursor->image;
  stepper(frame, "network.image", std::to_string(image + 1),
          "Which of the test images goes through the network. A click on an image elsewhere chooses it too.",
          count - 1, image);
  if (image != frame.cursor->image) point_at_image(frame, image);
}

void NetworkPanel::draw_depth_choice(const Frame& frame) {
  const int depth = filter_depth(*seen_, model_, frame.cursor->output);
  if (look_ == static_cast<int>(NetworkLook::outputs) || depth <= 3) return;
  ImGui::SameLine(0, 12 * frame.scale);
  caption(frame, "input channel");
  tooltip(frame, explain("input channel"));
  ImGui::SameLine(0, 4 * frame.scale);
  in_channel_ = std::min(in_channel_, depth - 1);
  std::int64_t channel = in_channel_;
  stepper(frame, "network.depth", std::to_string(channel),
          "Filters are seen at one channel of their input at a time.", depth - 1, channel);
  in_channel_ = static_cast<int>(channel);
}

void NetworkPanel::draw_controls(const Frame& frame, float room) {
  const float s = frame.scale;
  draw_image_choice(frame);
  ImGui::SameLine(0, 12 * s);
  segmented(frame, "network.look", kLooks, &look_,
            "What the tiles show: what the layers make of the image, their filters, or the gradients of the "
            "filters in the last step");
  draw_depth_choice(frame);
  if (room < 760 * s) return;
  ImGui::SameLine(0, 12 * s);
  const auto now = static_cast<std::size_t>(order_);
  if (begin_combo(frame, "network.order", kOrders[now], std::floor(124 * s),
                  "In which order the tiles stand")) {
    for (std::size_t i = 0; i < kOrders.size(); ++i) {
      if (combo_item(frame, fmt::format("network.order={}", i).c_str(), kOrders[i], i == now))
        order_ = static_cast<int>(i);
    }
    end_combo();
  }
  ImGui::SameLine(0, 12 * s);
  toggle(frame, "network.scale_each", "own scale", &scale_each_,
         "Each tile uses all of the colours, instead of one scale for all tiles of the layer");
}

ColourScale NetworkPanel::scale_of_tile(int picture) const {
  return scale_each_ ? scale_of(figures_[static_cast<std::size_t>(picture)]) : scale_;
}

/// Brings the textures up to date with what is looked at.
void NetworkPanel::refresh(const Frame& frame) {
  const Cursor& cursor = *frame.cursor;
  const Made wanted{seen_->number, cursor.output, static_cast<NetworkLook>(look_), in_channel_, scale_each_};
  if (!(wanted == made_) || !tiles_) {
    made_ = wanted;
    make_tiles(frame);
  }
  if (strip_number_ != seen_->number || !strip_) {
    strip_number_ = seen_->number;
    make_strip(frame);
  }
}

void NetworkPanel::make_tiles(const Frame& frame) {
  const std::size_t output = frame.cursor->output;
  const auto look = static_cast<NetworkLook>(look_);
  if (look == NetworkLook::outputs) {
    pictures_ = channels_of(seen_->outputs[output]);
  } else {
    pictures_ = filters_of(model_, layout_, *seen_, output, in_channel_, look == NetworkLook::gradients)
                    .value_or(Pictures{});
  }
  figures_ = figures_of(pictures_);
  ++version_;
  scale_ = scale_of(figures_);
  if (pictures_.count == 0) return;
  frame.cursor->channel = std::clamp(frame.cursor->channel, 0, pictures_.count - 1);
  const int width = pictures_.width, height = pictures_.height;
  tile_columns_ = std::clamp(
      static_cast<int>(std::ceil(std::sqrt(pictures_.count * height / static_cast<double>(width)))), 1,
      pictures_.count);
  const int rows = (pictures_.count + tile_columns_ - 1) / tile_columns_;
  std::vector<images::Rgba> page(static_cast<std::size_t>(tile_columns_ * width) *
                                 static_cast<std::size_t>(rows * height));
  for (int picture = 0; picture < pictures_.count; ++picture) {
    const auto pixels = colours_of(pictures_, picture, scale_of_tile(picture));
    const int left = picture % tile_columns_ * width, top = picture / tile_columns_ * height;
    for (int y = 0; y < height; ++y) {
      std::copy_n(pixels.begin() + y * width, width, page.begin() + (top + y) * tile_columns_ * width + left);
    }
  }
  if (!tiles_ || tiles_->width() != tile_columns_ * width || tiles_->height() != rows * height) {
    tiles_ = std::make_unique<interop::Texture>(tile_columns_ * width, rows * height, frame.textures);
  }
  tiles_->upload(page.data());
}

void NetworkPanel::make_strip(const Frame& frame) {
  std::vector<Overview> overviews;
  strip_side_ = 1;
  for (const training::LayerOutput& output : seen_->outputs) {
    overviews.push_back(overview_of(output));
    strip_side_ = std::max({strip_side_, overviews.back().width, overviews.back().height});
  }
  const int width = strip_side_ * static_cast<int>(overviews.size());
  std::vector<images::Rgba> page(static_cast<std::size_t>(width) * static_cast<std::size_t>(strip_side_));
  strip_sizes_.clear();
  for (std::size_t n = 0; n < overviews.size(); ++n) {
    const Overview& one = overviews[n];
    strip_sizes_.push_back({one.width, one.height});
    for (int y = 0; y < one.height; ++y) {
      std::copy_n(one.pixels.begin() + y * one.width, one.width,
                  page.begin() + y * width + static_cast<int>(n) * strip_side_);
    }
  }
  if (!strip_ || strip_->width() != width || strip_->height() != strip_side_) {
    strip_ = std::make_unique<interop::Texture>(width, strip_side_, frame.textures);
  }
  strip_->upload(page.data());
}

void NetworkPanel::draw_strip(const Frame& frame) {
  const float s = frame.scale;
  const auto count = static_cast<float>(seen_->outputs.size());
  const float gap = std::floor(6 * s);
  const float fit = (ImGui::GetContentRegionAvail().x - gap * (count - 1)) / count;
  const float width = std::floor(std::clamp(fit, 56 * s, 96 * s));
  const float height = std::floor(40 * s) + 2 * std::floor(16 * s) + std::floor(8 * s);
  const bool scrolls = width > fit;
  const float bar = scrolls ? ImGui::GetStyle().ScrollbarSize : 0;
  ImGui::BeginChild(
      "network.strip", ImVec2(0, height + bar + 6 * s), false,
      ImGuiWindowFlags_HorizontalScrollbar | ImGuiWindowFlags_NoScrollWithMouse | ImGuiWindowFlags_NoNav);
  if (scrolls && ImGui::IsWindowHovered() && ImGui::GetIO().MouseWheel != 0) {
    ImGui::SetScrollX(ImGui::GetScrollX() - ImGui::GetIO().MouseWheel * (width + gap));
  }
  for (std::size_t n = 0; n < seen_->outputs.size(); ++n) {
    if (n > 0) ImGui::SameLine(0, gap);
    const ImVec2 min = ImGui::GetCursorScreenPos();
    const std::string name = fmt::format("network.layer.{}", seen_->outputs[n].layer);
    if (ImGui::InvisibleButton(name.c_str(), ImVec2(width, height))) point_at_output(*frame.cursor, n);
    trace_item(name);
    draw_card(frame, n, min, ImVec2(min.x + width, min.y + height));
  }
  ImGui::EndChild();
}

void NetworkPanel::draw_card(const Frame& frame, std::size_t output, ImVec2 min, ImVec2 max) {
  const float s = frame.scale;
  const bool chosen = frame.cursor->output == output, hovered = ImGui::IsItemHovered();
  ImDrawList* const list = ImGui::GetWindowDrawList();
  const ImU32 back = blend(frame.palette.accent, frame.palette.panel,
                           chosen    ? 0.22f
                           : hovered ? 0.12f
                                     : 0.05f);
  list->AddRectFilled(min, max, back, 3 * s);
  if (chosen) list->AddRect(min, max, frame.palette.accent, 3 * s, 0, hairline(frame));
  const training::LayerOutput& values = seen_->outputs[output];
  const float side = std::floor(40 * s), line = std::floor(16 * s);
  const images::Point size = strip_sizes_[output];
  const float unit = side / static_cast<float>(std::max(size.x, size.y));
  const ImVec2 extent(unit * static_cast<float>(size.x), unit * static_cast<float>(size.y));
  const ImVec2 at(std::floor((min.x + max.x - extent.x) / 2),
                  std::floor(min.y + 4 * s + (side - extent.y) / 2));
  const float texels = static_cast<float>(strip_->width());
  const float left = static_cast<float>(static_cast<int>(output) * strip_side_);
  list->AddImage((ImTextureID)(std::intptr_t)strip_->id(), at, ImVec2(at.x + extent.x, at.y + extent.y),
                 ImVec2(left / texels, 0),
                 ImVec2((left + static_cast<float>(size.x)) / texels,
                        static_cast<float>(size.y) / static_cast<float>(strip_side_)));
  const auto centred = [&](const std::string& text, ImU32 color, float baseline) {
    const std::string shown = ellipsize(frame.fonts.small, text, max.x - min.x - 4 * s);
    draw_text(list, frame.fonts.small, (min.x + max.x - text_width(frame.fonts.small, shown)) / 2, baseline,
              color, shown);
  };
  centred(values.layer, frame.palette.text, min.y + 4 * s + side + line - 3 * s);
  centred(shape_text(values), frame.palette.muted, min.y + 4 * s + side + 2 * line - 3 * s);
  if (hovered) {
    pointer_tip(frame,
                fmt::format("{}: {} values, height \u00d7 width \u00d7 channels. The picture is its channel "
                            "with the largest variance.",
                            values.layer, with_thousands(static_cast<std::uint64_t>(values.values.size()))));
  }
}

void NetworkPanel::image_of_tile(ImDrawList* list, int picture, ImVec2 min, ImVec2 max) const {
  const auto width = static_cast<float>(tiles_->width()), height = static_cast<float>(tiles_->height());
  const int row = picture / tile_columns_, column = picture % tile_columns_;
  const auto left = static_cast<float>(column * pictures_.width),
             top = static_cast<float>(row * pictures_.height);
  list->AddImage((ImTextureID)(std::intptr_t)tiles_->id(), min, max, ImVec2(left / width, top / height),
                 ImVec2((left + static_cast<float>(pictures_.width)) / width,
                        (top + static_cast<float>(pictures_.height)) / height));
}

/// The tiles, and below them, where there is room, the images that excite the chosen channel most.
void NetworkPanel::draw_left(const Frame& frame, ImVec2 room) {
  const float strip = ExcitingImages::height(frame) + ImGui::GetStyle().ItemSpacing.y;
  const bool excites = pictures_.count > 0 && room.y >= strip + kLeastTilesHeight * frame.scale;
  ImGui::BeginGroup();
  draw_tiles(frame, ImVec2(room.x, excites ? room.y - strip : room.y));
  if (excites) {
    frame.request->activations_of = made_.output;
    exciting_.draw(frame, made_.output, static_cast<std::size_t>(frame.cursor->channel), output_name(),
                   room.x);
  }
  ImGui::EndGroup();
}

void NetworkPanel::draw_tiles(const Frame& frame, ImVec2 room) {
  const float s = frame.scale;
  ImGui::BeginChild("network.tiles", room, false, ImGuiWindowFlags_NoNav);
  if (pictures_.count == 0) {
    centered_text(frame, "This layer has no weights. Choose a convolution or a linear layer in the strip.");
    ImGui::EndChild();
    return;
  }
  const float gap = std::floor(3 * s);
  const TileLayout layout = lay_out_tiles(pictures_.count, pictures_.width, pictures_.height,
                                          ImGui::GetContentRegionAvail().x - ImGui::GetStyle().ScrollbarSize,
                                          ImGui::GetContentRegionAvail().y, gap, 18 * s, 96 * s);
  const ImVec2 origin = ImGui::GetCursorScreenPos();
  const std::vector<int>& order = standing_.of(figures_, version_, static_cast<ChannelOrder>(order_));
  ImDrawList* const list = ImGui::GetWindowDrawList();
  for (std::size_t place = 0; place < order.size(); ++place) {
    const int picture = order[place];
    const int row = static_cast<int>(place) / layout.columns,
              column = static_cast<int>(place) % layout.columns;
    const ImVec2 min(origin.x + 2 * s + static_cast<float>(column) * (layout.width + gap),
                     origin.y + 2 * s + static_cast<float>(row) * (layout.height + gap));
    const ImVec2 max(min.x + layout.width, min.y + layout.height);
    if (!ImGui::IsRectVisible(min, max)) continue;
    image_of_tile(list, picture, min, max);
    const bool hovered = ImGui::IsWindowHovered() && ImGui::IsMouseHoveringRect(min, max);
    if (picture == frame.cursor->channel || hovered) {
      const float line = std::max(1.0f, std::floor(2 * s));
      list->AddRect(ImVec2(min.x - line, min.y - line), ImVec2(max.x + line, max.y + line),
                    frame.palette.accent, 0, 0, line);
    }
    if (trace_enabled()) trace_rectangle(fmt::format("network.tile.{}", picture), min, max);
    if (!hovered) continue;
    draw_tile_tip(frame, picture);
    if (!ImGui::IsMouseClicked(ImGuiMouseButton_Left)) continue;
    frame.cursor->channel = picture;
  }
  const int rows = (pictures_.count + layout.columns - 1) / layout.columns;
  ImGui::Dummy(ImVec2(1, 4 * s + static_cast<float>(rows) * (layout.height + gap)));
  ImGui::EndChild();
}

void NetworkPanel::draw_tile_tip(const Frame& frame, int picture) const {
  const ChannelFigures& figures = figures_[static_cast<std::size_t>(picture)];
  std::string text =
      fmt::format("channel {}: mean {}, variance {}, from {} to {}", picture, number(figures.mean),
                  number(figures.variance), number(figures.least), number(figures.most));
  if (look_ == static_cast<int>(NetworkLook::outputs) && figures.zeros > 0) {
    text += fmt::format(", {:.0f} % zeros",
                        100.0 * static_cast<double>(figures.zeros) / static_cast<double>(pictures_.size()));
  }
  pointer_tip(frame, text);
}

std::string NetworkPanel::output_name() const {
  return seen_->outputs[made_.output].layer;
}

void NetworkPanel::draw_detail(const Frame& frame, ImVec2 room) {
  ImGui::BeginChild("network.detail", room, false, ImGuiWindowFlags_NoNav);
  if (pictures_.count > 0) {
    const float s = frame.scale;
    const float rows = 4 * (ImGui::GetFrameHeight() + ImGui::GetStyle().ItemSpacing.y);
    const float side = std::floor(std::clamp(std::min(room.x * 0.45f, room.y - rows), 80 * s, 320 * s));
    ImGui::BeginGroup();
    row_text(frame, frame.fonts.strong, frame.palette.text,
             ellipsize(frame.fonts.strong,
                       fmt::format("{}, channel {}", output_name(), frame.cursor->channel), side));
    draw_enlarged(frame, side);
    draw_figures(frame);
    ImGui::EndGroup();
    ImGui::SameLine(0, 12 * s);
    ImGui::BeginChild("network.sum", ImVec2(0, 0), false, ImGuiWindowFlags_NoNav);
    look_ == static_cast<int>(NetworkLook::outputs) ? draw_sum(frame) : draw_filter(frame);
    ImGui::EndChild();
  }
  ImGui::EndChild();
}

void NetworkPanel::draw_figures(const Frame& frame) const {
  const ChannelFigures& figures = figures_[static_cast<std::size_t>(frame.cursor->channel)];
  const float s = frame.scale;
  name_and_number(frame, "from", number(figures.least));
  ImGui::SameLine(0, 8 * s);
  name_and_number(frame, "to", number(figures.most));
  name_and_number(frame, "mean", number(figures.mean));
  const ColourScale scale = scale_of_tile(frame.cursor->channel);
  if (pictures_.planes == 1) scale_bar(frame, scale);
}

/// Of a filter: its bias and norms.
void NetworkPanel::draw_filter(const Frame& frame) const {
  const FilterFigures figures =
      figures_of_filter(model_, layout_, *seen_, made_.output, frame.cursor->channel);
  name_and_number(frame, "bias", number(figures.bias));
  name_and_number(frame, "gradient of the bias", number(figures.bias_gradient));
  name_and_number(frame, "norm of the filter", number(figures.norm));
  name_and_number(frame, "norm of its gradient", number(figures.gradient_norm));
  paragraph(frame.fonts.small, frame.palette.muted,
            "L2 norms over all input channels, of the last step's gradient before clipping.");
}

void NetworkPanel::draw_enlarged(const Frame& frame, float side) {
  Cursor& cursor = *frame.cursor;
  const float unit =
      std::max(1.0f, std::floor(side / static_cast<float>(std::max(pictures_.width, pictures_.height))));
  const ImVec2 extent(unit * static_cast<float>(pictures_.width),
                      unit * static_cast<float>(pictures_.height));
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::InvisibleButton("network.enlarged", extent);
  trace_item("network.enlarged");
  ImDrawList* const list = ImGui::GetWindowDrawList();
  image_of_tile(list, cursor.channel, at, ImVec2(at.x + extent.x, at.y + extent.y));
  const auto mark = [&](int y, int x, ImU32 color) {
    const ImVec2 min(at.x + unit * static_cast<float>(x), at.y + unit * static_cast<float>(y));
    const ImVec2 max(min.x + unit, min.y + unit);
    list->AddRect(ImVec2(min.x - 1, min.y - 1), ImVec2(max.x + 1, max.y + 1), IM_COL32(0, 0, 0, 255));
    list->AddRect(min, max, color);
  };
  if (cursor.has_pixel && look_ == static_cast<int>(NetworkLook::outputs)) {
    mark(std::min(cursor.y, pictures_.height - 1), std::min(cursor.x, pictures_.width - 1),
         frame.palette.accent);
  }
  if (!ImGui::IsItemHovered()) return;
  const int x =
      std::clamp(static_cast<int>((ImGui::GetIO().MousePos.x - at.x) / unit), 0, pictures_.width - 1);
  const int y =
      std::clamp(static_cast<int>((ImGui::GetIO().MousePos.y - at.y) / unit), 0, pictures_.height - 1);
  mark(y, x, IM_COL32(255, 255, 255, 255));
  const float* const value =
      pictures_.of(cursor.channel) + static_cast<std::size_t>((y * pictures_.width + x) * pictures_.planes);
  std::string text = fmt::format("y {}, x {}: {:.6g}", y, x, value[0]);
  for (int plane = 1; plane < pictures_.planes; ++plane) text += fmt::format(", {:.6g}", value[plane]);
  pointer_tip(frame, look_ == static_cast<int>(NetworkLook::outputs) ? text + ". Click for the sum behind it."
                                                                     : text);
  if (!ImGui::IsItemClicked()) return;
  cursor.has_pixel = true;
  cursor.y = y;
  cursor.x = x;
}

void NetworkPanel::draw_sum(const Frame& frame) {
  const Cursor& cursor = *frame.cursor;
  if (!cursor.has_pixel) {
    explained_.reset();
    paragraph(frame.fonts.small, frame.palette.muted, "Click a pixel to see the sum that made it.");
    return;
  }
  const inspect::Place place{made_.output, std::min(cursor.y, pictures_.height - 1),
                             std::min(cursor.x, pictures_.width - 1), cursor.channel};
  if (!explained_ || !(explained_->place == place) || explained_number_ != seen_->number) {
    explained_ = inspect::explain(model_, layout_, *seen_, place);
    explained_number_ = seen_->number;
  }
  sum_.draw(frame, model_, *explained_);
}

void NetworkPanel::shutdown() {
  exciting_.shutdown();
  tiles_.reset();
  strip_.reset();
}

}  // namespace warpscope::ui
