#include "ui/frame/frame_state.h"

#include <memory>

#include <gtest/gtest.h>

namespace warpscope::ui::frame_state_test {
namespace {

TEST(FrameStates, WhatIsReplacedWithinAFrameLivesUntilTheNext) {
  auto first = std::make_shared<const int>(1);
  const std::weak_ptr<const int> held = first;
  FrameState<int> state(std::move(first));
  const int& drawn = *state;
  EXPECT_TRUE(state.take(std::make_shared<const int>(2)));
  EXPECT_TRUE(state.take(std::make_shared<const int>(3)));
  EXPECT_EQ(*state, 3);
  ASSERT_FALSE(held.expired());
  EXPECT_EQ(drawn, 1);
  state.begin_frame();
  EXPECT_TRUE(held.expired());
  EXPECT_EQ(*state, 3);
}

TEST(FrameStates, TheSameStateIsTakenOnce) {
  const auto only = std::make_shared<const int>(7);
  FrameState<int> state(only);
  EXPECT_TRUE(state.is(only));
  EXPECT_FALSE(state.take(only));
  const auto next = std::make_shared<const int>(7);
  EXPECT_FALSE(state.is(next));
  EXPECT_TRUE(state.take(next));
  EXPECT_EQ(*state, 7);
}

}  // namespace
}  // namespace warpscope::ui::frame_state_test
