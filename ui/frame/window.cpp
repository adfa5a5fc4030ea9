#include "ui/frame/window.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <glad/gl.h>

#include "gpu/files/streams.h"
// glad first: it stands in for the system's OpenGL header.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <exception>
#include <optional>
#include <system_error>
#include <tuple>
#include <utility>

#include <GLFW/glfw3.h>
#include <backends/imgui_impl_glfw.h>
#include <backends/imgui_impl_opengl3.h>

#include "gpu/core/error.h"
#include "gpu/core/host_memory.h"
#include "ui/frame/answer_trace.h"
#include "ui/frame/frame_clock.h"
#include "ui/frame/frame_phases.h"
#include "ui/frame/frame_schedule.h"
#include "ui/frame/gl_context.h"
#include "ui/frame/imgui_session.h"
#include "ui/frame/kept_views.h"
#include "ui/frame/main_view.h"
#include "ui/frame/open_training.h"
#include "ui/frame/snapshot_changes.h"
#include "ui/frame/trace.h"
#include "ui/input/cursor.h"
#include "ui/jobs/background.h"
#include "ui/paint/frame_painter.h"
#include "ui/panels/runs/unsaved_row.h"
#include "ui/panels/start/start_rows.h"
#include "ui/panels/trainings.h"
#include "ui/settings/settings.h"
#include "ui/widgets/fonts.h"
#include "ui/widgets/theme.h"

