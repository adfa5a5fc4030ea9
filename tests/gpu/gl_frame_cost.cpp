// What frames cost the training on the same GPU: frames of OpenGL, from the least that can be drawn to a whole cleared window,
// and a window painted by CUDA.
//
//   gl_frame_cost [ROUNDS]
//
// The autoencoder trains at batch 64 in BF16 (rate 0, no images shown) on the first CUDA device; meanwhile this thread makes
// one kind of frame after the other, 60 a second, 0.8 s each, and none for 0.8 s before and after each: the speed of a GPU
// drifts by more than a frame costs. Prints medians of ROUNDS (7): the images a second that training makes beside each kind, what
// that is less than before and after it, with the quartiles, and how much of the GPU's time each frame takes:
// (seconds - steps x a step's seconds without frames) / frames. Exit code: 0, 1 if training failed, 77 without a display or a GPU.

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
#include "ui/frame_clock.h"
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

/// 7,000 triangles as a window has them: large areas behind, small ones that wander with `number` before.
ui::paint::Triangles make_triangles(std::uint64_t number) {
  constexpr int kQuads = 3500, kColumns = 70;
  ui::paint::Triangles scene;
  scene.width = kWidth;
  scene.height = kHeight;
  scene.names = {1};
  scene.commands = {{0, 0, kWidth, kHeight, 0}};
  for (std::uint32_t i = 0; i < kQuads; ++i) {
    const bool large = i < 8;
    const std::uint32_t column = large ? i % 4 : i % kColumns, row = large ? i / 4 : i / kColumns;
    const auto x = large ? 400 * static_cast<float>(column) : static_cast<float>(22 * column + number % 60);
    const float y = (large ? 500.0f : 20.0f) * static_cast<float>(row);
    const float width = large ? 390 : 16, height = large ? 490 : 14;
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

struct Slice {
  double step = 0;    ///< seconds of one, on average; 0 if none was made
  double frames = 0;  ///< a step
};

constexpr double kSliceSeconds = 0.8;

Slice measure(const training::Trainer& trainer, const Kind& kind) {
  std::uint64_t frames = 0;
  const std::uint64_t first = trainer.snapshot()->step;
  const double begin = now();
  double late = begin;
  while (late - begin < kSliceSeconds) {
    std::this_thread::sleep_for(
        std::chrono::duration<double>(begin + static_cast<double>(frames) / kFramesASecond - late));
    if (kind.draw) kind.draw(0.5 + 0.5 * static_cast<double>(frames % 60) / 60);
    ++frames;
    late = now();
  }
  const std::uint64_t made = trainer.snapshot()->step - first;
  if (made == 0) return {};
  const auto steps = static_cast<double>(made);
  return {(late - begin) / steps, static_cast<double>(frames) / steps};
}

struct Costs {
  std::vector<double> percent, seconds_a_frame, images_a_second;
};

int run(int rounds) {
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
  constexpr std::size_t kPicture = std::size_t{4} * kWidth * kHeight;
  core::Buffer there(device, kPicture);
  core::HostBuffer here(device, kPicture);
  const auto stream = device->make_urgent_stream();
  const auto done = device->make_event(false);
  const std::vector<Kind> kinds = {
      {"none", {}},
      {"one pixel, flushed", [&](double color) { clear(dot, color), glFlush(); }},
      {"1600x1000 cleared, flushed", [&](double color) { clear(picture, color), glFlush(); }},
      {"1600x1000 cleared, swapped",
       [&](double color) { clear(0, color), glfwSwapBuffers(window.handle()); }},
      {"1600x1000 copied to the host",
       [&](double) {
         stream->copy(here.data(), there.data(), kPicture);
         stream->record(*done);
         done->synchronize();
       }},
      {"painted by CUDA, nothing new", [&](double) { painter.paint(make_triangles(0), book, 0xff000000u); }},
      {"painted by CUDA, all new",
       [&](double) { painter.paint(make_triangles(++painted), book, 0xff000000u); }},
  };
  std::vector<Costs> costs(kinds.size());
  for (int round = 0; round < rounds; ++round) {
    Slice before = measure(trainer, {"none", {}});
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      const Slice beside = measure(trainer, kinds[i]);
      const Slice after = measure(trainer, {"none", {}});
      if (trainer.wait(0) || before.step == 0 || beside.step == 0 || after.step == 0) {
        fmt::print("the training ended: {}\n", trainer.snapshot()->notice);
        return 1;
      }
      const double undisturbed = (before.step + after.step) / 2;
      costs[i].percent.push_back(100 * (1 - undisturbed / beside.step));
      costs[i].seconds_a_frame.push_back((beside.step - undisturbed) / beside.frames);
      costs[i].images_a_second.push_back(kBatch / beside.step);
      before = after;
    }
  }
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const Costs& cost = costs[i];
    fmt::print("{:28} {:9.0f} images/s, cost {:5.2f} % ({:.2f} to {:.2f}), {:6.0f} us a frame\n",
               kinds[i].name, ui::quantile(cost.images_a_second, 0.5), ui::quantile(cost.percent, 0.5),
               ui::quantile(cost.percent, 0.25), ui::quantile(cost.percent, 0.75),
               kinds[i].draw ? 1e6 * ui::quantile(cost.seconds_a_frame, 0.5) : 0.0);
  }
  return 0;
}

}  // namespace

int main(int count, char** words) {
  try {
    return run(count > 1 ? std::max(std::atoi(words[1]), 1) : 7);
  } catch (const ui::NoDisplay& error) {
    fmt::print("{}\n", error.what());
    return 77;
  } catch (const std::exception& error) {
    fmt::print("{}\n", error.what());
    return 1;
  }
}
