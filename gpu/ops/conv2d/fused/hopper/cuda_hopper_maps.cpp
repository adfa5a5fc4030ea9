#include <algorithm>

#include <fmt/format.h>

#include "gpu/core/cuda.h"
#include "gpu/core/error.h"
#include "gpu/ops/conv2d/fused/hopper/hopper_maps.h"

namespace warpscope::ops::conv2d::fused::hopper {
namespace {

constexpr int kMostChannels = 1024;
constexpr std::size_t kAlignment = 256;

/// Whole slices of channels, as many as have room.
bool has_wide_channels(const ChainShape& s) {
  return s.in_channels % kSlice == 0 && s.out_channels % kSlice == 0 && s.in_channels <= kMostChannels &&
         s.out_channels <= kMostChannels;
}

std::size_t round_up(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

void* driver_function(const char* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
  core::check_cuda(cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result), name);
  if (found == nullptr)
    throw core::Error(fmt::format("the driver has no {}; it must be of CUDA 12 or later", name));
  return found;
}

CUtensorMapDataType data_type(core::Precision precision) {
  switch (precision) {
    case core::Precision::tf32:
      return CU_TENSOR_MAP_DATA_TYPE_TFLOAT32;
    case core::Precision::fp16:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    default:
      return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  }
}

void check_map(CUresult status) {
  if (status == CUDA_SUCCESS) return;
  throw core::Error(
      fmt::format("the tensor map of a convolution's operand failed with CUDA driver error {}; operands must "
                  "be aligned to 16 bytes",
                  static_cast<int>(status)));
}

CUtensorMap map_tiled(const void* data, unsigned rank, const cuuint64_t* sizes, const cuuint64_t* strides,
                      const cuuint32_t* box, core::Precision precision) {
  static const auto encode_tiled =
      reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(driver_function("cuTensorMapEncodeTiled"));
  CUtensorMap map{};
  const cuuint32_t steps[5] = {1, 1, 1, 1, 1};
  check_map(encode_tiled(&map, data_type(precision), rank, const_cast<void*>(data), sizes, strides, box,
                         steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                         CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
  return map;
}

Grid grid_of(const ChainShape& s) {
  return {static_cast<int>(s.batch), s.height, s.width, static_cast<int>(divide_up(s.height, kPatchSide)),
          static_cast<int>(divide_up(s.width, kPatchSide))};
}

Grid grid_of(const Lines& lines) {
  return {1, lines.positions, lines.texts, static_cast<int>(divide_up(lines.positions, kPatchSide)),
          static_cast<int>(divide_up(lines.texts, kPatchSide))};
}

CUtensorMap map_lines(const Lines& lines, int rows, core::Precision precision) {
  const auto bytes = static_cast<cuuint64_t>(element_bytes(precision));
  const auto channels = static_cast<cuuint64_t>(lines.channels);
  const auto positions = static_cast<cuuint64_t>(lines.positions);
  const auto texts = static_cast<cuuint64_t>(lines.texts);
  const cuuint64_t sizes[] = {channels, texts, 1, positions, 1};
  const cuuint64_t all = bytes * texts * positions * channels;
  const cuuint64_t strides[] = {bytes * positions * channels, all, bytes * channels, all};
  const cuuint32_t box[] = {static_cast<cuuint32_t>(slice_of(precision)), kPatchSide, 1,
                            static_cast<cuuint32_t>(rows), 1};
  return map_tiled(lines.data, 5, sizes, strides, box, precision);
}

Grid small_grid_of(const ChainShape& s) {
  return {static_cast<int>(divide_up(s.batch, kSmallImages)), s.height, s.width, 1,
          static_cast<int>(divide_up(s.width, kSmallColumns))};
}

Grid bundle_grid_of(const ChainShape& s) {
  return {static_cast<int>(divide_up(s.batch, kSmallImages)), s.height, s.width,
          static_cast<int>(divide_up(s.height, kBundleSide)),
          static_cast<int>(divide_up(s.width, kBundleSide))};
}

CUtensorMap map_small(const Pixels& p, int columns, int rows, core::Precision precision) {
  const auto bytes = static_cast<cuuint64_t>(element_bytes(precision));
  const auto channels = static_cast<cuuint64_t>(p.channels);
  const auto width = static_cast<cuuint64_t>(p.width);
  const auto height = static_cast<cuuint64_t>(p.height);
  const auto images = static_cast<cuuint64_t>(p.images);
  const cuuint64_t sizes[] = {channels, images, width, height, 1};
  const cuuint64_t image = bytes * height * width * channels;
  const cuuint64_t strides[] = {image, bytes * channels, bytes * width * channels, image * images};
  const cuuint32_t box[] = {static_cast<cuuint32_t>(slice_of(precision)), kSmallImages,
                            static_cast<cuuint32_t>(columns), static_cast<cuuint32_t>(rows), 1};
  return map_tiled(p.data, 5, sizes, strides, box, precision);
}

CUtensorMap map_pixels(const Pixels& p, int rows, core::Precision precision) {
  const auto bytes = static_cast<cuuint64_t>(element_bytes(precision));
  const auto parities = p.interleaved ? cuuint64_t{2} : cuuint64_t{1};
  const auto column = parities * static_cast<cuuint64_t>(p.channels);
  const cuuint64_t row = parities * static_cast<cuuint64_t>(p.width) * static_cast<cuuint64_t>(p.channels);
  const cuuint64_t sizes[] = {column, static_cast<cuuint64_t>(p.width), parities,
                              static_cast<cuuint64_t>(p.height), static_cast<cuuint64_t>(p.images)};
  // In bytes, of all dimensions but the innermost.
  const cuuint64_t strides[] = {bytes * column, bytes * row, bytes * parities * row,
                                bytes * parities * row * static_cast<cuuint64_t>(p.height)};
  const cuuint32_t box[] = {static_cast<cuuint32_t>(slice_of(precision)), kPatchSide, 1,
                            static_cast<cuuint32_t>(rows), 1};
  return map_tiled(p.data, 5, sizes, strides, box, precision);
}

CUtensorMap map_filters(const Filters& w, int filters, core::Precision precision) {
  const auto channels = static_cast<cuuint64_t>(w.channels);
  const cuuint64_t line = static_cast<cuuint64_t>(element_bytes(precision)) * channels;
  const auto taps = static_cast<cuuint64_t>(w.taps);
  const auto all = static_cast<cuuint64_t>(w.filters);
  const cuuint64_t sizes[] = {channels, all, taps};
  const cuuint64_t strides[] = {line * (w.arranged ? 1 : taps), line * (w.arranged ? all : 1)};
  const cuuint32_t box[] = {static_cast<cuuint32_t>(slice_of(precision)), static_cast<cuuint32_t>(filters),
                            1};
  return map_tiled(w.data, 3, sizes, strides, box, precision);
}

int multiprocessors() {
  int device = 0;
  int count = 0;
  core::check_cuda(cudaGetDevice(&device), "cudaGetDevice");
  core::check_cuda(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device),
                   "cudaDeviceGetAttribute");
  return count;
}

std::int64_t convolution_elements(const ChainShape& s) {
  return (s.upsample ? 4 : 1) * s.batch * s.height * s.width * s.out_channels;
}

std::size_t convolution_bytes(const ChainShape& s, core::Precision precision) {
  return round_up(static_cast<std::size_t>(element_bytes(precision) * convolution_elements(s)));
}

std::size_t arranged_bytes(const ChainShape& s, core::Precision precision) {
  const int taps = s.upsample ? 16 : s.kernel_height * s.kernel_width;
  return round_up(static_cast<std::size_t>(element_bytes(precision) * taps) *
                  static_cast<std::size_t>(s.in_channels) * static_cast<std::size_t>(s.out_channels));
}

bool is_wide(const ChainShape& s) {
  if (s.kernel_height != 3 || s.kernel_width != 3 || s.valid || !has_wide_channels(s)) return false;
  if (s.batch < 1 || s.height < 1 || s.width < 1 || (s.upsample && s.pool)) return false;
  return s.batch * s.height * s.width * s.in_channels <= kMostElements &&
         convolution_elements(s) <= kMostElements;
}

bool is_small(const ChainShape& s) {
  return is_wide(s) && s.height <= kSmallSide && s.width <= kSmallSide && !s.pool && !s.upsample;
}

bool is_line(const ChainShape& s) {
  if (s.height != 1 || s.kernel_height != 1 || s.upsample || s.pool || !has_wide_channels(s)) return false;
  if (s.kernel_width != 3 && s.kernel_width != 5 && s.kernel_width != 7) return false;
  if (s.batch < 1 || line_outputs(s) < 1) return false;
  return s.batch * s.width * std::max(s.in_channels, s.out_channels) <= kMostElements;
}

int line_outputs(const ChainShape& s) {
  return s.valid ? s.width - s.kernel_width + 1 : s.width;
}

int line_padding(const ChainShape& s) {
  return s.valid ? 0 : s.kernel_width / 2;
}

}  // namespace warpscope::ops::conv2d::fused::hopper
