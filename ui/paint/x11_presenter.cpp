#include "ui/paint/x11_presenter.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include <sys/ipc.h>
#include <sys/shm.h>

#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>

// After all others: X11's headers define words such as None and Status.
#include <X11/Xlib.h>
#include <X11/Xutil.h>
#include <X11/extensions/XShm.h>

// As GLFW/glfw3native.h declares it, which wants headers of extensions that are not used here. Weak: a GLFW
// for nothing but Wayland does not have it.
// NOLINTNEXTLINE(readability-identifier-naming): GLFW's name
extern "C" __attribute__((weak)) unsigned long glfwGetX11Window(GLFWwindow* window);

namespace warpscope::ui::paint {
namespace {

bool failed = false;

/// Notes errors of the server instead of ending the program, which is Xlib's own way. An error is told while
/// something is read from the connection that it belongs to, so it is enough to have one of these then.
class ErrorWatch {
 public:
  ErrorWatch() : before_(XSetErrorHandler(note)) { failed = false; }
  ~ErrorWatch() { XSetErrorHandler(before_); }
  ErrorWatch(const ErrorWatch&) = delete;
  ErrorWatch& operator=(const ErrorWatch&) = delete;

 private:
  static int note(Display*, XErrorEvent*) {
    failed = true;
    return 0;
  }

  XErrorHandler before_;
};

/// Runs `action` and tells whether the server has accepted all of it.
template <class Action>
bool accepted(Display* display, Action action) {
  const ErrorWatch watch;
  action();
  XSync(display, False);
  return !failed;
}

/// The picture's bytes are red, green, blue, alpha; the server's are blue, green, red and one that is not
/// looked at.
void copy_row(const std::uint32_t* from, std::uint32_t* to, int count) {
  for (int i = 0; i < count; ++i) {
    const std::uint32_t p = from[i];
    to[i] = (p & 0xff00ff00u) | (p >> 16 & 0xffu) | (p & 0xffu) << 16;
  }
}

/// Memory that this program and the X server see.
struct Segment {
  XShmSegmentInfo info{};
  bool attached = false;

  /// `visual`, `depth`: of pixels that the server takes from it.
  bool open(Display* display, Visual* visual, int depth, std::size_t bytes) {
    info.shmid = shmget(IPC_PRIVATE, bytes, IPC_CREAT | 0600);
    if (info.shmid < 0) return false;
    void* const memory = shmat(info.shmid, nullptr, 0);
    if (memory == reinterpret_cast<void*>(-1)) {
      shmctl(info.shmid, IPC_RMID, nullptr);
      return false;
    }
    info.shmaddr = static_cast<char*>(memory);
    info.readOnly = True;
    attached = accepted(display, [&] { XShmAttach(display, &info); });
    shmctl(info.shmid, IPC_RMID, nullptr);  // it goes when both have let go of it
    if (!attached) {
      shmdt(info.shmaddr);
    } else if (!is_seen(display, visual, depth)) {
      close(display);
    }
    return attached;
  }
  void close(Display* display) {
    if (!attached) return;
    accepted(display, [&] { XShmDetach(display, &info); });
    shmdt(info.shmaddr);
    attached = false;
  }

 private:
  /// Whether the server reads what is written here. Its number by itself proves nothing: of a server in another
  /// container it may be that of a stranger's memory.
  bool is_seen(Display* display, Visual* visual, int depth) {
    const std::uint32_t token = std::random_device()() & 0xffffffu;
    std::memcpy(info.shmaddr, &token, sizeof token);
    XImage* const pixel =
        XShmCreateImage(display, visual, static_cast<unsigned>(depth), ZPixmap, info.shmaddr, &info, 1, 1);
    if (pixel == nullptr) return false;
    const Pixmap target =
        XCreatePixmap(display, DefaultRootWindow(display), 1, 1, static_cast<unsigned>(depth));
    bool seen = false;
    const bool copied = accepted(display, [&] {
      GC context = XCreateGC(display, target, 0, nullptr);
      XShmPutImage(display, target, context, pixel, 0, 0, 0, 0, 1, 1, False);
      XFreeGC(display, context);
      XImage* const back = XGetImage(display, target, 0, 0, 1, 1, AllPlanes, ZPixmap);
      if (back == nullptr) return;
      seen = (XGetPixel(back, 0, 0) & 0xffffffu) == token;
      XDestroyImage(back);
    });
    XFreePixmap(display, target);
    pixel->data = nullptr;  // Xlib would free it
    XDestroyImage(pixel);
    return copied && seen;
  }
};

bool shares_memory(Display* display) {
  if (XShmQueryExtension(display) == False) return false;
  const int screen = DefaultScreen(display);
  Segment probe;
  if (!probe.open(display, DefaultVisual(display, screen), DefaultDepth(display, screen), 4096)) return false;
  probe.close(display);
  return true;
}

bool is_drawn_for_by_gpu(Display* display) {
  return std::ranges::any_of(std::array{"DRI2", "DRI3", "NV-GLX"}, [&](const char* name) {
    int opcode = 0, event = 0, error = 0;
    return XQueryExtension(display, name, &opcode, &event, &error) == True;
  });
}

/// False, too, where there is no server. The connection stays: a server begins anew when its last client leaves, and
/// for a moment refuses the next one, which would be the window.
bool ask_server(bool (*question)(Display*)) {
  static Display* const display = XOpenDisplay(nullptr);
  return display != nullptr && question(display);
}

}  // namespace

struct X11Presenter::Server {
  Display* display = nullptr;
  Window window = 0;
  XWindowAttributes attributes{};
  GC context = nullptr;
  XImage* image = nullptr;
  Segment segment;
  int completion = 0;      // type of the event that the server has read a part
  bool reading = false;    // the server has not told that it has read the last part
  bool uncovered = false;  // parts of the window lost what they showed

