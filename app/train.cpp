// warpscope train: training without a window.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <exception>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "app/commands.h"
#include "app/interrupt.h"
#include "app/judged.h"
#include "app/options.h"
#include "app/ranks.h"
#include "app/user_kernels.h"
#include "gpu/charts/numbers.h"
#include "gpu/core/phases.h"
#include "gpu/files/file.h"
#include "gpu/files/streams.h"
#include "gpu/files/utf8.h"
#include "gpu/plan/presets.h"
#include "gpu/remote/lasting_training.h"
#include "gpu/runs/run_figures.h"

namespace warpscope::app {
namespace {

using training::Metric;
using training::Snapshot;
using training::TrainerState;

/// When the process began, in seconds since the machine did; negative if that is not known. Source: proc(5), field 22
/// of /proc/self/stat; the name in field 2 may hold anything but a ')'.
double read_beginning() {
  std::ifstream file("/proc/self/stat");
  std::string line;
  std::getline(file, line);
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return -1;
  std::istringstream fields(line.substr(name_end + 1));
  std::string field;
  for (int n = 3; n < 22; ++n) fields >> field;
  double ticks = -1;
  fields >> ticks;
  return fields ? ticks / static_cast<double>(sysconf(_SC_CLK_TCK)) : -1;
}

/// Seconds since this process began, to 10 ms: loading its libraries counts. 0 where the system does not tell.
double program_seconds() {
  static const double beginning = read_beginning();
  timespec now{};
  if (beginning < 0 || clock_gettime(CLOCK_BOOTTIME, &now) != 0) return 0;
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec) - beginning;
}

constexpr int kShownImages = 16;
constexpr double kImageSeconds = 10;

/// What the data set has: "images" or "texts".
std::string_view items_of(const Snapshot& now) {
  return now.data && now.data->test.texts ? "texts" : "images";
}

std::string time_left(const Snapshot& now) {
  if (now.steps_planned == 0 || now.images_per_second <= 0) return "";
  const double steps = static_cast<double>(now.steps_planned - std::min(now.step, now.steps_planned));
  const double images = steps * now.settings->batch * std::max(1, now.settings->optimizer.accumulate);
  return fmt::format("  {} left", charts::clock_text(images / now.images_per_second));
}

constexpr std::size_t kBarWidth = 24;

std::string progress_bar(const Snapshot& now, std::size_t width) {
  if (now.steps_planned < now.step) return fmt::format("step {}", now.step);
  const double share = static_cast<double>(now.step) / static_cast<double>(now.steps_planned);
  const auto filled = std::min(width, static_cast<std::size_t>(share * static_cast<double>(width)));
  const std::string bar =
      width > 0 ? fmt::format("[{}{}] ", std::string(filled, '#'), std::string(width - filled, '.')) : "";
  return fmt::format("{}{:3.0f} %  step {}/{}", bar, 100 * share, now.step, now.steps_planned);
}

/// What a status line shows beside the steps, the training loss, the speed and the time left.
enum class Detail { least, test, test_and_epoch };

std::string status_line(const Snapshot& now, std::size_t bar_width = kBarWidth,
                        Detail detail = Detail::test_and_epoch) {
  const std::string epoch = detail >= Detail::test_and_epoch ? fmt::format("  epoch {:.2f}", now.epoch) : "";
  const bool tested = now.last_test[Metric::loss] > 0 && detail >= Detail::test;
  const char* const split = now.validation_images > 0 ? "validation" : "test";
  const double speed = now.images_per_second;
  const std::string loss =
      std::isnan(now.last[Metric::loss]) ? "not a number" : fmt::format("{:.5f}", now.last[Metric::loss]);
  return fmt::format("{}{}  loss {}{}  {} {}/s{}", progress_bar(now, bar_width), epoch, loss,
                     tested ? fmt::format("  {} {:.5f}", split, now.last_test[Metric::loss]) : "",
                     speed > 0 ? fmt::format("{:.0f}", speed) : "-", items_of(now), time_left(now));
}

/// The status line in at most `columns` characters, since a line that wraps cannot be redrawn. The bar is
/// shortened first.
std::string status_line_within(const Snapshot& now, std::size_t columns) {
  constexpr std::size_t kLeastBar = 8;
  std::string line = status_line(now);
  if (line.size() <= columns) return line;
  const std::size_t excess = line.size() - columns;
  if (excess + kLeastBar <= kBarWidth) return status_line(now, kBarWidth - excess);
  for (const Detail detail : {Detail::test_and_epoch, Detail::test, Detail::least}) {
    line = status_line(now, 0, detail);
    if (line.size() <= columns) return line;
  }
  return line.substr(0, columns);
}

/// Columns of the terminal; the last one stays free, since writing to it wraps on some.
std::size_t terminal_columns() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 2) return 79;
  return size.ws_col - 1u;
}

