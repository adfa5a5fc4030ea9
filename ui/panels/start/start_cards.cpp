#include "ui/panels/start/start_cards.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <vector>

#include <fmt/format.h>

#include "ui/images/byte_colours.h"
#include "ui/panels/start/start_rows.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

// The losses from left to right, from the largest at the top to the smallest at the bottom; the frame of the card is
// not crossed.
void draw_losses(const Frame& frame, const std::vector<runs::LossPoint>& curve, ImVec2 card_min,
                 ImVec2 card_max) {
  if (curve.size() < 2) return;
  const float inset = std::floor(3 * frame.scale);
  const ImVec2 min(card_min.x + inset, card_min.y + inset), max(card_max.x - inset, card_max.y - inset);
  const auto by_loss = [](const auto& a, const auto& b) { return a.loss < b.loss; };
  const auto [least, most] = std::minmax_element(curve.begin(), curve.end(), by_loss);
  const double height = std::max(most->loss - least->loss, 1e-30);
  const auto steps = static_cast<double>(std::max<std::uint64_t>(curve.back().step - curve.front().step, 1));
  std::vector<ImVec2> points;
  for (const runs::LossPoint& point : curve) {
    const auto x = static_cast<float>(static_cast<double>(point.step - curve.front().step) / steps);
    const auto y = static_cast<float>((most->loss - point.loss) / height);
    points.emplace_back(min.x + x * (max.x - min.x), min.y + y * (max.y - min.y));
  }
  auto* const list = ImGui::GetWindowDrawList();
  list->PushClipRect(ImVec2(card_min.x + 1, card_min.y + 1), ImVec2(card_max.x - 1, card_max.y - 1), true);
  list->AddPolyline(points.data(), static_cast<int>(points.size()), frame.palette.series[5], 0,
                    std::max(1.0f, 1.2f * frame.scale));
  list->PopClipRect();
}

}  // namespace

void StartCards::refresh(const Frame& frame, const StartDesk& desk) {
  if (made_ == desk.recents_number()) return;
  made_ = desk.recents_number();
  const auto count = std::max(1, static_cast<int>(desk.recents().size()));
  const auto shape = interop::make_page(count, kCardWidth, kCardHeight, interop::Texture::largest());
  pictures_ = std::make_unique<interop::TilePage>(shape, frame.textures);
  for (std::size_t i = 0; i < desk.recents().size(); ++i) {
    const RecentCard& card = desk.recents()[i];
    if (card.picture.empty() || std::cmp_greater_equal(i, shape.tiles())) continue;
    pictures_->upload(static_cast<int>(i),
                      images::byte_colours(card.picture.data(), {kCardHeight, kCardWidth, 3}).data());
  }
}

void StartCards::draw(const Frame& frame, Panels& panels, StartDesk& desk) {
  row_text(frame, frame.fonts.strong, frame.palette.text, "Recent trainings");
  panels.runs.draw_deleted(frame);
  if (panels.runs.deletions() != deletions_) {
    deletions_ = panels.runs.deletions();
    desk.read_recents(training::run_folder_here(frame.snapshot));
  }
  refresh(frame, desk);
  int place = 0;
  for (const RecentCard& card : desk.recents()) draw_card(frame, panels, card, place++);
  if (place == 0) caption(frame, "None yet. Trainings are recorded by themselves and stand here then.");
  panels.runs.draw_menu(frame, panels.trainings);
}

void StartCards::draw_picture(const Frame& frame, const RecentCard& card, int place, ImVec2 min,
                              ImVec2 max) const {
  if (card.picture.empty()) return draw_losses(frame, card.training.curve, min, max);
  pictures_->draw(ImGui::GetWindowDrawList(), place, min, max);
}

void StartCards::draw_card(const Frame& frame, Panels& panels, const RecentCard& card, int place) {
  const float s = frame.scale, gap = 4 * s;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = std::max(1.0f, ImGui::GetContentRegionAvail().x);
  const float height = std::floor(kCardHeight * s + 2 * gap);
  const std::string name = fmt::format("start.recent.{}", place);
  const bool clicked = hit_area(name.c_str(), ImVec2(width, height));
  trace_item(name);
  const runs::RecentTraining& training = card.training;
  tooltip(frame, training.problem.empty()
                     ? "Click: go on with it, open, compare or delete it; double click: go on with it"
                     : sentence(training.problem));
  auto* const list = ImGui::GetWindowDrawList();
  if (ImGui::IsItemHovered())
    list->AddRectFilled(at, ImVec2(at.x + width, at.y + height), frame.palette.control_hovered, 3 * s);
  const ImVec2 min(at.x + gap, at.y + gap);
  const ImVec2 max(min.x + std::floor(kCardWidth * s), min.y + std::floor(kCardHeight * s));
  list->AddRect(min, max, frame.palette.grid);
  draw_picture(frame, card, place, min, max);
  const bool here = training.run.folder == training::run_folder_here(frame.snapshot);
  const CardText text = card_text(training, std::time(nullptr), here);
  const float x = max.x + 12 * s, room = at.x + width - x - gap;
  const bool bad = training.end == "diverged" || training.end == "failed" || training.end == "refused";
  draw_text(list, frame.fonts.text, x, min.y + 18 * s, frame.palette.text,
            ellipsize(frame.fonts.text, text.title, room));
  draw_text(list, frame.fonts.small, x, min.y + 38 * s, bad ? frame.palette.error : frame.palette.muted,
            ellipsize(frame.fonts.small, text.result, room));
  if (clicked) panels.runs.choose(training.run, true);
}

}  // namespace warpscope::ui
