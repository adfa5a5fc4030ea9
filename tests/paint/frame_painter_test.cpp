// The painter against OpenGL: both draw the same frame of Dear ImGui. Needs a display.

#include "ui/paint/frame_painter.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include <backends/imgui_impl_opengl3.h>
#include <glad/gl.h>
#include <gtest/gtest.h>
#include <imgui.h>

#include "tests/support/hidden_window.h"
#include "ui/images/draw_part.h"
#include "ui/interop/atlas_texture.h"

namespace warpscope::ui::paint {
namespace {

constexpr int kWidth = 640, kHeight = 410;

/// With an OpenGL context and a framebuffer of known size, or skipped.
class FramePainterTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!window_.missing().empty()) GTEST_SKIP() << window_.missing();
    glGenRenderbuffers(1, &colours_);
    glBindRenderbuffer(GL_RENDERBUFFER, colours_);
    glRenderbufferStorage(GL_RENDERBUFFER, GL_RGBA8, kWidth, kHeight);
    glGenFramebuffers(1, &framebuffer_);
    ImGui::CreateContext();
    ImGui::GetIO().IniFilename = nullptr;
    ImGui::GetIO().DisplaySize = ImVec2(kWidth, kHeight);
    ImGui_ImplOpenGL3_Init("#version 330 core");
  }
  void TearDown() override {
    if (!window_.missing().empty()) return;
    ImGui_ImplOpenGL3_Shutdown();
    ImGui::DestroyContext();
    glDeleteFramebuffers(1, &framebuffer_);
    glDeleteRenderbuffers(1, &colours_);
  }

  void begin_picture() const {
    glBindFramebuffer(GL_DRAW_FRAMEBUFFER, framebuffer_);
    glFramebufferRenderbuffer(GL_DRAW_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_RENDERBUFFER, colours_);
    glViewport(0, 0, kWidth, kHeight);
    glClearColor(background_.x, background_.y, background_.z, 1);
    glClear(GL_COLOR_BUFFER_BIT);
  }
  std::vector<std::uint8_t> end_picture() const {
    std::vector<std::uint8_t> pixels(static_cast<std::size_t>(kWidth) * kHeight * 3);
    glBindFramebuffer(GL_READ_FRAMEBUFFER, framebuffer_);
    glPixelStorei(GL_PACK_ALIGNMENT, 1);
    glReadPixels(0, 0, kWidth, kHeight, GL_RGB, GL_UNSIGNED_BYTE, pixels.data());
    glBindFramebuffer(GL_FRAMEBUFFER, 0);
    return pixels;
  }

  /// Text, lines and curves with soft edges, gradients, a clipped child, and an image.
  static void make_frame(const interop::AtlasTexture& image) {
    ImGui_ImplOpenGL3_NewFrame();
    ImGui::NewFrame();
    ImGui::SetNextWindowPos(ImVec2(20, 15));
    ImGui::SetNextWindowSize(ImVec2(300, 330));
    ImGui::Begin("A window");
    for (int i = 0; i < 12; ++i) ImGui::Text("Line %d: %.4f, quick brown fox", i, std::sin(i));
    ImGui::BeginChild("scrolled", ImVec2(200, 60), true);
    for (int i = 0; i < 9; ++i) ImGui::Button("a button that is clipped");
    ImGui::EndChild();
    ImGui::End();
    ImDrawList& list = *ImGui::GetForegroundDrawList();
    std::vector<ImVec2> curve;
    for (int i = 0; i < 260; ++i) {
      const auto x = static_cast<float>(i);
      curve.emplace_back(350 + x, 100 + 60 * std::sin(x * 0.09f) + 20 * std::sin(x * 1.7f));
    }
    list.AddPolyline(curve.data(), static_cast<int>(curve.size()), IM_COL32(250, 180, 40, 255), 0, 1.5f);
    list.AddRectFilledMultiColor(ImVec2(340.3f, 210.6f), ImVec2(470, 300), IM_COL32(255, 0, 0, 255),
                                 IM_COL32(0, 255, 0, 128), IM_COL32(0, 0, 255, 255),
                                 IM_COL32(255, 255, 255, 0));
    list.AddCircleFilled(ImVec2(520, 260), 37.4f, IM_COL32(90, 200, 250, 180));
    list.AddBezierCubic(ImVec2(300, 390), ImVec2(380, 300), ImVec2(520, 420), ImVec2(630, 320),
                        IM_COL32_WHITE, 3);
    images::draw_part(&list, image.id(), image.atlas(), {0, 0},
                      {image.atlas().texture_width(), image.atlas().texture_height()}, ImVec2(560, 180),
                      ImVec2(632, 396));
    ImGui::Render();
  }

  const ImVec4 background_{0.07f, 0.08f, 0.11f, 1};

  tests::HiddenWindow window_;

 private:
  unsigned colours_ = 0, framebuffer_ = 0;
};

