#include "ui/docking/docking.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace warpscope::ui::docking_test {
namespace {

using Names = std::vector<std::string>;

// +---+-------+
// | a | b c   |   b is in front
// |   +-------+
// |   | d     |
// +---+-------+
Docking three_leaves() {
  Docking docking;
  docking.root = dock_cut(Cut::columns, 0.25f, dock_leaf({"a"}),
                          dock_cut(Cut::rows, 0.5f, dock_leaf({"b", "c"}), dock_leaf({"d"})));
  return docking;
}

AreaSize no_least(std::string_view) {
  return {0, 0};
}

Area area_of(const Docking& docking, std::string_view panel) {
  for (const PlacedLeaf& placed : place(docking.root, {0, 0, 810, 410}, 10, no_least).leaves) {
    if (std::find(placed.leaf->panels.begin(), placed.leaf->panels.end(), panel) != placed.leaf->panels.end())
      return placed.area;
  }
  ADD_FAILURE() << panel << " has no place";
  return {};
}

TEST(Docking, LeavesAndGapsFillTheRoom) {
  const Docking docking = three_leaves();
  EXPECT_EQ(area_of(docking, "a"), (Area{0, 0, 200, 410}));
  EXPECT_EQ(area_of(docking, "b"), (Area{210, 0, 600, 200}));
  EXPECT_EQ(area_of(docking, "d"), (Area{210, 210, 600, 200}));
  const Placement placement = place(docking.root, {0, 0, 810, 410}, 10, no_least);
  ASSERT_EQ(placement.gaps.size(), 2U);
  EXPECT_EQ(placement.gaps[0].path, "0");
  EXPECT_EQ(placement.gaps[0].area, (Area{200, 0, 10, 410}));
  EXPECT_EQ(placement.gaps[1].path, "01");
  EXPECT_EQ(placement.gaps[1].area, (Area{210, 200, 600, 10}));
}

TEST(Docking, AGapIsMovedByThePartOfItsCut) {
  Docking docking = three_leaves();
  cut_at(docking.root, "01")->part = 0.75f;
  EXPECT_EQ(area_of(docking, "b"), (Area{210, 0, 600, 300}));
  EXPECT_EQ(cut_at(docking.root, "00"), nullptr);
  EXPECT_EQ(cut_at(docking.root, "0111"), nullptr);
  EXPECT_EQ(cut_at(docking.root, ""), nullptr);
}

TEST(Docking, LeastSizesHoldWhereTheyFitAndShrinkInProportionWhereNot) {
  const Docking docking = three_leaves();
  const auto least = [](std::string_view panel) {
    return panel == "a" ? AreaSize{300, 100} : panel == "c" ? AreaSize{400, 250} : AreaSize{100, 100};
  };
  const Placement wide = place(docking.root, {0, 0, 810, 410}, 10, least);
  EXPECT_EQ(wide.leaves[0].area.w, 300);
  EXPECT_EQ(wide.leaves[1].area.h, 250) << "of the tab behind";
  const Placement narrow = place(docking.root, {0, 0, 360, 410}, 10, least);
  EXPECT_EQ(narrow.leaves[0].area.w, 150);
  EXPECT_EQ(narrow.leaves[1].area.w, 200);
}

TEST(Docking, NoAreaIsEmptyInASmallWindow) {
  for (const float size : {1.0f, 20.0f, 200.0f}) {
    const Docking docking = three_leaves();
    for (const PlacedLeaf& placed : place(docking.root, {0, 0, size, size}, 6, [](std::string_view) {
                                      return AreaSize{300, 200};
                                    }).leaves) {
      EXPECT_GE(placed.area.w, 0);
      EXPECT_GE(placed.area.h, 0);
    }
  }
}

TEST(Docking, AJoinedPanelIsTheLastTabAndInFront) {
  Docking docking = three_leaves();
  join_panel(docking, "a", "d");
  EXPECT_EQ(docking.root, dock_cut(Cut::rows, 0.5f, dock_leaf({"b", "c"}), dock_leaf({"d", "a"})));
  EXPECT_TRUE(is_in_front(docking, "a"));
  EXPECT_FALSE(is_in_front(docking, "d"));
  const Docking before = docking;
  join_panel(docking, "a", "d");
  join_panel(docking, "a", "nothing");
  EXPECT_EQ(docking, before);
}

TEST(Docking, NamesOfTheTreeItselfCanBeGiven) {
  Docking docking = three_leaves();
  join_panel(docking, leaf_of(docking, "b")->panels[0], leaf_of(docking, "d")->panels[0]);
  split_panel(docking, leaf_of(docking, "d")->panels[1], leaf_of(docking, "a")->panels[0], Side::top);
  close_panel(docking, leaf_of(docking, "d")->panels[0]);
  EXPECT_EQ(open_panels(docking), (Names{"b", "a", "c"}));
}

TEST(Docking, ASplitHalvesALeafOnEachSide) {
  for (const Side side : {Side::left, Side::right, Side::top, Side::bottom}) {
    Docking docking = three_leaves();
    split_panel(docking, "c", "a", side);
    const Area moved = area_of(docking, "c"), stayed = area_of(docking, "a");
    const bool columns = side == Side::left || side == Side::right;
    EXPECT_EQ(columns ? moved.h : moved.w, columns ? 410 : 200);
    EXPECT_EQ(moved.x < stayed.x, side == Side::left);
    EXPECT_EQ(moved.y < stayed.y, side == Side::top);
    EXPECT_EQ(open_panels(docking).size(), 4U);
  }
}

TEST(Docking, ATabIsSplitOffItsOwnLeaf) {
  Docking docking = three_leaves();
  split_panel(docking, "b", "b", Side::right);
  EXPECT_LT(area_of(docking, "c").x, area_of(docking, "b").x);
  const Docking before = docking;
  split_panel(docking, "b", "b", Side::left);
  EXPECT_EQ(docking, before) << "it is alone";
}

TEST(Docking, ANeighbourTakesTheRoomOfWhatIsClosed) {
  Docking docking = three_leaves();
  close_panel(docking, "d");
  EXPECT_EQ(area_of(docking, "b"), (Area{210, 0, 600, 410}));
  close_panel(docking, "c");
  close_panel(docking, "b");
  EXPECT_EQ(area_of(docking, "a"), (Area{0, 0, 810, 410}));
  close_panel(docking, "a");
  EXPECT_TRUE(open_panels(docking).empty());
  EXPECT_TRUE(place(docking.root, {0, 0, 810, 410}, 10, no_least).leaves.empty());
  open_panel(docking, "d", three_leaves());
  EXPECT_EQ(area_of(docking, "d"), (Area{0, 0, 810, 410}));
}

TEST(Docking, TheTabInFrontStaysWhenAnotherCloses) {
  Docking docking;
  docking.root = dock_leaf({"a", "b", "c"});
  bring_to_front(docking, "b");
  close_panel(docking, "a");
  EXPECT_TRUE(is_in_front(docking, "b"));
  bring_to_front(docking, "c");
  close_panel(docking, "c");
  EXPECT_TRUE(is_in_front(docking, "b"));
}

TEST(Docking, AFloatingPanelStaysInTheRoomAndGoesBackWhereItBelongs) {
  Docking docking = three_leaves();
  float_panel(docking, "b", {0.9f, -3, 0.4f, 0.01f});
  ASSERT_EQ(docking.floating.size(), 1U);
  const Area place = docking.floating[0].place;
  EXPECT_FLOAT_EQ(place.right(), 1);
  EXPECT_EQ(place.y, 0);
  EXPECT_GT(place.h, 0.05f);
  EXPECT_TRUE(is_in_front(docking, "b"));
  EXPECT_EQ(leaf_of(docking, "b"), nullptr);
  open_panel(docking, "b", three_leaves());
  EXPECT_TRUE(docking.floating.empty());
  EXPECT_EQ(leaf_of(docking, "b"), leaf_of(docking, "c"));
  EXPECT_TRUE(is_in_front(docking, "b"));
}

TEST(Docking, ATabTakesAPlaceAmongItsOwnAndAmongOthers) {
  Docking docking = three_leaves();
  docking.root = dock_cut(Cut::columns, 0.5f, dock_leaf({"a", "b", "c"}), dock_leaf({"d"}));
  place_tab(docking, "a", "c", 1);
  EXPECT_EQ(leaf_of(docking, "a")->panels, (std::vector<std::string>{"b", "a", "c"}));
  EXPECT_TRUE(is_in_front(docking, "a"));
  place_tab(docking, "c", "c", 0);
  EXPECT_EQ(leaf_of(docking, "a")->panels, (std::vector<std::string>{"c", "b", "a"}))
      << "beside itself is its own leaf";
  place_tab(docking, "d", "b", 1);
  EXPECT_TRUE(docking.root.is_leaf()) << "the leaf that became empty goes";
  EXPECT_EQ(docking.root.panels, (std::vector<std::string>{"c", "d", "b", "a"}));
  place_tab(docking, "c", "a", 99);
  EXPECT_EQ(docking.root.panels, (std::vector<std::string>{"d", "b", "a", "c"}));
  const Docking before = docking;
  place_tab(docking, "c", "closed", 0);
  EXPECT_EQ(docking, before);
  Docking alone;
  alone.root = dock_leaf({"a"});
  place_tab(alone, "a", "a", 0);
  EXPECT_EQ(alone.root.panels, std::vector<std::string>{"a"});
}

TEST(Docking, TheOrderOfTabsIsADifference) {
  Docking docking;
  docking.root = dock_leaf({"a", "b"});
  Docking other = docking;
  place_tab(other, "a", "b", 1);
  EXPECT_FALSE(docking == other) << "so that it is remembered";
}

TEST(Docking, WhichTabIsInFrontIsNoDifference) {
  Docking docking = three_leaves();
  bring_to_front(docking, "c");
  EXPECT_EQ(docking, three_leaves());
  Docking restored = three_leaves();
  keep_fronts(restored, docking);
  EXPECT_TRUE(is_in_front(restored, "c"));
  cut_at(docking.root, "0")->part = 0.5f;
  EXPECT_FALSE(docking == three_leaves());
}

class Dropping : public testing::Test {
 protected:
  std::optional<Drop> drop(std::string_view panel, float x, float y) const {
    return drop_at(placement_, panel, x, y, 30);
  }

