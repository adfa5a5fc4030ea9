#include "ui/panels/network/latent_walk.h"

#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "ui/input/cursor.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

using training::LatentPictures;
using training::LatentRecipe;

constexpr std::array<const char*, 2> kWays{"between two", "components"};
constexpr std::array<const char*, 2> kBases{"image", "mean"};
constexpr float kMostDeviations = 4;

std::vector<images::Rgba> colours(const LatentPictures& pictures, const float* pixels) {
  std::vector<images::Rgba> result;
  for (std::size_t i = 0; i < pictures.elements(); i += static_cast<std::size_t>(pictures.channels)) {
    result.push_back(images::image_colour(pixels + i, pictures.channels));
  }
  return result;
}

}  // namespace

std::int64_t LatentWalk::end(const training::LatentMap& map, std::int64_t image) const {
  const auto count = static_cast<std::int64_t>(map.count);
  const std::int64_t to = std::min(to_, count - 1);
  return to != image ? to : (to + 1) % count;
}

LatentRecipe LatentWalk::place(const training::LatentMap& map, std::int64_t image) const {
  if (way_ == kBetween) return {image, end(map, image), t_};
  LatentRecipe recipe;
  recipe.from = base_ == 0 ? image : LatentRecipe::kMean;
  recipe.deviations.assign(deviations_.begin(), deviations_.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                                          deviations_.size(), map.rank)));
  return recipe;
}

std::vector<LatentRecipe> LatentWalk::recipes(const training::LatentMap& map, std::int64_t image) const {
  std::vector<LatentRecipe> list;
  if (way_ == kBetween) list = strip_recipes(image, end(map, image));
  list.push_back(place(map, image));
  return list;
}

LatentMarks LatentWalk::marks(const Frame& frame, const training::LatentMap& map) const {
  LatentMarks marks;
  const std::int64_t image = frame.cursor->image;
  if (way_ == kBetween || base_ == 0) marks.from = image;
  if (way_ == kBetween) marks.to = end(map, image);
  // On the plane of the first two components the place is known without its latent.
  const LatentRecipe recipe = place(map, image);
  const auto along = [&](std::int64_t of, std::size_t k) {
    return of == LatentRecipe::kMean ? 0.0f : map.score(static_cast<std::size_t>(of), k);
  };
  const auto known = [&](std::int64_t of) { return of < static_cast<std::int64_t>(map.count); };
  for (std::size_t k = 0; k < std::min<std::size_t>(2, map.rank) && known(recipe.from); ++k) {
    float at = along(recipe.from, k);
    if (recipe.to != LatentRecipe::kMean) at += recipe.t * (along(recipe.to, k) - at);
    if (k < recipe.deviations.size()) at += recipe.deviations[k] * map.sigmas[k];
    marks.place.push_back(at);
  }
  return marks;
}

/// Uploads what has arrived. A tile whose picture has not keeps the one before, for a moment.
void LatentWalk::refresh(const Frame& frame, const std::vector<LatentRecipe>& wanted) {
  const auto& pictures = frame.seen.latent_pictures;
  if (!pictures || (pictures == shown_ && wanted == wanted_)) return;
  const interop::PageShape shape =
      interop::make_page(kStripPictures + 1, pictures->width, pictures->height, interop::Texture::largest());
  if (!page_ || page_->shape() != shape) {
    page_ = std::make_unique<interop::TilePage>(shape, frame.textures);
    has_picture_.clear();
  }
  if (wanted.size() != has_picture_.size()) has_picture_.assign(wanted.size(), false);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const float* const pixels = pictures->find(wanted[i]);
    if (pixels == nullptr) continue;
    page_->upload(static_cast<int>(i), colours(*pictures, pixels).data());
    has_picture_[i] = true;
  }
  shown_ = pictures;
  wanted_ = wanted;
}

void LatentWalk::draw_tile(std::size_t tile, ImVec2 min, ImVec2 max) const {
  if (page_ && tile < has_picture_.size() && has_picture_[tile]) {
    page_->draw(ImGui::GetWindowDrawList(), static_cast<int>(tile), min, max);
  }
}

void LatentWalk::draw(const Frame& frame, const training::LatentMap& map, ImVec2 size) {
  const float s = frame.scale;
  ImGui::BeginChild("latent.walk", size, false, ImGuiWindowFlags_NoNav);
  segmented(frame, "latent.way", kWays, &way_,
            "Which places of the latent space the decoder makes pictures of: those between two images, or "
            "those along the principal components");
  const float width = ImGui::GetContentRegionAvail().x;
  way_ == kBetween ? draw_between(frame, map, width) : draw_components(frame, map, width);
  refresh(frame, recipes(map, frame.cursor->image));
  if (way_ == kBetween) draw_strip(frame, width);
  ImGui::Dummy(ImVec2(1, std::floor(2 * s)));
  draw_picture(frame, ImGui::GetContentRegionAvail());
  ImGui::EndChild();
}

