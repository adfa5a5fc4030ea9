#include "ui/input/input_queue.h"

#include <cstddef>

#include <gtest/gtest.h>

namespace warpscope::ui::input_queue_test {
namespace {

constexpr PointerPlace kButton{10, 10}, kList{20, 20}, kNow{30, 30};
constexpr ButtonChange kPressed{.button = 0, .down = true, .place = kButton};
constexpr ButtonChange kLetGo{.button = 0, .down = false, .place = kButton};

void click(InputQueue& queue, PointerPlace place) {
  queue.add(ButtonChange{.button = 0, .down = true, .place = place});
  queue.add(ButtonChange{.button = 0, .down = false, .place = place});
}

TEST(InputQueueTest, NoClickIsLostHoweverManyComeWithinAFrame) {
  InputQueue queue;
  click(queue, kButton);
  click(queue, kButton);
  click(queue, kList);
  for (const PointerPlace place : {kButton, kButton, kList}) {
    for (const bool down : {true, false}) {
      const InputStep step = queue.next(kNow);
      EXPECT_EQ(step.pointer, place);
      EXPECT_EQ(step.down[0], down);
    }
  }
  EXPECT_FALSE(queue.waits());
  EXPECT_EQ(queue.next(kNow).pointer, kNow);
}

TEST(InputQueueTest, WhatIsDraggedArrivesBeforeItIsLetGo) {
  InputQueue queue;
  queue.add(kPressed);
  queue.add(ButtonChange{.button = 0, .down = false, .place = kList});
  EXPECT_EQ(queue.next(kNow).pointer, kButton);
  const InputStep arrived = queue.next(kNow), let_go = queue.next(kNow);
  EXPECT_EQ(arrived.pointer, kList);
  EXPECT_TRUE(arrived.down[0]);
  EXPECT_EQ(let_go.pointer, kList);
  EXPECT_FALSE(let_go.down[0]);
}

TEST(InputQueueTest, KeysAndClicksHaveFramesOfTheirOwn) {
  InputQueue queue;
  queue.add(KeyPress{.key = 1});
  queue.add(kPressed);
  queue.add(kLetGo);
  queue.add(KeyPress{.key = 2});
  queue.add(unsigned{'a'});
  const InputStep first = queue.next(kNow);
  ASSERT_EQ(first.keys.size(), 1U);
  EXPECT_EQ(first.keys[0].key, 1);
  EXPECT_FALSE(first.down[0]);
  EXPECT_EQ(queue.waiting_keys().size(), 1U);
  const InputStep pressed = queue.next(kNow), let_go = queue.next(kNow);
  EXPECT_TRUE(pressed.down[0] && pressed.keys.empty());
  EXPECT_FALSE(let_go.down[0]);
  EXPECT_TRUE(let_go.keys.empty());
  const InputStep last = queue.next(kNow);
  ASSERT_EQ(last.keys.size(), 1U);
  EXPECT_EQ(last.keys[0].key, 2);
  EXPECT_EQ(last.characters.size(), 1U);
  EXPECT_EQ(last.pointer, kNow);
}

TEST(InputQueueTest, TheWheelKeepsItsPlaceBetweenClicksAndKeys) {
  InputQueue queue;
  click(queue, kButton);
  queue.add(WheelTurn{.y = 1, .place = kList});
  queue.add(WheelTurn{.x = 0.5f, .y = -3, .place = kList});
  queue.add(WheelTurn{.y = 1, .place = kList, .control = true});
  queue.add(WheelTurn{.y = 1, .place = kButton});
  queue.add(KeyPress{.key = 1});
  click(queue, kList);
  for (const bool down : {true, false}) {
    const InputStep step = queue.next(kNow);
    EXPECT_EQ(step.down[0], down);
    EXPECT_FALSE(step.wheel) << "the click came first";
  }
  const InputStep turned = queue.next(kNow);
  ASSERT_TRUE(turned.wheel);
  EXPECT_EQ(turned.pointer, kList);
  EXPECT_EQ(turned.wheel->x, 0.5f);
  EXPECT_EQ(turned.wheel->y, -2) << "what is turned at one place is one turn";
  EXPECT_TRUE(queue.next(kNow).wheel.value_or(WheelTurn{}).control) << "each has modifiers of its own";
  EXPECT_EQ(queue.next(kNow).pointer, kButton);
  const InputStep key = queue.next(kNow);
  EXPECT_FALSE(key.wheel);
  EXPECT_EQ(key.keys.size(), 1U);
  EXPECT_TRUE(queue.next(kNow).down[0]);
}

TEST(InputQueueTest, KeysThatEditComeOneByOneAndAreUpBetween) {
  constexpr int kBackspace = 259, kLeft = 263;
  InputQueue queue;
  queue.add(unsigned{'a'});
  queue.add(KeyPress{.key = kBackspace});
  queue.add(KeyPress{.key = kBackspace});
  queue.add(KeyPress{.key = kLeft});
  queue.add(unsigned{'b'});
  const auto is = [&queue](std::size_t characters, int key) {
    const InputStep step = queue.next(kNow);
    return step.characters.size() == characters && (step.keys.empty() ? 0 : step.keys.front().key) == key &&
           step.keys.size() <= 1;
  };
  EXPECT_TRUE(is(1, 0));
  EXPECT_TRUE(is(0, kBackspace));
  EXPECT_TRUE(is(0, 0)) << "let go";
  EXPECT_TRUE(is(0, kBackspace));
  EXPECT_TRUE(is(0, kLeft));
  EXPECT_TRUE(is(1, 0));
  EXPECT_FALSE(queue.waits());
}

}  // namespace
}  // namespace warpscope::ui::input_queue_test
