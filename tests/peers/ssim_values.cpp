// Structural similarities of pairs of images, for numpy_ssim.py:
//
//   ssim_values COUNT HEIGHT WIDTH CHANNELS FILE_IN
//
// FILE_IN: COUNT images, then the COUNT they are held against, FP32. Prints one number a pair.

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "gpu/inspect/ssim.h"

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  const auto count = static_cast<std::size_t>(std::stoul(argv[1]));
  const warpscope::data::ImageShape shape{std::stoi(argv[2]), std::stoi(argv[3]), std::stoi(argv[4])};
  const auto elements = static_cast<std::size_t>(shape.height * shape.width * shape.channels);
  std::vector<float> values(2 * count * elements);
  std::ifstream file(argv[5], std::ios::binary);
  const auto bytes = static_cast<std::streamsize>(values.size() * sizeof(float));
  if (!file.read(reinterpret_cast<char*>(values.data()), bytes)) return 1;
  for (std::size_t i = 0; i < count; ++i) {
    const float* const image = values.data() + i * elements;
    std::printf("%.17g\n", warpscope::inspect::ssim(image, image + count * elements, shape));
  }
  return 0;
}