/// Errors are left to the end of train(), which prints the one that ended the training.
void print_log(const training::LogLine& line) {
  if (line.level == training::LogLevel::info) files::print("{}\n", line.text);
  if (line.level != training::LogLevel::warning) return;
  files::warn(line.text);
}

/// Prints what is new: on a terminal one line that is redrawn, elsewhere a line every few seconds. Warnings
/// go to stderr.
class Progress {
 public:
  void logs(const std::vector<training::FeedItem>& items) {
    for (const auto& item : items) {
      if (const auto* line = std::get_if<training::LogLine>(&item)) {
        clear();
        print_log(*line);
        if (line->level == training::LogLevel::warning) last_warning_ = line->text;
      } else if (const auto* point = std::get_if<training::Point>(&item)) {
        if (point->split == training::Split::validation) last_validation_ = *point;
        if (point->split == training::Split::test && !point->is_probe()) last_test_ = *point;
      }
    }
  }
  void show(const Snapshot& now) {
    if (now.step == 0 || now.step == last_step_) return;
    const auto time = std::chrono::steady_clock::now();
    if (time - last_ < (terminal_ ? std::chrono::milliseconds(100) : std::chrono::milliseconds(5000))) return;
    last_ = time;
    last_step_ = now.step;
    if (terminal_) {
      files::print("\r\x1b[2K{}", status_line_within(now, terminal_columns()));
    } else {
      files::print("{}\n", status_line(now));
    }
    drawn_ = terminal_;
  }
  void clear() {
    if (drawn_) files::print("\r\x1b[2K");
    drawn_ = false;
  }
  const std::string& last_warning() const { return last_warning_; }
  const training::Point& last_test() const { return last_test_; }
  const training::Point& last_validation() const { return last_validation_; }

 private:
  bool terminal_ = isatty(STDOUT_FILENO) == 1;
  bool drawn_ = false;
  training::Point last_test_, last_validation_;
  std::string last_warning_;
  std::uint64_t last_step_ = 0;
  std::chrono::steady_clock::time_point last_{};
};

/// A training whose news are printed; an interrupt ends it.
class Follower {
 public:
  explicit Follower(training::TrainerOptions options)
      : interrupted_(catch_interrupts()), trainer_(std::move(options)), feed_(trainer_.subscribe()) {}
  /// False if it failed before.
  bool follow_to_parameters() {
    while (!trainer_.wait_for_parameters(kPause)) follow();
    progress_.clear();
    return trainer_.snapshot()->state != TrainerState::failed;
  }
  void follow_to_end() {
    while (!trainer_.wait(kPause)) follow();
    progress_.clear();
    progress_.logs(feed_->take());
  }
  const remote::LastingTraining& trainer() const { return trainer_; }
  const Progress& progress() const { return progress_; }

 private:
  static constexpr double kPause = 0.05;

  void follow() {
    if (interrupted_ && !finishing_) {
      finishing_ = true;
      trainer_.send(training::Finish{});
    }
    progress_.logs(feed_->take());
    progress_.show(*trainer_.snapshot());
  }

  const std::atomic<bool>& interrupted_;
  remote::LastingTraining trainer_;
  std::shared_ptr<training::Feed> feed_;
  Progress progress_;
  bool finishing_ = false;
};

/// The preset, or what is chosen.
std::string selection_text(const Snapshot& end) {
  const std::string preset = plan::preset_of(end.selection, {end.device, *end.variants});
  const std::string_view precision = core::to_string(end.selection.precision);
  if (!preset.empty()) return fmt::format("{}, preset {}", precision, preset);
  const std::string chosen = plan::selection_text(end.selection);
  return fmt::format("{}, {}", precision, chosen.empty() ? "automatic variants" : chosen);
}

std::string quality_text(const Snapshot& end, const training::Point& test) {
  if (end.classifies)
    return fmt::format("accuracy {:.2f} %", 100 * static_cast<double>(test[Metric::accuracy]));
  const auto accuracy = static_cast<double>(test[Metric::head_accuracy]);
  return fmt::format("PSNR {:.2f} dB", test[Metric::psnr]) +
         (std::isnan(accuracy) ? std::string()
                               : fmt::format(", head's loss {:.4f}, its accuracy {:.2f} %",
                                             test[Metric::head_loss], 100 * accuracy));
}

/// Nobody is surprised that fewer images get one class.
constexpr std::size_t kFewImages = 10;

