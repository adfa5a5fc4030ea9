#include "ui/docking/layouts.h"

#include <nlohmann/json.hpp>
#include <set>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "ui/panels/panel_table.h"

namespace warpscope::ui::layouts_test {
namespace {

using nlohmann::json;

Docking made(const char* name) {
  const Docking* const found = find_layout(name, {});
  EXPECT_NE(found, nullptr) << name;
  return found == nullptr ? Docking() : *found;
}

TEST(PanelTable, HasIdsAndTitlesOfItsOwn) {
  std::set<std::string> ids, titles;
  for (const PanelRow& row : panel_table()) {
    EXPECT_TRUE(ids.insert(row.id).second) << row.id;
    EXPECT_TRUE(titles.insert(row.title).second) << row.title;
    EXPECT_NE(row.draw, nullptr);
    EXPECT_EQ(find_panel(row.id), &row);
  }
  EXPECT_EQ(find_panel("nothing"), nullptr);
}

TEST(Layouts, FourAreBuiltInAndTheFirstHasEveryPanel) {
  ASSERT_EQ(built_in_layouts().size(), 4U);
  const Docking train = made("train");
  EXPECT_EQ(open_panels(train).size(), panel_table().size());
  EXPECT_TRUE(is_in_front(train, "kernels"));
  EXPECT_TRUE(is_in_front(made("inspect"), "network"));
  EXPECT_TRUE(is_in_front(made("present"), "ladder"));
  EXPECT_FALSE(is_open(made("present"), "training"));
}

TEST(Layouts, NoPanelStandsTwice) {
  for (const LayoutRow& row : built_in_layouts()) {
    const auto panels = open_panels(row.make());
    EXPECT_EQ(std::set<std::string>(panels.begin(), panels.end()).size(), panels.size()) << row.id;
    for (const std::string& panel : panels) EXPECT_NE(find_panel(panel), nullptr) << panel;
  }
}

TEST(Layouts, ComeBackAsTheyWereWritten) {
  for (const LayoutRow& row : built_in_layouts()) {
    Docking docking = row.make();
    bring_to_front(docking, "verify");
    float_panel(docking, "curves", {0.25f, 0.5f, 0.375f, 0.25f});
    split_panel(docking, "runs", "images", Side::left);
    const Docking read = layout_from(json::parse(layout_json(docking).dump()));
    EXPECT_EQ(read, docking) << row.id;
    EXPECT_TRUE(is_in_front(read, "verify"));
  }
  Docking none;
  EXPECT_EQ(layout_from(layout_json(none)), none);
}

TEST(Layouts, ABadFileIsRefusedWithASentence) {
  const auto refusal = [](const char* text) -> std::string {
    try {
      layout_from(json::parse(text));
    } catch (const core::BadInput& error) {
      return error.what();
    }
    ADD_FAILURE() << text << " was taken";
    return {};
  };
  EXPECT_EQ(refusal("7"), "the layout of the panels is no object with the panels that are docked");
  EXPECT_EQ(refusal(R"({"docked": {"panels": ["curves", "gone"]}})"),
            "the layout of the panels names the panel \"gone\", which there is none of");
  EXPECT_EQ(refusal(R"({"docked": {"panels": ["curves", "curves"]}})"),
            "the layout of the panels has the panel \"curves\" twice");
  EXPECT_EQ(refusal(R"({"docked": {"panels": "curves"}})"),
            "the layout of the panels has panels that are no list");
  EXPECT_EQ(refusal(R"({"docked": {"panels": [3]}})"),
            "the layout of the panels names a panel by something that is no text");
  EXPECT_EQ(refusal(R"({"docked": {"cut": "across"}})"),
            "the layout of the panels has a part with neither panels nor a cut into columns or rows");
  EXPECT_EQ(refusal(R"({"docked": {"cut": "rows", "part": 0.5, "parts": [{"panels": ["curves"]}]}})"),
            "the layout of the panels has a cut without two parts");
  EXPECT_EQ(
      refusal(
          R"({"docked": {"cut": "rows", "part": 7, "parts": [{"panels": ["curves"]}, {"panels": ["time"]}]}})"),
      "the layout of the panels lacks a number \"part\" from 0 to 1");
  EXPECT_EQ(
      refusal(
          R"({"docked": {"cut": "rows", "part": 0.5, "parts": [{"panels": ["curves"]}, {"panels": []}]}})"),
      "the layout of the panels has a part without panels");
  EXPECT_EQ(refusal(R"({"docked": {"panels": ["time"]}, "floating": [{"panel": "time"}]})"),
            "the layout of the panels has the panel \"time\" twice");
  EXPECT_EQ(refusal(R"({"docked": {"panels": ["time"]}, "floating": [{"panel": "curves", "x": 0.1}]})"),
            "the layout of the panels lacks a number \"y\" from 0 to 1");
}

TEST(Layouts, ADeepFileIsRefused) {
  std::string text = R"({"panels": ["curves"]})";
  for (int i = 0; i < 200; ++i) {
    text = R"({"cut": "rows", "part": 0.5, "parts": [)" + text + R"(, {"panels": ["time"]}]})";
  }
  EXPECT_THROW(layout_from(json::parse("{\"docked\": " + text + "}")), core::BadInput);
}

TEST(Layouts, AreFoundAndCalledByTheirNames) {
  Docking own = made("train");
  close_panel(own, "images");
  const std::vector<SavedLayout> saved{{"mine", own}};
  ASSERT_NE(find_layout("mine", saved), nullptr);
  EXPECT_EQ(*find_layout("mine", saved), own);
  EXPECT_EQ(find_layout("yours", saved), nullptr);
  EXPECT_EQ(name_of_layout(own, saved), "mine");
  EXPECT_EQ(name_of_layout(own, {}), "");
  EXPECT_EQ(name_of_layout(made("inspect"), saved), "inspect");
}

TEST(Layouts, NamesAreChecked) {
  EXPECT_EQ(layout_name_refusal("talk on Friday"), "");
  EXPECT_EQ(layout_name_refusal(""), "The name of a layout has 1 to 40 characters.");
  EXPECT_EQ(layout_name_refusal(std::string(41, 'a')), "The name of a layout has 1 to 40 characters.");
  EXPECT_EQ(layout_name_refusal("a\nb"), "The name of a layout has no control characters.");
  EXPECT_EQ(layout_name_refusal("train"), "\"train\" is built in; give the layout another name.");
}

TEST(Layouts, AGapGoesBackToThePlaceOfTheBuiltInLayout) {
  Docking moved = made("train");
  const float usual = cut_at(moved.root, "0")->part;
  cut_at(moved.root, "0")->part = 0.9f;
  EXPECT_EQ(usual_part(moved, "0"), usual);
  EXPECT_EQ(usual_part(moved, "01"), 0.68f);
  close_panel(moved, "images");
  EXPECT_EQ(usual_part(moved, "0"), 0.5f);
}

}  // namespace
}  // namespace warpscope::ui::layouts_test
