#include "ui/panels/pictures/inference_view.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gpu/files/file.h"
#include "gpu/files/utf8.h"
#include "ui/text/numbers.h"
#include "ui/widgets/table.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

using runs::InferenceFigures;
using runs::InferenceRank;

constexpr auto kBetweenLooks = std::chrono::seconds(1);
constexpr float kLeastTableHeight = 72;  ///< design pixels
constexpr double kMilliseconds = 1000;

enum : std::size_t {
  kInferenceRank,
  kInferenceDevice,
  kInferenceLane,
  kInferenceImages,
  kInferenceSpeed,
  kInferenceScatter,
  kInferenceRead,
  kInferenceCopies,
  kInferenceGather,
  kInferenceIdle
};

constexpr std::array<Column, 10> kInferenceColumns{{
    {.label = "rank", .tip = "Its number.", .width = 32, .right = true, .fixed = true},
    {.label = "device", .tip = "On which it runs.", .width = 144, .rank = 2, .fixed = true},
    {.label = "its device",
     .tip = "Sums over its batches, from the first image until rank 0 had all answers.",
     .width = 88},
    {.label = "images", .tip = "That it answered.", .width = 64, .right = true, .rank = 3, .fixed = true},
    {.label = "images/s",
     .tip = "Its images until its own last answer.",
     .width = 72,
     .right = true,
     .fixed = true},
    {.label = "scatter",
     .tip = "Milliseconds in which rank 0 sent images to ranks that cannot read them, before the first one "
            "counts.",
     .width = 56,
     .right = true,
     .rank = 4,
     .fixed = true},
    {.label = "read",
     .tip = "Milliseconds of reading and decoding on the host, mostly beside the device.",
     .width = 56,
     .right = true,
     .rank = 1,
     .fixed = true},
    {.label = "to device",
     .tip = "Milliseconds of copies to its device, beside the network where batches overlap.",
     .width = 64,
     .right = true,
     .rank = 5,
     .fixed = true},
    {.label = "gather",
     .tip = "Milliseconds in which answers were brought to rank 0, mostly beside the device.",
     .width = 56,
     .right = true,
     .fixed = true},
    {.label = "idle",
     .tip = "Milliseconds in which its device had nothing to do until rank 0 had all answers.",
     .width = 56,
     .right = true,
     .fixed = true},
}};

struct InferencePart {
  const char* name;
  std::size_t series;  ///< its colour in the palette
  double InferenceRank::*milliseconds;
};

/// Without copies to the device, which mostly run beside the network.
constexpr std::array<InferencePart, 2> kInferenceParts{
    {{"network", 0, &InferenceRank::network}, {"back", 2, &InferenceRank::back}}};

/// A file may hold any numbers.
double drawable(double milliseconds) {
  return milliseconds > 0 && std::isfinite(milliseconds) ? milliseconds : 0;
}

std::string milliseconds_text(double milliseconds) {
  return with_thousands(milliseconds, milliseconds < 100 ? 1 : 0);
}

std::string inference_tip(const InferenceRank& rank, std::size_t number) {
  std::string tip = fmt::format(
      "rank {}, {}\n{} ms scatter, {} ms reading; on the device {} ms copies there, {} ms network, {} ms "
      "copies "
      "back, {} ms idle; {} ms gather",
      number, files::escaped(rank.device), milliseconds_text(rank.scatter), milliseconds_text(rank.read),
      milliseconds_text(rank.to_device), milliseconds_text(rank.network), milliseconds_text(rank.back),
      milliseconds_text(rank.idle), milliseconds_text(rank.gather));
  for (const auto& [layer, microseconds] : rank.layers)
    tip += fmt::format("\n{}: {} \u00b5s a batch", files::escaped(layer), with_thousands(microseconds, 1));
  return tip;
}

