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
      white_(device_, sizeof(std::uint32_t)),
      done_(device_->make_event(false)),
      stream_(device_->make_urgent_stream()) {
  stream_->fill(white_.data(), 255, white_.bytes());
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
  if (found == book.pages().end()) return {white_.as<const std::uint32_t>(), 1, 1, false};
  const TextureBook::Page& page = found->second;
  const std::uint32_t* texels =
      page.on_device != nullptr ? page.on_device : copies_.at(name).texels.as<const std::uint32_t>();
  return {texels, page.width, page.height, page.linear};
}

// Before anything of this frame is enqueued: the frame before has been waited for.
void Painter::reserve(const Triangles& triangles) {
  const std::size_t scene = bytes_of(triangles.vertices) + bytes_of(triangles.indices) +
                            bytes_of(triangles.commands) + bytes_of(triangles.chunks) +
                            aligned(triangles.names.size() * sizeof(Texture));
  grow(staged_, device_, std::max<std::size_t>(scene, 1));
  grow(scene_, device_, staged_.bytes());
  grow(chunk_bounds_, device_, std::max<std::size_t>(triangles.chunks.size(), 1) * sizeof(Bounds));
  grow(triangle_bounds_, device_,
       std::max<std::size_t>(triangles.chunks.size(), 1) * kChunkTriangles * sizeof(Bounds));
  const std::size_t picture = static_cast<std::size_t>(triangles.width) *
                              static_cast<std::size_t>(triangles.height) * sizeof(std::uint32_t);
  grow(pixels_, device_, picture);
  grow(picture_, device_, picture);
}

const std::uint32_t* Painter::paint(const Triangles& triangles, const TextureBook& book,
                                    std::uint32_t background) {
  if (std::min(triangles.width, triangles.height) < 1 ||
      std::max(triangles.width, triangles.height) > kLargestSide) {
    throw core::Error(
        fmt::format("a picture of {} x {} pixels cannot be painted", triangles.width, triangles.height));
  }
  reserve(triangles);
  copy_textures(book);
  std::vector<Texture> textures;
  for (const std::uintptr_t name : triangles.names) textures.push_back(texture(book, name));
  Packer packer(staged_.as<std::byte>(), scene_.as<std::byte>());
  Scene scene{};
  scene.vertices = packer.put<Vertex>(triangles.vertices);
  scene.indices = packer.put<std::uint32_t>(triangles.indices);
  scene.commands = packer.put<Command>(triangles.commands);
  scene.chunks = packer.put<Chunk>(triangles.chunks);
  scene.textures = packer.put<Texture>(textures);
  scene.chunk_count = static_cast<int>(triangles.chunks.size());
  scene.width = triangles.width;
  scene.height = triangles.height;
  scene.background = background;
  if (packer.used() > 0) stream_->copy(scene_.data(), staged_.data(), packer.used());
  const RasterCall call{scene, triangle_bounds_.as<Bounds>(), chunk_bounds_.as<Bounds>(),
                        pixels_.as<std::uint32_t>()};
#if WARPSCOPE_HAVE_CUDA
  if (device_->kind() == core::DeviceKind::cuda) {
    raster_with_cuda(call, *stream_);
  } else {
    raster_on_host(call);
  }
#else
  raster_on_host(call);
#endif
  stream_->copy(
      picture_.data(), pixels_.data(),
      static_cast<std::size_t>(scene.width) * static_cast<std::size_t>(scene.height) * sizeof(std::uint32_t));
  stream_->record(*done_);
  done_->synchronize();
  return picture_.as<const std::uint32_t>();
}

}  // namespace warpscope::ui::paint
