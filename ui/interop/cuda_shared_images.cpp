// The way of CUDA's images where CUDA and OpenGL run on one GPU: a kernel writes into the GL texture.
//
// glad comes first: it takes the place of the GL header that cuda_gl_interop.h asks for.
#include <glad/gl.h>
// clang-format off
#include <cuda_gl_interop.h>
// clang-format on

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "gpu/core/cuda.h"
#include "gpu/core/error.h"
#include "ui/frame/frame_phases.h"
#include "ui/interop/convert_images.h"
#include "ui/interop/image_path.h"

namespace warpscope::ui::interop {
namespace {

/// Throws core::Error unless the current GL context draws on CUDA device `index`.
void check_same_gpu(int index) {
  std::array<int, 16> devices{};
  unsigned count = 0;
  core::check_cuda(
      cudaGLGetDevices(&count, devices.data(), static_cast<unsigned>(devices.size()), cudaGLDeviceListAll),
      "cudaGLGetDevices");
  const auto end = devices.begin() + std::min(count, static_cast<unsigned>(devices.size()));
  if (std::find(devices.begin(), end, index) == end) {
    throw core::Error(fmt::format("OpenGL draws on another GPU than cuda:{}", index));
  }
}

/// A texture known to CUDA.
class Registration {
 public:
  explicit Registration(GLuint texture) {
    core::check_cuda(cudaGraphicsGLRegisterImage(&resource_, texture, GL_TEXTURE_2D,
                                                 cudaGraphicsRegisterFlagsSurfaceLoadStore),
                     "cudaGraphicsGLRegisterImage");
  }
  ~Registration() {
    cudaGraphicsUnregisterResource(resource_);
    cudaGetLastError();
  }
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;
  cudaGraphicsResource_t get() const { return resource_; }

 private:
  cudaGraphicsResource_t resource_ = nullptr;
};

/// The time between map and unmap, in which CUDA owns the texture.
class Mapping {
 public:
  Mapping(cudaGraphicsResource_t resource, cudaStream_t stream) : resource_(resource), stream_(stream) {
    core::check_cuda(cudaGraphicsMapResources(1, &resource_, stream_), "cudaGraphicsMapResources");
  }
  ~Mapping() {
    if (!mapped_) return;
    cudaGraphicsUnmapResources(1, &resource_, stream_);
    cudaGetLastError();
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  cudaArray_t array() const {
    cudaArray_t array = nullptr;
    core::check_cuda(cudaGraphicsSubResourceGetMappedArray(&array, resource_, 0, 0),
                     "cudaGraphicsSubResourceGetMappedArray");
    return array;
  }
  void unmap() {
    mapped_ = false;
    core::check_cuda(cudaGraphicsUnmapResources(1, &resource_, stream_), "cudaGraphicsUnmapResources");
  }

 private:
  cudaGraphicsResource_t resource_;
  cudaStream_t stream_;
  bool mapped_ = true;
};

class SharedPath final : public ImagePath {
 public:
  SharedPath(const training::ImageExchange& exchange, AtlasTexture& texture)
      : channels_(exchange.shape().channels),
        atlas_(texture.atlas()),
        done_(exchange.device()->make_event(false)),
        stream_(exchange.device()->make_stream()) {
    check_same_gpu(exchange.device()->info().index);
    registration_ = std::make_unique<Registration>(texture.id());
  }
  ~SharedPath() override {
    stream_.reset();  // waits for the kernel
    destroy_surface();
  }

  bool convert(const training::ImageSlot& slot, const images::Conversion& conversion) override {
    // The surface of the previous conversion must live until its kernel is done.
    if (!done_->ready()) return false;
    destroy_surface();
    stream_->wait(*slot.written);
    Mapping mapping = map();
    cudaResourceDesc description{};
    description.resType = cudaResourceTypeArray;
    description.res.array.array = mapping.array();
    core::check_cuda(cudaCreateSurfaceObject(&surface_, &description), "cudaCreateSurfaceObject");
    launch(slot, conversion);
    {
      const FramePart part("images.convert.unmap");
      mapping.unmap();
    }
    converted_ = describe(slot);
    fresh_ = true;
    return true;
  }

  // After the unmap OpenGL itself orders its drawing behind the kernel.
  bool finish(ShownBatch& shown) override {
    if (!fresh_) return false;
    shown = converted_;
    fresh_ = false;
    return true;
  }

  core::Stream& stream() override { return *stream_; }
  std::string name() const override { return "shared"; }
  std::string text() const override { return "images shared with OpenGL"; }

 private:
  // It waits for what OpenGL does with the texture.
  Mapping map() {
    const FramePart part("images.convert.map");
    return Mapping(registration_->get(), core::cuda_stream(*stream_));
  }

  void launch(const training::ImageSlot& slot, const images::Conversion& conversion) {
    const FramePart part("images.convert.launch");
    convert_to_surface({slot.original.as<const float>(), slot.reconstruction.as<const float>(), channels_,
                        atlas_, conversion},
                       surface_, *stream_);
    stream_->record(*slot.read);
    stream_->record(*done_);
  }

  void destroy_surface() {
    if (surface_ == 0) return;
    cudaDestroySurfaceObject(surface_);
    cudaGetLastError();
    surface_ = 0;
  }

  int channels_;
  images::Atlas atlas_;
  std::unique_ptr<Registration> registration_;
  cudaSurfaceObject_t surface_ = 0;
  std::unique_ptr<core::Event> done_;
  std::unique_ptr<core::Stream> stream_;
  ShownBatch converted_;
  bool fresh_ = false;
};

}  // namespace

std::unique_ptr<ImagePath> make_shared_path(const training::ImageExchange& exchange, AtlasTexture& texture) {
  return std::make_unique<SharedPath>(exchange, texture);
}

}  // namespace warpscope::ui::interop
