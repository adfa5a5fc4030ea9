// The way of the images into a real OpenGL texture. Needs a display; with a CUDA device all of its ways
// are tested.

#include "ui/interop/image_view.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <glad/gl.h>
#include <gtest/gtest.h>

#include "tests/support/hidden_window.h"
#include "ui/interop/tile_page.h"
#include "ui/paint/texture_book.h"

namespace warpscope::ui::interop {
namespace {

using images::Rgba;
using training::ImageShape;

/// With an OpenGL context, or skipped.
class ImageViewTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!window_.missing().empty()) GTEST_SKIP() << window_.missing();
  }

 private:
  tests::HiddenWindow window_;
};

/// Values over, under and in [0, 1] that differ between batches.
std::vector<float> values(const ImageShape& shape, int seed) {
  std::vector<float> result(shape.elements());
  unsigned state = static_cast<unsigned>(seed) * 747796405u + 2891336453u;
  for (float& value : result) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<float>(state >> 8) / 16777216.0f * 1.2f - 0.1f;
  }
  return result;
}

struct Batch {
  std::vector<float> original;
  std::vector<float> now;
};

Batch publish(training::ImageExchange& exchange, core::Stream& stream, int seed) {
  Batch batch{values(exchange.shape(), seed), values(exchange.shape(), seed + 1000)};
  training::ImageSlot& slot = exchange.begin_write(stream);
  stream.copy(slot.original.data(), batch.original.data(), slot.original.bytes());
  stream.copy(slot.reconstruction.data(), batch.now.data(), slot.reconstruction.bytes());
  slot.step = static_cast<std::uint64_t>(seed) * 10;
  for (int image = 0; image < exchange.shape().count; ++image) {
    slot.errors.as<float>()[image] = static_cast<float>(seed + image);
  }
  exchange.publish(stream);
  stream.synchronize();
  return batch;
}

std::vector<Rgba> expected(const Batch& batch, const images::Atlas& atlas, int channels,
                           const images::Conversion& conversion) {
  std::vector<Rgba> pixels(atlas.bytes() / sizeof(Rgba), Rgba{0, 0, 0, 0});
  for (int image = 0; image < atlas.count; ++image) {
    for (int i = 0; i < atlas.height * atlas.width; ++i) {
      const int first = (image * atlas.height * atlas.width + i) * channels;
      const float* original = batch.original.data() + first;
      const float* now = batch.now.data() + first;
      const auto at = [&](int row) -> Rgba& {
        const images::Point corner = atlas.tile(row, image);
        return pixels[static_cast<std::size_t>((corner.y + i / atlas.width) * atlas.texture_width() +
                                               corner.x + i % atlas.width)];
      };
      at(images::kOriginal) = images::image_colour(original, channels);
      at(images::kNow) = images::image_colour(now, channels);
      at(images::kDifference) = images::difference_colour(original, now, channels, conversion);
    }
  }
  return pixels;
}

std::vector<Rgba> texture_pixels(const ImageView& view) {
  std::vector<Rgba> pixels(view.atlas().bytes() / sizeof(Rgba));
  if (const auto* const book = paint::TextureBook::current()) {
    const paint::TextureBook::Page& page = book->pages().at(view.texture());
    if (page.on_device == nullptr) {
      EXPECT_EQ(page.texels.size(), pixels.size());
      std::transform(page.texels.begin(), page.texels.end(), pixels.begin(),
                     [](std::uint32_t texel) { return std::bit_cast<Rgba>(texel); });
      return pixels;
    }
    const auto stream = view.exchange().device()->make_stream();
    stream->copy(pixels.data(), page.on_device, pixels.size() * sizeof(Rgba));
    stream->synchronize();
    return pixels;
  }
  glBindTexture(GL_TEXTURE_2D, view.texture());
  glGetTexImage(GL_TEXTURE_2D, 0, GL_RGBA, GL_UNSIGNED_BYTE, pixels.data());
  glBindTexture(GL_TEXTURE_2D, 0);
  return pixels;
}

