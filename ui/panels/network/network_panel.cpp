#include "ui/panels/network/network_panel.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "gpu/files/file.h"
#include "ui/frame/frame_phases.h"
#include "ui/frame/kept_views.h"
#include "ui/images/colour_bar.h"
#include "ui/input/cursor.h"
#include "ui/panels/data_texts.h"
#include "ui/panels/pictures/tiled_images.h"
#include "ui/settings/steering.h"
#include "ui/text/terms.h"
#include "ui/widgets/theme.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

constexpr std::array<const char*, 3> kNetworkViews{"activations", "layers", "edit"};
constexpr const char* kNotKept = "Its weights were not kept at this step: another layer was chosen then.";
constexpr std::array<const char*, 3> kLooks{"outputs", "weights", "gradients"};
// Design pixels.
constexpr float kNumberWidth = 44, kOrderWidth = 124, kGap = 12, kLeastTilesHeight = 72,
                kLeastViewHeight = 144;
// Sizes of the detail, where the terms of a sum stand in all their columns beside the enlarged picture; of the sum by
// itself; of the picture.
constexpr float kDetailWidth = 560, kSumWidth = 380, kLeastEnlarged = 48;
constexpr float kFigureRows = 3;
constexpr std::array<const char*, 3> kTileOrders{"by index", "largest mean", "largest variance"};
constexpr const char* kDepthCaption = "input channel";
constexpr const char* kOwnScale = "own scale";

const char* image_caption(const Frame& frame) {
  return trains_on_texts(frame) ? "text" : "image";
}

/// Zeros are white where values have signs, which a light panel would not show the end of.
bool frames_pictures(const Frame& frame) {
  return relative_luminance(frame.palette.panel) > 0.5;
}

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

float stepper_width(const Frame& frame) {
  return text_button_width(frame, "-") + std::floor(kNumberWidth * frame.scale) +
         text_button_width(frame, "+");
}

/// "-" 12 "+", which step a number from 0 to `most`.
void stepper(const Frame& frame, const char* name, const std::string& text, std::string_view tip,
             std::int64_t most, std::int64_t& value) {
  if (text_button(frame, fmt::format("{}.less", name).c_str(), "-", tip, value > 0)) --value;
  ImGui::SameLine(0, 0);
  const float width = std::floor(kNumberWidth * frame.scale);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  draw_text(ImGui::GetWindowDrawList(), frame.fonts.numbers,
            at.x + (width - text_width(frame.fonts.numbers, text)) / 2, row_baseline(frame, at.y),
            frame.palette.text, text);
  ImGui::Dummy(ImVec2(width, ImGui::GetFrameHeight()));
  tooltip(frame, tip);
  ImGui::SameLine(0, 0);
  if (text_button(frame, fmt::format("{}.more", name).c_str(), "+", tip, value < most)) ++value;
}

float image_choice_width(const Frame& frame) {
  return text_width(frame.fonts.small, image_caption(frame)) + 4 * frame.scale + stepper_width(frame);
}

void draw_image_choice(const Frame& frame) {
  const std::int64_t count = frame.snapshot.data ? frame.snapshot.data->test.count : 1;
  caption(frame, image_caption(frame));
  ImGui::SameLine(0, 4 * frame.scale);
  std::int64_t image = frame.cursor->image;
  const std::string tip = said_of_data(
      frame,
      "Which of the test images goes through the network. A click on an image elsewhere chooses it too.");
  stepper(frame, "network.image", with_thousands(image + 1), tip, count - 1, image);
  if (image != frame.cursor->image) point_at_image(frame, image);
}

float depth_choice_width(const Frame& frame) {
  return text_width(frame.fonts.small, kDepthCaption) + 4 * frame.scale + stepper_width(frame);
}

}  // namespace

void NetworkPanel::follow(const models::Model& model) {
  if (model == model_) return;
  model_ = model;
  layout_ = models::parameter_layout(model_);
  scenes_.set_model(model_);
  scene_ = uploaded_ = nullptr;
  explained_.reset();
  in_channel_ = 0;
  diagram_.forget();
  editor_.set_trained(model_);
}

