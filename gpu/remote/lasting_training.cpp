#include "gpu/remote/lasting_training.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "gpu/core/host_memory.h"
#include "gpu/messages/running.h"
#include "gpu/remote/server.h"
#include "gpu/remote/updates.h"
#include "gpu/user_kernels/process.h"

namespace warpscope::remote {
namespace {

using std::chrono::steady_clock;
using training::Snapshot;
using training::TrainerState;

constexpr int kConnection = 3;  ///< the descriptor that a process is given
constexpr const char* kThisProgram = "/proc/self/exe";
/// For which a process that is no longer needed may end its step and write its files.
constexpr std::chrono::seconds kPatience(20);
/// Between two looks at what wakes nobody.
constexpr std::chrono::milliseconds kLook(20);

training::TrainerOptions with_going_on(training::TrainerOptions options) {
  options.goes_on_elsewhere = true;
  return options;
}

/// The same pictures in an object that takes more; nullptr where there are none.
std::shared_ptr<training::ImageHistory> copy_of(const training::ImageHistory* history) {
  if (history == nullptr) return nullptr;
  auto copy = std::make_shared<training::ImageHistory>();
  for (const std::uint64_t step : history->steps()) {
    if (const auto images = history->at(step)) copy->add(*images);
  }
  return copy;
}

std::string end_in_words(const user_kernels::End& end) {
  if (end.signal != 0) return fmt::format("by signal {} ({})", end.signal, ::strsignal(end.signal));
  return fmt::format("with exit code {}", end.code);
}

void delete_folder_of(const training::HandOver& over) {
  std::error_code ignored;
  if (!over.recorded) std::filesystem::remove_all(over.folder, ignored);
}

/// Commands that came too late for that process.
std::vector<training::NumberedCommand> late_for(const RemoteSource& source) {
  const auto late = source.left().late;
  return late ? *late : std::vector<training::NumberedCommand>();
}

}  // namespace

std::function<Left()> leaving(std::shared_ptr<training::Trainer> trainer) {
  return [trainer = std::move(trainer), late = std::vector<training::NumberedCommand>(),
          left = Left()]() mutable {
    const training::Ending ending = trainer->ending();
    const auto unread = trainer->take_unread();
    late.insert(late.end(), unread.begin(), unread.end());
    if (!unread.empty()) left.late = std::make_shared<const std::vector<training::NumberedCommand>>(late);
    left.parameters = ending.parameters;
    left.hand_over = ending.hand_over;
    return left;
  };
}

int go_on_training() {
  const Channel channel{ranks::Descriptor(kConnection)};
  const auto told = channel.read();
  if (!told) return 1;
  const auto over =
      std::make_shared<const training::HandOver>(training::MessageReader().read<training::HandOver>(*told));
  const auto trainer = std::make_shared<training::Trainer>(with_going_on(training::options_of(over)));
  for (const training::NumberedCommand& each : over->waiting) trainer->send(each.command, each.number);
  Server(trainer, channel, leaving(trainer)).serve();
  return 0;
}

/// A process that goes on, and what it tells.
struct LastingTraining::Child {
  Child(std::pair<Channel, Channel> ends, const std::vector<std::string>& command, KnownBefore before)
      : near(std::move(ends.first)),
        process(kThisProgram, command, STDERR_FILENO, ends.second.socket().number(),
                user_kernels::Process::Worth::same),
        id(process.id()),
        source(near, std::move(before)) {}

  Channel near;
  user_kernels::Process process;
  const pid_t id;
  RemoteSource source;
};

LastingTraining::LastingTraining(training::TrainerOptions options, std::vector<std::string> child)
    : child_command_(std::move(child)),
      trainer_(with_going_on(std::move(options))),
      thread_([this] { run(); }) {}

LastingTraining::~LastingTraining() {
  stop();
  {
    std::unique_lock lock(mutex_);
    if (!news_.wait_for(lock, kPatience, [this] { return done_; }) && !children_.empty())
      children_.back()->near.end();
  }
  thread_.join();
}

void LastingTraining::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  if (!children_.empty()) children_.back()->source.end();  // which ends the process, and that what follows it
  news_.notify_all();
}

bool LastingTraining::stopped() const {
  const std::lock_guard lock(mutex_);
  return stopped_;
}

void LastingTraining::run() {
  follow();
  const std::lock_guard lock(mutex_);
  done_ = true;
  news_.notify_all();
}

