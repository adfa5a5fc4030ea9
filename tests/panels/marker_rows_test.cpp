#include "ui/panels/curves/marker_rows.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace warpscope::ui::marker_rows_test {
namespace {

TEST(ShortMarker, SaysWhatItIsNow) {
  EXPECT_EQ(short_marker("fp32 -> bf16"), "bf16");
  EXPECT_EQ(short_marker("conv2d.forward: automatic -> tiled"), "conv2d.forward: tiled");
  EXPECT_EQ(short_marker("conv2d.forward: naive -> fused, with bias.forward, relu.forward"),
            "conv2d.forward: fused");
  EXPECT_EQ(short_marker("batch: 64 -> 128"), "batch: 128");
  EXPECT_EQ(short_marker("plateau: learning rate 0.1 -> 0.05"), "plateau: 0.05");
  EXPECT_EQ(short_marker("fp32 -> bf16; bias.forward: onednn -> loops; relu.forward: onednn -> loops"),
            "bf16 +2");
  EXPECT_EQ(short_marker("bias.forward: onednn -> loops; relu.forward: automatic -> loops"), "2 ops: loops");
  EXPECT_EQ(short_marker("bias.forward: loops -> onednn; relu.forward: onednn -> loops"),
            "bias.forward: onednn +1");
  EXPECT_EQ(short_marker("preset onednn; bias.forward: loops -> onednn; relu.forward: automatic -> loops"),
            "preset: onednn");
  EXPECT_EQ(short_marker("network changed: 7 of 9 tensors carried over"), "network changed");
  EXPECT_EQ(short_marker("resumed at step 12"), "resumed at step 12");
  EXPECT_EQ(short_marker("back to earlier weights; learning rate: 0.1 -> 0.05"),
            "back to earlier weights +1");
  EXPECT_EQ(short_marker(""), "");
  EXPECT_EQ(short_marker(" -> "), "");
}

std::string many_changes(std::string_view first, const char* last_variant) {
  std::string text(first);
  for (int i = 0; i < 50; ++i) text += "; op" + std::to_string(i) + ".forward: onednn -> loops";
  return text + "; bias.forward: onednn -> " + last_variant;
}

TEST(MarkerLine, IsOneLineHoweverManyOperationsChange) {
  EXPECT_EQ(marker_line(many_changes("preset loops; relu.forward: onednn -> loops", "loops")),
            "preset: loops");
  EXPECT_EQ(marker_line(many_changes("relu.forward: onednn -> loops", "loops")), "52 ops: loops");
  EXPECT_EQ(marker_line(many_changes("relu.forward: onednn -> loops", "tiled")),
            "relu.forward: onednn -> loops and 51 more changes");
  EXPECT_EQ(marker_line("fp32 -> bf16; batch: 4 -> 8"), "fp32 -> bf16; batch: 4 -> 8")
      << "two are told whole";
  EXPECT_EQ(marker_line("resumed at step 12"), "resumed at step 12");
}

TEST(MarkerLine, EachChangeIsThereOnDemand) {
  const std::string text = many_changes("preset loops", "loops");
  const auto changes = changes_of(text);
  ASSERT_EQ(changes.size(), 51u);
  EXPECT_EQ(changes.front(), "op0.forward: onednn -> loops");
  EXPECT_EQ(changes.back(), "bias.forward: onednn -> loops");
}

TEST(Labelled, ANameGoesBeforeTheShortText) {
  const std::vector<PlacedMarker> markers{
      {10, {1.5, "fp32 -> bf16"}}, {10, {1.5, "batch: 4 -> 8"}}, {20, {3, "fp32 -> bf16"}}};
  const std::vector<runs::MarkerName> names{{10, "fp32 -> bf16", "half the bits"}};
  const auto shown = labelled(markers, names);
  ASSERT_EQ(shown.size(), 3u);
  EXPECT_EQ(shown[0].label, "half the bits");
  EXPECT_EQ(shown[0].text, "fp32 -> bf16") << "all of it on hover";
  EXPECT_EQ(shown[0].x, 1.5);
  EXPECT_EQ(shown[1].label, "batch: 8");
  EXPECT_EQ(shown[2].label, "bf16") << "the same change at another step";
}

}  // namespace
}  // namespace warpscope::ui::marker_rows_test
