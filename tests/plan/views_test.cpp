// Views of an image: which there are, and what becomes of their logits. Evaluations by them: tests/engine.

#include "gpu/plan/views.h"

#include <span>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

namespace warpscope::plan::views_test {
namespace {

std::vector<std::tuple<bool, int, int>> list_of(const ViewSettings& settings) {
  std::vector<std::tuple<bool, int, int>> list;
  for (const View& view : views_of(settings)) list.emplace_back(view.mirrored, view.down, view.right);
  return list;
}

TEST(Views, AreTheImageItsShiftsToTheCornersAndTheMirrorImagesOfAll) {
  using List = std::vector<std::tuple<bool, int, int>>;
  EXPECT_EQ(list_of({}), (List{{false, 0, 0}}));
  EXPECT_EQ(list_of({.mirrored = true}), (List{{false, 0, 0}, {true, 0, 0}}));
  const List shifted{{false, 0, 0}, {false, -3, -3}, {false, -3, 3}, {false, 3, -3}, {false, 3, 3}};
  EXPECT_EQ(list_of({.shift = 3}), shifted);
  List all = shifted;
  for (const auto& [mirrored, down, right] : shifted) all.emplace_back(true, down, right);
  EXPECT_EQ(list_of({.mirrored = true, .shift = 3}), all);
}

TEST(Views, AreWhatTheControlBlockTells) {
  ops::step::StepControl control;
  control.crop = 4;
  show({true, -1, 2}, control);
  EXPECT_EQ(control.flip, ops::step::kFlipAll);
  EXPECT_EQ(control.shift_down, -1);
  EXPECT_EQ(control.shift_right, 2);
  show({}, control);
  EXPECT_EQ(control.flip, ops::step::kFlipNone);
  EXPECT_EQ(control.shift_down, 0);
  EXPECT_EQ(control.shift_right, 0);
}

TEST(Views, CountAlike) {
  // Three views with room for three numbers each, of which two are there.
  const std::vector<float> logits{1, 10, -1, 2, 20, -1, 6, 60, -1};
  const std::span all = std::as_bytes(std::span(logits));
  EXPECT_EQ(mean_of_views(all, 3, 2 * sizeof(float), core::ElementType::f32), (std::vector<double>{3, 30}));
  EXPECT_EQ(mean_of_views(all, 1, 2 * sizeof(float), core::ElementType::f32), (std::vector<double>{1, 10}));
}

}  // namespace
}  // namespace warpscope::plan::views_test
