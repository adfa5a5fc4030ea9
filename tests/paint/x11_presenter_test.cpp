// Pictures on the screen, read back from the X server. Needs a display whose server shares memory.

#include "ui/paint/x11_presenter.h"

#include <cstdint>
#include <cstdlib>
#include <random>
#include <vector>

#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>
#include <gtest/gtest.h>

#include "tests/support/waiting.h"

// After all others: X11's headers define common words.
#include <X11/Xlib.h>
#include <X11/Xutil.h>

namespace warpscope::ui::paint::x11_presenter_test {
namespace {

constexpr int kWidth = 640, kHeight = 401;

/// With a window that is seen, or skipped.
class X11PresenterTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!X11Presenter::possible()) {
      ASSERT_EQ(std::getenv("WARPSCOPE_OWN_DISPLAY"), nullptr) << "Xvfb shares memory";
      GTEST_SKIP() << "no X server that shares memory";
    }
    static const bool started = glfwInit() == GLFW_TRUE;
    ASSERT_TRUE(started);
    glfwDefaultWindowHints();
    glfwWindowHint(GLFW_CLIENT_API, GLFW_NO_API);
    window_ = glfwCreateWindow(kWidth, kHeight, "test", nullptr, nullptr);
    ASSERT_NE(window_, nullptr);
    glfwPollEvents();
    display_ = XOpenDisplay(nullptr);
    presenter_ = X11Presenter::make(window_);
    ASSERT_NE(presenter_, nullptr);
  }
  void TearDown() override {
    presenter_.reset();
    if (display_ != nullptr) XCloseDisplay(display_);
    if (window_ != nullptr) glfwDestroyWindow(window_);
  }

  Picture picture(int width = kWidth, int height = kHeight) {
    pixels_.resize(static_cast<std::size_t>(width) * static_cast<std::size_t>(height));
    for (std::uint32_t& pixel : pixels_) pixel = static_cast<std::uint32_t>(random_());
    changed_.assign(tiles_along(width) * tiles_along(height), 0);
    return {pixels_.data(), width, height, changed_};
  }

  /// What the screen has where the window is, without the alpha: 0xbbggrr, as a picture has it.
  std::vector<std::uint32_t> screen(int width = kWidth, int height = kHeight) const {
    int x = 0, y = 0;
    glfwGetWindowPos(window_, &x, &y);
    XImage* const image = XGetImage(display_, DefaultRootWindow(display_), x, y, static_cast<unsigned>(width),
                                    static_cast<unsigned>(height), AllPlanes, ZPixmap);
    std::vector<std::uint32_t> seen;
    for (int row = 0; row < height; ++row) {
      for (int column = 0; column < width; ++column) {
        const auto p = static_cast<std::uint32_t>(XGetPixel(image, column, row));
        seen.push_back((p >> 16 & 0xff) | (p & 0xff00) | (p & 0xff) << 16);
      }
    }
    XDestroyImage(image);
    return seen;
  }

  /// The picture's pixels, as screen() gives them.
  std::vector<std::uint32_t> wanted() const {
    std::vector<std::uint32_t> opaque = pixels_;
    for (std::uint32_t& pixel : opaque) pixel &= 0xffffffu;
    return opaque;
  }

  /// The server carries out what one client sends in its order, but clients side by side: it is asked until
  /// it is so.
  void expect_screen(const std::vector<std::uint32_t>& pixels, int width = kWidth,
                     int height = kHeight) const {
    EXPECT_TRUE(tests::eventually([&] { return screen(width, height) == pixels; }));
  }

  std::mt19937 random_{11};
  std::vector<std::uint32_t> pixels_;
  std::vector<std::uint8_t> changed_;
  GLFWwindow* window_ = nullptr;
  Display* display_ = nullptr;
  std::unique_ptr<X11Presenter> presenter_;
};

TEST_F(X11PresenterTest, ShowsThePictureAndThenWhatChanged) {
  ASSERT_TRUE(presenter_->show(picture()));
  std::vector<std::uint32_t> seen = wanted();
  expect_screen(seen);
  Picture next = picture();
  changed_[tiles_along(kWidth) * 3 + 5] = 1;
  ASSERT_TRUE(presenter_->show(next));
  for (int y = 48; y < 64; ++y) {
    for (int x = 80; x < 96; ++x) {
      const auto at = static_cast<std::size_t>(y * kWidth + x);
      seen[at] = wanted()[at];
    }
  }
  expect_screen(seen);
  presenter_->forget();
  ASSERT_TRUE(presenter_->show(next));
  expect_screen(wanted());
}

TEST_F(X11PresenterTest, ShowsAnewWhatWasCovered) {
  const Picture shown = picture();
  ASSERT_TRUE(presenter_->show(shown));
  expect_screen(wanted());
  int x = 0, y = 0;
  glfwGetWindowPos(window_, &x, &y);
  const Window cover =
      XCreateSimpleWindow(display_, DefaultRootWindow(display_), x + 10, y + 10, 200, 100, 0, 0, 0xff);
  XMapRaised(display_, cover);
  XSync(display_, False);
  EXPECT_FALSE(screen() == wanted()) << "covered";
  XDestroyWindow(display_, cover);
  XSync(display_, False);
  EXPECT_TRUE(tests::eventually([&] { return presenter_->show(shown) && screen() == wanted(); }));
}

TEST_F(X11PresenterTest, AWindowThatIsNotSeenHoldsNothingUp) {
  glfwHideWindow(window_);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(presenter_->show(picture()));
  glfwShowWindow(window_);
  EXPECT_TRUE(tests::eventually([&] {
    glfwPollEvents();
    return presenter_->show({pixels_.data(), kWidth, kHeight, changed_}) && screen() == wanted();
  }));
}

TEST_F(X11PresenterTest, AServerThatNoLongerTakesPicturesIsToldAndEndsNothing) {
  ASSERT_TRUE(presenter_->show(picture()));
  const Window other = XCreateSimpleWindow(display_, DefaultRootWindow(display_), 0, 0, 64, 64, 0, 0, 0);
  XSync(display_, False);
  auto presenter = X11Presenter::make_for(other);
  ASSERT_NE(presenter, nullptr);
  EXPECT_TRUE(presenter->show(picture(64, 64)));
  XDestroyWindow(display_, other);
  XSync(display_, False);
  bool taken = true;
  for (int i = 0; i < 2 && taken; ++i) {
    changed_.assign(changed_.size(), 1);
    taken = presenter->show({pixels_.data(), 64, 64, changed_});
  }
  EXPECT_FALSE(taken);
}

TEST_F(X11PresenterTest, FollowsTheSizeOfThePicture) {
  ASSERT_TRUE(presenter_->show(picture()));
  glfwSetWindowSize(window_, 700, 433);
  const auto width = [&] {
    int pixels = 0;
    glfwGetFramebufferSize(window_, &pixels, nullptr);
    return pixels;
  };
  ASSERT_TRUE(tests::eventually([&] {
    glfwPollEvents();
    return width() == 700;
  }));
  ASSERT_TRUE(presenter_->show(picture(700, 433)));
  expect_screen(wanted(), 700, 433);
}

}  // namespace
}  // namespace warpscope::ui::paint::x11_presenter_test
