#include "gpu/ranks/rank_process.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>

#include <fmt/format.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "gpu/core/error.h"

namespace warpscope::ranks {
namespace {

constexpr int kNotStarted = 127;         // the exit code that shells have for it
constexpr std::size_t kLongLine = 4000;  // with what stands before it less than a pipe takes at once

struct Pipe {
  Descriptor out;
  Descriptor in;
};

[[noreturn]] void cannot_start(int rank, int error) {
  throw core::Error(fmt::format("cannot start rank {}: {}; use fewer ranks or raise the limit", rank,
                                std::strerror(error)));
}

Pipe make_pipe(int rank) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) cannot_start(rank, errno);
  Pipe pipe{past_standard_ones(Descriptor(ends[0])), past_standard_ones(Descriptor(ends[1]))};
  if (!pipe.out.open() || !pipe.in.open()) cannot_start(rank, errno);
  return pipe;
}

/// Texts as exec takes them.
class Words {
 public:
  explicit Words(std::vector<std::string> texts) : texts_(std::move(texts)) {
    for (std::string& text : texts_) pointers_.push_back(text.data());
    pointers_.push_back(nullptr);
  }
  Words(const Words&) = delete;
  Words& operator=(const Words&) = delete;
  ~Words() = default;
  char* const* data() const { return pointers_.data(); }

 private:
  std::vector<std::string> texts_;
  std::vector<char*> pointers_;
};

std::string_view name_of(std::string_view variable) {
  return variable.substr(0, variable.find('='));
}

std::vector<std::string> environment_of(const RankCommand& command) {
  std::vector<std::string> result = command.environment;
  result.push_back(fmt::format("{}={}", kRankVariable, command.place.rank));
  result.push_back(fmt::format("{}={}", kRanksVariable, command.place.size));
  result.push_back(fmt::format("{}={}{}", kMeetingVariable, kDescriptorPrefix, command.meeting));
  const std::size_t added = result.size();
  for (char** variable = environ; *variable != nullptr; ++variable) {
    bool replaced = false;
    for (std::size_t i = 0; i < added; ++i) replaced = replaced || name_of(result[i]) == name_of(*variable);
    if (!replaced) result.emplace_back(*variable);
  }
  return result;
}

/// All that the child needs between fork and exec, where nothing may be allocated.
struct ChildPlan {
  pid_t parent;
  int null;
  int errors;
  int failure;  // gets errno where this does not become the program
  int meeting;
  char* const* arguments;
  char* const* environment;
};

/// Handlers of the parent must not run here: they would act on what it shares with this process.
void forget_handlers() {
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction action {};
    if (::sigaction(number, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) continue;
    action = {};
    action.sa_handler = SIG_DFL;
    ::sigaction(number, &action, nullptr);
  }
  ::signal(SIGINT, SIG_IGN);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

/// Calls only what may be called after fork in a process that had several threads.
[[noreturn]] void become_rank(const ChildPlan& plan) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The parent may have ended before the line above: then nobody would kill this.
  if (::getppid() != plan.parent) ::_exit(kNotStarted);
  forget_handlers();
  const bool placed = ::dup2(plan.null, STDIN_FILENO) >= 0 && ::dup2(plan.null, STDOUT_FILENO) >= 0 &&
                      ::dup2(plan.errors, STDERR_FILENO) >= 0;
  ::syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
  if (placed && ::fcntl(plan.meeting, F_SETFD, 0) == 0) {
    ::execve("/proc/self/exe", plan.arguments, plan.environment);
  }
  const int error = errno;
  [[maybe_unused]] const ssize_t written = ::write(plan.failure, &error, sizeof(error));
  ::_exit(kNotStarted);
}

/// What the child could not do; 0: it runs the program.
int failure_of(const Descriptor& pipe) {
  int error = 0;
  while (::read(pipe.number(), &error, sizeof(error)) < 0 && errno == EINTR) {
  }
  return error;
}

}  // namespace

RankProcess::RankProcess(const RankCommand& command) : rank_(command.place.rank) {
  std::vector<std::string> texts{program_invocation_name};
  texts.insert(texts.end(), command.arguments.begin(), command.arguments.end());
  const Words arguments(std::move(texts));
  const Words environment(environment_of(command));
  const Descriptor null = past_standard_ones(Descriptor(::open("/dev/null", O_RDWR | O_CLOEXEC)));
  if (!null.open()) cannot_start(rank_, errno);
  Pipe errors = make_pipe(rank_);
  Pipe failure = make_pipe(rank_);
  if (::fcntl(errors.out.number(), F_SETFL, O_NONBLOCK) != 0) cannot_start(rank_, errno);

  const ChildPlan plan{::getpid(),      null.number(),    errors.in.number(), failure.in.number(),
                       command.meeting, arguments.data(), environment.data()};
  id_ = ::fork();
  if (id_ == 0) become_rank(plan);
  if (id_ < 0) cannot_start(rank_, errno);
  failure.in.close();
  if (const int error = failure_of(failure.out); error != 0) {
    reap(true);
    cannot_start(rank_, error);
  }
  end_ = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, id_, 0)));
  errors_ = std::move(errors.out);
}

std::optional<int> RankProcess::reap(bool wait) {
  if (ended()) return std::nullopt;
  int status = 0;
  pid_t found = 0;
  do {
    found = ::waitpid(id_, &status, wait ? 0 : WNOHANG);
  } while (found < 0 && errno == EINTR);
  if (found == 0) return std::nullopt;
  // Where the system keeps no status of children that end, the process is known to have ended, but not how.
  status_ = found == id_ ? status : 0;
  end_.close();
  return status_;
}

void RankProcess::kill() const {
  if (!ended()) ::kill(id_, SIGKILL);
}

std::vector<std::string> RankProcess::lines(bool rest) {
  std::vector<std::string> result;
  const auto finish = [&] {
    result.push_back(fmt::format("rank {}: {}\n", rank_, line_));
    line_.clear();
  };
  std::array<char, 4096> bytes;
  ssize_t count = 0;
  // A rank that writes without end must not keep this from returning.
  for (int i = 0; i < 16 && (count = ::read(errors(), bytes.data(), bytes.size())) > 0; ++i) {
    for (const char byte : std::string_view(bytes.data(), count)) {
      if (byte != '\n') line_ += byte;
      if (byte == '\n' || line_.size() >= kLongLine) finish();
    }
  }
  if (count == 0) errors_.close();
  if ((rest || !errors_.open()) && !line_.empty()) finish();
  return result;
}

}  // namespace warpscope::ranks
