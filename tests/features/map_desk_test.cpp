// Maps of features: what they start from and use again, and the desk that makes them on a thread of its own.

#include "gpu/features/map_desk.h"

#include <cmath>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/core/random.h"
#include "gpu/features/extractor.h"
#include "gpu/models/parameters.h"
#include "tests/support/tiny_classifier.h"
#include "tests/support/untrained.h"

namespace warpscope::features::map_desk_test {
namespace {

using tests::untrained;

using Pictures = std::vector<std::shared_ptr<const MapPicture>>;

std::shared_ptr<const data::DataSet> patches(std::int64_t test = 60) {
  return std::make_shared<const data::DataSet>(tests::labelled_data(10, test));
}

MapRequest request_of(const Subject& subject, const std::string& method = "tsne") {
  MapRequest request;
  request.subject = subject;
  request.layers = "pool1";
  request.method = method;
  request.options.tsne.perplexity = 5;
  request.options.tsne.iterations = 40;
  request.options.umap.epochs = 30;
  return request;
}

class FeatureMaps : public testing::Test {
 protected:
  Pictures made(const MapRequest& request) {
    Pictures pictures;
    maps.make(request, [&](const auto& picture) { pictures.push_back(picture); });
    return pictures;
  }

  FeatureMap maps{core::open_device("cpu")};
};

TEST_F(FeatureMaps, AreThoseOfTheirFeaturesFromTheirComponents) {
  const auto device = core::open_device("cpu");
  const auto stream = device->make_stream();
  const classifiers::Place place{device, stream.get()};
  for (const std::string method : {"tsne", "umap"}) {
    SCOPED_TRACE(method);
    const MapRequest request = request_of(untrained(patches()), method);
    const Pictures pictures = made(request);
    ASSERT_GE(pictures.size(), 2u);
    EXPECT_EQ(pictures.front()->iteration, 0);
    EXPECT_FALSE(pictures.front()->objective);
    const MapPicture& last = *pictures.back();
    EXPECT_TRUE(last.done());
    EXPECT_EQ(last.objective.has_value(), method == "tsne");
    EXPECT_EQ(last.facts->images, 60);
    EXPECT_EQ(last.facts->columns, 64);
    EXPECT_EQ(last.facts->subject.step, 73u);
    const core::Buffer values =
        features_of(request.subject.data->whole->test, request.subject.model, *request.subject.parameters,
                    parse_feature_layers("pool1", request.subject.model), {core::Precision::fp32, {}}, place);
    const std::vector<float> host(values.as<float>(), values.as<float>() + std::size_t{60} * 64);
    maps::MapOptions options = request.options;
    const std::vector<float> first = first_places(host, 60, 64);
    options.initial = first;
    const auto wanted = maps::find_map(method).make(place, {values.as<float>(), 60, 64}, options, {});
    EXPECT_EQ(pictures.front()->places, wanted->positions());
    wanted->step(wanted->iterations());
    EXPECT_EQ(last.places, wanted->positions());
  }
}

TEST_F(FeatureMaps, UseFeaturesAgainWhereTheyAreTheSame) {
  const Subject subject = untrained(patches());
  MapRequest request = request_of(subject);
  EXPECT_GT(made(request).back()->facts->feature_seconds, 0);
  request.options.tsne.perplexity = 8;
  const auto again = made(request).back();
  EXPECT_EQ(again->facts->feature_seconds, 0);
  EXPECT_EQ(again->facts->tsne.perplexity, 8);
  EXPECT_EQ(again->number, 2u);
  request.method = "umap";
  EXPECT_EQ(made(request).back()->facts->feature_seconds, 0) << "another method, the same features";
  request.images = 40;
  EXPECT_GT(made(request).back()->facts->feature_seconds, 0);
  request.subject = untrained(subject.data->whole, 4);
  const auto other = made(request).back();
  EXPECT_GT(other->facts->feature_seconds, 0);
  EXPECT_EQ(other->facts->subject.step, 74u);
}

TEST_F(FeatureMaps, TakeTheFirstImages) {
  MapRequest request = request_of(untrained(patches()));
  request.images = 20;
  const auto some = made(request).back();
  EXPECT_EQ(some->facts->images, 20);
  EXPECT_EQ(some->places.size(), 40u);
  const Subject fewer = untrained(patches(20));
  request.subject.data = fewer.data;
  request.images = 0;
  const auto all = made(request).back();
  EXPECT_EQ(all->facts->images, 20);
}

TEST_F(FeatureMaps, RefuseWhatCannotBe) {
  MapRequest request = request_of(untrained(patches()));
  request.method = "isomap";
  EXPECT_THROW(made(request), core::BadInput);
  request.method = "tsne";
  request.options.tsne.perplexity = 59;
  EXPECT_THROW(made(request), core::BadInput);
  request.options.tsne.perplexity = 5;
  EXPECT_TRUE(made(request).back()->done()) << "the next one is served";
}

TEST(FirstPlaces, LieAlongTheWidestDirections) {
  std::vector<float> rows;
  constexpr int kRows = 700, kColumns = 5;
  for (int i = 0; i < kRows; ++i) {
    for (int c = 0; c < kColumns; ++c) {
      const double noise = core::random_unit(9, static_cast<std::uint64_t>(i * kColumns + c)) - 0.5;
      rows.push_back(static_cast<float>(7 + (c == 3 ? 20 : c == 1 ? 4 : 0.1) * noise));
    }
  }
  const std::vector<float> places = first_places(rows, kRows, kColumns);
  ASSERT_EQ(places.size(), std::size_t{2} * kRows);
  double across = 0, up = 0;
  for (std::size_t i = 0; i < kRows; ++i) {
    across = std::max(across, std::abs(std::abs(places[2 * i]) - std::abs(rows[i * kColumns + 3] - 7.0)));
    up = std::max(up, std::abs(std::abs(places[2 * i + 1]) - std::abs(rows[i * kColumns + 1] - 7.0)));
  }
  EXPECT_LT(across, 1.5);
  EXPECT_LT(up, 1);
  rows[4] = std::nanf("");
  EXPECT_TRUE(first_places(rows, kRows, kColumns).empty());
}

std::shared_ptr<const MapState> wait_for(const MapDesk& desk) {
  auto state = desk.state();
  while (state->busy) {
    std::this_thread::yield();
    state = desk.state();
  }
  return state;
}

/// Work that takes long.
MapRequest long_map(const Subject& subject) {
  MapRequest request = request_of(subject);
  request.options.tsne.iterations = 50'000'000;
  return request;
}

TEST(MapDesks, KeepTheLastMap) {
  MapDesk desk;
  EXPECT_EQ(desk.state()->map, nullptr);
  desk.start(request_of(untrained(patches()), "umap"));
  EXPECT_EQ(desk.state()->method, "umap");
  const auto state = wait_for(desk);
  EXPECT_EQ(state->failure, "");
  EXPECT_TRUE(state->map->done());
  EXPECT_EQ(state->map->facts->method, "umap");
}

TEST(MapDesks, ShowPointsThatMoveAndLetGoOfThem) {
  MapDesk desk;
  desk.start(long_map(untrained(patches())));
  while (!desk.state()->map) std::this_thread::yield();
  const auto first = desk.state()->map;
  while (desk.state()->map == first) std::this_thread::yield();
  EXPECT_NE(desk.state()->map->places, first->places);
  EXPECT_GT(desk.state()->map->iteration, first->iteration);
  desk.cancel();
  const auto state = wait_for(desk);
  EXPECT_TRUE(state->cancelled);
  EXPECT_EQ(state->failure, "");
  EXPECT_FALSE(state->map->done());
}

TEST(MapDesks, ReplaceWhatIsUnderWay) {
  MapDesk desk;
  const Subject subject = untrained(patches());
  desk.start(long_map(subject));
  while (!desk.state()->map) std::this_thread::yield();
  desk.start(request_of(subject, "umap"));
  const auto state = wait_for(desk);
  EXPECT_FALSE(state->cancelled) << "the second was not";
  EXPECT_EQ(state->map->facts->method, "umap");
  EXPECT_TRUE(state->map->done());
}

TEST(MapDesks, SayWhatFailedAndGoOn) {
  MapDesk desk;
  MapRequest request = request_of(untrained(patches()));
  request.layers = "conv9";
  desk.start(request);
  const auto failed = wait_for(desk);
  EXPECT_NE(failed->failure.find("conv9"), std::string::npos);
  EXPECT_EQ(failed->map, nullptr);
  request.layers = "pool1";
  desk.start(request);
  EXPECT_TRUE(wait_for(desk)->map->done());
}

TEST(MapDesks, EndWithWorkUnderWay) {
  auto desk = std::make_unique<MapDesk>();
  desk->start(long_map(untrained(patches())));
  while (!desk->state()->map) std::this_thread::yield();
  desk.reset();
}

}  // namespace
}  // namespace warpscope::features::map_desk_test
