// What a frame of a large plot costs, as the vertices of its draw lists: they follow the pixels, not the
// points. How long a frame takes is measured where nothing else runs (tests/gpu/window_cost.py).

#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "ui/fonts.h"
#include "ui/plot/plot.h"
#include "ui/theme.h"
#include "ui/widgets.h"

namespace warpscope::ui::plot {
namespace {

class PlotCost : public testing::Test {
 protected:
  PlotCost() : context_(ImGui::CreateContext()) {
    ImGui::SetCurrentContext(context_);
    ImGuiIO& io = ImGui::GetIO();
    io.IniFilename = nullptr;
    io.DisplaySize = ImVec2(1600, 1000);
    apply_theme(palette_, 1);
    fonts_ = load_fonts(1, 1);
    unsigned char* pixels = nullptr;
    int width = 0, height = 0;
    io.Fonts->GetTexDataAsRGBA32(&pixels, &width, &height);
  }
  ~PlotCost() override { ImGui::DestroyContext(context_); }

  // The vertices of a frame with the pointer over the plot.
  int frame(const Content& content) {
    ImGui::GetIO().DeltaTime = 1.0f / 60;
    ImGui::GetIO().MousePos = ImVec2(400, 300);
    ImGui::NewFrame();
    const Frame now{snapshot_, send_, fonts_, palette_, 1};
    ImGui::SetNextWindowPos(ImVec2(0, 0));
    ImGui::SetNextWindowSize(ImVec2(800, 520));
    begin_panel(now, "plot");
    panel_body(now, false);
    draw(now, "plot.area", ImGui::GetContentRegionAvail(), content, view_, drag_);
    end_panel();
    ImGui::Render();
    return ImGui::GetDrawData()->TotalVtxCount;
  }

  ImGuiContext* context_;
  Fonts fonts_;
  Palette palette_ = facts_of(Theme::dark).palette;
  training::Snapshot snapshot_;
  std::function<void(training::Command)> send_ = [](const training::Command&) {};
  View view_;
  Drag drag_;
};

Series noisy(unsigned seed, int points) {
  std::mt19937 random(seed);
  std::normal_distribution<float> noise(0, 0.05f);
  Series series;
  for (int i = 0; i < points; ++i) {
    const float trend = std::exp(-5.0f * static_cast<float>(i) / static_cast<float>(points));
    series.append(i, (0.05f + trend) * std::exp(noise(random)));
  }
  return series;
}

TEST_F(PlotCost, AHundredThousandPointsOfFourCurvesTakeNoMoreVerticesThanTenThousand) {
  const auto vertices = [this](int points) {
    std::vector<Series> all;
    for (unsigned i = 0; i < 4; ++i) all.push_back(noisy(i, points));
    std::vector<Line> lines;
    for (std::size_t i = 0; i < all.size(); ++i)
      lines.push_back(
          {.name = "run", .series = &all[i], .beneath = i == 0 ? &all[3] : nullptr, .dots = true});
    const Content content{
        .lines = lines, .markers = {}, .x_label = "step", .logarithmic = true, .describe = {}};
    view_ = {};
    frame(content);
    return frame(content);  // the first one finds the range
  };
  const int of_ten_thousand = vertices(10'000), of_a_hundred_thousand = vertices(100'000);
  EXPECT_GT(of_ten_thousand, 4 * 500) << "the curves are drawn";
  EXPECT_LT(of_a_hundred_thousand, 1.1 * of_ten_thousand);
}

}  // namespace
}  // namespace warpscope::ui::plot
