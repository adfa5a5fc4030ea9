#pragma once
// Shows a picture in the window through memory that the X server reads.

#include <memory>

#include "ui/paint/presenter.h"

struct GLFWwindow;

namespace warpscope::ui::paint {

/// Writes what changed of a picture into shared memory and has the X server copy it into the window, beside
/// OpenGL, which must not draw there meanwhile. Needs an X server on this machine (MIT-SHM) and a visual of 8
/// bits a channel. It has a connection of its own, so that nothing waits for GLFW's. Source: the MIT-SHM
/// extension's protocol, X Consortium.
class X11Presenter final : public Presenter {
 public:
  /// nullptr where it cannot be: no X11, another machine's server, other pixels. The window must outlive it.
  static std::unique_ptr<X11Presenter> make(GLFWwindow* window);
  /// make() for a window by its X11 identifier.
  static std::unique_ptr<X11Presenter> make_for(unsigned long window);
  /// Whether memory can be shared with the server that DISPLAY names, which is asked over a connection of
  /// the moment.
  static bool possible();
  /// True if it can, and nothing but the CPU draws for the server: Xvfb, a virtual desktop, any server with
  /// neither DRI nor NVIDIA's own extension.
  static bool server_is_virtual();

  ~X11Presenter() override;
  X11Presenter(const X11Presenter&) = delete;
  X11Presenter& operator=(const X11Presenter&) = delete;

  /// Waits until the server has read the picture before. Shows anew what has been uncovered since, and all of
  /// a picture of another size. False if there is no memory to share, or if the server did not take what was
  /// shown.
  bool show(const Picture& picture) override;
  void forget() override { show_all_ = true; }
  bool needs_swap() const override { return false; }

 private:
  struct Server;
  explicit X11Presenter(std::unique_ptr<Server> server);

  std::unique_ptr<Server> server_;
  bool show_all_ = true;
};

}  // namespace warpscope::ui::paint