  const Docking docking_ = three_leaves();
  const Placement placement_ = place(docking_.root, {0, 0, 810, 410}, 10, no_least);
};

TEST_F(Dropping, InTheMiddleOrTheTitleJoins) {
  const auto middle = drop("a", 500, 120), title = drop("a", 230, 10);
  ASSERT_TRUE(middle && title);
  EXPECT_EQ(middle->beside, "b");
  EXPECT_FALSE(middle->side);
  EXPECT_FALSE(title->side);
  EXPECT_EQ(title->area, (Area{210, 0, 600, 200}));
}

TEST_F(Dropping, AmongTabsTakesAPlace) {
  // The tabs of b and c, 40 pixels wide and 10 apart.
  const std::vector<PlacedTab> tabs{{"b", {220, 4, 40, 20}}, {"c", {270, 4, 40, 20}}};
  const auto among = [&](std::string_view panel, float x) {
    return drop_at(placement_, panel, x, 10, 30, tabs);
  };
  EXPECT_EQ(among("a", 225)->place, 0u);
  EXPECT_EQ(among("a", 245)->place, 1u);
  EXPECT_EQ(among("a", 245)->area, (Area{265, 4, 0, 20})) << "the line between both";
  EXPECT_EQ(among("a", 700)->place, 2u);
  EXPECT_EQ(among("a", 700)->area.x, 310);
  EXPECT_EQ(among("a", 700)->beside, "c");
  EXPECT_FALSE(among("b", 280)) << "it stands there";
  EXPECT_EQ(among("b", 295)->place, 1u);
  EXPECT_EQ(among("c", 230)->place, 0u);
  EXPECT_FALSE(drop_at(placement_, "b", 500, 120, 30, tabs)) << "below the tabs";
  const std::vector<PlacedTab> without_b{{"c", {220, 4, 40, 20}}};
  EXPECT_EQ(drop_at(placement_, "a", 225, 10, 30, without_b)->place, 1u) << "b has no room, but counts";
}

TEST_F(Dropping, AtAnEdgeSplits) {
  EXPECT_EQ(drop("a", 220, 100)->side, Side::left);
  EXPECT_EQ(drop("a", 800, 100)->side, Side::right);
  EXPECT_EQ(drop("a", 500, 195)->side, Side::bottom);
  EXPECT_EQ(drop("a", 500, 35)->side, Side::top);
  EXPECT_EQ(drop("a", 800, 100)->area, (Area{510, 0, 300, 200}));
}

TEST_F(Dropping, OnItsOwnPlaceOrNoneIsNothing) {
  EXPECT_FALSE(drop("d", 500, 320)) << "it is alone there";
  EXPECT_FALSE(drop("d", 215, 320));
  EXPECT_FALSE(drop("c", 500, 120)) << "it is a tab of it";
  EXPECT_TRUE(drop("c", 800, 120)) << "a tab can be split off";
  EXPECT_FALSE(drop("a", 205, 100)) << "a gap";
  EXPECT_FALSE(drop("a", 900, 100)) << "outside";
}

}  // namespace
}  // namespace warpscope::ui::docking_test
