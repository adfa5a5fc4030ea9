#include "ui/widgets/table.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "ui/panels/runs/runs_panel.h"
#include "ui/widgets/fonts.h"
#include "ui/widgets/theme.h"

namespace warpscope::ui::table_test {
namespace {

// With the gaps of 16 between them: 262 wide, 166 without "c", 100 without both.
constexpr std::array<Column, 3> kColumns{{{"a", "", 100},
                                          {.label = "b", .tip = "", .width = 50, .rank = 1},
                                          {.label = "c", .tip = "", .width = 80, .rank = 2}}};
using Shown = std::vector<bool>;

TEST(ColumnsThatFit, AreAllWhereThereIsRoom) {
  EXPECT_EQ(columns_that_fit(kColumns, 262), (Shown{true, true, true}));
  EXPECT_EQ(columns_that_fit(kColumns, 5000), (Shown{true, true, true}));
  EXPECT_EQ(columns_that_fit({}, 100), Shown{});
}

TEST(ColumnsThatFit, LeaveOutWhatMattersLeast) {
  EXPECT_EQ(columns_that_fit(kColumns, 261), (Shown{true, true, false}));
  EXPECT_EQ(columns_that_fit(kColumns, 166), (Shown{true, true, false}));
  EXPECT_EQ(columns_that_fit(kColumns, 165), (Shown{true, false, false}));
}

TEST(ColumnsThatFit, KeepThoseWithoutARankHoweverNarrowItIs) {
  EXPECT_EQ(columns_that_fit(kColumns, 10), (Shown{true, false, false}));
}

/// Tables in a window of 400 x 300 pixels that nobody sees.
class TableTest : public testing::Test {
 protected:
  static constexpr float kWidth = 400, kHeight = 300;

  TableTest() {
    ImGui::CreateContext();
    ImGuiIO& io = ImGui::GetIO();
    io.IniFilename = nullptr;
    io.DisplaySize = ImVec2(kWidth, kHeight);
    io.DeltaTime = 1.0f / 60;
    apply_theme(palette_, 1);
    fonts_ = load_fonts(1, 1);
    unsigned char* texels = nullptr;
    int width = 0, height = 0;
    io.Fonts->GetTexDataAsAlpha8(&texels, &width, &height);
  }
  ~TableTest() override { ImGui::DestroyContext(); }

  /// Two frames, because ImGui settles sizes in the second; `draw` sees the table in both.
  template <class Draw>
  void show(std::span<const Column> columns, const Draw& draw, float top = 0) {
    for (int i = 0; i < 2; ++i) {
      ImGui::NewFrame();
      ImGui::SetNextWindowPos(ImVec2(0, 0));
      ImGui::SetNextWindowSize(ImVec2(kWidth, kHeight));
      ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(0, 0));
      ImGui::Begin("window", nullptr, ImGuiWindowFlags_NoDecoration);
      {
        ImGui::SetCursorPosY(top);
        Table table(frame_, "table", columns);
        draw(table);
      }
      ImGui::End();
      ImGui::PopStyleVar();
      ImGui::Render();
    }
  }