/// Waits for it, or until this training is left; nullptr if there is none.
LastingTraining::HandOver LastingTraining::handed_by_trainer() {
  std::unique_lock lock(mutex_);
  while (!stopped_) {
    if (HandOver over = trainer_.ending().hand_over) return over;
    news_.wait_for(lock, kLook);
  }
  return trainer_.ending().hand_over;
}

/// Waits for the end of what trains, and lets another process go on, as often as that makes sense. What was handed over
/// and nobody records is there until something newer is, or the training has ended in order.
void LastingTraining::follow() {
  HandOver over = handed_by_trainer();
  std::uint64_t failed_at = 0;
  for (int processes = 1; over && !stopped(); ++processes) {
    const HandOver now = std::exchange(over, nullptr);
    const bool again = processes > 1 && now->failed_at == failed_at;
    if (again || processes == kMostProcesses) {
      fail(fmt::format("{}; but that has happened {}, so it ends", now->told,
                       again ? "at that step before" : "too often"),
           *now);
    } else {
      failed_at = now->failed_at;
      over = go_on(now);
    }
    if (over || !is_needed()) delete_folder_of(*now);
  }
  if (over) delete_folder_of(*over);  // it was left meanwhile
}

/// Whether a person may want what was handed over last.
bool LastingTraining::is_needed() const {
  const auto now = snapshot();
  const std::lock_guard lock(mutex_);
  return (ended_ || now->state == TrainerState::failed) && now->run_dir.empty();
}

/// Until that process ends: what the next one goes on with; nullptr where none does.
LastingTraining::HandOver LastingTraining::go_on(const HandOver& over) {
  try {
    const std::shared_ptr<Child> child = begin(over);
    child->source.follow([&] {
      const std::lock_guard lock(mutex_);
      if (child->source.snapshot()->state != TrainerState::preparing) held_ = nullptr;
      if (child->source.left().hand_over) child->source.end();
      news_.notify_all();
    });
    const auto deadline = steady_clock::now() + kPatience;
    const user_kernels::End end = child->process.wait([&] { return steady_clock::now() < deadline; });
    if (HandOver next = child->source.left().hand_over) {
      const std::lock_guard lock(mutex_);
      held_ = child->source.snapshot();
      return next;
    }
    if (!stopped())
      fail(fmt::format("the process that the training went on in has ended {}", end_in_words(end)), *over);
  } catch (const std::exception& error) {
    if (const auto now = child()) now->near.end();
    fail(fmt::format("the training cannot go on in a process of its own: {}", core::sentence_of(error)),
         *over);
  }
  return nullptr;
}

std::shared_ptr<LastingTraining::Child> LastingTraining::begin(const HandOver& over) {
  const std::shared_ptr<const training::ImageHistory> pictures = history();
  const KnownBefore known{snapshot(), copy_of(pictures.get()), observations().images_arrived};
  auto child = std::make_shared<Child>(make_connection(), child_command_, known);
  if (!child->near.write(training::MessageWriter().write(*over)))
    throw core::Error("it ended before it was told how");
  const std::lock_guard lock(mutex_);
  held_ = known.snapshot;
  for (const auto& feed : feeds_) {
    if (const auto alive = feed.lock()) child->source.feed(alive);
  }
  if (observed_) child->source.send(*observed_);
  if (disturbed_) child->source.send(*disturbed_);
  const auto late = children_.empty() ? trainer_.take_unread() : late_for(children_.back()->source);
  for (const auto& commands : {late, std::exchange(waiting_, {})}) {
    for (const training::NumberedCommand& each : commands) child->source.send(each.command, each.number);
  }
  children_.push_back(child);
  if (stopped_) child->source.end();
  return child;
}

/// The end of the process that has gone on with what was handed `over`, and of the training if that had not finished.
/// Commands that have no answer get none from there.
void LastingTraining::fail(const std::string& why, const training::HandOver& over) {
  auto now = std::make_shared<Snapshot>(*snapshot());
  const bool finished = now->state == TrainerState::finished;
  const bool recorded = !now->run_dir.empty();
  now->state = finished ? TrainerState::finished : TrainerState::failed;
  now->may_close = true;
  const std::string kept = finished && recorded
                               ? "what it has written stays"
                               : training::what_is_kept(recorded ? now->run_dir : over.folder, recorded);
  now->notice = fmt::format("{}; {}{}", why, finished ? "the training had finished before; " : "", kept);
  ++now->notice_id;
  const std::vector<training::FeedItem> line{training::LogLine{training::LogLevel::error, now->notice}};
  const std::lock_guard lock(mutex_);
  waiting_.clear();
  refuse_up_to(last_number_, *now);
  held_ = std::move(now);
  ended_ = true;
  for (const auto& feed : feeds_) {
    if (const auto alive = feed.lock()) alive->push(line);
  }
  news_.notify_all();
}

