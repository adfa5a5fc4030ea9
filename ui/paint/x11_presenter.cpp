#include "ui/paint/x11_presenter.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <sys/ipc.h>
#include <sys/shm.h>

// After all others: X11's headers define words such as None and Status.
#include <X11/Xlib.h>
#include <X11/Xutil.h>
#include <X11/extensions/XShm.h>

// As GLFW/glfw3native.h declares it, which wants headers of extensions that are not used here. Weak: a GLFW for Wayland alone
// does not have it.
extern "C" __attribute__((weak)) unsigned long glfwGetX11Window(GLFWwindow* window);

namespace warpscope::ui::paint {
namespace {

bool failed = false;

int note_failure(Display*, XErrorEvent*) {
  failed = true;
  return 0;
}

/// Runs `action` and tells whether the server has accepted all of it; Xlib's own way to tell is to end the program.
template <class Action>
bool accepted(Display* display, Action action) {
  XSync(display, False);
  failed = false;
  XErrorHandler before = XSetErrorHandler(note_failure);
  action();
  XSync(display, False);
  XSetErrorHandler(before);
  return !failed;
}

/// The picture's bytes are red, green, blue, alpha; the server's are blue, green, red and one that is not looked at.
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

  bool open(Display* display, std::size_t bytes) {
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
    if (!attached) shmdt(info.shmaddr);
    return attached;
  }
  void close(Display* display) {
    if (!attached) return;
    XShmDetach(display, &info);
    XSync(display, False);
    shmdt(info.shmaddr);
    attached = false;
  }
};

bool shares_memory(Display* display) {
  if (XShmQueryExtension(display) == False) return false;
  Segment probe;
  if (!probe.open(display, 4096)) return false;
  probe.close(display);
  return true;
}

bool is_drawn_for_by_gpu(Display* display) {
  return std::ranges::any_of(std::array{"DRI2", "DRI3", "NV-GLX"}, [&](const char* name) {
    int opcode = 0, event = 0, error = 0;
    return XQueryExtension(display, name, &opcode, &event, &error) == True;
  });
}

/// False, too, where there is no server.
bool ask_server(bool (*question)(Display*)) {
  Display* const display = XOpenDisplay(nullptr);
  if (display == nullptr) return false;
  const bool answer = question(display);
  XCloseDisplay(display);
  return answer;
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
    if (image->bits_per_pixel != 32 || !segment.open(display, bytes)) {
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

  /// Waits until the server has read what was put last, which it mostly has.
  void wait() {
    XEvent event;
    while (reading || XPending(display) > 0) {
      XNextEvent(display, &event);
      uncovered = uncovered || event.type == Expose;
      reading = reading && event.type != completion;
    }
  }
};

X11Presenter::X11Presenter(std::unique_ptr<Server> server) : server_(std::move(server)) {}

X11Presenter::~X11Presenter() = default;

std::unique_ptr<X11Presenter> X11Presenter::make(GLFWwindow* window) {
  if (glfwGetX11Window == nullptr) return nullptr;
  const Window shown = glfwGetX11Window(window);
  auto server = std::make_unique<Server>();
  if (shown == 0 || !server->connect(shown)) return nullptr;
  return std::unique_ptr<X11Presenter>(new X11Presenter(std::move(server)));
}

bool X11Presenter::possible() {
  return glfwGetX11Window != nullptr && ask_server(shares_memory);
}

bool X11Presenter::server_is_virtual() {
  return possible() && !ask_server(is_drawn_for_by_gpu);
}

bool X11Presenter::show(const Picture& picture) {
  server_->wait();
  const XImage* const image = server_->image;
  if (image == nullptr || image->width != picture.width || image->height != picture.height) {
    if (!server_->open_image(picture.width, picture.height)) return false;
    whole_ = true;
  }
  if (std::exchange(server_->uncovered, false) || whole_) {
    server_->put(picture, {0, 0, picture.width, picture.height}, true);
  } else {
    const std::vector<Area> areas = changed_areas(picture);
    for (std::size_t i = 0; i < areas.size(); ++i) server_->put(picture, areas[i], i + 1 == areas.size());
  }
  whole_ = false;
  XFlush(server_->display);
  return true;
}

}  // namespace warpscope::ui::paint
