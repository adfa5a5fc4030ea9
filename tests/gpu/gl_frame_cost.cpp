// What frames cost the training on the same GPU: frames of OpenGL, from the least that can be drawn to a whole cleared window,
// and a window painted by CUDA.
//
//   gl_frame_cost [SECONDS]
//
// The autoencoder trains at batch 64 in BF16 (rate 0, no images shown) on the first CUDA device; meanwhile this thread makes
// one kind of frame after the other, 60 a second, SECONDS (3) each. Prints the images a second that training makes beside
// each, and how much of the GPU's time each frame takes from it: (seconds - steps x a step's seconds without frames) / frames.
// Exit code: 0, 1 if training failed, 77 without a display or a GPU.

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <glad/gl.h>
// glad first: it stands in for the system's OpenGL header.
#include <GLFW/glfw3.h>

#include "gpu/training/trainer.h"
#include "ui/gl_context.h"
#include "ui/paint/painter.h"
#include "ui/window.h"

namespace {

using namespace warpscope;
using Clock = std::chrono::steady_clock;

constexpr double kFramesASecond = 60;
constexpr int kWidth = 1600, kHeight = 1000, kBatch = 64;

double now() {
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

/// A texture that frames are drawn to instead of the window.
GLuint make_target(int width, int height) {
  GLuint texture = 0, target = 0;
  glGenTextures(1, &texture);
  glBindTexture(GL_TEXTURE_2D, texture);
  glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, width, height, 0, GL_RGBA, GL_UNSIGNED_BYTE, nullptr);
  glGenFramebuffers(1, &target);
  glBindFramebuffer(GL_FRAMEBUFFER, target);
  glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, texture, 0);
  return target;
}

void clear(GLuint target, double color) {
  glBindFramebuffer(GL_FRAMEBUFFER, target);
  glClearColor(static_cast<float>(color), 0.2f, 0.3f, 1);
  glClear(GL_COLOR_BUFFER_BIT);
}

/// 20,000 triangles as a window has them: large areas behind, small ones that wander with `number` before.
ui::paint::Triangles make_triangles(std::uint64_t number) {
  constexpr int kQuads = 10000, kColumns = 125;
  ui::paint::Triangles scene;
  scene.width = kWidth;
  scene.height = kHeight;
  scene.names = {1};
  scene.commands = {{0, 0, kWidth, kHeight, 0}};
  for (std::uint32_t i = 0; i < kQuads; ++i) {
    const bool large = i < 8;
    const std::uint32_t column = large ? i % 4 : i % kColumns, row = large ? i / 4 : i / kColumns;
    const auto x = large ? 400 * static_cast<float>(column) : static_cast<float>(12 * column + number % 60);
    const float y = (large ? 500.0f : 12.0f) * static_cast<float>(row);
    const float width = large ? 390 : 9, height = large ? 490 : 7;
    const std::uint32_t first = 4 * i, colour = 0xc0000000u | (i * 2654435761u & 0xffffffu);
    for (const auto& [across, down] :
         {std::pair{0.0f, 0.0f}, {width, 0.0f}, {width, height}, {0.0f, height}}) {
      scene.vertices.push_back({x + across, y + down, 0, 0, colour});
    }
    for (const std::uint32_t corner : {0, 1, 2, 0, 2, 3}) scene.indices.push_back(first + corner);
  }
  constexpr std::uint32_t kTriangles = 2 * kQuads;
  for (std::uint32_t t = 0; t < kTriangles; t += ui::paint::kChunkTriangles) {
    scene.chunks.push_back({3 * t, 0, std::min<std::uint32_t>(ui::paint::kChunkTriangles, kTriangles - t)});
  }
  return scene;
}

struct Kind {
  const char* name;
  std::function<void(double color)> draw;  ///< empty: no frames
};

struct Result {
  std::uint64_t steps = 0;
  std::uint64_t frames = 0;
  double seconds = 0;
};

Result measure(const training::Trainer& trainer, const Kind& kind, double seconds) {
  Result result;
  const std::uint64_t first = trainer.snapshot()->step;
  const double begin = now();
  double late = begin;
  while (late - begin < seconds) {
    std::this_thread::sleep_for(
        std::chrono::duration<double>(begin + static_cast<double>(result.frames) / kFramesASecond - late));
    if (kind.draw) kind.draw(0.5 + 0.5 * static_cast<double>(result.frames % 60) / 60);
    ++result.frames;
    late = now();
  }
  result.steps = trainer.snapshot()->step - first;
  result.seconds = late - begin;
  return result;
}

int run(double seconds) {
  const ui::WindowSystem system;
  ui::WindowPlacement placement;
  placement.width = kWidth;
  placement.height = kHeight;
  const ui::GlWindow window("gl_frame_cost", placement);
  glfwSwapInterval(0);
  fmt::print("{}\n", reinterpret_cast<const char*>(glGetString(GL_RENDERER)));
  const GLuint dot = make_target(1, 1), picture = make_target(kWidth, kHeight);

  training::TrainerOptions options;
  options.model = models::find_model("autoencoder");
  options.data = "builtin";
  options.device = "cuda:0";
  options.precision = core::Precision::bf16;
  options.batch = kBatch;
  options.optimizer.learning_rate = 0;
  options.shown_images = 0;
  options.test_images = kBatch;
  training::Trainer trainer(options);
  while (trainer.snapshot()->step < 2000) {
    if (!trainer.wait(0.01)) continue;
    fmt::print("{}\n", trainer.snapshot()->notice);
    return trainer.snapshot()->failed_by_input ? 77 : 1;
  }

  const ui::paint::TextureBook book;
  const auto device = core::open_device(options.device);
  device->make_current();
  ui::paint::Painter painter(device);
  std::uint64_t painted = 0;
  const std::vector<Kind> kinds = {
      {"no frames", {}},
      {"one pixel, flushed", [&](double color) { clear(dot, color), glFlush(); }},
      {"1600x1000 cleared, flushed", [&](double color) { clear(picture, color), glFlush(); }},
      {"1600x1000 cleared, swapped",
       [&](double color) { clear(0, color), glfwSwapBuffers(window.handle()); }},
      {"1600x1000 painted by CUDA",
       [&](double) { painter.paint(make_triangles(painted++), book, 0xff000000u); }},
      {"no frames", {}},
  };
  double undisturbed = 0;  // seconds of a step
  for (const Kind& kind : kinds) {
    measure(trainer, kind, 0.3);
    const Result result = measure(trainer, kind, seconds);
    if (trainer.wait(0) || result.steps == 0) {
      fmt::print("the training ended: {}\n", trainer.snapshot()->notice);
      return 1;
    }
    const double step = result.seconds / static_cast<double>(result.steps);
    if (undisturbed == 0) undisturbed = step;
    const double lost = result.seconds - static_cast<double>(result.steps) * undisturbed;
    fmt::print("{:28} {:9.0f} images/s, cost {:5.2f} %, {:6.0f} us a frame\n", kind.name, kBatch / step,
               100 * (1 - undisturbed / step),
               kind.draw ? 1e6 * lost / static_cast<double>(result.frames) : 0.0);
  }
  return 0;
}

}  // namespace

int main(int count, char** words) {
  try {
    return run(count > 1 ? std::atof(words[1]) : 3.0);
  } catch (const ui::NoDisplay& error) {
    fmt::print("{}\n", error.what());
    return 77;
  } catch (const std::exception& error) {
    fmt::print("{}\n", error.what());
    return 1;
  }
}
