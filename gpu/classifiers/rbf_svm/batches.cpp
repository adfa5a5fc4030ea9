#include "gpu/classifiers/rbf_svm/batches.h"

#include <algorithm>

namespace warpscope::classifiers::rbf {

ClassPlaces place_classes(std::span<const std::vector<int>> rows_by_class) {
  ClassPlaces places;
  for (const std::vector<int>& rows : rows_by_class) {
    places.first.push_back(static_cast<std::int64_t>(places.sources.size()));
    places.rows.push_back(static_cast<int>(rows.size()));
    places.sources.insert(places.sources.end(), rows.begin(), rows.end());
    while (places.sources.size() % kClassPlaces != 0) places.sources.push_back(-1);
  }
  places.first.push_back(static_cast<std::int64_t>(places.sources.size()));
  return places;
}

std::size_t matrix_bytes(std::int64_t places) {
  return static_cast<std::size_t>(places) * static_cast<std::size_t>(places) * sizeof(float);
}

namespace {

/// Classes dealt to `count` groups, the largest first, each to the group with the fewest places.
std::vector<std::vector<int>> group_classes(const ClassPlaces& places, int count) {
  const std::size_t classes = places.rows.size();
  std::vector<int> order(classes);
  for (std::size_t k = 0; k < classes; ++k) order[k] = static_cast<int>(k);
  const auto size = [&](int k) { return places.padded(static_cast<std::size_t>(k)); };
  std::ranges::stable_sort(order, [&](int a, int b) { return size(a) > size(b); });
  std::vector<std::vector<int>> groups(static_cast<std::size_t>(count));
  std::vector<std::int64_t> sizes(groups.size(), 0);
  for (const int k : order) {
    const auto least = static_cast<std::size_t>(std::ranges::min_element(sizes) - sizes.begin());
    groups[least].push_back(k);
    sizes[least] += size(k);
  }
  for (std::vector<int>& group : groups) std::ranges::sort(group);
  return groups;
}

void add_pair(Batch& batch, int a, int b) {
  batch.pairs.push_back({std::min(a, b), std::max(a, b)});
}

void add_pairs_within(Batch& batch, const std::vector<int>& group) {
  for (std::size_t i = 0; i < group.size(); ++i) {
    for (std::size_t j = i + 1; j < group.size(); ++j) add_pair(batch, group[i], group[j]);
  }
}

Batch make_batch(const ClassPlaces& places, const std::vector<std::vector<int>>& groups, std::size_t g,
                 std::size_t h) {
  Batch batch;
  batch.classes = groups[g];
  // Pairs within a group are solved once: with the next group, those of the last with the one before it.
  if (h == g + 1 || groups.size() == 1) add_pairs_within(batch, groups[g]);
  if (h != g) {
    batch.classes.insert(batch.classes.end(), groups[h].begin(), groups[h].end());
    if (h + 1 == groups.size() && g + 1 == h) add_pairs_within(batch, groups[h]);
    for (const int a : groups[g]) {
      for (const int b : groups[h]) add_pair(batch, a, b);
    }
  }
  // Always in the same order: which of two rows a product begins with decides its last bit.
  std::ranges::sort(batch.classes);
  for (const int k : batch.classes) batch.places += places.padded(static_cast<std::size_t>(k));
  return batch;
}

}  // namespace

std::vector<Batch> plan_batches(const ClassPlaces& places, std::size_t bytes) {
  for (int count = 1; count <= static_cast<int>(places.rows.size()); ++count) {
    const auto groups = group_classes(places, count);
    std::vector<Batch> batches;
    if (count == 1) batches.push_back(make_batch(places, groups, 0, 0));
    for (std::size_t g = 0; g < groups.size(); ++g) {
      for (std::size_t h = g + 1; h < groups.size(); ++h) batches.push_back(make_batch(places, groups, g, h));
    }
    if (std::ranges::all_of(batches, [&](const Batch& b) { return matrix_bytes(b.places) <= bytes; })) {
      return batches;
    }
  }
  return {};
}

Batch batch_of_pair(const ClassPlaces& places, const std::array<int, 2>& pair) {
  Batch batch;
  batch.classes = {pair[0], pair[1]};
  batch.pairs = {pair};
  for (const int k : pair) batch.places += places.padded(static_cast<std::size_t>(k));
  return batch;
}

}  // namespace warpscope::classifiers::rbf