void NetworkPanel::edit(bool file) {
  view_ = kEdit;
  if (file) editor_.focus_file();
}

void NetworkPanel::draw_views(const Frame& frame) {
  segmented(frame, "network.view", kNetworkViews, &view_,
            "activations: what the layers make of an image. layers: what each costs in a training step. "
            "edit: the network as a form.",
            true);
}

std::optional<std::uint64_t> NetworkPanel::step(const Frame& frame) const {
  if (view_ == kEdit) return std::nullopt;
  return view_ == kLayers ? step_of_calls(frame) : step_of_inspection(frame);
}

void NetworkPanel::draw(const Frame& frame) {
  const float s = frame.scale;
  if (model_.layers.empty()) {
    panel_body(frame, false);
    return centered_text(frame, "This version does not know the network of this run.");
  }
  if (frame.cursor != nullptr) frame.cursor->output = std::min(frame.cursor->output, model_.layers.size());
  if (view_ == kActivations && shows_activations(frame)) {
    if (frame.request != nullptr && !has_recorded_activations(frame)) {
      frame.request->inspected_image = frame.cursor->image;
      frame.request->inspected_parameters = inspect::output_of_sum(model_, frame.cursor->output);
    }
    refresh(frame);
  } else {
    scene_ = nullptr;
  }
  // Where the title row has no room left, its items have rows of their own.
  const float room = title_room(frame), views_width = segmented_width(frame, kNetworkViews);
  const bool views = room >= views_width;
  if (views) draw_views(frame);
  const bool controls = views && scene_ != nullptr && room >= views_width + 16 * s + controls_width(frame);
  if (controls) {
    ImGui::SameLine(0, 16 * s);
    draw_controls(frame);
  }
  panel_body(frame);
  ImGui::Dummy(ImVec2(1, std::floor(3 * s)));
  if (!views) draw_views(frame);
  if (view_ == kLayers) {
    begin_rest(frame, kLeastViewHeight);
    diagram_.draw(frame, model_);
    return end_rest();
  }
  if (view_ == kEdit) {
    if (!views) ImGui::SameLine(0, 16 * s);
    return editor_.draw(frame);
  }
  if (!shows_activations(frame))
    return centered_text(frame, why_no_look(frame.snapshot, "The folder of this run holds no activations."));
  if (scene_ == nullptr) return centered_text(frame, "Looking into the network ...");
  if (!controls) {
    if (!views) next_in_row(frame, 16, image_choice_width(frame));
    draw_controls(frame);
  }
  begin_rest(frame, kLeastViewHeight);
  draw_activations(frame);
  end_rest();
}

void NetworkPanel::draw_activations(const Frame& frame) {
  draw_strip(frame);
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const float s = frame.scale;
  const float least = std::min(room.x * 0.56f, kDetailWidth * s);
  const float detail = std::floor(std::clamp(std::max(room.x * 0.44f, least), 280 * s, 960 * s));
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
      seen().number, seen().step, seen().image, json_string(output_name()), static_cast<int>(scene_->of.look),
      channel(frame), scene_->pictures.count);
  if (cursor.has_pixel && explained_) {
    now += fmt::format(",\"y\":{},\"x\":{},\"value\":{},\"sum\":{},\"terms\":{}", cursor.y, cursor.x,
                       explained_->value, explained_->total, explained_->terms.size());
  }
  now.append(",").append(exciting_.trace_text());
  trace_change(traced_, "network", now);
}

/// Input channels of the filters that are looked at, where one of them has to be chosen; or else 0.
int NetworkPanel::depth_to_choose(const Frame& frame) const {
  const int depth = filter_depth(seen(), model_, frame.cursor->output);
  return look_ == static_cast<int>(NetworkLook::outputs) || depth <= 3 ? 0 : depth;
}

