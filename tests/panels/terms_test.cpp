#include "ui/text/terms.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/runs/figure_table.h"
#include "gpu/settings/setting.h"
#include "tests/support/changes.h"
#include "ui/jobs/map_controller.h"
#include "ui/panels/curves/loss_metrics.h"
#include "ui/panels/kernels/kernel_cells.h"
#include "ui/panels/network/distribution_rows.h"
#include "ui/panels/network/sum_view.h"
#include "ui/panels/panel_table.h"
#include "ui/panels/pictures/picture_figures.h"
#include "ui/panels/status_bar.h"
#include "ui/panels/training/results_rows.h"
#include "ui/settings/setting_spec.h"

namespace warpscope::ui::terms_test {
namespace {

struct NamedTable {
  std::string name;
  std::vector<Column> columns;
};

template <class Columns>
NamedTable named(const char* name, const Columns& columns) {
  return {name, {columns.begin(), columns.end()}};
}

std::vector<NamedTable> main_tables() {
  return {named("kernels", kernel_columns("TFLOP/s")),
          named("ladder", LadderPanel::columns()),
          named("determinism", DeterminismPanel::columns()),
          named("runs", RunsPanel::columns()),
          named("verify", VerifyPanel::columns()),
          named("memory", MemoryPanel::columns()),
          named("layers of the network", NetworkDiagram::columns()),
          named("bench", BenchPanel::columns()),
          named("ranks", RanksPanel::columns()),
          named("own kernels", OwnKernelsPanel::columns()),
          named("terms of a sum", SumView::columns())};
}

// A classifier and a network that reconstructs, with all that the results can show.
std::vector<ResultCell> all_results() {
  std::vector<ResultCell> all;
  for (const bool classifies : {false, true}) {
    training::Snapshot snapshot;
    snapshot.classifies = classifies;
    snapshot.step = 10;
    tests::settings_of(snapshot).optimizer.learning_rate = 0.5f;
    snapshot.last[training::Metric::learning_rate] = 0.25f;
    snapshot.selection.precision = core::Precision::fp16;
    for (const auto& cells : {loss_cells(snapshot), step_cells(snapshot), run_cells(snapshot, {}, 0)}) {
      all.insert(all.end(), cells.begin(), cells.end());
    }
  }
  return all;
}

// What the window writes over a tab, a column, a plot, a figure or a setting, and explains there.
std::vector<std::string> labels() {
  std::vector<std::string> all;
  const auto add = [&all](const auto& some) { all.insert(all.end(), some.begin(), some.end()); };
  for (const PanelRow& panel : panel_table()) all.emplace_back(panel.title);
  add(TrainingPanel::tabs());
  add(PredictionsPanel::tabs());
  add(BenchPanel::views());
  add(StatusBar::terms());
  add(kPictureMetrics);
  for (const NamedTable& table : main_tables()) {
    for (const Column& column : table.columns) all.emplace_back(column.label);
  }
  for (std::size_t i = 0; i < kMetrics; ++i) all.emplace_back(facts_of(static_cast<Metric>(i)).label);
  for (const training::Setting& setting : training::settings()) all.push_back(label_of(setting));
  for (const LatentMethod& method : latent_methods()) all.push_back(method.title);
  for (const MapNumber& number : map_numbers()) all.push_back(number.spec.label);
  for (const ResultCell& cell : all_results()) all.push_back(cell.label);
  for (std::size_t i = 0; i < kFigures; ++i) all.emplace_back(name_of(static_cast<Figure>(i)));
  for (int i = 0; i < 4; ++i) all.emplace_back(training::name_of(static_cast<training::Quantity>(i)));
  return all;
}

TEST(Terms, AreSentencesInTheOrderOfTheAlphabet) {
  std::string before;
  for (const Term& term : terms()) {
    std::string name(term.name);
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
    EXPECT_LT(before, name);
    before = name;
    const std::string sentence(term.sentence);
    EXPECT_TRUE(std::isupper(static_cast<unsigned char>(sentence.front()))) << sentence;
    EXPECT_EQ(sentence.find(". "), std::string::npos) << sentence;
    EXPECT_EQ(sentence.back(), '.') << sentence;
    EXPECT_LE(sentence.size(), 120U) << sentence;
  }
}

TEST(Terms, EachStandsAtALabelOfTheWindow) {
  std::set<std::string> explained{
      "Occupancy"};  // among the figures of a kernel: BenchTip.ExplainsOccupancyWhereItStands
  for (const std::string& label : labels()) {
    if (const Term* const term = find_term(label)) explained.insert(term->name);
  }
  for (const Term& term : terms()) EXPECT_TRUE(explained.contains(term.name)) << term.name;
}

TEST(Terms, HeadingsOfAllTablesHaveATip) {
  for (const NamedTable& table : main_tables()) {
    for (const Column& column : table.columns) {
      if (*column.label == '\0') continue;
      EXPECT_NE(heading_tip(column), "") << table.name << ": " << column.label;
    }
  }
}

TEST(Terms, TabsPlotsAndFiguresAreExplained) {
  std::vector<std::string> names;
  for (const PanelRow& panel : panel_table()) names.emplace_back(panel.title);
  for (const char* const tab : TrainingPanel::tabs()) names.emplace_back(tab);
  for (const char* const tab : PredictionsPanel::tabs()) names.emplace_back(tab);
  for (const char* const entry : StatusBar::terms()) names.emplace_back(entry);
  for (const char* const figure : kPictureMetrics) names.emplace_back(figure);
  for (std::size_t i = 0; i < kMetrics; ++i) names.emplace_back(facts_of(static_cast<Metric>(i)).label);
  for (const std::string& name : names) EXPECT_NE(explain(name), "") << name;
}

TEST(Terms, SettingsOfTheTrainingAreExplainedAboveWhatTheyDo) {
  const ValueSpec spec = spec_of(training::setting("momentum"));
  EXPECT_TRUE(spec.tip.starts_with(std::string(explain("Momentum")) + "\n")) << spec.tip;
  for (const char* const name : {"learning_rate", "momentum", "beta1", "beta2", "alpha", "epsilon",
                                 "weight_decay", "clip_norm", "clip_value", "joint", "batch", "accumulate",
                                 "zscore", "flip", "crop", "cutout", "jitter", "mixup"}) {
    EXPECT_NE(explain(label_of(training::setting(name))), "") << name;
  }
}

TEST(Terms, AreFoundHoweverTheyAreWritten) {
  EXPECT_EQ(explain("psnr"), explain("PSNR"));
  EXPECT_NE(explain("PSNR"), "");
  EXPECT_EQ(explain("PSNR, dB"), explain("PSNR"));
  EXPECT_EQ(explain("Gradient norm"), explain("gradient norm"));
  EXPECT_EQ(explain("Head accuracy, %"), explain("head accuracy"));
  EXPECT_EQ(explain("PS"), "");
  EXPECT_EQ(explain("loss;"), "");
  EXPECT_EQ(explain(";"), "");
  EXPECT_EQ(explain(""), "");
}

TEST(Terms, ALabelInSmallLettersIsNotThePanelOfThatName) {
  EXPECT_EQ(find_term("Time")->name, std::string("Time"));
  EXPECT_EQ(explain("time"), figure_tip(*training::find_figure("time")));
  EXPECT_NE(explain("Time"), explain("time"));
}

TEST(Terms, AFigureIsExplainedByTheTableOfFigures) {
  for (const char* const label : {"mean train loss", "test accuracy", "median images/s", "its images/s",
                                  "images/s now", "step memory", "training memory", "device memory"}) {
    ASSERT_NE(training::find_figure(label), nullptr) << label;
    EXPECT_EQ(explain(label), figure_tip(*training::find_figure(label))) << label;
    EXPECT_EQ(find_term(label), nullptr) << label << " has two explanations";
  }
}

TEST(Terms, TheTipOfALabelHasTheSentenceFirst) {
  EXPECT_EQ(label_tip("Share", "That of this step."), std::string(explain("Share")) + "\nThat of this step.");
  EXPECT_EQ(label_tip("Share"), explain("Share"));
  EXPECT_EQ(label_tip("no term", "Local time."), "Local time.");
}

}  // namespace
}  // namespace warpscope::ui::terms_test
