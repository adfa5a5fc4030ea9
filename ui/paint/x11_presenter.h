#pragma once
// Shows a picture in the window through memory that the X server reads.

#include <memory>

#include "ui/paint/picture.h"

struct GLFWwindow;

namespace warpscope::ui::paint {

/// Writes what changed of a picture into shared memory and has the X server copy it into the window, beside OpenGL, which must
/// not draw there meanwhile. Needs an X server on this machine (MIT-SHM) and a visual of 8 bits a channel. A connection of its
/// own, so that nothing waits for GLFW's. Source: the MIT-SHM extension's protocol, X Consortium.
class X11Presenter {
 public:
  /// nullptr where it cannot be: no X11, another machine's server, other pixels. The window must outlive it.
  static std::unique_ptr<X11Presenter> make(GLFWwindow* window);
  /// The same for a window by the server's number for it.
  static std::unique_ptr<X11Presenter> make_for(unsigned long window);
  /// Of the server that DISPLAY names, asked over a connection of the moment: whether memory can be shared with it.
  static bool possible();
  /// It can, and nothing but the CPU draws for the server (Xvfb, a virtual desktop: neither DRI nor NVIDIA's own extension).
  static bool server_is_virtual();

  ~X11Presenter();
  X11Presenter(const X11Presenter&) = delete;
  X11Presenter& operator=(const X11Presenter&) = delete;

  /// Waits until the server has read the picture before. What has been uncovered since is shown anew, and all of a picture of
  /// another size. False if there is no memory to share, or if the server does not take what was shown; then it is not to be
  /// called again.
  bool show(const Picture& picture);
  /// All of the next picture is shown: something else has drawn in the window.
  void forget() { whole_ = true; }

 private:
  struct Server;
  explicit X11Presenter(std::unique_ptr<Server> server);

  std::unique_ptr<Server> server_;
  bool whole_ = true;
};

}  // namespace warpscope::ui::paint