/// Those that have no answer yet.
void LastingTraining::refuse_up_to(std::uint64_t number, Snapshot& now) {
  std::uint64_t next = now.answers.last + 1;
  if (number > training::Answers::kMost) next = std::max(next, number - training::Answers::kMost + 1);
  for (; next <= number; ++next) now.answers.note(next, false);
}

void LastingTraining::queue(training::Command command, std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  last_number_ = std::max(last_number_, number);
  if (ended_) {
    auto now = std::make_shared<Snapshot>(*held_);
    refuse_up_to(number, *now);
    held_ = std::move(now);
    return news_.notify_all();
  }
  if (const auto* const observe = std::get_if<training::Observe>(&command)) observed_ = *observe;
  if (const auto* const set = std::get_if<training::SetDisturbed>(&command)) disturbed_ = *set;
  if (!children_.empty() && !children_.back()->source.left().hand_over)
    return children_.back()->source.send(std::move(command), number);
  const bool trains_here = children_.empty() && !trainer_.ending().hand_over;
  if (trains_here) return trainer_.send(std::move(command), number);
  waiting_.push_back({std::move(command), number});
}

/// nullptr as long as this process trains.
std::shared_ptr<LastingTraining::Child> LastingTraining::child() const {
  const std::lock_guard lock(mutex_);
  return children_.empty() ? nullptr : children_.back();
}

pid_t LastingTraining::process() const {
  const auto now = child();
  return now ? now->id : 0;
}

std::shared_ptr<const Snapshot> LastingTraining::snapshot() const {
  const std::lock_guard lock(mutex_);
  if (held_) return held_;
  return children_.empty() ? trainer_.snapshot() : children_.back()->source.snapshot();
}

std::shared_ptr<training::Feed> LastingTraining::subscribe() {
  const std::lock_guard lock(mutex_);
  auto feed = children_.empty() ? trainer_.subscribe() : children_.back()->source.subscribe();
  std::erase_if(feeds_, [](const auto& each) { return each.expired(); });
  feeds_.push_back(feed);
  return feed;
}

std::shared_ptr<training::ImageExchange> LastingTraining::images() const {
  const auto now = child();
  return now ? now->source.images() : trainer_.images();
}

std::shared_ptr<const training::ImageHistory> LastingTraining::history() const {
  const auto now = child();
  return now ? now->source.history() : trainer_.history();
}

training::Observations LastingTraining::observations() const {
  const auto now = child();
  return now ? now->source.observations() : trainer_.observations();
}

jobs::Jobs* LastingTraining::jobs() {
  const auto now = child();
  return now ? now->source.jobs() : trainer_.jobs();
}

training::Ending LastingTraining::ending() const {
  training::Ending ending = trainer_.ending();
  if (const auto now = child()) ending.parameters = now->source.left().parameters;
  return ending;
}

bool LastingTraining::wait_until(const std::function<bool()>& condition, double seconds) const {
  const auto deadline = steady_clock::now() + std::chrono::duration_cast<steady_clock::duration>(
                                                  std::chrono::duration<double>(seconds));
  const auto handed = [this] { return trainer_.ending().hand_over != nullptr; };
  const bool done =
      trainer_.wait_until([&](const Snapshot&) { return handed() || condition(); }, handed() ? 0 : seconds);
  if (!done || !handed()) return done;
  while (!condition()) {
    const auto now = steady_clock::now();
    if (now >= deadline) return false;
    std::unique_lock lock(mutex_);
    news_.wait_until(lock, std::min(deadline, now + kLook));
  }
  return true;
}

bool LastingTraining::ended() const {
  const TrainerState state = snapshot()->state;
  return state == TrainerState::finished || state == TrainerState::failed;
}

bool LastingTraining::wait(double seconds) const {
  return wait_until([this] { return ended(); }, seconds);
}

bool LastingTraining::wait_for_parameters(double seconds) const {
  return wait_until([this] { return ending().parameters || ended(); }, seconds);
}

}  // namespace warpscope::remote
