// What a frame of a large plot costs. Without a window: Dear ImGui's own work up to its draw lists.

#include <algorithm>
#include <chrono>
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

constexpr int kPoints = 100000;

class PlotSpeed : public testing::Test {
 protected:
  PlotSpeed() : context_(ImGui::CreateContext()) {
    ImGui::SetCurrentContext(context_);
    ImGuiIO& io = ImGui::GetIO();
    io.IniFilename = nullptr;
    io.DisplaySize = ImVec2(1600, 1000);
    apply_theme(1);
    fonts_ = load_fonts(1, 1);
    unsigned char* pixels = nullptr;
    int width = 0, height = 0;
    io.Fonts->GetTexDataAsRGBA32(&pixels, &width, &height);
  }
  ~PlotSpeed() override { ImGui::DestroyContext(context_); }

  // Milliseconds of one frame with the pointer over the plot.
  double frame(const Content& content) {
    const auto start = std::chrono::steady_clock::now();
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
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  }

  ImGuiContext* context_;
  Fonts fonts_;
  Palette palette_ = dark_palette();
  training::Snapshot snapshot_;
  std::function<void(training::Command)> send_ = [](const training::Command&) {};
  View view_;
  Drag drag_;
};

Series noisy(unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> noise(0, 0.05f);
  Series series;
  for (int i = 0; i < kPoints; ++i) {
    const float trend = std::exp(-5.0f * static_cast<float>(i) / kPoints);
    series.append(i, (0.05f + trend) * std::exp(noise(random)));
  }
  return series;
}

TEST_F(PlotSpeed, AHundredThousandPointsOfFourCurvesFitIntoAFrame) {
  std::vector<Series> all;
  for (unsigned i = 0; i < 4; ++i) all.push_back(noisy(i));
  std::vector<Line> lines;
  for (std::size_t i = 0; i < all.size(); ++i)
    lines.push_back({.name = "run", .series = &all[i], .beneath = i == 0 ? &all[3] : nullptr, .dots = true});
  Content content{.lines = lines, .markers = {}, .x_label = "step", .logarithmic = true, .describe = {}};
  std::vector<double> times;
  for (int i = 0; i < 200; ++i) {
    all[0].append(kPoints + i, 0.05f);
    times.push_back(frame(content));
  }
  std::sort(times.begin(), times.end());
  RecordProperty("median_ms", std::to_string(times[100]));
  RecordProperty("p99_ms", std::to_string(times[198]));
  std::printf("four curves of %d points: median %.2f ms, p99 %.2f ms\n", kPoints, times[100], times[198]);
  // The aim is 8 ms for 99 of 100 frames; on a machine that does other things too, the median has to keep it.
  EXPECT_LT(times[100], 8);
}

}  // namespace
}  // namespace warpscope::ui::plot