/// The class that all test images are wrongly taken for, as by a network that has died; "" if there are several.
std::string only_class(const Snapshot& end) {
  if (!end.classifies || !end.evaluation || end.evaluation->predicted.size() < kFewImages ||
      end.evaluation->accuracy == 1 || !std::isfinite(end.evaluation->loss))
    return "";
  const std::vector<std::uint8_t>& predicted = end.evaluation->predicted;
  const bool several =
      std::ranges::any_of(predicted, [&](std::uint8_t label) { return label != predicted.front(); });
  if (several) return "";
  const std::vector<std::string>& classes = end.data->classes;
  const std::size_t label = predicted.front();
  return label < classes.size() ? files::escaped(classes[label]) : std::to_string(label);
}

/// What each rank did with a step; "-" where none was sampled, as in a short training.
void print_ranks(const Snapshot& end) {
  for (std::size_t rank = 0; rank < end.ranks.size(); ++rank) {
    const training::RankFigures& each = end.ranks[rank];
    files::print("{}{}, {} {}: ", rank == 0 ? "ranks        " : "             ", each.device, each.images,
                 items_of(end));
    if (each.step_microseconds > 0) {
      files::print("{:.0f} us a step, of that {:.0f} us in sums over ranks, {:.0f} us of these waiting{}\n",
                   each.step_microseconds, each.allreduce_microseconds, each.waiting_microseconds,
                   each.newest.beside > 0
                       ? fmt::format(", {:.0f} us more beside the backward pass", each.newest.beside)
                       : "");
    } else {
      files::print("- us a step\n");
    }
  }
}

void print_summary(const Snapshot& end, const training::Point& test, const training::Point& validation) {
  const std::int64_t images = end.validation_images > 0 && end.evaluation
                                  ? static_cast<std::int64_t>(end.evaluation->image_losses.size())
                                  : end.test_images;
  files::print("\n");
  files::print("steps        {} (epoch {:.2f}) in {}\n", end.step, end.epoch,
               charts::clock_text(end.seconds));
  const auto averaged = std::min<std::uint64_t>(end.figures.steps, training::FigureTally::kFinalSteps);
  files::print("train loss   {:.6f}, mean of the last {} step{}\n", end.figures.final_train_loss, averaged,
               averaged == 1 ? "" : "s");
  if (end.validation_images > 0) {
    files::print("validation   {:.6f} over {} {}, {}\n", validation[Metric::loss], end.test_images,
                 items_of(end), quality_text(end, validation));
  }
  files::print("test loss    {:.6f} over {} {}, {}\n", test[Metric::loss], images, items_of(end),
               quality_text(end, test));
  if (const std::string only = only_class(end); !only.empty()) {
    files::print("predictions  all {} are taken for {}, as by a network that has learned nothing\n",
                 items_of(end), only);
  }
  const double speed = end.figures.median_images_per_second;
  files::print("speed        {} {}/s, median over all steps, batch {}\n",
               std::isfinite(speed) ? fmt::format("{:.1f}", speed) : "-", items_of(end), end.settings->batch);
  const training::OptimizerSettings& optimizer = end.settings->optimizer;
  files::print("optimizer    {}{}, learning rate {:g}, schedule {}\n", ops::to_string(optimizer.rule),
               optimizer.per_sample ? " after each image (a mistake)" : "", optimizer.learning_rate,
               to_string(end.settings->schedule));
  files::print("device       {}, {}\n", end.device.name, selection_text(end));
  print_ranks(end);
  if (end.selection.precision == core::Precision::fp16) {
    const float scale = end.last[Metric::loss_scale];
    files::print("loss scale   {}, {} skipped\n", std::isnan(scale) ? "-" : fmt::format("{}", scale),
                 files::counted(static_cast<std::int64_t>(end.skipped_steps), "step"));
  }
  files::print("data         {}\n", end.data_name);
  if (!end.run_dir.empty()) files::print("run          {}\n", end.run_dir);
}

/// What came of judging.
struct Judging {
  std::optional<JudgedFeatures> judged;
  double seconds = 0;
  std::exception_ptr error;
};

/// What the trained network's latents are worth.
std::optional<JudgedFeatures> judge(const remote::LastingTraining& trainer,
                                    const training::TrainingSettings& settings,
                                    const std::string& classifier) {
  const auto end = trainer.snapshot();
  TrainedSource source;
  source.network.settings = settings;
  source.network.parameters = *trainer.ending().parameters;
  source.network.weights = "as trained";
  source.layers = features::parse_feature_layers("", settings.model);
  source.selection.precision = end->selection.precision;
  source.device = core::open_device(end->device.id());
  source.device->make_current();
  source.stream = source.device->make_stream();
  source.data = end->data->whole;
  features::JudgementRequest request;
  request.classifier = classifier;
  return judge_source(source, request);
}