  bool connect(Window shown) {
    display = XOpenDisplay(nullptr);
    if (display == nullptr || !shares_memory(display)) return false;
    window = shown;
    completion = XShmGetEventBase(display) + ShmCompletion;
    const bool found = accepted(display, [&] { XGetWindowAttributes(display, window, &attributes); });
    const Visual* const visual = attributes.visual;
    if (!found || visual->red_mask != 0xff0000 || visual->green_mask != 0xff00 || visual->blue_mask != 0xff ||
        ImageByteOrder(display) != LSBFirst || std::endian::native != std::endian::little)
      return false;
    context = XCreateGC(display, window, 0, nullptr);
    return accepted(display, [&] { XSelectInput(display, window, ExposureMask); });
  }
  ~Server() {
    if (display == nullptr) return;
    close_image();
    if (context != nullptr) XFreeGC(display, context);
    XCloseDisplay(display);
  }
  Server() = default;
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  bool open_image(int width, int height) {
    close_image();
    image =
        XShmCreateImage(display, attributes.visual, static_cast<unsigned>(attributes.depth), ZPixmap, nullptr,
                        &segment.info, static_cast<unsigned>(width), static_cast<unsigned>(height));
    if (image == nullptr) return false;
    const auto bytes = static_cast<std::size_t>(image->bytes_per_line) * static_cast<std::size_t>(height);
    if (image->bits_per_pixel != 32 || !segment.open(display, attributes.visual, attributes.depth, bytes)) {
      close_image();
      return false;
    }
    image->data = segment.info.shmaddr;
    return true;
  }
  void close_image() {
    segment.close(display);
    if (image == nullptr) return;
    image->data = nullptr;  // Xlib would free it
    XDestroyImage(image);
    image = nullptr;
  }

  void put(const Picture& picture, const Area& area, bool last) {
    for (int y = area.y; y < area.y + area.height; ++y) {
      auto* const row = reinterpret_cast<std::uint32_t*>(image->data + static_cast<std::ptrdiff_t>(y) *
                                                                           image->bytes_per_line);
      copy_row(picture.pixels + static_cast<std::ptrdiff_t>(y) * picture.width + area.x, row + area.x,
               area.width);
    }
    XShmPutImage(display, window, context, image, area.x, area.y, area.x, area.y,
                 static_cast<unsigned>(area.width), static_cast<unsigned>(area.height), last ? True : False);
    reading = reading || last;
  }

  /// Waits until the server has read what was put last, which it mostly has. False if it did not take it.
  bool wait() {
    take_events();
    if (reading) {
      XSync(display, False);  // it carries out one after the other
      take_events();
    }
    return !reading && !failed;
  }
  void take_events() {
    XEvent event;
    while (XPending(display) > 0) {
      XNextEvent(display, &event);
      uncovered = uncovered || event.type == Expose;
      reading = reading && event.type != completion;
    }
  }
};

X11Presenter::X11Presenter(std::unique_ptr<Server> server) : server_(std::move(server)) {}

X11Presenter::~X11Presenter() = default;

std::unique_ptr<X11Presenter> X11Presenter::make(GLFWwindow* window) {
  return glfwGetX11Window == nullptr ? nullptr : make_for(glfwGetX11Window(window));
}

std::unique_ptr<X11Presenter> X11Presenter::make_for(unsigned long window) {
  auto server = std::make_unique<Server>();
  if (window == 0 || !server->connect(window)) return nullptr;
  return std::unique_ptr<X11Presenter>(new X11Presenter(std::move(server)));
}

bool X11Presenter::possible() {
  return glfwGetX11Window != nullptr && ask_server(shares_memory);
}

bool X11Presenter::server_is_virtual() {
  int major = 0, minor = 0;
  glfwGetVersion(&major, &minor, nullptr);
  // From 3.4 on GLFW opens windows on Wayland where it can, and an X server is not asked.
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody changes the environment
  if (std::getenv("WAYLAND_DISPLAY") != nullptr && std::pair(major, minor) >= std::pair(3, 4)) return false;
  return possible() && !ask_server(is_drawn_for_by_gpu);
}

bool X11Presenter::show(const Picture& picture) {
  const ErrorWatch watch;
  if (!server_->wait()) return false;
  const XImage* const image = server_->image;
  if (image == nullptr || image->width != picture.width || image->height != picture.height) {
    if (!server_->open_image(picture.width, picture.height)) return false;
    show_all_ = true;
  }
  if (std::exchange(server_->uncovered, false) || show_all_) {
    server_->put(picture, {0, 0, picture.width, picture.height}, true);
  } else {
    const std::vector<Area> areas = changed_areas(picture);
    for (std::size_t i = 0; i < areas.size(); ++i) server_->put(picture, areas[i], i + 1 == areas.size());
  }
  show_all_ = false;
  XFlush(server_->display);
  return !failed;
}

}  // namespace warpscope::ui::paint
