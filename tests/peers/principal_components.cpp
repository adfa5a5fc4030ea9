// The principal components of rows, for numpy_components.py.
//
// usage: principal_components COUNT DIMS < ROWS
//
// Reads COUNT x DIMS floats as bytes. Prints the part of the variance of each component, then the scores of each
// row.

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "gpu/inspect/pca.h"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::size_t count = std::strtoul(argv[1], nullptr, 10), dims = std::strtoul(argv[2], nullptr, 10);
  std::vector<float> rows(count * dims);
  if (std::fread(rows.data(), sizeof(float), rows.size(), stdin) != rows.size()) return 2;
  const auto found = warpscope::inspect::principal_components({rows, count, dims},
                                                              {.tolerance = 1e-8, .most_iterations = 200});
  for (std::size_t k = 0; k < found.rank; ++k) std::printf("%.9g\n", found.share(k));
  for (const float score : found.scores) std::printf("%.9g\n", static_cast<double>(score));
  return 0;
}