/// Frames until the texture holds `pixels`, which copies need more than one for, or a second has passed.
void update_until(ImageView& view, const std::vector<Rgba>& pixels, const images::Conversion& conversion) {
  for (int frame = 0; frame < 1000; ++frame) {
    view.update(conversion);
    if (texture_pixels(view) == pixels) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

/// What is true of every way.
void check_path(const std::shared_ptr<core::Device>& device, const ImageShape& shape,
                const std::string& path) {
  const auto exchange = std::make_shared<training::ImageExchange>(device, shape);
  const auto stream = device->make_stream();
  const auto view = ImageView::make(exchange);
  EXPECT_EQ(view->path_name(), path);
  const images::Conversion conversion;
  view->update(conversion);
  EXPECT_EQ(view->shown().number, 0u) << "nothing is published yet";

  for (int seed = 1; seed <= 5; ++seed) {
    const Batch batch = publish(*exchange, *stream, seed);
    const std::vector<Rgba> pixels = expected(batch, view->atlas(), shape.channels, conversion);
    update_until(*view, pixels, conversion);
    EXPECT_EQ(texture_pixels(*view), pixels) << "batch " << seed;
    EXPECT_EQ(view->shown().number, static_cast<std::uint64_t>(seed));
    EXPECT_EQ(view->shown().step, static_cast<std::uint64_t>(seed) * 10);
    ASSERT_EQ(view->shown().errors.size(), static_cast<std::size_t>(shape.count));
    EXPECT_EQ(view->shown().errors[1], static_cast<float>(seed + 1));
  }

  const images::Conversion other{images::Difference::absolute, 0.5f};
  const Batch last{values(shape, 5), values(shape, 1005)};
  const std::vector<Rgba> pixels = expected(last, view->atlas(), shape.channels, other);
  update_until(*view, pixels, other);
  EXPECT_EQ(texture_pixels(*view), pixels) << "the held batch is converted again";

  for (int frame = 0; frame < 1000 && !view->values(); ++frame) {
    view->probe({1, 3, 2});
    view->update(other);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ASSERT_TRUE(view->values().has_value());
  const auto first = static_cast<std::size_t>(((shape.height + 2) * shape.width + 3) * shape.channels);
  EXPECT_EQ(view->values()->place, (PixelPlace{1, 3, 2}));
  for (std::size_t c = 0; c < static_cast<std::size_t>(shape.channels); ++c) {
    EXPECT_EQ(view->values()->original[c], last.original[first + c]);
    EXPECT_EQ(view->values()->now[c], last.now[first + c]);
  }
  EXPECT_EQ(view->image_bytes_to_host() > 0, path == "copied" || path == "fetched");
  EXPECT_EQ(glGetError(), static_cast<GLenum>(GL_NO_ERROR));
}

TEST_F(ImageViewTest, ShowsTheImagesOfTheCpu) {
  check_path(core::open_device("cpu"), {5, 7, 9, 3}, "host");
  check_path(core::open_device("cpu"), {32, 32, 32, 3}, "host");
}

TEST_F(ImageViewTest, ShowsGreyImages) {
  check_path(core::open_device("cpu"), {3, 28, 28, 1}, "host");
}

TEST_F(ImageViewTest, BringsThemToThePainterAndToOpenGlOnceItDraws) {
  for (const char* path : {"", "fetched"}) {
    setenv("WARPSCOPE_IMAGE_PATH", path, 1);
    const auto exchange =
        std::make_shared<training::ImageExchange>(core::open_device("cpu"), ImageShape{5, 7, 9, 3});
    const auto stream = exchange->device()->make_stream();
    paint::TextureBook book(false);
    book.make_current();
    const auto view = ImageView::make(exchange);
    std::vector<Rgba> pixels = expected(publish(*exchange, *stream, 1), view->atlas(), 3, {});
    update_until(*view, pixels, {});
    EXPECT_EQ(texture_pixels(*view), pixels) << "in the book";
    EXPECT_FALSE(view->under_way());
    pixels = expected(publish(*exchange, *stream, 2), view->atlas(), 3, {});
    view->update({});
    EXPECT_EQ(view->under_way(), *path != '\0') << "a thread converts what is fetched";
    book.retire();
    EXPECT_NE(texture_pixels(*view), pixels) << "OpenGL was spared";
    pixels = expected(publish(*exchange, *stream, 3), view->atlas(), 3, {});
    update_until(*view, pixels, {});
    EXPECT_EQ(texture_pixels(*view), pixels);
    EXPECT_EQ(view->shown().number, 3u);
    EXPECT_FALSE(view->under_way());
  }
  unsetenv("WARPSCOPE_IMAGE_PATH");
}

TEST_F(ImageViewTest, FetchesTheImagesOfAnyDeviceIfAskedTo) {
  setenv("WARPSCOPE_IMAGE_PATH", "fetched", 1);
  check_path(core::open_device("cpu"), {5, 7, 9, 3}, "fetched");
  check_path(core::open_device("cpu"), {3, 28, 28, 1}, "fetched");
  unsetenv("WARPSCOPE_IMAGE_PATH");
}

TEST_F(ImageViewTest, TilesAreUploadedOneByOne) {
  const PageShape shape = make_page(6, 5, 3, AtlasTexture::largest());
  ASSERT_GE(shape.tiles(), 6);
  TilePage page(shape);
  const int width = shape.columns * shape.width;
  std::vector<Rgba> expected(static_cast<std::size_t>(width * shape.rows * shape.height), Rgba{0, 0, 0, 0});
  for (const int tile : {0, 4, 1, 4}) {
    const std::vector<Rgba> pixels(15, Rgba{static_cast<std::uint8_t>(40 * tile + 7), 1, 2, 255});
    page.upload(tile, pixels.data());
    for (int i = 0; i < 15; ++i) {
      const int x = tile % shape.columns * shape.width + i % 5,
                y = tile / shape.columns * shape.height + i / 5;
      expected[static_cast<std::size_t>(y * width + x)] = pixels[static_cast<std::size_t>(i)];
    }
  }
  std::vector<Rgba> found(expected.size());
  glBindTexture(GL_TEXTURE_2D, page.id());
  glGetTexImage(GL_TEXTURE_2D, 0, GL_RGBA, GL_UNSIGNED_BYTE, found.data());
  EXPECT_EQ(found, expected);
}

TEST_F(ImageViewTest, SaysThatTheImagesComeFromTheCpu) {
  const auto exchange =
      std::make_shared<training::ImageExchange>(core::open_device("cpu"), ImageShape{2, 4, 4, 3});
  EXPECT_EQ(ImageView::make(exchange)->path_text(), "images from the CPU");
}

/// Needs a CUDA device as well.
class CudaImageViewTest : public ImageViewTest {
 protected:
  void SetUp() override {
    if (!core::cuda_unavailable_reason().empty()) GTEST_SKIP() << core::cuda_unavailable_reason();
    ImageViewTest::SetUp();
  }
};

TEST_F(CudaImageViewTest, CopiesIfAskedTo) {
  setenv("WARPSCOPE_IMAGE_PATH", "copied", 1);
  check_path(core::open_device("cuda"), {32, 32, 32, 3}, "copied");
  check_path(core::open_device("cuda"), {5, 7, 9, 1}, "copied");
  unsetenv("WARPSCOPE_IMAGE_PATH");
}

TEST_F(CudaImageViewTest, FetchesThemIfTheCpuDrawsTheWindow) {
  paint::TextureBook book(false);
  book.make_current();
  check_path(core::open_device("cuda"), {32, 32, 32, 3}, "fetched");
  check_path(core::open_device("cuda"), {5, 7, 9, 1}, "fetched");
  EXPECT_TRUE(book.pages().empty());
}

TEST_F(CudaImageViewTest, PaintsThemIfCudaDrawsTheWindow) {
  paint::TextureBook book;
  book.make_current();
  check_path(core::open_device("cuda"), {32, 32, 32, 3}, "painted");
  check_path(core::open_device("cuda"), {5, 7, 9, 1}, "painted");
  EXPECT_TRUE(book.pages().empty());
}

TEST_F(CudaImageViewTest, CopiesOnceTheWindowIsNoLongerPainted) {
  for (const bool by_cuda : {true, false}) {
    const auto device = core::open_device("cuda");
    const auto exchange = std::make_shared<training::ImageExchange>(device, ImageShape{5, 7, 9, 3});
    const auto stream = device->make_stream();
    paint::TextureBook book(by_cuda);
    book.make_current();
    const auto view = ImageView::make(exchange);
    EXPECT_EQ(view->path_name(), by_cuda ? "painted" : "fetched");
    const Batch batch = publish(*exchange, *stream, 1);
    for (int frame = 0; frame < 1000 && view->shown().number != 1; ++frame) {
      view->update({});
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    book.retire();
    const std::vector<Rgba> pixels = expected(batch, view->atlas(), 3, {});
    update_until(*view, pixels, {});
    EXPECT_EQ(view->path_text().find("images copied"), 0u) << view->path_text();
    EXPECT_EQ(texture_pixels(*view), pixels);
  }
}

TEST_F(CudaImageViewTest, SharesOrSaysWhyItCopies) {
  const auto device = core::open_device("cuda");
  const auto exchange = std::make_shared<training::ImageExchange>(device, ImageShape{2, 4, 4, 3});
  const auto view = ImageView::make(exchange);
  const std::string path = view->path_name();
  if (path == "copied") {
    EXPECT_NE(view->path_text().find("sharing failed: "), std::string::npos) << view->path_text();
  } else {
    EXPECT_EQ(view->path_text(), "images shared with OpenGL");
  }
  check_path(device, {32, 32, 32, 3}, path);
  check_path(device, {5, 7, 9, 1}, path);
}

}  // namespace
}  // namespace warpscope::ui::interop
