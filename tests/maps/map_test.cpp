// Whole maps: what they make of clusters, duplicates and bad input, and that they are the same every time.

#include "gpu/maps/map.h"

#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "tests/maps/map_data.h"
#include "tests/support/device_case.h"

namespace warpscope::maps::map_test {
namespace {

class Maps : public warpscope::tests::DeviceCase {
 protected:
  Place place() const { return {device_, stream_.get()}; }
  std::unique_ptr<Map> make(std::string_view kind, const std::vector<float>& values, int columns,
                            const MapOptions& options, const Watch& watch = {}) {
    const core::Buffer features = uploaded(values.data(), values.size() * sizeof(float));
    const auto rows = static_cast<std::int64_t>(values.size()) / columns;
    return find_map(kind).make(place(), {features.as<float>(), rows, columns}, options, watch);
  }
  /// The sentence that making the map ends with.
  std::string refusal(std::string_view kind, const std::vector<float>& values, int columns,
                      const MapOptions& options) {
    try {
      make(kind, values, columns, options);
    } catch (const core::BadInput& error) {
      return error.what();
    }
    return "";
  }
};

INSTANTIATE_TEST_SUITE_P(Devices, Maps, testing::Values("cpu", "cuda"),
                         [](const auto& which) { return which.param; });

MapOptions short_options() {
  MapOptions options;
  options.tsne.perplexity = 15;
  options.tsne.iterations = 300;
  options.tsne.exaggeration_iterations = 100;
  options.umap.epochs = 100;
  return options;
}

void expect_finite(const std::vector<float>& points) {
  for (const float x : points) ASSERT_TRUE(std::isfinite(x));
}

TEST_P(Maps, KeepClustersApartThatBeginMixed) {
  const tests::Clusters clusters{300, 20, 3, 3.0, 2};
  const std::vector<float> values = tests::make_clusters(clusters);
  const std::vector<int> labels = tests::labels_of(clusters);
  for (const MapKind& kind : map_table()) {
    const auto map = make(kind.name, values, 20, short_options());
    EXPECT_LT(tests::purity(map->positions(), labels, 10), 0.5) << kind.name;
    EXPECT_EQ(map->step(1000), map->iterations());
    EXPECT_EQ(map->iteration(), map->iterations());
    EXPECT_EQ(map->step(10), 0);
    const std::vector<float> points = map->positions();
    EXPECT_GT(tests::purity(points, labels, 10), 0.99) << kind.name;
    double mean = 0;
    for (std::size_t i = 0; i < points.size(); i += 2) mean += static_cast<double>(points[i]);
    EXPECT_NEAR(mean / 300, 0, 1e-3);
    EXPECT_TRUE(map->remarks().empty());
    ASSERT_EQ(map->phases().size(), 3u);
    EXPECT_EQ(map->phases()[0].phase, "neighbours");
  }
}

TEST_P(Maps, AreTheSameBitsHoweverTheirIterationsAreDivided) {
  const std::vector<float> values = tests::make_clusters({157, 7, 5, 2.0, 3});
  for (const MapKind& kind : map_table()) {
    const auto once = make(kind.name, values, 7, short_options());
    const auto pieces = make(kind.name, values, 7, short_options());
    once->step(130);
    for (int done = 0; done < 130; done += 13) {
      EXPECT_EQ(pieces->step(13),
                std::min(13, pieces->iterations() - done < 0 ? 0 : pieces->iterations() - done));
      pieces->objective();  // looking changes nothing
    }
    EXPECT_EQ(once->positions(), pieces->positions()) << kind.name;
    MapOptions other = short_options();
    other.seed = 1;
    const auto different = make(kind.name, values, 7, other);
    different->step(130);
    EXPECT_NE(once->positions(), different->positions()) << kind.name;
  }
}

TEST_P(Maps, OfTsneTellADivergenceThatFalls) {
  const std::vector<float> values = tests::make_clusters({200, 10, 4, 3.0, 4});
  const auto map = make("tsne", values, 10, short_options());
  // With all points in one place q is the same for all pairs, and KL = log(n (n - 1)) - entropy of P > 0.
  double before = map->objective().value();
  EXPECT_GT(before, 1.0);
  EXPECT_LT(before, std::log(200.0 * 199.0));
  map->step(100);
  for (int i = 0; i < 4; ++i) {
    map->step(50);
    const double now = map->objective().value();
    EXPECT_LT(now, before);
    EXPECT_GT(now, 0);
    before = now;
  }
}

TEST_P(Maps, BeginAtThePositionsThatAreGiven) {
  const std::vector<float> values = tests::make_clusters({50, 4, 2});
  std::vector<float> initial(100);
  double squares = 0, largest = 0, mean[2] = {};
  for (std::size_t i = 0; i < 100; ++i) {
    initial[i] = static_cast<float>(7 + 3 * random_normal(8, i));
    mean[i % 2] += static_cast<double>(initial[i]) / 50;
  }
  for (std::size_t i = 0; i < 100; ++i) {
    const double x = static_cast<double>(initial[i]) - mean[i % 2];
    if (i % 2 == 0) squares += x * x;
    largest = std::max(largest, std::abs(x));
  }
  MapOptions options = short_options();
  options.initial = initial;
  const std::vector<float> tsne = make("tsne", values, 4, options)->positions();
  const std::vector<float> umap = make("umap", values, 4, options)->positions();
  for (std::size_t i = 0; i < 100; ++i) {
    const double x = static_cast<double>(initial[i]) - mean[i % 2];
    ASSERT_NEAR(tsne[i], x / std::sqrt(squares / 50) * 1e-4, 1e-9);
    ASSERT_NEAR(umap[i], x / largest * 10, 1e-3);
  }
}

TEST_P(Maps, HoldDuplicatesAndConstantRows) {
  // 60 rows, all the same; then 30 the same among 60 others.
  std::vector<float> values(60 * 5, 2.5f);
  std::vector<float> mixed = tests::make_clusters({90, 5, 2});
  std::copy_n(values.begin(), 30 * 5, mixed.begin());
  for (const MapKind& kind : map_table()) {
    for (const std::vector<float>& features : {values, mixed}) {
      const auto map = make(kind.name, features, 5, short_options());
      map->step(150);
      expect_finite(map->positions());
      ASSERT_EQ(map->remarks().size(), 1u);
      const std::string rows = features.size() == values.size() ? "60 rows" : "30 rows";
      EXPECT_EQ(map->remarks()[0].rfind(rows, 0), 0u) << map->remarks()[0];
    }
  }
}

TEST_P(Maps, OfFewRowsTakeAllOthersAsNeighbours) {
  const std::vector<float> values = tests::make_clusters({20, 3, 2});
  MapOptions options = short_options();
  options.tsne.perplexity = 18.5;
  options.umap.n_neighbors = 30;
  for (const MapKind& kind : map_table()) {
    const auto map = make(kind.name, values, 3, options);
    map->step(50);
    expect_finite(map->positions());
    EXPECT_EQ(map->remarks().size(), kind.name == "umap" ? 1u : 0u);
  }
  options.tsne.perplexity = 19;
  EXPECT_NE(refusal("tsne", values, 3, options).find("perplexity of 19 is not between 1 and 19"),
            std::string::npos);
}

TEST_P(Maps, RefuseWhatIsNotFiniteByRowAndColumn) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    std::vector<float> values = tests::make_clusters({80, 6, 2});
    values[41 * 6 + 5] = bad;
    values[63 * 6] = bad;
    for (const MapKind& kind : map_table()) {
      const std::string sentence = refusal(kind.name, values, 6, short_options());
      EXPECT_NE(sentence.find("row 41, column 5"), std::string::npos) << sentence;
    }
  }
}