/// What stands in the way is told once the training has been.
Judging try_to_judge(const remote::LastingTraining& trainer, const training::TrainingSettings& settings,
                     const std::string& classifier) {
  Judging judging;
  const double start = program_seconds();
  try {
    judging.judged = judge(trainer, settings, classifier);
  } catch (const std::exception&) {
    judging.error = std::current_exception();
  }
  judging.seconds = program_seconds() - start;
  return judging;
}

/// "device 0.210, data 0.012"
std::string phases_text(const std::vector<core::PhaseTime>& phases) {
  std::vector<std::string> texts;
  for (const core::PhaseTime& phase : phases)
    texts.push_back(fmt::format("{} {:.3f}", phase.phase, phase.seconds));
  return fmt::format("{}", fmt::join(texts, ", "));
}

/// Where the time went since the program began.
void print_seconds(const std::vector<core::PhaseTime>& training, double beginning) {
  std::vector<core::PhaseTime> phases{{"beginning", beginning}};
  phases.insert(phases.end(), training.begin(), training.end());
  files::print("seconds      {:.3f} in all: {}\n", program_seconds(), phases_text(phases));
}

void print_seconds(const Judging& judging) {
  if (!judging.judged) return;
  const JudgedFeatures& judged = *judging.judged;
  const std::vector<core::PhaseTime>& fit = judged.judgement.fit.phases;
  std::vector<core::PhaseTime> phases{{"features", judged.feature_seconds},
                                      {"standardization", judged.standardize_seconds}};
  phases.insert(phases.end(), fit.begin(), fit.end());
  phases.push_back({"prediction", judged.judgement.predict_seconds});
  files::print("judged in    {:.3f}, the ending beside it: {}\n", judging.seconds, phases_text(phases));
}

}  // namespace

int train_headless(training::TrainerOptions options, const std::string& then) {
  options.keeps_moments = false;
  const double beginning = program_seconds();
  files::answer_is_in_files();
  const std::string classifier = then == "svm" ? "rbf" : then;
  if (!classifier.empty()) classifiers::classifier_named(classifier);
  const training::TrainingSettings settings = options;
  // Images are for those who view the run from another process, and must cost next to nothing.
  const bool writes_run = !options.run_dir.empty() || !options.resume_dir.empty();
  options.shown_images = writes_run ? kShownImages : 0;
  options.image_seconds = kImageSeconds;
  options.pause_on_divergence = false;  // nobody is there to go on
  const bool ends = options.epochs > 0 || options.steps > 0 || training::any(options.stop);
  if (!ends) options.epochs = 1;
  Follower follower(std::move(options));
  const remote::LastingTraining& trainer = follower.trainer();
  Judging judging;
  if (!classifier.empty() && follower.follow_to_parameters()) {
    judging = try_to_judge(trainer, settings, classifier);  // while the trainer writes its last files
  }
  follower.follow_to_end();
  const auto end = trainer.snapshot();
  if (end->state == TrainerState::failed) {
    if (end->notice != follower.progress().last_warning()) files::warn(end->notice);
    return end->failed_by_input ? 2 : 1;
  }
  print_summary(*end, follower.progress().last_test(), follower.progress().last_validation());
  print_seconds(trainer.ending().phases, beginning);
  if (classifier.empty()) return 0;
  if (judging.error) std::rethrow_exception(judging.error);
  files::print("\n");
  // Beside the run, so that it is there though standard output may take no more.
  const int code = tell(judging.judged, end->run_dir.empty() ? "" : end->run_dir + "/judgement.json");
  print_seconds(judging);
  return code;
}

Run train(CLI::App& app) {
  struct Arguments {
    TrainingArguments training;
    RankArguments ranks;
    KernelArguments kernels;
    std::string then;
  };
  const auto a = std::make_shared<Arguments>();
  add_training_options(app, a->training);
  add_rank_options(app, a->ranks);
  add_kernel_options(app, a->kernels);
  app.add_option("--then", a->then,
                 "Then judge what the trained network makes of the images by this classifier (svm: rbf); "
                 "warpscope classify has more")
      ->type_name("CLASSIFIER");
  return [a] {
    training::TrainerOptions options = training_options(a->training);
    refuse_with_ranks(a->kernels, a->ranks);
    const OtherRanks others(a->ranks, options);
    if (others.exit_code()) return *others.exit_code();
    use_kernels(a->kernels, options);
    return train_headless(std::move(options), a->then);
  };
}

}  // namespace warpscope::app