namespace warpscope::ui {
namespace {

using training::TrainerState;

// How often the trainer is asked for changes while nothing is drawn, and the display whether the window is
// hidden, which takes the display a turn to answer.
constexpr double kLookSeconds = 1.0 / 30, kAskSeconds = 0.1;
constexpr double kRestTraceSeconds = 1.5;
constexpr double kSaveSeconds = 8;
// With exit_after_steps: frames drawn after everything was there, and how long to wait for what does not
// come.
constexpr int kFramesBeforeLeaving = 3;
constexpr double kPatienceSeconds = 10;

bool ended(TrainerState state) {
  return state == TrainerState::finished || state == TrainerState::failed ||
         state == TrainerState::interrupted;
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
  if (options.exit_after_steps > 0) {
    result.pause_on_divergence = false;
    result.unsaved_dir.clear();
    result.record_dir.clear();
  }
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
        view_(settings, options.training.model, trainings_),
        renderer_(window_.renderer()) {
    view_.serve(options.start, options.kernels);
    // Nobody is there to set up a training or to take a tour where the window leaves by itself or tells a test what it
    // shows.
    const bool first = settings.first_start && options.exit_after_steps == 0 && !trace_enabled();
    training::TrainerOptions own = trainer_options(options);
    own.start_paused = first && options.start_page;
    trainings_.open(options.source ? options.source : open_training(std::move(own)));
    if (options.paint_on_cpu) painter_.emplace(window_.handle(), textures_);
    schedule_.input(glfwGetTime());
    view_.offer(options.unsaved);
    if (!options.notice.empty()) view_.tell(options.notice, training::LogLevel::info);
    if (first && options.start_page) view_.open_start(*source().snapshot(), true);
    if (first && !options.start_page && !options.source) view_.take_tour();  // it steers nothing in a view
    send_ = [this](training::Command command) {
      trace_event("sent", fmt::format("\"step\":{}", source().snapshot()->step));
      const std::uint64_t number = snapshot_ ? view_.note_sent(command, *snapshot_) : 0;
      source().send(std::move(command), number);
    };
    if (options.ranks > 1) source().send(training::SetRanks{options.ranks});
  }
  ~Session() {
    opening_.stop();
    view_.shutdown();
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  int run();
  const std::optional<NextTraining>& go_on() const { return go_on_; }

 private:
  void fit_look();
  void look();
  void ask_whether_hidden();
  void wait() const;
  void prepare();
  void draw();
  void open_next(std::string words, const char* refusal, Background<training::TrainerOptions>::Work work);
  void look_at_asked();
  void look_at_opened();
  std::string banner() const;
  void draw_frame();
  paint::Drawn draw_pixels();
  void schedule_changes();
  void save_screenshot(const std::string& file) const;
  void observe(const training::ObservationRequest& request);
  training::Source& source() const { return *trainings_.own().source; }
  bool painted() const { return painter_ && painter_->failure().empty(); }
  std::string drawn_by() const;
  void take_screenshot(const std::string& file);
  void handle(const WindowRequests& requests);
  bool all_shown();
  void begin_leaving();
  bool may_leave();
  void trace_state();
  void remember_settings() const;
  int exit_code() const;

  const WindowOptions& options_;
  GlWindow window_;
  InputWatch input_;
  ImGuiSession imgui_;
  Palette palette_{};
  paint::TextureStore textures_;
  std::optional<paint::FramePainter> painter_;
  paint::Drawn drawn_ = paint::Drawn::nothing;  // the last frame
  Trainings trainings_;
  MainView view_;
  std::string renderer_;
  std::function<void(training::Command)> send_;
  std::shared_ptr<const training::Snapshot> snapshot_;
  training::Observations seen_;
  training::ObservationRequest requested_;  // what the trainer was told last
  AnswerTrace answers_;
  Cursor cursor_;
  KeptViews kept_;
  FrameSchedule schedule_;
  FrameClock clock_;
  FramePhases phases_;
  Fonts fonts_;
  Look look_;
  float scale_ = 0, density_ = 0;
  double frame_start_ = 0;
  double next_change_ = FrameSchedule::kNever;  // in ImGui's time, as the panels of this frame say
  double asked_ = -1, traced_ = -10;
  // The last frame's, for the trace.
  double drawn_traced_ = -1;
  std::uint64_t frames_drawn_ = 0, drawn_step_ = 0;
  std::size_t drawn_points_ = 0;
  std::optional<double> reached_, saving_since_;
  int frames_to_go_ = kFramesBeforeLeaving;
  std::vector<double> frame_seconds_;     // for the trace: of the frames since its last line
  std::vector<double> work_seconds_;      // without the swap
  std::vector<double> prepared_seconds_;  // after frames, with new images
  std::string screenshot_wanted_;
  bool left_ = false;  // closed, or the steps to exit after are done
  std::optional<NextTraining> go_on_;
  std::string opened_;                            // the training that is read, in words
  const char* refusal_ = "";                      // what is said where it cannot be
  Background<training::TrainerOptions> opening_;  // last: it uses what is above
};

// Colours, fonts and sizes for the monitor the window is on and the look chosen.
void Session::fit_look() {
  // Dear ImGui has just been told, from the second frame on; asking the display takes two turns.
  const float density = scale_ == 0 ? window_.density() : ImGui::GetIO().DisplayFramebufferScale.x;
  const Look& look = view_.look();
  const float scale = window_.scale(density) * look.zoom;
  if (scale == scale_ && density == density_ && look == look_) return;
  palette_ = facts_of(look.theme).palette;
  apply_theme(palette_, scale);
  const bool first = scale_ == 0;
  const bool same_fonts = scale == scale_ && density == density_ && look.text_size == look_.text_size;
  look_ = look;
  trace_event("look", fmt::format("\"theme\":{},\"zoom\":{},\"text_size\":{}",
                                  json_string(facts_of(look.theme).id), look.zoom, look.text_size));
  if (same_fonts) return;
  scale_ = scale;
  density_ = density;
  fonts_ = load_fonts(scale, density, look.text_size);
  if (painter_) painter_->renew_font();
  if (first) return;
  ImGui_ImplOpenGL3_DestroyFontsTexture();
  ImGui_ImplOpenGL3_CreateFontsTexture();
}

// Takes what the trainer has published, and tells the schedule if that is worth a frame.
void Session::look() {
  const auto items = trainings_.look();
  view_.log(items);
  kept_.follow(items);
  auto newest = source().snapshot();
  const bool different = !snapshot_ || looks_different(*newest, *snapshot_);
  if (newest->step > 0 && (!snapshot_ || snapshot_->step == 0)) trace_event("stepped", "");
  if (trace_enabled() && snapshot_ && newest->step != snapshot_->step) {
    trace_event("step", fmt::format("\"step\":{},\"seconds\":{:.3f}", newest->step, newest->seconds));
  }
  snapshot_ = std::move(newest);
  view_.note_taken(*snapshot_);
  schedule_.drawn_by_trainer(!painted() && snapshot_->device.kind == core::DeviceKind::cuda);
  auto seen = training::seen_of_network(source().observations(), snapshot_->network_number);
  seen = kept_.note(*snapshot_, std::move(seen));
  const bool observed = seen != seen_;
  seen_ = std::move(seen);
  const bool further = view_.advance(source().images());
  look_at_opened();
  if (different || further || observed || !items.empty()) schedule_.content_changed();
}

// A window that leaves by itself is drawn in any case: it waits for its frames.
void Session::ask_whether_hidden() {
  const double now = glfwGetTime();
  if (now < asked_ + kAskSeconds || options_.exit_after_steps > 0) return;
  asked_ = now;
  const bool hidden = glfwGetWindowAttrib(window_.handle(), GLFW_ICONIFIED) == GLFW_TRUE ||
                      glfwGetWindowAttrib(window_.handle(), GLFW_VISIBLE) == GLFW_FALSE;
  schedule_.hide(hidden);
  if (hidden) observe({});
}

// Until a frame is due, somebody does something, or it is time to ask the trainer for changes.
void Session::wait() const {
  const double now = glfwGetTime(), seconds = std::min(schedule_.next() - now, kLookSeconds);
  if (seconds > 0) {
    glfwWaitEventsTimeout(seconds);
  } else {
    glfwPollEvents();
  }
}

void Session::draw_frame() {
  ImGui_ImplOpenGL3_NewFrame();
  ImGui_ImplGlfw_NewFrame();
  input_.forward();
  ImGui::NewFrame();
  next_change_ = FrameSchedule::kNever;
  paint::TextureStore* const textures = painter_ ? &textures_ : nullptr;
  training::ObservationRequest request;
  const bool sees = snapshot_->can.look_inside;
  const auto looked_at = [this] { return std::tuple(cursor_.step, cursor_.image, cursor_.output); };
  const auto before = looked_at();
  const std::optional<StepView> past = kept_.at(cursor_, *snapshot_, seen_);
  const Frame frame{*snapshot_,
                    send_,
                    fonts_,
                    palette_,
                    scale_,
                    textures,
                    &next_change_,
                    &cursor_,
                    past ? past->seen : seen_,
                    source().history(),
                    sees ? &request : nullptr,
                    source().jobs(),
                    past ? &*past : nullptr};
  const WindowRequests requests = view_.handle_keys(frame, input_.take_keys());
  const std::vector<std::string> dropped = input_.take_dropped();
  if (!dropped.empty()) view_.take_paths(frame, {dropped.begin(), dropped.end()});
  view_.update_images(source().images(), frame, schedule_.is_active());
  phases_.mark("images");
  const WindowFacts facts{
      {}, clock_.frames_in_last_second(frame_start_) + 1, clock_.work_milliseconds(), drawn_by()};
  view_.draw(frame, facts, banner());
  if (looked_at() != before)
    redraw_at(frame, ImGui::GetTime());  // views have drawn what was kept of the step before
  look_at_asked();
  observe(request);
  handle(requests);
  ImGui::Render();
  phases_.mark("widgets");
  drawn_ = draw_pixels();
  answers_.drawn(view_.drawn_of(seen_), glfwGetTime());
  if (!screenshot_wanted_.empty()) take_screenshot(std::exchange(screenshot_wanted_, {}));
  phases_.mark("drawing");
}

std::string Session::banner() const {
  if (saving_since_) return "Saving the training";
  return opening_.busy() ? "Opening " + opened_ : "";
}

// The present training goes on until the other is there. One is opened at a time.
void Session::open_next(std::string words, const char* refusal,
                        Background<training::TrainerOptions>::Work work) {
  if (go_on_ || left_) return;
  if (opening_.busy()) return view_.tell("another training is being opened", training::LogLevel::warning);
  opened_ = std::move(words);
  refusal_ = refusal;
  trace_event("opening", fmt::format("\"text\":{}", json_string(opened_)));
  schedule_.content_changed();  // the banner
  opening_.ask(std::move(work));
}

void Session::look_at_asked() {
  if (const auto unsaved = view_.take_go_on()) {
    open_next(unsaved_text(*unsaved, std::time(nullptr)), "that training cannot be gone on with: {}",
              [this, folder = unsaved->folder](const data::Stopped& stopped) {
                return options_.open_unsaved(folder, stopped);
              });
  }
  if (auto start = view_.take_start()) {
    open_next("a new training", "the training cannot be started: {}",
              [this, choices = std::move(*start)](const data::Stopped& stopped) {
                return options_.start.make(configuration_of(choices),
                                           stopped);  // which reads a network's file
              });
  }
}

void Session::look_at_opened() {
  auto opened = opening_.take();
  if (!opened) return;
  schedule_.content_changed();
  if (left_) return;
  if (!opened->result)
    return view_.tell(fmt::format(fmt::runtime(refusal_), opened->error), training::LogLevel::error);
  const int ranks = std::max(1, static_cast<int>(snapshot_->ranks.size()));
  go_on_ = NextTraining{std::move(*opened->result), ranks, snapshot_->user_kernels};
  glfwSetWindowShouldClose(window_.handle(), GLFW_TRUE);
}

// Tells the trainer what the panels want to see, if that has changed.
void Session::observe(const training::ObservationRequest& request) {
  if (request == requested_) return;
  requested_ = request;
  answers_.asked(request, glfwGetTime());
  const training::Observe command{request};
  view_.note_sent(command, *snapshot_);
  source().send(command);
}

std::string Session::drawn_by() const {
  if (!painted()) return renderer_;
  return "Painted by the CPU, shown by " + (painter_->needs_swap() ? renderer_ : "the X server");
}

paint::Drawn Session::draw_pixels() {
  ImDrawData* const data = ImGui::GetDrawData();
  const ImVec4 background = ImGui::ColorConvertU32ToFloat4(palette_.background);
  if (painter_) {
    const bool could = painted();
    const paint::Drawn drawn = painter_->draw(*data, background);
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

// Also for what ImGui animates by itself: a cursor that blinks where text is typed. A button that is held
// down repeats, and a slider follows, at the display's rate.
void Session::schedule_changes() {
  double change = frame_start_ + (next_change_ - ImGui::GetTime());
  if (ImGui::GetIO().WantTextInput) change = std::min(change, frame_start_ + FrameSchedule::kDataRate);
  schedule_.change_at(change);
  if (ImGui::IsAnyMouseDown()) schedule_.input(frame_start_);
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

void Session::handle(const WindowRequests& requests) {
  if (requests.quit) glfwSetWindowShouldClose(window_.handle(), GLFW_TRUE);
  if (!requests.screenshot) return;
  const bool own_file = !options_.screenshot_file.empty() && options_.exit_after_steps == 0;
  screenshot_wanted_ = own_file ? options_.screenshot_file : timestamped_name();
}

// Asked with each frame of a window that leaves by itself. From the last step on frames follow at the
// display's rate.
bool Session::all_shown() {
  const bool reached = snapshot_->step >= options_.exit_after_steps || ended(snapshot_->state);
  if (options_.exit_after_steps == 0 || !reached) return false;
  if (!reached_) reached_ = frame_start_;
  schedule_.input(frame_start_);
  const bool images = options_.source ? source().images() != nullptr : options_.training.shown_images > 0;
  const bool shown = (snapshot_->state == TrainerState::failed && !options_.source) ||
                     view_.has_shown_all(*snapshot_, images) || frame_start_ - *reached_ > kPatienceSeconds;
  return shown && --frames_to_go_ <= 0;
}

// A run or a file that was asked for is written before leaving, and a training of which nothing is recorded is kept.
void Session::begin_leaving() {
  left_ = true;
  opening_.stop();
  const TrainerState state = snapshot_->state;
  const bool writes = !snapshot_->run_dir.empty() || !options_.training.save_file.empty();
  const bool recorded = !options_.training.run_dir.empty() && !snapshot_->run_dir.empty();
  const bool keeps = !recorded && !options_.training.unsaved_dir.empty() && options_.exit_after_steps == 0 &&
                     (state != TrainerState::preparing || snapshot_->step > 0);
  const bool done = state == TrainerState::finished && !keeps;
  if (options_.source || !(writes || keeps) || done || state == TrainerState::failed) return;
  send_(training::Leave{});
  saving_since_ = glfwGetTime();
  schedule_.content_changed();  // the banner that says so
}

bool Session::may_leave() {
  const bool told = options_.leave != nullptr && *options_.leave;
  if (!left_ && (told || glfwWindowShouldClose(window_.handle()) == GLFW_TRUE)) begin_leaving();
  if (!left_) return false;
  const bool kept = snapshot_->may_close || snapshot_->state == TrainerState::failed;
  if (!saving_since_ || kept) return true;
  return glfwGetTime() - *saving_since_ > kSaveSeconds;
}

// With each frame what it showed, and once a second figures of the frames. While the window rests both are
// told again once in a while, so that who waits for them need not disturb it.
void Session::trace_state() {
  if (!trace_enabled()) return;
  const double now = glfwGetTime();
  const bool drawn = frame_start_ > drawn_traced_, full = now - traced_ >= (drawn ? 1 : kRestTraceSeconds);
  if (!full && !drawn) return;
  drawn_traced_ = frame_start_;
  const ImGuiIO& io = ImGui::GetIO();
  const std::string shown =
      fmt::format("\"step\":{},\"points\":{},\"painted\":{}", drawn_step_, drawn_points_, painted());
  trace_event("drawn",
              fmt::format("{},\"x\":{:.0f},\"y\":{:.0f},\"pressed\":{},\"list\":{}", shown, io.MousePos.x,
                          io.MousePos.y, io.MouseDown[0], json_string(traced_open_list())));
  if (!full) return;
  traced_ = now;
  trace_event(
      "frame",
      fmt::format(
          "\"fps\":{},\"frames\":{},\"draw_ms\":{:.2f},\"p99_draw_ms\":{:.2f},"
          "\"p99_swapped_ms\":{:.2f},{},\"frames_ms\":[{:.2f}],\"work_ms\":[{:.2f}],\"prepared_ms\":[{:.2f}],"
          "\"phases\":{},\"slowest\":{},\"parts\":{}",
          clock_.frames_in_last_second(now), frames_drawn_, clock_.work_milliseconds(),
          clock_.p99_work_milliseconds(), clock_.p99_swapped_milliseconds(), shown,
          fmt::join(milliseconds(frame_seconds_), ","), fmt::join(milliseconds(work_seconds_), ","),
          fmt::join(milliseconds(prepared_seconds_), ","), phases_.means(), phases_.slowest(),
          phases_.parts()));
  frame_seconds_.clear();
  work_seconds_.clear();
  prepared_seconds_.clear();
}

int Session::exit_code() const {
  // The failure of a run that is only shown is no failure of the window.
  if (snapshot_->state != TrainerState::failed || options_.source) return 0;
  files::warn(snapshot_->notice);
  return snapshot_->failed_by_input ? 2 : 1;
}

void Session::remember_settings() const {
  Settings settings = view_.settings();
  if (options_.width == 0 && options_.height == 0) settings.window = window_.placement();
  try {
    save_settings(settings_file(), settings);
  } catch (const core::Error& error) {
    files::warn(fmt::format("the window's settings are not remembered: {}", error.what()));
  }
}

// While frames follow one another, new images become colours between two of them, where there is time for it.
void Session::prepare() {
  if (!schedule_.is_active()) return;
  const double start = glfwGetTime();
  if (!view_.prepare_images() || !trace_enabled()) return;
  prepared_seconds_.push_back(glfwGetTime() - start);
  phases_.keep_parts();
}

void Session::draw() {
  frame_start_ = glfwGetTime();
  phases_.begin();
  fit_look();
  draw_frame();
  const double work = glfwGetTime() - frame_start_;
  if (!left_ && all_shown()) {
    if (!options_.screenshot_file.empty()) save_screenshot(options_.screenshot_file);
    begin_leaving();
  }
  if (drawn_ == paint::Drawn::in_back_buffer) glfwSwapBuffers(window_.handle());
  phases_.mark("swap", false);
  phases_.end();
  const double shown = glfwGetTime() - frame_start_;
  clock_.add(frame_start_, work, shown);
  if (trace_enabled()) {
    frame_seconds_.push_back(shown);
    work_seconds_.push_back(work);
  }
  ++frames_drawn_;
  drawn_step_ = snapshot_->step;
  drawn_points_ = view_.loss_points();
  schedule_.drawn(frame_start_);
  schedule_changes();
}

int Session::run() {
  do {
    wait();
    if (input_.take_activity()) schedule_.input(glfwGetTime());
    ask_whether_hidden();
    look();
    if (schedule_.next() <= glfwGetTime()) {
      draw();
      prepare();
    }
    trace_state();
  } while (!may_leave());
  look();
  if (options_.exit_after_steps == 0) remember_settings();
  // The running step may take a moment to end: nobody has to look at a window that does not answer.
  glfwHideWindow(window_.handle());
  const int code = exit_code();
  if (const std::string& kept = snapshot_->kept_in; !kept.empty() && !go_on_) {
    files::print("The training is kept; warpscope --resume '{}' goes on with it.\n", kept);
  }
  view_.shutdown();
  trainings_.close();
  return code;
}

}  // namespace

int run_window(const WindowOptions& options, std::optional<NextTraining>& go_on) {
  const WindowSystem system;
  const Settings settings = load_settings(settings_file());
  Session session(options, settings);
  const int code = session.run();
  go_on = session.go_on();
  return code;
}

int run_window(const WindowOptions& options) {
  std::optional<NextTraining> nothing;
  return run_window(options, nothing);
}

}  // namespace warpscope::ui