void LatentWalk::draw_between(const Frame& frame, const training::LatentMap& map, float width) {
  const float s = frame.scale;
  const std::int64_t from = frame.cursor->image;
  const auto name = [&](std::int64_t image) {
    const std::string known = class_of(frame.snapshot, static_cast<std::size_t>(image));
    return known.empty() ? fmt::format("image {}", image + 1)
                         : fmt::format("image {} ({})", image + 1, known);
  };
  const std::string text = fmt::format("from {} to {}", name(from), name(end(map, from)));
  row_text(frame, frame.fonts.text, frame.palette.text, ellipsize(frame.fonts.text, text, width));
  tooltip(frame, "A click on the plane chooses the first image, a click with the right button the second.");
  slider(frame, "latent.t", &t_, 0, 1, fmt::format("{:.2f}", static_cast<double>(t_)).c_str(), width - 2 * s,
         "How far the large picture is from the first image to the second: z = (1 - t) z1 + t z2");
}

void LatentWalk::draw_components(const Frame& frame, const training::LatentMap& map, float width) {
  const float s = frame.scale;
  segmented(frame, "latent.base", kBases, &base_,
            "What the deviations are added to: the latent of the image, or the mean of all latents");
  ImGui::SameLine(0, 8 * s);
  const bool any =
      std::any_of(deviations_.begin(), deviations_.end(), [](float value) { return value != 0; });
  if (text_button(frame, "latent.zero", "zero", "All deviations back to 0", any)) deviations_.fill(0);
  const float label = std::floor(72 * s);
  for (std::size_t k = 0; k < std::min(deviations_.size(), map.rank); ++k) {
    const float x = ImGui::GetCursorPosX();
    caption(frame, fmt::format("{}: {:.1f} %", k + 1, 100.0 * static_cast<double>(map.shares[k])));
    ImGui::SameLine(x + label, 0);
    const std::string name = fmt::format("latent.component.{}", k);
    slider(frame, name.c_str(), &deviations_[k], -kMostDeviations, kMostDeviations,
           fmt::format("{:+.1f}", static_cast<double>(deviations_[k])).c_str(), width - label - 2 * s,
           fmt::format("Standard deviations along component {}, which holds {:.1f} % of the variance", k + 1,
                       100.0 * static_cast<double>(map.shares[k])));
  }
}

/// The pictures between the two images; a click takes the large one there.
void LatentWalk::draw_strip(const Frame& frame, float width) {
  const float gap = std::max(1.0f, std::floor(2 * frame.scale));
  const float side = std::floor((width - gap * (kStripPictures - 1)) / kStripPictures);
  const ImVec2 origin = ImGui::GetCursorScreenPos();
  for (int i = 0; i < kStripPictures; ++i) {
    if (i > 0) ImGui::SameLine(0, gap);
    const std::string name = fmt::format("latent.strip.{}", i);
    const float t = static_cast<float>(i) / (kStripPictures - 1);
    if (hit_area(name.c_str(), ImVec2(side, side))) t_ = t;
    trace_item(name);
    const ImVec2 min(origin.x + static_cast<float>(i) * (side + gap), origin.y),
        max(min.x + side, min.y + side);
    draw_tile(static_cast<std::size_t>(i), min, max);
    if (t == t_)
      ImGui::GetWindowDrawList()->AddRect(min, max, frame.palette.accent, 0, 0, hairline(frame) * 2);
    tooltip(frame, fmt::format("t = {:.3f}; a click shows it large.", static_cast<double>(t)));
  }
}

/// The last recipe's, as large as there is room.
void LatentWalk::draw_picture(const Frame& frame, ImVec2 room) {
  const float s = frame.scale, line = ImGui::GetFrameHeight();
  const float side = std::floor(std::min({room.x, room.y - line - 4 * s, 320 * s}));
  if (side < 24 * s || wanted_.empty()) return;
  const ImVec2 min = ImGui::GetCursorScreenPos();
  const ImVec2 max(min.x + side, min.y + side);
  ImGui::Dummy(ImVec2(side, side));
  trace_item("latent.picture");
  draw_tile(wanted_.size() - 1, min, max);
  ImGui::GetWindowDrawList()->AddRect(min, max, frame.palette.grid, 0, 0, hairline(frame));
  if (shown_) {
    caption(frame, "decoded by the weights of step " + with_thousands(shown_->step));
  }
}

}  // namespace warpscope::ui
