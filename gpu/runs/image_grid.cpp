#include "gpu/runs/image_grid.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <new>
#include <system_error>

#include <fmt/format.h>
#include <stb_image.h>
#include <stb_image_write.h>

#include "gpu/core/error.h"
#include "gpu/files/atomic_file.h"

namespace warpscope::training {
namespace {

namespace fs = std::filesystem;

struct Grid {
  int columns = 0;
  int width = 0;  ///< pixels
  int height = 0;
};

Grid grid_of(const ImageShape& shape, int columns) {
  const int rows = (shape.count + columns - 1) / columns;
  return {columns, columns * shape.width, rows * shape.height};
}

/// Calls at(element of the batch, element of the grid, elements) for each line of each image.
template <class At>
void for_each_line(const ImageShape& shape, const Grid& grid, At at) {
  const auto line = static_cast<std::size_t>(shape.width) * static_cast<std::size_t>(shape.channels);
  const auto grid_line = static_cast<std::size_t>(grid.width) * static_cast<std::size_t>(shape.channels);
  std::size_t element = 0;
  for (int image = 0; image < shape.count; ++image) {
    for (int y = 0; y < shape.height; ++y, element += line) {
      const auto row = static_cast<std::size_t>(image / grid.columns * shape.height + y);
      at(element, row * grid_line + static_cast<std::size_t>(image % grid.columns) * line, line);
    }
  }
}

}  // namespace

std::string encode_png(std::span<const std::uint8_t> pixels, int width, int height, int channels) {
  // The encoder ends the program where it gets no memory, so as much as it takes is asked for first. Compilers leave
  // out a new and its delete, but no calls of the operators.
  constexpr std::size_t kTables = std::size_t{4} << 20;
  ::operator delete(::operator new(4 * pixels.size() + kTables));
  std::string png;
  const auto append = [](void* target, void* data, int size) {
    static_cast<std::string*>(target)->append(static_cast<const char*>(data), static_cast<std::size_t>(size));
  };
  if (stbi_write_png_to_func(append, &png, width, height, channels, pixels.data(), width * channels) == 0)
    throw core::Error("a picture could not be encoded as PNG");
  return png;
}

std::string encode_grid(std::span<const std::uint8_t> images, const ImageShape& shape, int columns) {
  const Grid grid = grid_of(shape, columns);
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(grid.width) *
                                  static_cast<std::size_t>(grid.height) *
                                  static_cast<std::size_t>(shape.channels));
  for_each_line(shape, grid, [&](std::size_t from, std::size_t to, std::size_t count) {
    std::copy_n(images.data() + from, count, bytes.data() + to);
  });
  return encode_png(bytes, grid.width, grid.height, shape.channels);
}

std::vector<std::uint8_t> decode_grid(std::string_view png, const ImageShape& shape, int columns,
                                      std::string_view name) {
  const auto* const data = reinterpret_cast<const stbi_uc*>(png.data());
  const auto size = static_cast<int>(png.size());
  const Grid grid = grid_of(shape, columns);
  int width = 0;
  int height = 0;
  int channels = 0;
  // Looked at before anything is allocated for what a damaged header says.
  if (stbi_info_from_memory(data, size, &width, &height, &channels) == 0 || width != grid.width ||
      height != grid.height || channels != shape.channels) {
    throw core::BadInput(fmt::format("{} is damaged: it is no PNG of {} x {} pixels in {} channels", name,
                                     grid.width, grid.height, shape.channels));
  }
  const std::unique_ptr<stbi_uc, void (*)(void*)> pixels(
      stbi_load_from_memory(data, size, &width, &height, &channels, shape.channels), stbi_image_free);
  if (!pixels) throw core::BadInput(fmt::format("{} is damaged: its pixels cannot be read", name));
  std::vector<std::uint8_t> images(shape.elements());
  for_each_line(shape, grid, [&](std::size_t to, std::size_t from, std::size_t count) {
    std::copy_n(pixels.get() + from, count, images.data() + to);
  });
  return images;
}

std::string read_image_file(const fs::path& path, std::uintmax_t most) {
  std::error_code error;
  const std::uintmax_t bytes =
      fs::file_size(path, error);  // only of regular files: opening a pipe would wait
  if (error) throw core::BadInput(fmt::format("cannot read {}: {}", path.string(), error.message()));
  std::ifstream file(path, std::ios::binary);
  if (!file) throw core::BadInput(fmt::format("cannot read {}", path.string()));
  if (bytes > most) throw core::BadInput(fmt::format("{} is too large", path.string()));
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void open_image_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    throw core::Error(fmt::format("cannot make the folder {}: {}", folder.string(), error.message()));
  files::remove_leftovers(folder);
}

}  // namespace warpscope::training
