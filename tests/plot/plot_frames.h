#pragma once
// Frames of one plot without a window, with a pointer.

#include <functional>
#include <random>

#include <gtest/gtest.h>

#include "ui/plot/plot.h"
#include "ui/widgets/fonts.h"
#include "ui/widgets/theme.h"
#include "ui/widgets/widgets.h"

namespace warpscope::tests {

class PlotFrames : public testing::Test {
 protected:
  PlotFrames() : context_(ImGui::CreateContext()) {
    ImGui::SetCurrentContext(context_);
    ImGuiIO& io = ImGui::GetIO();
    io.IniFilename = nullptr;
    io.DisplaySize = ImVec2(1600, 1000);
    ui::apply_theme(palette_, 1);
    fonts_ = ui::load_fonts(1, 1);
    unsigned char* pixels = nullptr;
    int width = 0, height = 0;
    io.Fonts->GetTexDataAsRGBA32(&pixels, &width, &height);
  }
  ~PlotFrames() override { ImGui::DestroyContext(context_); }

  // One frame with the pointer at `at`; the plot fills a panel of 800 x 520 pixels.
  ui::plot::Reply frame(const ui::plot::Content& content, ImVec2 at) {
    ImGui::GetIO().DeltaTime = seconds_;
    ImGui::GetIO().MousePos = at;
    ImGui::NewFrame();
    const ui::Frame now{snapshot_, send_, fonts_, palette_, 1};
    ImGui::SetNextWindowPos(ImVec2(0, 0));
    ImGui::SetNextWindowSize(ImVec2(800, 520));
    ui::begin_panel(now, "plot");
    ui::panel_body(now, false);
    const auto reply =
        ui::plot::draw(now, "plot.area", ImGui::GetContentRegionAvail(), content, view_, hold_);
    ui::end_panel();
    ImGui::Render();
    return reply;
  }
  static int vertices() { return ImGui::GetDrawData()->TotalVtxCount; }

  // A drag in frames of its own; what the plot replied while the button was down and when it was let go.
  struct Dragged {
    ui::plot::Reply held, released;
  };
  Dragged drag(const ui::plot::Content& content, ImVec2 from, ImVec2 to, int button = 0, bool shift = false) {
    ImGuiIO& io = ImGui::GetIO();
    frame(content, from);
    io.KeyShift = shift;
    io.MouseDown[button] = true;
    frame(content, from);
    Dragged dragged;
    dragged.held = frame(content, to);
    io.MouseDown[button] = false;
    dragged.released = frame(content, to);
    io.KeyShift = false;
    return dragged;
  }

  ImGuiContext* context_;
  ui::Fonts fonts_;
  ui::Palette palette_ = ui::facts_of(ui::Theme::dark).palette;
  training::Snapshot snapshot_;
  std::function<void(training::Command)> send_ = [](const training::Command&) {};
  float seconds_ = 1;  // a frame: no two clicks are a double click
  ui::plot::View view_;
  ui::plot::Hold hold_;
};

inline ui::plot::Series noisy_curve(unsigned seed, int points) {
  std::mt19937 random(seed);
  std::normal_distribution<float> noise(0, 0.05f);
  ui::plot::Series series;
  for (int i = 1; i <= points; ++i) {
    const float trend = std::exp(-5.0f * static_cast<float>(i) / static_cast<float>(points));
    series.append(i, (0.05f + trend) * std::exp(noise(random)));
  }
  return series;
}

}  // namespace warpscope::tests