TEST_P(Maps, RefuseOptionsOutOfTheirRange) {
  const std::vector<float> values = tests::make_clusters({60, 4, 2});
  const std::vector<float> short_initial(10);
  std::vector<float> bad_initial(120);
  bad_initial[7] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<std::tuple<std::string_view, std::string, std::function<void(MapOptions&)>>> cases{
      {"tsne", "perplexity", [](MapOptions& o) { o.tsne.perplexity = 1; }},
      {"tsne", "perplexity", [](MapOptions& o) { o.tsne.perplexity = std::nan(""); }},
      {"tsne", "exaggeration", [](MapOptions& o) { o.tsne.early_exaggeration = 0.5; }},
      {"tsne", "learning rate", [](MapOptions& o) { o.tsne.learning_rate = -1; }},
      {"tsne", "momentum", [](MapOptions& o) { o.tsne.momentum = 1; }},
      {"tsne", "iteration", [](MapOptions& o) { o.tsne.iterations = 0; }},
      {"umap", "neighbours", [](MapOptions& o) { o.umap.n_neighbors = 1; }},
      {"umap", "min_dist", [](MapOptions& o) { o.umap.min_dist = 2; }},
      {"umap", "epochs", [](MapOptions& o) { o.umap.epochs = -1; }},
      {"umap", "learning rate", [](MapOptions& o) { o.umap.learning_rate = 0; }},
      {"umap", "initial", [&](MapOptions& o) { o.initial = short_initial; }},
      {"tsne", "row 3, column 1", [&](MapOptions& o) { o.initial = bad_initial; }},
  };
  for (const auto& [kind, word, change] : cases) {
    MapOptions options = short_options();
    change(options);
    EXPECT_NE(refusal(kind, values, 4, options).find(word), std::string::npos) << word;
  }
  EXPECT_NE(refusal("tsne", {1, 2}, 1, short_options()).find("three rows"), std::string::npos);
}

TEST_P(Maps, CanBeCancelledAndGoneOnWith) {
  const std::vector<float> values = tests::make_clusters({100, 4, 2});
  for (const MapKind& kind : map_table()) {
    std::stop_source stopped;
    stopped.request_stop();
    EXPECT_THROW(make(kind.name, values, 4, short_options(), {{}, stopped.get_token()}),
                 classifiers::Cancelled);

    const auto whole = make(kind.name, values, 4, short_options());
    whole->step(100);
    const auto map = make(kind.name, values, 4, short_options());
    std::stop_source source;
    const Watch watch{[&](double part, std::string_view) {
                        EXPECT_GT(part, 0);
                        source.request_stop();
                      },
                      source.get_token()};
    EXPECT_THROW(map->step(100, watch), classifiers::Cancelled);
    EXPECT_GT(map->iteration(), 0);
    EXPECT_LT(map->iteration(), 100);
    map->step(100 - map->iteration());
    EXPECT_EQ(map->positions(), whole->positions());
  }
}

TEST(MapTable, FindsItsRowsByNameAndListsThem) {
  for (const MapKind& kind : map_table()) EXPECT_EQ(&find_map(kind.name), &kind);
  try {
    find_map("pca3");
    FAIL();
  } catch (const core::BadInput& error) {
    EXPECT_NE(std::string(error.what()).find("tsne, umap"), std::string::npos);
  }
}

}  // namespace
}  // namespace warpscope::maps::map_test