void draw_inference_lane(const Frame& frame, Table& table, const InferenceRank& rank, std::size_t number,
                         double longest) {
  table.enter(kInferenceLane);
  const ImVec2 min = table.cell_min(kInferenceLane), max = table.cell_max(kInferenceLane);
  const float inset = std::floor(4 * frame.scale);
  ImDrawList* const list = ImGui::GetWindowDrawList();
  double end = 0;
  float left = min.x;
  for (const InferencePart& part : kInferenceParts) {
    end += drawable(rank.*part.milliseconds);
    const auto share = static_cast<float>(std::min(1.0, end / longest));
    const float right = std::floor(min.x + share * (max.x - min.x));
    if (right <= left) continue;
    list->AddRectFilled(ImVec2(left, min.y + inset), ImVec2(right, max.y - inset),
                        frame.palette.series[part.series]);
    left = right;
  }
  trace_rectangle(fmt::format("ranks.inference.{}", number), min, max);
  if (ImGui::IsMouseHoveringRect(min, max)) area_tooltip(frame, min, max, inference_tip(rank, number));
}

void draw_inference_rank(const Frame& frame, Table& table, const InferenceRank& rank, std::size_t number,
                         double longest) {
  const ImU32 color = frame.palette.text;
  table.number(kInferenceRank, std::to_string(number), color);
  table.text(kInferenceDevice, files::escaped(rank.device), color);
  draw_inference_lane(frame, table, rank, number, longest);
  table.number(kInferenceImages, with_thousands(rank.images), color);
  table.number(kInferenceSpeed, with_thousands(rank.images_per_second, 0), color);
  table.number(kInferenceScatter, milliseconds_text(rank.scatter), color);
  table.number(kInferenceRead, milliseconds_text(rank.read), color);
  table.number(kInferenceCopies, milliseconds_text(rank.to_device), color);
  table.number(kInferenceGather, milliseconds_text(rank.gather), color);
  table.number(kInferenceIdle, milliseconds_text(rank.idle), color);
}

std::string inference_heading(const InferenceFigures& figures) {
  return fmt::format("{} of {} in {} ms by {}, in batches of {}: {}/s over all",
                     with_thousands(figures.images), files::escaped(figures.data),
                     milliseconds_text(kMilliseconds * figures.seconds),
                     files::counted(static_cast<std::int64_t>(figures.ranks.size()), "rank"), figures.batch,
                     with_thousands(figures.images_per_second, 0));
}

}  // namespace

bool InferenceView::advance() {
  // A damaged file is none: the next inference writes it anew.
  const auto answer = reader_.take();
  if (!answer) return false;
  const Figures before = std::exchange(figures_, answer->result.value_or(nullptr));
  return figures_ != before;
}

void InferenceView::look(const std::string& run_dir) {
  const auto now = std::chrono::steady_clock::now();
  if (run_dir == run_dir_ && (reader_.busy() || now - looked_ < kBetweenLooks)) return;
  if (run_dir != run_dir_) figures_ = nullptr;
  run_dir_ = run_dir;
  looked_ = now;
  if (run_dir.empty()) return reader_.stop();
  reader_.ask([run_dir](const data::Stopped&) -> Figures {
    auto found = runs::load_inference(run_dir);
    return found ? std::make_shared<const InferenceFigures>(std::move(*found)) : nullptr;
  });
}

void InferenceView::draw(const Frame& frame) const {
  const InferenceFigures& figures = *figures_;
  paragraph(frame.fonts.text, frame.palette.text, inference_heading(figures));
  std::vector<ColorKey> keys;
  double longest = drawable(kMilliseconds * figures.seconds);
  for (const InferencePart& part : kInferenceParts) {
    keys.push_back({frame.palette.series[part.series], part.name});
    for (const InferenceRank& rank : figures.ranks)
      longest = std::max(longest, drawable(rank.*part.milliseconds));
  }
  color_keys(frame, keys);
  if (!(longest > 0)) return;
  begin_rest(frame, kLeastTableHeight);
  {
    Table table(frame, "ranks.inferences", kInferenceColumns);
    table.rows(static_cast<int>(figures.ranks.size()), [&](int i) {
      const auto number = static_cast<std::size_t>(i);
      draw_inference_rank(frame, table, figures.ranks[number], number, longest);
    });
  }
  end_rest();
}

}  // namespace warpscope::ui
