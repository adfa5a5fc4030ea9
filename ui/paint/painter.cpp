#include "ui/paint/painter.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "ui/paint/raster_kernels.h"

namespace warpscope::ui::paint {
namespace {

constexpr std::size_t kAlignment = 256;
constexpr int kLargestSide = 32752;  // its last tile ends below 2^15

std::size_t aligned(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// Buffers grow by half, so that a curve that grows does not ask for new memory each frame.
template <class Memory>
void grow(Memory& memory, const std::shared_ptr<core::Device>& device, std::size_t bytes) {
  if (memory.bytes() < bytes) memory = Memory(device, aligned(bytes + bytes / 2));
}

/// Puts arrays behind one another into host memory that goes to the device in one copy.
class Packer {
 public:
  Packer(std::byte* host, std::byte* device) : host_(host), device_(device) {}

  template <class T>
  const T* put(std::span<const T> items) {
    if (!items.empty()) std::memcpy(host_ + used_, items.data(), items.size_bytes());
    const auto* placed = reinterpret_cast<const T*>(device_ + used_);
    used_ += aligned(items.size_bytes());
    return placed;
  }
  std::size_t used() const { return used_; }

 private:
  std::byte* host_;
  std::byte* device_;
  std::size_t used_ = 0;
};

template <class T>
std::size_t bytes_of(const std::vector<T>& items) {
  return aligned(items.size() * sizeof(T));
}

}  // namespace

Painter::Painter(std::shared_ptr<core::Device> device)
    : device_(std::move(device)),
      on_cuda_(device_->kind() == core::DeviceKind::cuda),
      white_(device_, sizeof(std::uint32_t)),
      done_(device_->make_event(false)),
      stream_(device_->make_urgent_stream()) {
  stream_->fill(white_.data(), 255, white_.bytes());
  if (!on_cuda_) host_.emplace();
}

Painter::~Painter() = default;

void Painter::copy_textures(const TextureBook& book) {
  std::erase_if(copies_, [&](const auto& copy) { return !book.pages().contains(copy.first); });
  for (const auto& [name, page] : book.pages()) {
    Copy& copy = copies_[name];
    if (page.on_device != nullptr || copy.version == page.version) continue;
    const std::size_t bytes = page.texels.size() * sizeof(std::uint32_t);
    if (copy.texels.bytes() != bytes) copy.texels = core::Buffer(device_, bytes);
    stream_->copy(copy.texels.data(), page.texels.data(), bytes);
    copy.version = page.version;
  }
}

Texture Painter::texture(const TextureBook& book, std::uintptr_t name) const {
  const auto found = book.pages().find(name);
  if (found == book.pages().end()) return {white_.as<const std::uint32_t>(), 1, 1, false, 0};
  const TextureBook::Page& page = found->second;
  const std::uint32_t* texels = page.on_device;
  if (texels == nullptr) {
    texels = on_cuda_ ? copies_.at(name).texels.as<const std::uint32_t>() : page.texels.data();
  }
  return {texels, page.width, page.height, page.linear, page.version};
}

// Before anything of this frame is enqueued: the frame before has been waited for.
void Painter::reserve(const Scene& scene) {
  const std::size_t picture =
      static_cast<std::size_t>(scene.width) * static_cast<std::size_t>(scene.height) * sizeof(std::uint32_t);
  const std::size_t tiles = tiles_along(scene.width) * tiles_along(scene.height);
  grow(picture_, device_, picture);
  grow(changed_, device_, tiles);
  grow(tile_marks_, device_, tiles * sizeof(std::uint64_t));
  if (width_ == scene.width && height_ == scene.height) return;
  width_ = scene.width;  // of another size all is painted anew
  height_ = scene.height;
  stream_->fill(tile_marks_.data(), 0, tile_marks_.bytes());
}

Picture Painter::paint(const Triangles& triangles, const TextureBook& book, std::uint32_t background) {
  if (std::min(triangles.width, triangles.height) < 1 ||
      std::max(triangles.width, triangles.height) > kLargestSide) {
    throw core::Error(
        fmt::format("a picture of {} x {} pixels cannot be painted", triangles.width, triangles.height));
  }
  Scene scene{};
  scene.chunk_count = static_cast<int>(triangles.chunks.size());
  scene.width = triangles.width;
  scene.height = triangles.height;
  scene.background = background;
  reserve(scene);
  if (on_cuda_) copy_textures(book);
  std::vector<Texture> textures;
  for (const std::uintptr_t name : triangles.names) textures.push_back(texture(book, name));
#if WARPSCOPE_HAVE_CUDA
  if (on_cuda_) {
    paint_with_cuda(scene, triangles, textures);
  } else {
    paint_on_host(scene, triangles, textures);
  }
#else
  paint_on_host(scene, triangles, textures);
#endif
  return {picture_.as<const std::uint32_t>(),
          scene.width,
          scene.height,
          {changed_.as<const std::uint8_t>(), tiles_along(scene.width) * tiles_along(scene.height)}};
}

void Painter::paint_on_host(Scene& scene, const Triangles& triangles, const std::vector<Texture>& textures) {
  scene.vertices = triangles.vertices.data();
  scene.indices = triangles.indices.data();
  scene.commands = triangles.commands.data();
  scene.chunks = triangles.chunks.data();
  scene.textures = textures.data();
  host_->draw({scene, nullptr, nullptr, nullptr, tile_marks_.as<std::uint64_t>(), changed_.as<std::uint8_t>(),
               picture_.as<std::uint32_t>()});
}

#if WARPSCOPE_HAVE_CUDA
void Painter::paint_with_cuda(Scene& scene, const Triangles& triangles,
                              const std::vector<Texture>& textures) {
  const std::size_t bytes = bytes_of(triangles.vertices) + bytes_of(triangles.indices) +
                            bytes_of(triangles.commands) + bytes_of(triangles.chunks) + bytes_of(textures);
  grow(staged_, device_, std::max<std::size_t>(bytes, 1));
  grow(scene_, device_, staged_.bytes());
  const std::size_t chunks = std::max<std::size_t>(triangles.chunks.size(), 1);
  grow(chunk_bounds_, device_, chunks * sizeof(Bounds));
  grow(triangle_bounds_, device_, chunks * kChunkTriangles * sizeof(Bounds));
  grow(triangle_marks_, device_, chunks * kChunkTriangles * sizeof(std::uint64_t));
  const std::size_t picture =
      static_cast<std::size_t>(scene.width) * static_cast<std::size_t>(scene.height) * sizeof(std::uint32_t);
  const std::size_t tiles = tiles_along(scene.width) * tiles_along(scene.height);
  grow(pixels_, device_, picture);
  grow(tile_changed_, device_, tiles);
  Packer packer(staged_.as<std::byte>(), scene_.as<std::byte>());
  scene.vertices = packer.put<Vertex>(triangles.vertices);
  scene.indices = packer.put<std::uint32_t>(triangles.indices);
  scene.commands = packer.put<Command>(triangles.commands);
  scene.chunks = packer.put<Chunk>(triangles.chunks);
  scene.textures = packer.put<Texture>(textures);
  if (packer.used() > 0) stream_->copy(scene_.data(), staged_.data(), packer.used());
  raster_with_cuda(
      {scene, triangle_bounds_.as<Bounds>(), triangle_marks_.as<std::uint64_t>(), chunk_bounds_.as<Bounds>(),
       tile_marks_.as<std::uint64_t>(), tile_changed_.as<std::uint8_t>(), pixels_.as<std::uint32_t>()},
      *stream_);
  stream_->copy(picture_.data(), pixels_.data(), picture);
  stream_->copy(changed_.data(), tile_changed_.data(), tiles);
  stream_->record(*done_);
  done_->synchronize();
}
#endif

}  // namespace warpscope::ui::paint
