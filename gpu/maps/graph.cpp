#include "gpu/maps/graph.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/core/parallel.h"

namespace warpscope::maps {
namespace {

struct Edge {
  int column;
  float out;   ///< w_ij
  float back;  ///< w_ji
};

constexpr std::int64_t kGraphRows = 256;

/// Both directions of each weight in the rows that they belong to: the row's own ones first, then those that come to it
/// in the order of where they come from. `starts`: (rows + 1).
std::vector<Edge> spread_edges(const Neighbours& neighbours, std::span<const float> weights,
                               std::vector<std::int64_t>& starts) {
  const auto count = static_cast<std::size_t>(neighbours.count);
  const auto rows = static_cast<std::size_t>(neighbours.rows);
  starts.assign(rows + 1, 0);
  for (std::size_t i = 0; i < rows; ++i) starts[i + 1] += neighbours.count;
  for (const int j : neighbours.indices) ++starts[static_cast<std::size_t>(j) + 1];
  for (std::size_t i = 0; i < rows; ++i) starts[i + 1] += starts[i];
  std::vector<std::int64_t> next(starts.begin(), starts.end() - 1);
  std::vector<Edge> edges(2 * rows * count);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t k = 0; k < count; ++k) {
      const int j = neighbours.indices[i * count + k];
      const float weight = weights[i * count + k];
      edges[static_cast<std::size_t>(next[i]++)] = {j, weight, 0};
      edges[static_cast<std::size_t>(next[static_cast<std::size_t>(j)]++)] = {static_cast<int>(i), 0, weight};
    }
  }
  return edges;
}

/// Sorts the edges of a row and joins those to the same column. Returns how many are left.
int join_edges(std::span<Edge> edges) {
  std::ranges::sort(edges, [](const Edge& a, const Edge& b) { return a.column < b.column; });
  std::size_t left = 0;
  for (const Edge& edge : edges) {
    if (left > 0 && edges[left - 1].column == edge.column) {
      edges[left - 1].out += edge.out;  // one of the two is 0
      edges[left - 1].back += edge.back;
    } else {
      edges[left++] = edge;
    }
  }
  return static_cast<int>(left);
}

}  // namespace

Graph symmetric_graph(const Neighbours& neighbours, std::span<const float> weights,
                      const std::function<double(double, double)>& combine) {
  const auto rows = static_cast<std::size_t>(neighbours.rows);
  if (2 * rows * static_cast<std::size_t>(neighbours.count) > std::numeric_limits<int>::max()) {
    throw core::BadInput(fmt::format("a map of {} rows with {} neighbours each has too many edges",
                                     neighbours.rows, neighbours.count));
  }
  std::vector<std::int64_t> places;
  std::vector<Edge> edges = spread_edges(neighbours, weights, places);
  const auto row_of = [&](std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    return std::span(edges).subspan(static_cast<std::size_t>(places[at]),
                                    static_cast<std::size_t>(places[at + 1] - places[at]));
  };
  Graph graph;
  graph.starts.assign(rows + 1, 0);
  core::parallel_for(neighbours.rows, kGraphRows, 0, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      graph.starts[static_cast<std::size_t>(i) + 1] = join_edges(row_of(i));
  });
  for (std::size_t i = 0; i < rows; ++i) graph.starts[i + 1] += graph.starts[i];
  graph.columns.resize(static_cast<std::size_t>(graph.starts[rows]));
  graph.weights.resize(graph.columns.size());
  core::parallel_for(neighbours.rows, kGraphRows, 0, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::span<const Edge> row = row_of(i);
      const int first = graph.starts[static_cast<std::size_t>(i)];
      for (int e = first; e < graph.starts[static_cast<std::size_t>(i) + 1]; ++e) {
        const Edge& edge = row[static_cast<std::size_t>(e - first)];
        graph.columns[static_cast<std::size_t>(e)] = edge.column;
        graph.weights[static_cast<std::size_t>(e)] = static_cast<float>(combine(edge.out, edge.back));
      }
    }
  });
  return graph;
}

}  // namespace warpscope::maps
