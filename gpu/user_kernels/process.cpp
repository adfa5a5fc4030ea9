#include "gpu/user_kernels/process.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/close_range.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpu/core/error.h"
#include "gpu/files/text.h"

namespace warpscope::user_kernels {
namespace {

constexpr int kNotBegun = 127;  // the exit code that shells have for it
constexpr int kGivenDescriptor = 3;
constexpr std::chrono::milliseconds kLook(3);

/// All that the child needs between fork and exec, where nothing may be allocated.
struct Beginning {
  pid_t parent;
  int null;
  int errors;
  int given;
  int failure;
  bool goes_first;
  const char* program;
  char* const* arguments;
};

/// Puts `from` at `to`, to be inherited; -1 leaves the place as /dev/null.
bool place(int from, int to) {
  if (from == to) return ::fcntl(to, F_SETFD, 0) == 0;
  return from < 0 || ::dup2(from, to) >= 0;
}

/// Where memory runs out, the system is to end this one and not the training that waits for it.
void go_first() {
  const int file = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  [[maybe_unused]] const ssize_t written = ::write(file, "1000", 4);
  ::close(file);
}

/// Calls only what may be called after fork in a process that had several threads.
[[noreturn]] void become(const Beginning& plan) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != plan.parent) ::_exit(kNotBegun);
  ::setpgid(0, 0);
  if (plan.goes_first) go_first();
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const bool placed =
      place(plan.null, STDIN_FILENO) && place(plan.errors < 0 ? plan.null : plan.errors, STDOUT_FILENO) &&
      place(plan.errors < 0 ? plan.null : plan.errors, STDERR_FILENO) && place(plan.given, kGivenDescriptor);
  const int first = plan.given < 0 ? kGivenDescriptor : kGivenDescriptor + 1;
  ::syscall(SYS_close_range, first, ~0U, CLOSE_RANGE_CLOEXEC);
  if (placed) ::execvp(plan.program, plan.arguments);
  const int error = errno;
  [[maybe_unused]] const ssize_t written = ::write(plan.failure, &error, sizeof(error));
  ::_exit(kNotBegun);
}

/// A descriptor above those that the child's files are put at.
ranks::Descriptor above(int number) {
  if (number < 0) return ranks::Descriptor(number);  // and errno still says why
  const ranks::Descriptor old(number);
  return ranks::Descriptor(::fcntl(number, F_DUPFD_CLOEXEC, kGivenDescriptor + 7));
}

}  // namespace

Process::Process(const std::string& program, const std::vector<std::string>& arguments, int errors, int given,
                 Worth worth) {
  const auto fail = [&](int error) {
    throw core::Error(fmt::format("cannot start {}: {}", files::sayable(program), std::strerror(error)));
  };
  std::vector<std::string> texts{program};
  texts.insert(texts.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  const ranks::Descriptor null = above(::open("/dev/null", O_RDWR | O_CLOEXEC));
  std::array<int, 2> ends{-1, -1};
  if (!null.open() || ::pipe2(ends.data(), O_CLOEXEC) != 0) fail(errno);
  const ranks::Descriptor out = above(ends[0]);
  ranks::Descriptor in = above(ends[1]);
  if (!out.open() || !in.open()) fail(errno);
  const Beginning plan{::getpid(),  null.number(),        errors,          given,
                       in.number(), worth == Worth::less, program.c_str(), pointers.data()};
  id_ = ::fork();
  if (id_ == 0) become(plan);
  if (id_ < 0) fail(errno);
  in.close();
  int error = 0;
  while (::read(out.number(), &error, sizeof(error)) < 0 && errno == EINTR) {
  }
  if (error == 0) return;
  while (::waitpid(id_, nullptr, 0) < 0 && errno == EINTR) {
  }
  id_ = -1;
  fail(error);
}

Process::~Process() {
  if (id_ > 0) static_cast<void>(wait([] { return false; }));
}

End Process::wait(const std::function<bool()>& go_on) {
  End end;
  while (true) {
    siginfo_t ended{};
    const int asked = ::waitid(P_PID, static_cast<id_t>(id_), &ended, WEXITED | WNOHANG | WNOWAIT);
    if ((asked == 0 && ended.si_pid == id_) || (asked != 0 && errno != EINTR)) break;
    if (!end.killed && !go_on()) {
      end.killed = true;
      ::kill(-id_, SIGKILL);
      ::kill(id_, SIGKILL);
    }
    std::this_thread::sleep_for(kLook);
  }
  ::kill(-id_,
         SIGKILL);  // what it may have left in its group, whose number nobody else gets before waitpid()
  int status = 0;
  while (::waitpid(id_, &status, 0) < 0 && errno == EINTR) {
  }
  id_ = -1;
  if (WIFEXITED(status)) end.code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  return end;
}

std::chrono::duration<double> cpu_time_of(pid_t process) {
  clockid_t clock{};
  timespec time{};
  if (::clock_getcpuclockid(process, &clock) != 0 || ::clock_gettime(clock, &time) != 0) return {};
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

bool is_busy(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string told;
  std::getline(file, told);
  const std::size_t name_end = told.rfind(") ");
  return name_end != std::string::npos && name_end + 2 < told.size() && told[name_end + 2] == 'R';
}

ranks::Descriptor memory_file(const char* name) {
  ranks::Descriptor file = above(::memfd_create(name, MFD_CLOEXEC));
  if (!file.open()) throw core::Error(fmt::format("cannot make a file in memory: {}", std::strerror(errno)));
  return file;
}

std::string contents_of(const ranks::Descriptor& file, std::size_t most) {
  std::string text(most, '\0');
  std::size_t read = 0;
  while (read < most) {
    const ssize_t more = ::pread(file.number(), text.data() + read, most - read, static_cast<off_t>(read));
    if (more < 0 && errno == EINTR) continue;
    if (more <= 0) break;
    read += static_cast<std::size_t>(more);
  }
  text.resize(read);
  return text;
}

}  // namespace warpscope::user_kernels