/// The width of all of them in one row.
float NetworkPanel::controls_width(const Frame& frame) const {
  const float s = frame.scale, gap = kGap * s;
  const float depth = depth_to_choose(frame) > 0 ? gap + depth_choice_width(frame) : 0;
  return image_choice_width(frame) + gap + segmented_width(frame, kLooks) + depth + gap + kOrderWidth * s +
         gap + toggle_width(frame, kOwnScale);
}

void NetworkPanel::draw_depth_choice(const Frame& frame) {
  const int depth = depth_to_choose(frame);
  if (depth == 0) return;
  next_in_row(frame, kGap, depth_choice_width(frame));
  caption(frame, kDepthCaption);
  tooltip(frame, explain(kDepthCaption));
  ImGui::SameLine(0, 4 * frame.scale);
  in_channel_ = std::min(in_channel_, depth - 1);
  std::int64_t channel = in_channel_;
  stepper(frame, "network.depth", std::to_string(channel),
          "Filters are seen at one channel of their input at a time.", depth - 1, channel);
  in_channel_ = static_cast<int>(channel);
}

void NetworkPanel::draw_controls(const Frame& frame) {
  draw_image_choice(frame);
  segmented_in_row(frame, kGap, "network.look", kLooks, &look_,
                   said_of_data(frame,
                                "What the tiles show: what the layers make of the image, their filters, or "
                                "the gradients of the filters in the last step"));
  draw_depth_choice(frame);
  const float order = std::floor(kOrderWidth * frame.scale);
  next_in_row(frame, kGap, order);
  const auto now = static_cast<std::size_t>(order_);
  if (begin_combo(frame, "network.order", kTileOrders[now], order, "In which order the tiles stand")) {
    for (std::size_t i = 0; i < kTileOrders.size(); ++i) {
      if (combo_item(frame, fmt::format("network.order={}", i).c_str(), kTileOrders[i], i == now))
        order_ = static_cast<int>(i);
    }
    end_combo();
  }
  next_in_row(frame, kGap, toggle_width(frame, kOwnScale));
  toggle(frame, "network.scale_each", kOwnScale, &scale_each_,
         "Each tile uses all of the colours, instead of one scale for all tiles of the layer");
}

/// Asks for the scene of what is looked at, and takes the one that is there: until the next one is made the last one
/// stays as it is, with the layer that it was made of.
void NetworkPanel::refresh(const Frame& frame) {
  scenes_.advance();
  const auto& inspection = frame.seen.inspection;
  if (!inspection || !is_of(*inspection, model_)) {
    scenes_.clear();
    scene_ = nullptr;
    return;
  }
  const NetworkView view{inspection, frame.cursor->output, static_cast<NetworkLook>(look_), in_channel_,
                         scale_each_};
  // Else a frame follows when they come; of an earlier step none will, and the rest is shown.
  const bool there = frame.past != nullptr || has_parameters(*inspection, view.output);
  if (there) scenes_.want(view);
  scene_ = scenes_.newest();
  if (!scene_) {
    if (there) redraw_at(frame, ImGui::GetTime());
    return;
  }
  NetworkView same_moment = view;
  same_moment.inspection = scene_->of.inspection;
  // A person has chosen something else, or another image has come.
  const bool chosen = !(same_moment == scene_->of) || scene_->of.inspection->image != inspection->image;
  if (chosen && there) redraw_at(frame, ImGui::GetTime());
  if (scene_->of.output == view.output && scene_->pictures.count > 0) frame.cursor->channel = channel(frame);
  upload(frame);
}

/// Those of the layer behind output `output`, as far as it has some.
bool NetworkPanel::has_parameters(const training::Inspection& inspection, std::size_t output) const {
  const std::size_t sum = inspect::output_of_sum(model_, output);
  return sum == 0 || inspection.has(layout_.find(model_.layers[sum - 1].name + ".weight"));
}

