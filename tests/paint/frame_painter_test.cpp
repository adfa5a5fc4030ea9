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
#include "ui/paint/x11_presenter.h"

namespace warpscope::ui::paint::frame_painter_test {
namespace {

constexpr int kWidth = 640, kHeight = 410;

constexpr int kImageWidth = 12, kImageHeight = 36;
using Pixels = std::vector<std::uint32_t>;

/// A texture of OpenGL that the painter knows too, transparent at first.
class Image {
 public:
  explicit Image(TextureStore& store) : store_(store) {
    const Pixels nothing(kImageWidth * kImageHeight, 0);
    glGenTextures(1, &id_);
    glBindTexture(GL_TEXTURE_2D, id_);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAX_LEVEL, 0);
    glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, kImageWidth, kImageHeight, 0, GL_RGBA, GL_UNSIGNED_BYTE,
                 nothing.data());
    put(nothing);
  }
  ~Image() {
    glDeleteTextures(1, &id_);
    store_.remove(id_);
  }
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  void put(const Pixels& pixels) { store_.put(id_, kImageWidth, kImageHeight, false, pixels.data()); }
  void give_to_opengl(const Pixels& pixels) const {
    glBindTexture(GL_TEXTURE_2D, id_);
    glTexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, kImageWidth, kImageHeight, GL_RGBA, GL_UNSIGNED_BYTE,
                    pixels.data());
  }
  Pixels of_opengl() const {
    Pixels pixels(kImageWidth * kImageHeight);
    glBindTexture(GL_TEXTURE_2D, id_);
    glGetTexImage(GL_TEXTURE_2D, 0, GL_RGBA, GL_UNSIGNED_BYTE, pixels.data());
    return pixels;
  }
  unsigned id() const { return id_; }

 private:
  TextureStore& store_;
  unsigned id_ = 0;
};

/// With an OpenGL context and a framebuffer of known size, or skipped.
class FramePainterTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(window_.missing().empty() || !window_.must_be_there()) << window_.missing();
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
  static void make_frame(const Image& image) {
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
    // A pointer in older versions of Dear ImGui, an integer in newer ones.
    list.AddImage((ImTextureID)(std::intptr_t)image.id(), ImVec2(560, 180), ImVec2(632, 396));
    ImGui::Render();
  }

  const ImVec4 background_{0.07f, 0.08f, 0.11f, 1};

  tests::HiddenWindow window_;
  TextureStore store_;

 private:
  unsigned colours_ = 0, framebuffer_ = 0;
};

TEST_F(FramePainterTest, DrawsWhatOpenGlDraws) {
  FramePainter painter(nullptr, store_);
  Image image(store_);
  Pixels texels(kImageWidth * kImageHeight);
  for (std::size_t i = 0; i < texels.size(); ++i) {
    const auto channel = [&](unsigned factor) { return static_cast<std::uint32_t>(i * factor) & 255; };
    texels[i] = channel(37) | channel(101) << 8 | channel(59) << 16 | 0xff000000u;
  }
  image.put(texels);
  image.give_to_opengl(texels);
  make_frame(image);
  ASSERT_GT(ImGui::GetDrawData()->TotalIdxCount, 3000);

  begin_picture();
  ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
  const std::vector<std::uint8_t> wanted = end_picture();
  begin_picture();
  ASSERT_EQ(painter.draw(*ImGui::GetDrawData(), background_), Drawn::in_back_buffer) << painter.failure();
  const std::vector<std::uint8_t> painted = end_picture();
  // OpenGL rounds to a byte after each triangle, may place edges 1/256 of a pixel elsewhere, and texels
  // between two.
  int far = 0, different = 0, drawn = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const int apart = std::abs(wanted[i] - painted[i]);
    different += apart > 2;
    far += apart > 24;
    drawn += wanted[i] != wanted[i % 3];  // than the background in the corner
  }
  EXPECT_GT(drawn, static_cast<int>(wanted.size() / 10));
  EXPECT_LE(different, static_cast<int>(wanted.size() / 200))
      << "of " << wanted.size() << " more than 2 apart";
  EXPECT_LE(far, static_cast<int>(wanted.size() / 5000)) << "more than 24 apart";
}

// As on a display that shares memory: frames that go to the screen, empty ones that OpenGL is left with, and
// the screen again.
TEST_F(FramePainterTest, GoesToTheScreenAndBackFromOpenGl) {
  if (!X11Presenter::possible()) {
    ASSERT_EQ(std::getenv("WARPSCOPE_OWN_DISPLAY"), nullptr) << "Xvfb shares memory";
    GTEST_SKIP() << "no X server that shares memory";
  }
  FramePainter painter(window_.handle(), store_);
  EXPECT_FALSE(painter.needs_swap());
  const Image image(store_);
  for (int i = 0; i < 3; ++i) {
    ImGui::GetIO().DisplaySize = ImVec2(kWidth, kHeight);
    make_frame(image);
    EXPECT_EQ(painter.draw(*ImGui::GetDrawData(), background_), Drawn::on_screen) << painter.failure();
    EXPECT_EQ(painter.picture().width, kWidth);
    ImGui::GetIO().DisplaySize = ImVec2(0, 0);
    make_frame(image);
    EXPECT_EQ(painter.draw(*ImGui::GetDrawData(), background_), Drawn::nothing);
    EXPECT_EQ(painter.failure(), "") << "a window of no size is what a minimised one has";
  }
}

TEST_F(FramePainterTest, GivesTheTexturesToOpenGlIfItFails) {
  FramePainter painter(nullptr, store_);
  Image image(store_);
  const Pixels pixels(kImageWidth * kImageHeight, 0xff1ec80au);
  image.put(pixels);
  EXPECT_NE(image.of_opengl(), pixels) << "OpenGL is spared while the CPU paints";
  ImGui::GetIO().DisplaySize = ImVec2(40000, 10);
  make_frame(image);
  EXPECT_EQ(painter.draw(*ImGui::GetDrawData(), background_), Drawn::nothing);
  EXPECT_NE(painter.failure(), "");
  EXPECT_TRUE(store_.closed());
  EXPECT_EQ(image.of_opengl(), pixels) << "for the very frame that it did not paint";
  ImGui::GetIO().DisplaySize = ImVec2(kWidth, kHeight);
  make_frame(image);
  EXPECT_EQ(painter.draw(*ImGui::GetDrawData(), background_), Drawn::nothing) << "from then on";
  EXPECT_EQ(glGetError(), static_cast<GLenum>(GL_NO_ERROR));
}

}  // namespace
}  // namespace warpscope::ui::paint::frame_painter_test
