// What is said of maps by t-SNE and UMAP, and what can be chosen.

#include <memory>

#include <gtest/gtest.h>

#include "tests/support/tiny_classifier.h"
#include "ui/jobs/map_controller.h"
#include "ui/widgets/value_field.h"

namespace warpscope::ui::map_rows_test {
namespace {

using Counts = std::vector<std::int64_t>;

features::MapPicture map_of(std::int64_t images) {
  auto facts = std::make_shared<features::MapFacts>();
  facts->subject.data = training::view_of(std::make_shared<data::DataSet>(tests::labelled_data(3, 1200)));
  facts->subject.step = 4200;
  facts->layers = "pool1";
  facts->columns = 8192;
  facts->images = images;
  facts->method = "tsne";
  facts->begin_seconds = 0.25;
  features::MapPicture map;
  map.facts = facts;
  map.iteration = 250;
  map.iterations = 1000;
  map.seconds = 2.5;
  return map;
}

std::vector<std::string> labels_of(const features::MapPicture& map) {
  std::vector<std::string> labels;
  for (const JobFigure& figure : map_figures(map)) labels.push_back(figure.label);
  return labels;
}

TEST(MapCounts, GoUpToAllImages) {
  EXPECT_EQ(map_counts(10'000), (Counts{300, 1000, 3000, 10'000}));
  EXPECT_EQ(map_counts(2000), (Counts{300, 1000, 2000}));
  EXPECT_EQ(map_counts(12), (Counts{12}));
  EXPECT_EQ(map_counts(26'000), (Counts{300, 1000, 3000, 10'000}));
  EXPECT_EQ(map_counts(0), (Counts{300, 1000, 3000, 10'000})) << "not known yet";
  EXPECT_EQ(map_count_text(0), "auto");
  EXPECT_EQ(map_count_text(3000), "3,000");
}

TEST(MapNumbers, ReachTheirMethodAndStandWithinTheirRange) {
  MapChoice choice;
  for (const MapNumber& number : map_numbers()) {
    const double value = choice.*number.value;
    EXPECT_TRUE(is_valid(number.spec.limits, value)) << number.spec.name;
    EXPECT_EQ(value_at(*number.spec.scale, position_of(*number.spec.scale, value)), value)
        << number.spec.name;
    EXPECT_EQ(maps::find_map(number.method).name, number.method);
  }
  choice = {1000, 12.5, 20, 0.3};
  const maps::MapOptions options = map_options(choice);
  EXPECT_EQ(options.tsne.perplexity, 12.5);
  EXPECT_EQ(options.umap.n_neighbors, 20);
  EXPECT_EQ(options.umap.min_dist, 0.3);
}

TEST(MapTexts, SayOfWhatAndOfWhenItIs) {
  const features::MapPicture map = map_of(1000);
  EXPECT_EQ(map_text(map), "1,000 of 1,200 images, 8,192 numbers each, step 4,200");
  EXPECT_EQ(map_text(map_of(1200)), "1,200 images, 8,192 numbers each, step 4,200");
  EXPECT_EQ(map_note(map).find("t-SNE of what layer pool1 makes"), 0u);
  training::Snapshot snapshot;
  snapshot.step = 4200;
  EXPECT_EQ(map_age(map, snapshot), "");
  snapshot.step = 4201;
  EXPECT_EQ(map_age(map, snapshot), "1 step ago");
  snapshot.step = 6000;
  EXPECT_EQ(map_age(map, snapshot), "1,800 steps ago");
  snapshot.can.look_inside = false;
  EXPECT_EQ(map_age(map, snapshot), "") << "its checkpoints are what there is";
  snapshot = {};
  EXPECT_EQ(map_age(map, snapshot), "from before the reset");
}

TEST(MapTexts, TellTheTimeThatTheIterationsWillTake) {
  features::MapState state;
  state.busy = true;
  state.phase = "iterations";
  state.map = std::make_shared<const features::MapPicture>(map_of(1000));
  EXPECT_EQ(map_time_left(state), "0:08 left");
  state.phase = "neighbours";
  EXPECT_EQ(map_time_left(state), "") << "the map is the one before";
}

TEST(MapFigures, TellOnlyWhatIsKnown) {
  features::MapPicture map = map_of(1000);
  EXPECT_EQ(labels_of(map), (std::vector<std::string>{"step", "iterations", "search", "moving"}));
  EXPECT_EQ(map_figures(map)[1].value, "250");
  EXPECT_EQ(map_figures(map)[1].unit, "of 1,000");
  map.iteration = 1000;
  map.objective = 1.23456;
  EXPECT_EQ(map_figures(map)[2].value, "1.235");
}

}  // namespace
}  // namespace warpscope::ui::map_rows_test