/// Brings the textures up to date with the scene.
void NetworkPanel::upload(const Frame& frame) {
  if (scene_ == uploaded_) return;
  const FramePart part("network.upload");
  const auto put = [&](std::unique_ptr<interop::Texture>& texture, int width, int height,
                       const std::vector<images::Rgba>& pixels) {
    if (!texture || texture->width() != width || texture->height() != height) {
      texture = std::make_unique<interop::Texture>(width, height, frame.textures);
    }
    texture->upload(pixels.data());
  };
  const Pictures& pictures = scene_->pictures;
  if (pictures.count > 0)
    put(tiles_, scene_->columns * pictures.width, scene_->rows * pictures.height, scene_->tiles);
  if (!uploaded_ || uploaded_->strip != scene_->strip) {
    put(strip_, scene_->strip->width(), scene_->strip->side, scene_->strip->pixels);
  }
  uploaded_ = scene_;
}

/// The chosen channel, of those that are shown.
int NetworkPanel::channel(const Frame& frame) const {
  return std::clamp(frame.cursor->channel, 0, std::max(0, scene_->pictures.count - 1));
}

void NetworkPanel::draw_strip(const Frame& frame) {
  const float s = frame.scale;
  const auto count = static_cast<float>(seen().outputs.size());
  const float gap = std::floor(6 * s);
  const float fit = (ImGui::GetContentRegionAvail().x - gap * (count - 1)) / count;
  float least = 56 * s;
  for (const training::LayerOutput& output : seen().outputs)
    least = std::max(least, text_width(frame.fonts.small, shape_text(output)) + 6 * s);
  const float width = std::floor(std::clamp(fit, std::min(least, 96 * s), 96 * s));
  const float height = std::floor(40 * s) + 2 * std::floor(16 * s) + std::floor(8 * s);
  const bool scrolls = width > fit;
  const float bar = scrolls ? ImGui::GetStyle().ScrollbarSize : 0;
  ImGui::BeginChild(
      "network.strip", ImVec2(0, height + bar + 6 * s), false,
      ImGuiWindowFlags_HorizontalScrollbar | ImGuiWindowFlags_NoScrollWithMouse | ImGuiWindowFlags_NoNav);
  if (scrolls && ImGui::IsWindowHovered() && ImGui::GetIO().MouseWheel != 0) {
    ImGui::SetScrollX(ImGui::GetScrollX() - ImGui::GetIO().MouseWheel * (width + gap));
  }
  for (std::size_t n = 0; n < seen().outputs.size(); ++n) {
    if (n > 0) ImGui::SameLine(0, gap);
    const ImVec2 min = ImGui::GetCursorScreenPos();
    const std::string name = fmt::format("network.layer.{}", seen().outputs[n].layer);
    if (hit_area(name.c_str(), ImVec2(width, height))) point_at_output(*frame.cursor, n);
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
  const training::LayerOutput& values = seen().outputs[output];
  const float side = std::floor(40 * s), line = std::floor(16 * s);
  const images::Point size = scene_->strip->sizes[output];
  const float unit = side / static_cast<float>(std::max(size.x, size.y));
  // A row of many pixels, of a text, is a band.
  const bool band = size.y == 1 && size.x > 1;
  const ImVec2 extent(band ? max.x - min.x - std::floor(12 * s) : unit * static_cast<float>(size.x),
                      band ? std::floor(12 * s) : unit * static_cast<float>(size.y));
  const ImVec2 at(std::floor((min.x + max.x - extent.x) / 2),
                  std::floor(min.y + 4 * s + (side - extent.y) / 2));
  const float texels = static_cast<float>(strip_->width());
  const float left = static_cast<float>(static_cast<int>(output) * scene_->strip->side);
  list->AddImage((ImTextureID)(std::intptr_t)strip_->id(), at, ImVec2(at.x + extent.x, at.y + extent.y),
                 ImVec2(left / texels, 0),
                 ImVec2((left + static_cast<float>(size.x)) / texels,
                        static_cast<float>(size.y) / static_cast<float>(scene_->strip->side)));
  const auto centred = [&](const std::string& text, ImU32 color, float baseline) {
    const std::string shown = ellipsize(frame.fonts.small, text, max.x - min.x - 4 * s);
    draw_text(list, frame.fonts.small, (min.x + max.x - text_width(frame.fonts.small, shown)) / 2, baseline,
              color, shown);
  };
  centred(values.layer, frame.palette.text, min.y + 4 * s + side + line - 3 * s);
  centred(shape_text(values), frame.palette.muted, min.y + 4 * s + side + 2 * line - 3 * s);
  if (hovered) {
    pointer_tip(frame, fmt::format("{}: {}, height \u00d7 width \u00d7 channels. The picture is its channel "
                                   "with the largest variance.",
                                   values.layer,
                                   files::counted(static_cast<std::int64_t>(values.values.size()), "value")));
  }
}

void NetworkPanel::image_of_tile(ImDrawList* list, int picture, ImVec2 min, ImVec2 max) const {
  const auto width = static_cast<float>(tiles_->width()), height = static_cast<float>(tiles_->height());
  const int row = picture / scene_->columns, column = picture % scene_->columns;
  const auto left = static_cast<float>(column * scene_->pictures.width),
             top = static_cast<float>(row * scene_->pictures.height);
  list->AddImage((ImTextureID)(std::intptr_t)tiles_->id(), min, max, ImVec2(left / width, top / height),
                 ImVec2((left + static_cast<float>(scene_->pictures.width)) / width,
                        (top + static_cast<float>(scene_->pictures.height)) / height));
}

/// The tiles, and below them, where there is room, the images that excite the chosen channel most.
void NetworkPanel::draw_left(const Frame& frame, ImVec2 room) {
  const float strip = ExcitingImages::height(frame) + ImGui::GetStyle().ItemSpacing.y;
  const bool excites = scene_->pictures.count > 0 && frame.request != nullptr &&
                       room.y >= strip + kLeastTilesHeight * frame.scale;
  ImGui::BeginGroup();
  draw_tiles(frame, ImVec2(room.x, excites ? room.y - strip : room.y));
  if (excites) {
    frame.request->activations_of = scene_->of.output;
    exciting_.draw(frame, scene_->of.output, static_cast<std::size_t>(channel(frame)), output_name(), room.x);
  }
  ImGui::EndGroup();
}

void NetworkPanel::draw_tiles(const Frame& frame, ImVec2 room) {
  const float s = frame.scale;
  ImGui::BeginChild("network.tiles", room, false, ImGuiWindowFlags_NoNav);
  if (scene_->pictures.count == 0) {
    const std::size_t output = scene_->of.output;
    centered_text(frame, has_parameters(seen(), output) ? why_no_filters(seen(), model_, output) : kNotKept);
    ImGui::EndChild();
    return;
  }
  const float gap = std::floor(3 * s), edge = std::floor(2 * s);
  const ImVec2 all = ImGui::GetContentRegionAvail();
  const TileLayout layout =
      lay_out_tiles(scene_->pictures.count, scene_->pictures.width, scene_->pictures.height,
                    all.x - ImGui::GetStyle().ScrollbarSize, all.y - 2 * edge, gap, 18 * s, 96 * s);
  const ImVec2 origin = ImGui::GetCursorScreenPos();
  const std::vector<int>& order =
      standing_.of(scene_->figures, scene_->number, static_cast<ChannelOrder>(order_));
  ImDrawList* const list = ImGui::GetWindowDrawList();
  const bool pale = frames_pictures(frame);
  for (std::size_t place = 0; place < order.size(); ++place) {
    const int picture = order[place];
    const int row = static_cast<int>(place) / layout.columns,
              column = static_cast<int>(place) % layout.columns;
    const ImVec2 min(origin.x + edge + static_cast<float>(column) * (layout.width + gap),
                     origin.y + edge + static_cast<float>(row) * (layout.height + gap));
    const ImVec2 max(min.x + layout.width, min.y + layout.height);
    if (!ImGui::IsRectVisible(min, max)) continue;
    image_of_tile(list, picture, min, max);
    if (pale) list->AddRect(min, max, frame.palette.border, 0, 0, hairline(frame));
    const bool hovered = ImGui::IsWindowHovered() && ImGui::IsMouseHoveringRect(min, max);
    if (picture == channel(frame) || hovered) {
      const float line = std::max(1.0f, std::floor(2 * s));
      outline(list, min, max, frame.palette.accent, line);
    }
    if (trace_enabled()) trace_rectangle(fmt::format("network.tile.{}", picture), min, max);
    if (!hovered) continue;
    draw_tile_tip(frame, picture);
    if (!ImGui::IsMouseClicked(ImGuiMouseButton_Left)) continue;
    frame.cursor->channel = picture;
  }
  const int rows = (scene_->pictures.count + layout.columns - 1) / layout.columns;
  ImGui::Dummy(ImVec2(1, 2 * edge + static_cast<float>(rows) * (layout.height + gap)));
  ImGui::EndChild();
}

void NetworkPanel::draw_tile_tip(const Frame& frame, int picture) const {
  const ChannelFigures& figures = scene_->figures[static_cast<std::size_t>(picture)];
  std::string text =
      fmt::format("channel {}: mean {}, variance {}, from {} to {}", picture, number(figures.mean),
                  number(figures.variance), number(figures.least), number(figures.most));
  if (shows_outputs() && figures.zeros > 0) {
    text += fmt::format(", {:.0f} % zeros", 100.0 * static_cast<double>(figures.zeros) /
                                                static_cast<double>(scene_->pictures.size()));
  }
  pointer_tip(frame, text);
}

std::string NetworkPanel::output_name() const {
  return seen().outputs[scene_->of.output].layer;
}

void NetworkPanel::draw_detail(const Frame& frame, ImVec2 room) {
  ImGui::BeginChild("network.detail", room, false, ImGuiWindowFlags_NoNav);
  if (scene_->pictures.count > 0) {
    const float s = frame.scale, row = ImGui::GetFrameHeight() + ImGui::GetStyle().ItemSpacing.y;
    row_text(
        frame, frame.fonts.strong, frame.palette.text,
        ellipsize(frame.fonts.strong, fmt::format("{}, channel {}", output_name(), channel(frame)), room.x));
    // Where there is little room the sum goes before the figures, which the tip of the tile tells too.
    const float below = room.y - row, figures = kFigureRows * row;
    const bool with_figures = below >= figures + kLeastEnlarged * s;
    const float high = with_figures ? below - figures : below;
    const float wide = std::min(room.x * 0.45f, room.x - kSumWidth * s);
    const float side = std::floor(std::clamp(std::min(wide, high), kLeastEnlarged * s, 480 * s));
    ImGui::BeginGroup();
    draw_enlarged(frame, side);
    if (with_figures) draw_figures(frame);
    ImGui::EndGroup();
    ImGui::SameLine(0, 12 * s);
    ImGui::BeginChild("network.sum", ImVec2(0, 0), false, ImGuiWindowFlags_NoNav);
    shows_outputs() ? draw_sum(frame) : draw_filter(frame);
    ImGui::EndChild();
  }
  ImGui::EndChild();
}

void NetworkPanel::draw_figures(const Frame& frame) const {
  const ChannelFigures& figures = scene_->figures[static_cast<std::size_t>(channel(frame))];
  const float s = frame.scale;
  name_and_number(frame, "from", number(figures.least));
  ImGui::SameLine(0, 8 * s);
  name_and_number(frame, "to", number(figures.most));
  name_and_number(frame, "mean", number(figures.mean));
  const ColourScale scale = scene_->scale_of_tile(channel(frame));
  if (scene_->pictures.planes == 1) scale_bar(frame, scale);
}

/// The bias and norms of a filter.
void NetworkPanel::draw_filter(const Frame& frame) const {
  const auto known = [](const std::optional<float>& value) { return value ? number(*value) : "-"; };
  const FilterFigures figures = figures_of_filter(model_, layout_, seen(), scene_->of.output, channel(frame));
  name_and_number(frame, "bias", number(figures.bias));
  name_and_number(frame, "gradient of the bias", known(figures.bias_gradient));
  name_and_number(frame, "norm of the filter", number(figures.norm));
  name_and_number(frame, "norm of its gradient", known(figures.gradient_norm));
  paragraph(frame.fonts.small, frame.palette.muted, figures.gradient_norm ? kNormsOfFilters : kNoGradients);
}

void NetworkPanel::draw_enlarged(const Frame& frame, float side) {
  Cursor& cursor = *frame.cursor;
  const float unit = std::max(
      1.0f, std::floor(side / static_cast<float>(std::max(scene_->pictures.width, scene_->pictures.height))));
  // A row of pixels, of a text, is higher than its pixels are wide.
  const float down = scene_->pictures.height == 1 ? std::max(unit, std::floor(24 * frame.scale)) : unit;
  const ImVec2 extent(unit * static_cast<float>(scene_->pictures.width),
                      down * static_cast<float>(scene_->pictures.height));
  const ImVec2 at = ImGui::GetCursorScreenPos();
  hit_area("network.enlarged", extent);
  trace_item("network.enlarged");
  ImDrawList* const list = ImGui::GetWindowDrawList();
  image_of_tile(list, channel(frame), at, ImVec2(at.x + extent.x, at.y + extent.y));
  if (frames_pictures(frame)) {
    list->AddRect(at, ImVec2(at.x + extent.x, at.y + extent.y), frame.palette.border, 0, 0, hairline(frame));
  }
  const auto mark = [&](int y, int x, ImU32 color) {
    const ImVec2 min(at.x + unit * static_cast<float>(x), at.y + down * static_cast<float>(y));
    const ImVec2 max(min.x + unit, min.y + down);
    list->AddRect(ImVec2(min.x - 1, min.y - 1), ImVec2(max.x + 1, max.y + 1), IM_COL32(0, 0, 0, 255));
    list->AddRect(min, max, color);
  };
  if (cursor.has_pixel && shows_outputs()) {
    mark(std::min(cursor.y, scene_->pictures.height - 1), std::min(cursor.x, scene_->pictures.width - 1),
         frame.palette.accent);
  }
  if (!ImGui::IsItemHovered()) return;
  const int x =
      std::clamp(static_cast<int>((ImGui::GetIO().MousePos.x - at.x) / unit), 0, scene_->pictures.width - 1);
  const int y =
      std::clamp(static_cast<int>((ImGui::GetIO().MousePos.y - at.y) / down), 0, scene_->pictures.height - 1);
  mark(y, x, IM_COL32(255, 255, 255, 255));
  const float* const value =
      scene_->pictures.of(channel(frame)) +
      static_cast<std::size_t>((y * scene_->pictures.width + x) * scene_->pictures.planes);
  std::string text = fmt::format("y {}, x {}: {:.6g}", y, x, value[0]);
  for (int plane = 1; plane < scene_->pictures.planes; ++plane) text += fmt::format(", {:.6g}", value[plane]);
  pointer_tip(frame, shows_outputs() ? text + ". Click for the sum behind it." : text);
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
  if (!has_parameters(seen(), scene_->of.output)) {
    explained_.reset();
    return paragraph(frame.fonts.small, frame.palette.muted, kNotKept);
  }
  const inspect::Place place{scene_->of.output, std::min(cursor.y, scene_->pictures.height - 1),
                             std::min(cursor.x, scene_->pictures.width - 1), channel(frame)};
  if (!explained_ || !(explained_->place == place) || explained_number_ != seen().number) {
    explained_ = inspect::explain(model_, layout_, seen(), place);
    explained_number_ = seen().number;
  }
  sum_.draw(frame, model_, *explained_);
}

void NetworkPanel::shutdown() {
  exciting_.shutdown();
  tiles_.reset();
  strip_.reset();
  uploaded_ = nullptr;
}

}  // namespace warpscope::ui
