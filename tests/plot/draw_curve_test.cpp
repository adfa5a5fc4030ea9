#include "ui/plot/draw_curve.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include <gtest/gtest.h>

namespace warpscope::ui::plot::draw_curve_test {
namespace {

constexpr float kLeft = 100, kBottom = 300, kTop = 50;
constexpr int kColumns = 200;

class DrawCurve : public testing::Test {
 protected:
  DrawCurve() : context_(ImGui::CreateContext()), list_(ImGui::GetDrawListSharedData()) {
    ImGui::SetCurrentContext(context_);
    start();
  }
  ~DrawCurve() override {
    list_._ClearFreeMemory();
    ImGui::DestroyContext(context_);
  }

  void start() {
    list_._ResetForNewFrame();
    list_.PushClipRect(ImVec2(0, 0), ImVec2(1000, 1000));
    list_.PushTextureID(nullptr);
  }

  // Lowest and highest pixel that is drawn in a column.
  std::pair<float, float> drawn(int column) const {
    float top = 1e9f, bottom = -1e9f;
    for (int i = 0; i + 3 < list_.VtxBuffer.Size; i += 4) {  // rectangles of four corners
      if (list_.VtxBuffer[i].pos.x != kLeft + static_cast<float>(column)) continue;
      top = std::min(top, list_.VtxBuffer[i].pos.y);
      bottom = std::max(bottom, list_.VtxBuffer[i + 2].pos.y);
    }
    return {top, bottom};
  }

  ImGuiContext* context_;
  ImDrawList list_;
};

TEST_F(DrawCurve, ColumnsCoverTheirPointsAndReachTheColumnBefore) {
  std::mt19937 random(3);
  std::lognormal_distribution<float> value(0, 0.4f);
  Series series;
  // Levels that leap, so that a column often lies wholly above or below the end of the one before.
  for (int i = 0; i < 20000; ++i) series.append(i, value(random) * (i / 150 % 3 == 0 ? 100.0f : 1.0f));
  for (const bool logarithmic : {false, true}) {
    SCOPED_TRACE(logarithmic ? "logarithmic" : "linear");
    start();
    const Axis x{0, 20000, kLeft, kLeft + kColumns, false},
        y{0.1, logarithmic ? 1000.0 : 8.0, kBottom, kTop, logarithmic};
    draw_curve(&list_, series, x, y, IM_COL32_WHITE, 1, 1);
    ASSERT_EQ(list_.VtxBuffer.Size, 4 * kColumns);
    ASSERT_EQ(list_.IdxBuffer.Size, 6 * kColumns);
    const auto columns = series.columns(0, 20000, kColumns);
    for (int i = 0; i < kColumns; ++i) {
      const Column& column = columns[static_cast<std::size_t>(i)];
      Extent expected = column.extent;
      if (i > 0) expected.include(series.y(column.first - 1));
      const float top = y.to_pixel(static_cast<double>(expected.high)),
                  bottom = y.to_pixel(static_cast<double>(expected.low));
      const float pad = std::max(0.0f, 1 - (bottom - top)) / 2;
      EXPECT_FLOAT_EQ(drawn(i).first, top - pad) << "column " << i;
      EXPECT_FLOAT_EQ(drawn(i).second, bottom + pad) << "column " << i;
    }
  }
}

TEST_F(DrawCurve, OnALogarithmicAxisEachDecadeTakesEqualRoom) {
  Series series;
  for (int i = 1; i <= 100000; ++i) series.append(i, i >= 1000 ? 2.0f : 1.0f + static_cast<float>(i % 2));
  const Axis x{1, 1e5, kLeft, kLeft + kColumns, true}, y{0, 4, kBottom, kTop, false};
  draw_curve(&list_, series, x, y, IM_COL32_WHITE, 1, 1);
  const float of_two = y.to_pixel(2), of_one = y.to_pixel(1);
  // 1,000 stands at three fifths: before it columns reach down to 1, after it none does.
  EXPECT_NEAR(drawn(kColumns * 3 / 5 - 4).second, of_one, 1);
  EXPECT_NEAR(drawn(kColumns * 3 / 5 - 4).first, of_two, 1);
  for (int i = 0; i < list_.VtxBuffer.Size; ++i) {
    if (list_.VtxBuffer[i].pos.x > kLeft + kColumns * 0.6f + 2) {
      EXPECT_NEAR(list_.VtxBuffer[i].pos.y, of_two, 1);
    }
  }
}

TEST_F(DrawCurve, MoreColumnsThanIndicesOf16BitsAreAllDrawn) {
  Series series;
  constexpr int kMany = 20000;
  for (int i = 0; i < 4 * kMany; ++i) series.append(i, i % 2 == 0 ? 0.0f : 1.0f);
  list_.Flags |= ImDrawListFlags_AllowVtxOffset;
  draw_curve(&list_, series, {0, 4 * kMany, 0, kMany, false}, {0, 1, kBottom, kTop, false}, IM_COL32_WHITE, 1,
             1);
  EXPECT_EQ(list_.VtxBuffer.Size, 4 * kMany);
  EXPECT_EQ(list_.IdxBuffer.Size, 6 * kMany);
}

TEST_F(DrawCurve, WhatHasNoPlaceOnTheAxisIsAGap) {
  Series series;
  for (int i = 0; i < 20000; ++i) series.append(i, i < 10000 ? -1.0f : 1.0f + static_cast<float>(i % 2));
  const Axis x{0, 20000, kLeft, kLeft + kColumns, false}, y{0.1, 10, kBottom, kTop, true};
  draw_curve(&list_, series, x, y, IM_COL32_WHITE, 1, 1);
  EXPECT_EQ(list_.VtxBuffer.Size, 4 * kColumns / 2);
  // The first column after the gap does not reach down to it.
  EXPECT_FLOAT_EQ(drawn(kColumns / 2).second, y.to_pixel(1));
}

}  // namespace
}  // namespace warpscope::ui::plot::draw_curve_test
