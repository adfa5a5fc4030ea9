#pragma once
// Draws the window's triangles on the device that trains, without OpenGL.

#include <cstdint>
#include <map>
#include <memory>

#include "gpu/core/device.h"
#include "ui/paint/draw_list.h"
#include "ui/paint/texture_book.h"

namespace warpscope::ui::paint {

/// A frame drawn by OpenGL takes the GPU from CUDA to change contexts (docs/performance.md); CUDA's own kernels draw in the context
/// of the training and beside its kernels. All calls belong to one thread. When a frame needs more memory than any before, asking
/// for it may wait for the training's kernels.
class Painter {
 public:
  explicit Painter(std::shared_ptr<core::Device> device);
  ~Painter();
  Painter(const Painter&) = delete;
  Painter& operator=(const Painter&) = delete;

  /// The picture: triangles.width x triangles.height RGBA8 pixels, rows from the top; valid until the next call. Waits for it.
  /// `background`: RGBA8, red in the lowest byte. A texture that the book does not know is white. Throws core::Error, also
  /// if the picture has no pixels or more than 32,752 along a side.
  const std::uint32_t* paint(const Triangles& triangles, const TextureBook& book, std::uint32_t background);

  const std::shared_ptr<core::Device>& device() const { return device_; }

 private:
  struct Copy {
    core::Buffer texels;
    std::uint64_t version = 0;
  };

  void copy_textures(const TextureBook& book);
  Texture texture(const TextureBook& book, std::uintptr_t name) const;
  void reserve(const Triangles& triangles);

  std::shared_ptr<core::Device> device_;
  std::map<std::uintptr_t, Copy> copies_;
  core::Buffer white_;
  core::HostBuffer staged_;
  core::Buffer scene_;
  core::Buffer triangle_bounds_, chunk_bounds_;
  core::Buffer pixels_;
  core::HostBuffer picture_;
  std::unique_ptr<core::Event> done_;
  // Last, so that its destructor waits for its work before the memory above goes.
  std::unique_ptr<core::Stream> stream_;
};

}  // namespace warpscope::ui::paint
