// The way of the images into a real OpenGL texture. Needs a display; with a CUDA device all of its ways
// are tested.

#include "ui/interop/image_view.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <glad/gl.h>
#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "tests/support/async_device.h"
#include "tests/support/hidden_window.h"
#include "tests/support/waiting.h"
#include "ui/interop/texture.h"
#include "ui/paint/texture_store.h"

namespace warpscope::ui::interop::image_view_test {
namespace {

using images::Rgba;
using training::ImageShape;

/// With an OpenGL context, or skipped.
class ImageViewTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(window_.missing().empty() || !window_.must_be_there()) << window_.missing();
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

/// From the painter's store while it paints, else from OpenGL.
std::vector<Rgba> texture_pixels(const ImageView& view, const paint::TextureStore* store = nullptr) {
  std::vector<Rgba> pixels(view.atlas().bytes() / sizeof(Rgba));
  if (store != nullptr && !store->closed()) {
    const paint::TextureStore::Entry& entry = store->entries().at(view.texture());
    EXPECT_EQ(entry.texels.size(), pixels.size());
    std::ranges::transform(entry.texels, pixels.begin(),
                           [](std::uint32_t texel) { return std::bit_cast<Rgba>(texel); });
    return pixels;
  }
  glBindTexture(GL_TEXTURE_2D, view.texture());
  glGetTexImage(GL_TEXTURE_2D, 0, GL_RGBA, GL_UNSIGNED_BYTE, pixels.data());
  glBindTexture(GL_TEXTURE_2D, 0);
  return pixels;
}

/// Frames until the texture holds `pixels`, which fetching needs more than one for.
void update_until(ImageView& view, const std::vector<Rgba>& pixels, const images::Conversion& conversion,
                  const paint::TextureStore* store = nullptr) {
  EXPECT_TRUE(tests::eventually([&] {
    view.update(conversion);
    return texture_pixels(view, store) == pixels;
  }));
}

/// What is true of every way.
void check_path(const std::shared_ptr<core::Device>& device, const ImageShape& shape, const std::string& path,
                paint::TextureStore* store = nullptr) {
  const auto exchange = std::make_shared<training::ImageExchange>(device, shape);
  const auto stream = device->make_stream();
  const auto view = ImageView::make(exchange, store);
  EXPECT_EQ(view->path_name(), path);
  const images::Conversion conversion;
  view->update(conversion);
  EXPECT_EQ(view->shown().number, 0u) << "nothing is published yet";

  for (int seed = 1; seed <= 5; ++seed) {
    const Batch batch = publish(*exchange, *stream, seed);
    const std::vector<Rgba> pixels = expected(batch, view->atlas(), shape.channels, conversion);
    update_until(*view, pixels, conversion, store);
    EXPECT_EQ(texture_pixels(*view, store), pixels) << "batch " << seed;
    EXPECT_EQ(view->shown().number, static_cast<std::uint64_t>(seed));
    EXPECT_EQ(view->shown().step, static_cast<std::uint64_t>(seed) * 10);
    ASSERT_EQ(view->shown().errors.size(), static_cast<std::size_t>(shape.count));
    EXPECT_EQ(view->shown().errors[1], static_cast<float>(seed + 1));
  }

  const images::Conversion other{images::Difference::absolute, 0.5f};
  const Batch last{values(shape, 5), values(shape, 1005)};
  const std::vector<Rgba> pixels = expected(last, view->atlas(), shape.channels, other);
  update_until(*view, pixels, other, store);
  EXPECT_EQ(texture_pixels(*view, store), pixels) << "the held batch is converted again";

  ASSERT_TRUE(tests::eventually([&] {
    view->probe({1, 3, 2});
    view->update(other);
    return view->values().has_value();
  }));
  const auto first = static_cast<std::size_t>(((shape.height + 2) * shape.width + 3) * shape.channels);
  EXPECT_EQ(view->values()->place, (PixelPlace{1, 3, 2}));
  for (std::size_t c = 0; c < static_cast<std::size_t>(shape.channels); ++c) {
    EXPECT_EQ(view->values()->original[c], last.original[first + c]);
    EXPECT_EQ(view->values()->now[c], last.now[first + c]);
  }
  EXPECT_EQ(view->image_bytes_to_host() > 0, path == "fetched");
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
    paint::TextureStore store;
    const auto view = ImageView::make(exchange, &store);
    std::vector<Rgba> pixels = expected(publish(*exchange, *stream, 1), view->atlas(), 3, {});
    update_until(*view, pixels, {}, &store);
    EXPECT_EQ(texture_pixels(*view, &store), pixels);
    EXPECT_FALSE(view->under_way());
    EXPECT_NE(texture_pixels(*view), pixels) << "OpenGL was spared";
    store.close();
    pixels = expected(publish(*exchange, *stream, 2), view->atlas(), 3, {});
    update_until(*view, pixels, {});
    EXPECT_EQ(texture_pixels(*view), pixels);
    EXPECT_EQ(view->shown().number, 2u);
    EXPECT_FALSE(view->under_way());
  }
  unsetenv("WARPSCOPE_IMAGE_PATH");
}

// Between two frames, which may be far apart.
TEST_F(ImageViewTest, GoesOnBetweenFramesAndTellsWhenOneIsNeeded) {
  setenv("WARPSCOPE_IMAGE_PATH", "fetched", 1);
  const auto device = std::make_shared<tests::AsyncDevice>();
  const auto exchange = std::make_shared<training::ImageExchange>(device, ImageShape{5, 7, 9, 3});
  const auto stream = device->make_stream();
  const auto view = ImageView::make(exchange, nullptr);
  view->update({});
  EXPECT_FALSE(view->advance()) << "there is nothing yet";
  const std::vector<Rgba> pixels = expected(publish(*exchange, *stream, 1), view->atlas(), 3, {});
  EXPECT_TRUE(view->advance()) << "a batch waits for the next frame";
  EXPECT_TRUE(view->advance()) << "it still does";
  {
    const auto held = device->hold_copies();
    view->update({});
    EXPECT_FALSE(view->advance()) << "it is on its way";
    EXPECT_TRUE(view->under_way());
    EXPECT_EQ(view->shown().number, 0u);
  }
  EXPECT_TRUE(tests::eventually([&] {
    const bool news = view->advance();
    EXPECT_EQ(news, view->shown().number == 1);
    return !view->under_way();
  }));
  EXPECT_EQ(view->shown().number, 1u) << "brought without another frame";
  EXPECT_EQ(texture_pixels(*view), pixels);
  EXPECT_FALSE(view->advance());
  unsetenv("WARPSCOPE_IMAGE_PATH");
}

TEST_F(ImageViewTest, ANewerBatchCanWaitUntilAfterTheFrameButNotTheFirstNorAnotherScale) {
  const auto device = core::open_device("cpu");
  const auto exchange = std::make_shared<training::ImageExchange>(device, ImageShape{3, 4, 5, 3});
  const auto stream = device->make_stream();
  const auto view = ImageView::make(exchange, nullptr);
  EXPECT_FALSE(view->prepare()) << "there is nothing yet";
  publish(*exchange, *stream, 1);
  view->update({}, true);
  EXPECT_EQ(view->shown().number, 1u) << "nobody waits longer than needed for the first";
  const auto second = publish(*exchange, *stream, 2);
  view->update({}, true);
  EXPECT_EQ(view->shown().number, 1u);
  EXPECT_TRUE(view->advance()) << "it still waits";
  EXPECT_TRUE(view->prepare());
  EXPECT_EQ(view->shown().number, 2u);
  EXPECT_EQ(texture_pixels(*view), expected(second, view->atlas(), 3, {}));
  EXPECT_FALSE(view->prepare());
  const images::Conversion wider{images::Difference::signed_mean, 1};
  view->update(wider, true);
  EXPECT_EQ(texture_pixels(*view), expected(second, view->atlas(), 3, wider))
      << "what a person changes is seen at once";
  publish(*exchange, *stream, 3);
  view->update(wider);
  EXPECT_EQ(view->shown().number, 3u);
}

TEST_F(ImageViewTest, AWayThatTheseImagesCannotTakeIsRefused) {
  const auto exchange =
      std::make_shared<training::ImageExchange>(core::open_device("cpu"), ImageShape{2, 4, 4, 3});
  for (const char* path : {"shared", "copied"}) {
    setenv("WARPSCOPE_IMAGE_PATH", path, 1);
    try {
      ImageView::make(exchange, nullptr);
      ADD_FAILURE() << path;
    } catch (const core::Error& error) {
      EXPECT_EQ(error.what(), "WARPSCOPE_IMAGE_PATH '" + std::string(path) +
                                  "' is not possible here; valid: host, fetched");
    }
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
  const PageShape shape = make_page(6, 5, 3, Texture::largest());
  ASSERT_GE(shape.tiles(), 6);
  TilePage page(shape, nullptr);
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

TEST_F(ImageViewTest, SaysThatTheImagesComeFromTheHost) {
  const auto exchange =
      std::make_shared<training::ImageExchange>(core::open_device("cpu"), ImageShape{2, 4, 4, 3});
  EXPECT_EQ(ImageView::make(exchange, nullptr)->path_text(), "images from host memory");
}

/// Needs a CUDA device as well.
class CudaImageViewTest : public ImageViewTest {
 protected:
  void SetUp() override {
    if (!core::cuda_unavailable_reason().empty()) GTEST_SKIP() << core::cuda_unavailable_reason();
    ImageViewTest::SetUp();
  }
};

TEST_F(CudaImageViewTest, FetchesThemIfAskedTo) {
  setenv("WARPSCOPE_IMAGE_PATH", "fetched", 1);
  check_path(core::open_device("cuda"), {32, 32, 32, 3}, "fetched");
  check_path(core::open_device("cuda"), {5, 7, 9, 1}, "fetched");
  unsetenv("WARPSCOPE_IMAGE_PATH");
}

TEST_F(CudaImageViewTest, FetchesThemIfTheCpuDrawsTheWindow) {
  paint::TextureStore store;
  check_path(core::open_device("cuda"), {32, 32, 32, 3}, "fetched", &store);
  check_path(core::open_device("cuda"), {5, 7, 9, 1}, "fetched", &store);
  EXPECT_TRUE(store.entries().empty());
}

TEST_F(CudaImageViewTest, SharesOrSaysWhyItFetches) {
  const auto device = core::open_device("cuda");
  const auto exchange = std::make_shared<training::ImageExchange>(device, ImageShape{2, 4, 4, 3});
  const auto view = ImageView::make(exchange, nullptr);
  const std::string path = view->path_name();
  if (path == "fetched") {
    EXPECT_NE(view->path_text().find("sharing failed: "), std::string::npos) << view->path_text();
  } else {
    EXPECT_EQ(view->path_text(), "images shared with OpenGL");
  }
  check_path(device, {32, 32, 32, 3}, path);
  check_path(device, {5, 7, 9, 1}, path);
}

}  // namespace
}  // namespace warpscope::ui::interop::image_view_test
