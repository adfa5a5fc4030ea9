#include "ui/window.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <glad/gl.h>
// glad first: it stands in for the system's OpenGL header.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <optional>
#include <utility>

#include <GLFW/glfw3.h>
#include <backends/imgui_impl_glfw.h>
#include <backends/imgui_impl_opengl3.h>

#include "gpu/core/error.h"
#include "ui/fonts.h"
#include "ui/frame_clock.h"
#include "ui/frame_phases.h"
#include "ui/gl_context.h"
#include "ui/main_view.h"
#include "ui/paint/frame_painter.h"
#include "ui/settings.h"
#include "ui/theme.h"
#include "ui/trace.h"

namespace warpscope::ui {
namespace {

using training::TrainerState;

// A little less than 1/60 s, so that on a 60 Hz monitor the swap sets the pace and no frame is missed.
constexpr double kFrameSeconds = 1.0 / 62;
// While nothing runs: how often the trainer is looked at, and how long the window stays lively after input.
constexpr double kLookSeconds = 1.0 / 30, kLivelySeconds = 0.6, kRestSeconds = 0.5;
constexpr double kSaveSeconds = 8;
// With exit_after_steps: frames drawn after everything was there, and how long to wait for what does not
// come.
constexpr int kFramesBeforeLeaving = 3;
constexpr double kPatienceSeconds = 10;

// Dear ImGui with its back ends, for as long as the object lives.
class ImGuiSession {
 public:
  explicit ImGuiSession(GLFWwindow* window) {
    IMGUI_CHECKVERSION();
    ImGui::CreateContext();
    ImGuiIO& io = ImGui::GetIO();
    io.IniFilename = nullptr;
    io.ConfigWindowsMoveFromTitleBarOnly = true;
    ImGui_ImplGlfw_InitForOpenGL(window, true);
    ImGui_ImplOpenGL3_Init("#version 330 core");
  }
  ~ImGuiSession() {
    ImGui_ImplOpenGL3_Shutdown();
    ImGui_ImplGlfw_Shutdown();
    ImGui::DestroyContext();
  }
  ImGuiSession(const ImGuiSession&) = delete;
  ImGuiSession& operator=(const ImGuiSession&) = delete;
};

bool ended(TrainerState state) {
  return state == TrainerState::finished || state == TrainerState::failed ||
         state == TrainerState::interrupted;
}

// True if a person would see the difference at once. The rest (memory, above all) is seen with the next
// frame.
bool differs(const training::Snapshot& a, const training::Snapshot& b) {
  return a.state != b.state || a.step != b.step || a.generation != b.generation ||
         a.notice_id != b.notice_id || a.batch != b.batch || a.learning_rate != b.learning_rate ||
         !(a.selection == b.selection) || a.plan_bytes != b.plan_bytes || a.determinism != b.determinism ||
         a.ladder != b.ladder || a.viewing != b.viewing || a.evaluation != b.evaluation;
}

WindowPlacement placement_for(const WindowOptions& options, const Settings& settings) {
  WindowPlacement placement = settings.window;
  if (options.width > 0 || options.height > 0) placement = {};
  if (options.width > 0) placement.width = options.width;
  if (options.height > 0) placement.height = options.height;
  return placement;
}

std::string title_for(const WindowOptions& options) {
  if (options.source) return "Warpscope \xE2\x80\x94 viewing " + options.source->snapshot()->run_dir;
  const std::string& model = options.training.model.name;
  return model.empty() ? "Warpscope" : "Warpscope \xE2\x80\x94 " + model;
}

training::TrainerOptions trainer_options(const WindowOptions& options) {
  training::TrainerOptions result = options.training;
  // Nobody is there to look at what went wrong if the window leaves by itself.
  if (options.exit_after_steps > 0) result.pause_on_divergence = false;
  return result;
}

std::vector<double> milliseconds(std::vector<double> seconds) {
  for (double& value : seconds) value *= 1e3;
  return seconds;
}

std::string timestamped_name() {
  return fmt::format("warpscope-{:%Y%m%d-%H%M%S}.png", fmt::localtime(std::time(nullptr)));
}

class Session {
 public:
  Session(const WindowOptions& options, const Settings& settings)
      : options_(options),
        window_(title_for(options).c_str(), placement_for(options, settings)),
        input_(window_.handle()),
        imgui_(window_.handle()),
        palette_(dark_palette()),
        view_(settings, options.training.model),
        renderer_(window_.renderer()) {
    source_ = options.source ? options.source : std::make_shared<training::Trainer>(trainer_options(options));
    feed_ = source_->subscribe();
    if (options.painting == Painting::by_cpu) cpu_ = core::open_device("cpu");
    if (options.painting != Painting::none) painter_.emplace(window_.handle(), cpu_ == nullptr);
    send_ = [this](training::Command command) {
      trace_event("sent", fmt::format("\"step\":{}", source_->snapshot()->step));
      source_->send(std::move(command));
    };
  }
  ~Session() { view_.shutdown(); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  int run();

 private:
  void fit_scale();
  bool look();
  bool is_hidden();
  void rest();
  void draw_frame();
  paint::Drawn draw_pixels();
  void save_screenshot(const std::string& file) const;
  std::shared_ptr<core::Device> painting_device() const;
  std::string drawn_by() const;
  void pace(double start);
  void take_screenshot(const std::string& file);
  void handle(const Wishes& wishes);
  void begin_saving();
  bool should_leave();
  bool all_shown();
  void trace_frame(double now);
  int exit_code() const;

  const WindowOptions& options_;
  GlWindow window_;
  InputWatch input_;
  ImGuiSession imgui_;
  Palette palette_;
  std::optional<paint::FramePainter> painter_;
  paint::Drawn drawn_ = paint::Drawn::nothing;  // the last frame
  std::shared_ptr<core::Device> cpu_;           // where the CPU paints
  MainView view_;
  std::string renderer_;
  std::shared_ptr<training::Source> source_;
  std::shared_ptr<training::Feed> feed_;
  std::function<void(training::Command)> send_;
  std::shared_ptr<const training::Snapshot> snapshot_;
  FrameClock clock_;
  FramePhases phases_;
  Fonts fonts_;
  float scale_ = 0, density_ = 0;
  double lively_until_ = 0, traced_ = -1, hidden_until_ = -1;
  bool hidden_ = false;
  std::optional<double> reached_, saving_since_;
  int frames_to_go_ = kFramesBeforeLeaving;
  std::vector<double> frame_seconds_;  // for the trace: of the frames since its last line
  std::string screenshot_wanted_;
  bool left_ = false;  // closed, or the steps to exit after are done
};

// Fonts and sizes for the monitor the window is on and the zoom chosen.
void Session::fit_scale() {
  // Dear ImGui has just been told, from the second frame on; asking the display takes two turns.
  const float density = scale_ == 0 ? window_.density() : ImGui::GetIO().DisplayFramebufferScale.x;
  const float scale = window_.scale(density) * view_.zoom();
  if (scale == scale_ && density == density_) return;
  const bool first = scale_ == 0;
  scale_ = scale;
  density_ = density;
  apply_theme(scale);
  fonts_ = load_fonts(scale, density);
  if (painter_) painter_->renew_font();
  if (first) return;
  ImGui_ImplOpenGL3_DestroyFontsTexture();
  ImGui_ImplOpenGL3_CreateFontsTexture();
}

// Takes what the trainer has published. True if there is something new to draw.
bool Session::look() {
  const auto items = feed_->take();
  view_.consume(items);
  auto newest = source_->snapshot();
  const bool changed = !snapshot_ || differs(*newest, *snapshot_);
  if (newest->step > 0 && (!snapshot_ || snapshot_->step == 0)) trace_event("stepped", "");
  if (trace_enabled() && snapshot_ && newest->step != snapshot_->step) {
    trace_event("step", fmt::format("\"step\":{}", newest->step));
  }
  snapshot_ = std::move(newest);
  return changed || !items.empty() || view_.has_news();
}

// Asked ten times a second: the display takes its turn to answer.
bool Session::is_hidden() {
  const double now = glfwGetTime();
  if (now >= hidden_until_) {
    hidden_ = glfwGetWindowAttrib(window_.handle(), GLFW_ICONIFIED) == GLFW_TRUE;
    hidden_until_ = now + 0.1;
  }
  return hidden_;
}

// Waits for something to draw while nothing runs; returns at once otherwise.
void Session::rest() {
  const bool busy = snapshot_->state == TrainerState::running ||
                    snapshot_->state == TrainerState::preparing || options_.exit_after_steps > 0 ||
                    saving_since_;
  const bool hidden = is_hidden();
  if ((busy && !hidden) || glfwGetTime() < lively_until_ || ImGui::GetIO().WantTextInput) return;
  const double start = glfwGetTime();
  while (glfwGetTime() - start < kRestSeconds && glfwWindowShouldClose(window_.handle()) == GLFW_FALSE) {
    glfwWaitEventsTimeout(kLookSeconds);
    const bool news = look();
    if (input_.take_activity()) {
      lively_until_ = glfwGetTime() + kLivelySeconds;
      break;
    }
    if (news && !hidden) break;
  }
  clock_.restart();
  phases_.drop();
}

void Session::draw_frame() {
  ImGui_ImplOpenGL3_NewFrame();
  ImGui_ImplGlfw_NewFrame();
  input_.forward_taps();
  ImGui::NewFrame();
  const Frame frame{*snapshot_, send_, fonts_, palette_, scale_};
  const Wishes wishes = view_.handle_keys(frame, input_.take_keys());
  view_.update_images(source_->images(), frame);
  phases_.mark("images");
  const WindowFacts facts{
      {}, clock_.frames_per_second(), clock_.p99_milliseconds(), clock_.work_milliseconds(), drawn_by()};
  view_.draw(frame, facts, saving_since_ ? "Saving the run" : "");
  handle(wishes);
  ImGui::Render();
  phases_.mark("widgets");
  drawn_ = draw_pixels();
  if (!screenshot_wanted_.empty()) take_screenshot(std::exchange(screenshot_wanted_, {}));
  phases_.mark("drawing");
}

std::shared_ptr<core::Device> Session::painting_device() const {
  if (cpu_) return cpu_;
  auto device = source_->device();
  return device && device->kind() == core::DeviceKind::cuda ? device : nullptr;
}

std::string Session::drawn_by() const {
  const std::string painter = painter_ ? painter_->painted_by() : "";
  if (painter.empty()) return renderer_;
  return fmt::format("Painted by {}, shown by {}", painter, painter_->swaps() ? renderer_ : "the X server");
}

paint::Drawn Session::draw_pixels() {
  ImDrawData* const data = ImGui::GetDrawData();
  const ImVec4 background = window_background();
  if (painter_) {
    const bool could = painter_->failure().empty();
    const paint::Drawn drawn = painter_->draw(*data, painting_device(), background);
    if (drawn != paint::Drawn::nothing) return drawn;
    if (could && !painter_->failure().empty()) {
      view_.tell("OpenGL draws the window from now on: " + painter_->failure(), training::LogLevel::error);
    }
  }
  glClearColor(background.x, background.y, background.z, 1);
  glClear(GL_COLOR_BUFFER_BIT);
  ImGui_ImplOpenGL3_RenderDrawData(data);
  return paint::Drawn::in_back_buffer;
}

void Session::save_screenshot(const std::string& file) const {
  if (drawn_ == paint::Drawn::on_screen) {
    write_screenshot(painter_->picture(), file);
  } else {
    write_screenshot(window_, file);
  }
}

// A screenshot by key that fails is told in the window.
void Session::take_screenshot(const std::string& file) {
  try {
    save_screenshot(file);
    view_.tell("screenshot written: " + file, training::LogLevel::info);
  } catch (const core::Error& error) {
    view_.tell(error.what(), training::LogLevel::error);
  }
}

void Session::handle(const Wishes& wishes) {
  if (wishes.quit) glfwSetWindowShouldClose(window_.handle(), GLFW_TRUE);
  if (!wishes.screenshot) return;
  const bool own_file = !options_.screenshot_file.empty() && options_.exit_after_steps == 0;
  screenshot_wanted_ = own_file ? options_.screenshot_file : timestamped_name();
}

// Without a monitor that paces the swaps, as in a virtual display, this does.
void Session::pace(double start) {
  for (;;) {
    const double left = start + kFrameSeconds - glfwGetTime();
    if (left <= 0) break;
    glfwWaitEventsTimeout(left);
  }
  glfwPollEvents();
  if (input_.take_activity()) lively_until_ = glfwGetTime() + kLivelySeconds;
}

bool Session::all_shown() {
  const bool reached = snapshot_->step >= options_.exit_after_steps || ended(snapshot_->state);
  if (options_.exit_after_steps == 0 || !reached) return false;
  if (!reached_) reached_ = glfwGetTime();
  const bool images = options_.source ? source_->images() != nullptr : options_.training.shown_images > 0;
  const bool shown = (snapshot_->state == TrainerState::failed && !options_.source) ||
                     view_.has_shown_all(*snapshot_, images) || glfwGetTime() - *reached_ > kPatienceSeconds;
  return shown && --frames_to_go_ <= 0;
}

// A run or a file that was asked for is written before leaving.
void Session::begin_saving() {
  const bool writes = !options_.training.run_dir.empty() || !options_.training.save_file.empty();
  if (!writes || ended(snapshot_->state)) return;
  send_(training::Finish{});
  saving_since_ = glfwGetTime();
}

// Called after each frame, with its picture still in the back buffer or with the painter.
bool Session::should_leave() {
  if (!left_) {
    const bool shown = all_shown();
    const bool told = options_.leave != nullptr && *options_.leave;
    left_ = shown || told || glfwWindowShouldClose(window_.handle()) == GLFW_TRUE;
    if (shown && !options_.screenshot_file.empty()) save_screenshot(options_.screenshot_file);
    if (!left_) return false;
    begin_saving();
  }
  if (!saving_since_ || ended(snapshot_->state)) return true;
  return glfwGetTime() - *saving_since_ > kSaveSeconds;
}

void Session::trace_frame(double now) {
  if (!trace_enabled() || (traced_ >= 0 && now - traced_ < 1)) return;
  traced_ = now;
  trace_event("frame",
              fmt::format("\"fps\":{:.2f},\"p99_ms\":{:.2f},\"draw_ms\":{:.2f},\"p99_draw_ms\":{:.2f},"
                          "\"p99_swapped_ms\":{:.2f},\"step\":{},\"points\":{},\"painted\":{}",
                          clock_.frames_per_second(), clock_.p99_milliseconds(), clock_.work_milliseconds(),
                          clock_.p99_work_milliseconds(), clock_.p99_swapped_milliseconds(), snapshot_->step,
                          view_.loss_points(), painter_ && !painter_->painted_by().empty()) +
                  fmt::format(",\"frames_ms\":[{:.2f}],\"phases\":{}",
                              fmt::join(milliseconds(frame_seconds_), ","), phases_.means()));
  frame_seconds_.clear();
}

int Session::exit_code() const {
  // The failure of a run that is only shown is no failure of the window.
  if (snapshot_->state != TrainerState::failed || options_.source) return 0;
  fmt::print(stderr, "warpscope: {}\n", snapshot_->notice);
  return snapshot_->failed_by_input ? 2 : 1;
}

int Session::run() {
  look();
  for (;;) {
    const double start = glfwGetTime();
    phases_.begin();
    fit_scale();
    draw_frame();
    const double work = glfwGetTime() - start;
    if (should_leave()) break;
    if (drawn_ == paint::Drawn::in_back_buffer) glfwSwapBuffers(window_.handle());
    phases_.mark("swap");
    const double shown = glfwGetTime() - start;
    clock_.add(start, work, shown);
    if (trace_enabled()) frame_seconds_.push_back(shown);
    trace_frame(start);
    pace(start);
    phases_.mark("wait");
    look();
    phases_.mark("look");
    rest();
  }
  look();
  if (options_.exit_after_steps == 0) {
    Settings settings = view_.settings();
    if (options_.width == 0 && options_.height == 0) settings.window = window_.placement();
    try {
      save_settings(settings_file(), settings);
    } catch (const core::Error& error) {
      fmt::print(stderr, "warpscope: the window's settings are not remembered: {}\n", error.what());
    }
  }
  // The running step may take a moment to end: nobody has to look at a window that does not answer.
  glfwHideWindow(window_.handle());
  const int code = exit_code();
  view_.shutdown();
  source_.reset();
  return code;
}

}  // namespace

int run_window(const WindowOptions& options) {
  const WindowSystem system;
  const Settings settings = load_settings(settings_file());
  return Session(options, settings).run();
}

}  // namespace warpscope::ui
