#include "ui/panels/augment_view.h"

#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "ui/images/byte_colours.h"
#include "ui/panels/data_texts.h"
#include "ui/text/paragraph.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

constexpr float kSide = 48, kGap = 4;  // of a picture, design pixels

/// Why the setting cannot be switched on beside this optimizer, or "".
std::string why_not_on(const training::Setting& row, const training::OptimizerSettings& optimizer) {
  if (row.field.kind == training::Kind::boolean) return {};
  training::Value one = 1.0;
  if (row.field.kind == training::Kind::integer) one = std::int64_t{1};
  try {
    training::TrainingSettings on;
    row.field.set(on, one);
    check_together(on.augment, optimizer);
  } catch (const core::BadInput& error) {
    return error.what();
  }
  return {};
}

}  // namespace

void AugmentView::refresh(const Frame& frame) {
  if (frame.request != nullptr) frame.request->augmented = true;
  if (frame.seen.augmented == seen_) return;
  seen_ = frame.seen.augmented;
  if (!seen_) return;
  const data::ImageSet& set = seen_->images;
  const interop::PageShape shape =
      interop::make_page(static_cast<int>(set.count), set.width, set.height, interop::Texture::largest());
  if (!page_ || page_->shape() != shape) page_ = std::make_unique<interop::TilePage>(shape, frame.textures);
  for (int i = 0; i < static_cast<int>(set.count); ++i) {
    page_->upload(i, images::byte_colours(set, i).data());
  }
  trace_event("augmented", fmt::format("\"step\":{},\"images\":{}", seen_->step, set.count));
}

void AugmentView::draw_pictures(const Frame& frame) {
  if (!seen_ || !page_) return;
  const float s = frame.scale;
  const data::ImageSet& set = seen_->images;
  const std::string mixed =
      seen_->own_share < 1 ? fmt::format("; {:.0f} % of each is its own", 100 * seen_->own_share) : "";
  const std::string text =
      fmt::format("the coming batch, after step {}{}", with_thousands(seen_->step), mixed);
  caption(frame, ellipsize(frame.fonts.small, text, ImGui::GetContentRegionAvail().x));
  const float unit = std::floor(kSide * s) / static_cast<float>(std::max(set.width, set.height));
  const float width = std::max(1.0f, std::floor(unit * static_cast<float>(set.width)));
  const float height = std::max(1.0f, std::floor(unit * static_cast<float>(set.height)));
  const float gap = std::floor(kGap * s), room = ImGui::GetContentRegionAvail().x;
  const int columns = std::max(1, static_cast<int>((room + gap) / (width + gap)));
  const int count = std::min(static_cast<int>(set.count), page_->shape().tiles());
  const ImVec2 corner = ImGui::GetCursorScreenPos();
  for (int i = 0; i < count; ++i) {
    const int row = i / columns, column = i % columns;
    const ImVec2 min(corner.x + static_cast<float>(column) * (width + gap),
                     corner.y + static_cast<float>(row) * (height + gap));
    page_->draw(ImGui::GetWindowDrawList(), i, min, ImVec2(min.x + width, min.y + height));
  }
  const int rows = (count + columns - 1) / columns;
  ImGui::Dummy(ImVec2(room, static_cast<float>(rows) * (height + gap)));
  trace_item("training.augmented");
}

void AugmentView::draw(const Frame& frame, SettingsController& controller, bool able, Refusal& refusal) {
  if (trains_on_texts(frame))
    return paragraph(frame.fonts.text, frame.palette.muted, "Texts are not augmented.");
  ImGui::BeginDisabled(!able);
  for (const training::Setting* const row : training::augment_rows()) {
    controller.draw(frame, *row, refusal, why_not_on(*row, frame.snapshot.settings->optimizer));
  }
  ImGui::EndDisabled();
  refresh(frame);
  draw_pictures(frame);
}

}  // namespace warpscope::ui
