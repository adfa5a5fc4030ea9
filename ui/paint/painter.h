#pragma once
// Draws the window's triangles without OpenGL: on the CPU, or by CUDA on the device that trains.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "gpu/core/device.h"
#include "ui/paint/draw_list.h"
#include "ui/paint/host_raster.h"
#include "ui/paint/picture.h"
#include "ui/paint/texture_book.h"

namespace warpscope::ui::paint {

/// A frame drawn by OpenGL takes the GPU from CUDA to change contexts (docs/performance.md); the CPU leaves the GPU alone, and
/// CUDA's own kernels draw in the context of the training and beside its kernels. Either way what did not change since the
/// picture before is not drawn again. All calls belong to one thread. On CUDA, when a frame needs more memory than any before,
/// asking for it may wait for the training's kernels.
class Painter {
 public:
  explicit Painter(std::shared_ptr<core::Device> device);
  ~Painter();
  Painter(const Painter&) = delete;
  Painter& operator=(const Painter&) = delete;

  /// The picture, which is valid until the next call; waits for it. `background`: RGBA8, red in the lowest byte. A texture
  /// that the book does not know is white. Throws core::Error, also if the picture has no pixels or more than 32,752 along a
  /// side.
  Picture paint(const Triangles& triangles, const TextureBook& book, std::uint32_t background);

  const std::shared_ptr<core::Device>& device() const { return device_; }

 private:
  struct Copy {
    core::Buffer texels;
    std::uint64_t version = 0;
  };

  void copy_textures(const TextureBook& book);
  Texture texture(const TextureBook& book, std::uintptr_t name) const;
  void reserve(const Scene& scene);
  void paint_on_host(Scene& scene, const Triangles& triangles, const std::vector<Texture>& textures);
  void paint_with_cuda(Scene& scene, const Triangles& triangles, const std::vector<Texture>& textures);

  std::shared_ptr<core::Device> device_;
  bool on_cuda_;
  std::optional<HostRaster> host_;  // where the CPU paints
  std::map<std::uintptr_t, Copy> copies_;
  core::Buffer white_;
  core::HostBuffer staged_;
  core::Buffer scene_;
  core::Buffer triangle_bounds_, triangle_marks_, chunk_bounds_;
  core::Buffer pixels_, tile_changed_;
  core::Buffer tile_marks_;  // of the picture before, of this size
  int width_ = 0, height_ = 0;
  core::HostBuffer picture_, changed_;
  std::unique_ptr<core::Event> done_;
  // Last, so that its destructor waits for its work before the memory above goes.
  std::unique_ptr<core::Stream> stream_;
};

}  // namespace warpscope::ui::paint