  training::Snapshot snapshot_;
  std::function<void(training::Command)> send_;
  Fonts fonts_;
  Palette palette_ = facts_of(Theme::dark).palette;
  Frame frame_{snapshot_, send_, fonts_, palette_, 1};
};

TEST_F(TableTest, FillsItsWindowInTheProportionsOfItsColumns) {
  show(kColumns, [&](Table& table) {
    ASSERT_TRUE(table.row());
    const auto width = [&](std::size_t i) { return table.cell_max(i).x - table.cell_min(i).x; };
    EXPECT_EQ(table.cell_min(0).x, 0);
    EXPECT_NEAR(table.cell_max(2).x, kWidth, 1);
    EXPECT_NEAR(width(0) / width(1), 2, 0.05);
    EXPECT_NEAR(table.cell_min(1).x - table.cell_max(0).x, 16, 1);
    EXPECT_EQ(table.cell_max(0).y - table.cell_min(0).y, 24);
  });
}

TEST_F(TableTest, DrawsOnlyTheRowsInView) {
  std::vector<int> drawn;
  show(kColumns, [&](Table& table) {
    drawn.clear();
    table.rows(1000, [&](int i) {
      drawn.push_back(i);
      table.number(0, std::to_string(i), palette_.text);
    });
  });
  ASSERT_GE(drawn.size(), 10U);  // of 300 pixels the header takes 24
  EXPECT_LE(drawn.size(), 13U);
  for (std::size_t i = 0; i < drawn.size(); ++i) EXPECT_EQ(drawn[i], static_cast<int>(i));
}

TEST_F(TableTest, OutOfItsWindowHasNoRowsAndCellsWithoutASize) {
  const auto out_of_view = [&](Table& table) {
    EXPECT_FALSE(table.row());
    table.rows(3, [](int) { FAIL() << "no row is in view"; });
    table.enter(1);
    EXPECT_EQ(table.cell_min(1).x, 0);
    EXPECT_EQ(table.cell_max(2).x, 0);
    EXPECT_EQ(table.newly_sorted(), -1);
  };
  show(kColumns, out_of_view, 10 * kHeight);
}

TEST_F(TableTest, ScrollsSidewaysWhereItsColumnsDoNotFit) {
  constexpr std::array<Column, 2> kWide{{{"a", "", 300}, {"b", "", 300}}};
  show(kWide, [&](Table& table) {
    ASSERT_TRUE(table.row());
    EXPECT_NEAR(table.cell_max(1).x, 616, 1);
  });
}

TEST_F(TableTest, TextAcrossColumnsIsDrawnBeyondItsOwn) {
  const auto rightmost = [&](bool across) {
    show(kColumns, [&](Table& table) {
      ASSERT_TRUE(table.row());
      const std::string text(30, 'W');
      if (across) {
        table.span_text(0, 2, text, palette_.error);
      } else {
        table.text(0, text, palette_.error);
      }
    });
    float right = 0;
    const ImDrawData& data = *ImGui::GetDrawData();
    for (int i = 0; i < data.CmdListsCount; ++i) {
      const ImDrawList& list = *data.CmdLists[i];
      for (const ImDrawCmd& command : list.CmdBuffer) {
        for (unsigned j = 0; j < command.ElemCount; ++j) {
          const ImDrawVert& corner = list.VtxBuffer[static_cast<int>(
              command.VtxOffset + list.IdxBuffer[static_cast<int>(command.IdxOffset + j)])];
          if (corner.col == palette_.error)
            right = std::max(right, std::min(corner.pos.x, command.ClipRect.z));
        }
      }
    }
    return right;
  };
  EXPECT_LT(rightmost(false), 200);
  EXPECT_GT(rightmost(true), 300);
}

TEST_F(TableTest, BringsARowIntoViewThatWasNot) {
  std::vector<bool> seen;
  for (const int wanted : {-1, 150, 150, 3, 4}) {
    show(kColumns, [&](Table& table) {
      seen.assign(200, false);
      for (int i = 0; i < 200; ++i) {
        seen[static_cast<std::size_t>(i)] = table.row();
        if (i == wanted) table.bring_into_view();
      }
    });
    if (wanted < 0) {
      EXPECT_TRUE(seen[0] && !seen[150]);
      continue;
    }
    EXPECT_TRUE(seen[static_cast<std::size_t>(wanted)]) << wanted;
    EXPECT_NE(seen[3], wanted == 150) << "nothing scrolled, or too far";
  }
}

TEST(ColumnsThatFit, OfRunsAreTheirResultsHoweverNarrowTheListIs) {
  const auto columns = RunsPanel::columns();
  for (const float room : {420.0f, 600.0f}) {
    const std::vector<bool> fit = columns_that_fit(columns, room);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const std::string label = columns[i].label;
      if (label == "test loss" || label == "test accuracy") {
        EXPECT_TRUE(fit[i]) << label << " at " << room;
      }
    }
  }
}

TEST_F(TableTest, TellsOfTheColumnToSortByOnce) {
  constexpr std::array<Column, 2> kSorted{
      {{"a", "", 100}, {.label = "b", .tip = "", .width = 50, .sort = Column::Sort::descending}}};
  std::vector<int> told;
  show(kSorted, [&](Table& table) { told.push_back(table.newly_sorted()); });
  show(kSorted, [&](Table& table) { told.push_back(table.newly_sorted()); });
  EXPECT_EQ(told, (std::vector<int>{1, -1, -1, -1}));
}

}  // namespace
}  // namespace warpscope::ui::table_test