TEST_F(FramePainterTest, DrawsWhatOpenGlDraws) {
  FramePainter painter(nullptr, true);
  interop::AtlasTexture image(images::make_atlas(1, 12, 12, 1024));
  std::vector<images::Rgba> texels(image.atlas().bytes() / sizeof(images::Rgba));
  for (std::size_t i = 0; i < texels.size(); ++i) {
    texels[i] = {static_cast<std::uint8_t>(i * 37), static_cast<std::uint8_t>(i * 101),
                 static_cast<std::uint8_t>(i * 59), 255};
  }
  image.upload(texels.data());
  make_frame(image);
  ASSERT_GT(ImGui::GetDrawData()->TotalIdxCount, 3000);

  begin_picture();
  ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
  const std::vector<std::uint8_t> wanted = end_picture();
  std::vector<std::string> devices{"cpu"};
  if (core::cuda_unavailable_reason().empty()) devices.emplace_back("cuda");
  for (const std::string& id : devices) {
    const auto device = core::open_device(id);
    begin_picture();
    ASSERT_EQ(painter.draw(*ImGui::GetDrawData(), device, background_), Drawn::in_back_buffer)
        << painter.failure();
    EXPECT_EQ(painter.painted_by(), device->info().name);
    const std::vector<std::uint8_t> painted = end_picture();
    // OpenGL rounds to a byte after each triangle, may place edges 1/256 of a pixel elsewhere, and texels between two.
    int far = 0, different = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const int apart = std::abs(wanted[i] - painted[i]);
      different += apart > 2;
      far += apart > 24;
    }
    EXPECT_LE(different, static_cast<int>(wanted.size() / 200))
        << id << ": of " << wanted.size() << " channels more than 2 apart";
    EXPECT_LE(far, static_cast<int>(wanted.size() / 5000)) << id << ": more than 24 apart";
  }
}

TEST_F(FramePainterTest, LeavesTheFrameToOpenGlWithoutADevice) {
  FramePainter painter(nullptr, true);
  interop::AtlasTexture image(images::make_atlas(1, 12, 12, 1024));
  make_frame(image);
  EXPECT_EQ(painter.draw(*ImGui::GetDrawData(), nullptr, background_), Drawn::nothing);
  EXPECT_EQ(painter.painted_by(), "");
  EXPECT_EQ(painter.failure(), "");
}

// As on a display that shares memory: frames that go to the screen, one of OpenGL, and the screen again.
TEST_F(FramePainterTest, GoesToTheScreenAndBackFromOpenGl) {
  if (!X11Presenter::possible()) {
    ASSERT_EQ(std::getenv("WARPSCOPE_OWN_DISPLAY"), nullptr) << "Xvfb shares memory";
    GTEST_SKIP() << "no X server that shares memory";
  }
  FramePainter painter(window_.handle(), false);
  EXPECT_FALSE(painter.swaps());
  interop::AtlasTexture image(images::make_atlas(1, 12, 12, 1024));
  const auto device = core::open_device("cpu");
  for (int i = 0; i < 3; ++i) {
    make_frame(image);
    EXPECT_EQ(painter.draw(*ImGui::GetDrawData(), device, background_), Drawn::on_screen)
        << painter.failure();
    EXPECT_EQ(painter.picture().width, kWidth);
    EXPECT_EQ(painter.draw(*ImGui::GetDrawData(), nullptr, background_), Drawn::nothing);
  }
}

TEST_F(FramePainterTest, GivesTheImagesToOpenGlIfItFails) {
  FramePainter painter(nullptr, false);
  const auto device = core::open_device("cpu");
  interop::AtlasTexture image(images::make_atlas(1, 12, 12, 1024));
  const std::vector<images::Rgba> pixels(image.atlas().bytes() / sizeof(images::Rgba),
                                         images::Rgba{10, 200, 30, 255});
  std::vector<images::Rgba> seen(pixels.size());
  const auto look = [&] {
    glBindTexture(GL_TEXTURE_2D, image.id());
    glGetTexImage(GL_TEXTURE_2D, 0, GL_RGBA, GL_UNSIGNED_BYTE, seen.data());
  };
  image.upload(pixels.data());
  look();
  EXPECT_NE(seen, pixels) << "OpenGL is spared while the CPU paints";
  ImGui::GetIO().DisplaySize = ImVec2(40000, 10);
  make_frame(image);
  EXPECT_EQ(painter.draw(*ImGui::GetDrawData(), device, background_), Drawn::nothing);
  EXPECT_NE(painter.failure(), "");
  look();
  EXPECT_EQ(seen, pixels) << "for the very frame that it did not paint";
  EXPECT_EQ(glGetError(), static_cast<GLenum>(GL_NO_ERROR));
}

// A window of no size is what a minimised one has.
TEST_F(FramePainterTest, LeavesAnEmptyFrameToOpenGl) {
  FramePainter painter(nullptr, true);
  const auto device = core::open_device("cpu");
  ImGui::GetIO().DisplaySize = ImVec2(0, 0);
  interop::AtlasTexture image(images::make_atlas(1, 12, 12, 1024));
  make_frame(image);
  EXPECT_EQ(painter.draw(*ImGui::GetDrawData(), device, background_), Drawn::nothing);
  EXPECT_EQ(painter.failure(), "");
}

}  // namespace
}  // namespace warpscope::ui::paint
