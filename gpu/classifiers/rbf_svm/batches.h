#pragma once
// Where rows lie in a matrix of distances, and what is done where not all of them fit it.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace warpscope::classifiers::rbf {

/// Rows of each class, one class after the other, each filled up with empty places to a multiple of kClassPlaces.
struct ClassPlaces {
  std::vector<std::int64_t> first;  ///< of each present class, and the end
  std::vector<int> rows;            ///< of each present class
  std::vector<int> sources;         ///< the row at each place, or -1

  int padded(std::size_t k) const { return static_cast<int>(first[k + 1] - first[k]); }
  std::int64_t total() const { return first.back(); }
};
inline constexpr std::int64_t kClassPlaces = 32;

ClassPlaces place_classes(std::span<const std::vector<int>> rows_by_class);

/// Classes whose distances are in memory together, and the pairs that are solved meanwhile.
struct Batch {
  std::vector<int> classes;               ///< places in ClassRows::present
  std::vector<std::array<int, 2>> pairs;  ///< of such
  std::int64_t places = 0;                ///< the matrix is (places, places)
};

/// The fewest batches whose matrices take at most `bytes`; empty if not even each pair by itself fits. Classes go
/// into groups, and each batch holds two of these.
std::vector<Batch> plan_batches(const ClassPlaces& places, std::size_t bytes);

/// A batch of one pair.
Batch batch_of_pair(const ClassPlaces& places, const std::array<int, 2>& pair);

/// Bytes of a matrix of distances between so many places.
std::size_t matrix_bytes(std::int64_t places);

}  // namespace warpscope::classifiers::rbf
