#include "gpu/user_kernels/trial.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gpu/core/error.h"
#include "gpu/files/text.h"
#include "gpu/user_kernels/board.h"
#include "gpu/user_kernels/layout.h"
#include "gpu/user_kernels/process.h"

namespace warpscope::user_kernels {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr double kClockOverCpu = 10;
constexpr double kClockOverCpuOfGpu = 2;  // where a call takes milliseconds of a processor that waits or not
constexpr Seconds kLongestTrial(600);     // with the reference, on a machine that has much else to do

/// Memory that the trial process sees too.
class SharedBoard {
 public:
  SharedBoard() : file_(memory_file("warpscope_trial")) {
    void* memory = MAP_FAILED;
    if (::ftruncate(file_.number(), sizeof(Board)) == 0)
      memory = ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED, file_.number(), 0);
    if (memory == MAP_FAILED) throw core::Error("there is no memory for the trial of a kernel");
    board_ = static_cast<Board*>(memory);
  }
  SharedBoard(const SharedBoard&) = delete;
  SharedBoard& operator=(const SharedBoard&) = delete;
  ~SharedBoard() { ::munmap(board_, sizeof(Board)); }

  void show(const std::vector<ops::OpShape>& shapes) {
    const std::size_t count = std::min(shapes.size(), kMostShapes);
    std::copy_n(shapes.begin(), count, board_->shapes.begin());
    board_->shape_count = static_cast<std::uint32_t>(count);
  }
  int file() const { return file_.number(); }
  std::uint32_t stage() const { return std::atomic_ref(board_->stage).load(); }
  std::uint32_t launches() const { return std::atomic_ref(board_->launches).load(); }
  /// As it is now.
  Board copy() const { return *board_; }

 private:
  ranks::Descriptor file_;
  Board* board_ = nullptr;
};

template <std::size_t size>
std::string text_in(const std::array<char, size>& characters) {
  const auto end = std::find(characters.begin(), characters.end(), '\0');
  return files::sayable(
      std::string_view(characters.data(), static_cast<std::size_t>(end - characters.begin())));
}

/// Whether the code of the person runs in that stage.
bool is_theirs(std::uint32_t stage) {
  return stage == static_cast<std::uint32_t>(Stage::loading) ||
         stage == static_cast<std::uint32_t>(Stage::calling) ||
         stage == static_cast<std::uint32_t>(Stage::unloading);
}

/// How long one thing of the trial's has been under way.
class Patience {
 public:
  Patience(const SharedBoard& board, double call_seconds, double clock_over_cpu)
      : board_(board), call_(call_seconds), longest_(clock_over_cpu * call_seconds) {}

  /// False: too long.
  bool asks(pid_t process) {
    const std::uint32_t stage = board_.stage();
    const std::uint32_t launches = board_.launches();
    const Seconds used = cpu_time_of(process);
    const auto now = Clock::now();
    const Seconds since_look = now - std::exchange(looked_, now);
    if (!is_busy(process)) slept_ += since_look;  // one that waits for a processor is not to blame
    if (stage != stage_ || launches != launches_) {
      stage_ = stage;
      launches_ = launches;
      since_ = now;
      used_ = used;
      slept_ = {};
    }
    if (now - since_ >= kLongestTrial) return false;
    return !is_theirs(stage) || (used - used_ < call_ && slept_ < longest_);
  }

 private:
  const SharedBoard& board_;
  Seconds call_;
  Seconds longest_;
  std::uint32_t stage_ = 0, launches_ = 0;
  Clock::time_point since_ = Clock::now(), looked_ = since_;
  Seconds used_{}, slept_{};
};

std::string signal_text(int number) {
  switch (number) {
    case SIGSEGV:
    case SIGBUS:
      return "touches memory that is not its own";
    case SIGFPE:
      return "divides a whole number by zero";
    case SIGILL:
    case SIGTRAP:
      return "runs into an instruction that this processor does not have, or a trap";
    case SIGABRT:
      return "calls abort(), or an exception left one of its threads";
    case SIGKILL:
      return "was killed, as the system does where memory runs out";
    default:
      return fmt::format("was ended by signal {}", number);
  }
}

/// " at line 12, on 2x3x5x1 -> 4, 3x3"
std::string place_of(const Board& board, const char* before_line) {
  std::string text = board.report.line > 0 ? fmt::format("{}line {}", before_line, board.report.line) : "";
  const std::string shape = text_in(board.shape);
  return shape.empty() ? text : text + ", on " + shape;
}

std::string outside_text(const Source& source, const Board& board) {
  const kernel::Report& report = board.report;
  const auto operands = layouts_of(source.task());
  const auto operand = static_cast<std::size_t>(std::max(0, report.operand));
  const std::string_view name =
      operand < operands.size() ? ops::to_string(operands[operand].operand.name) : "?";
  const std::string which =
      report.dimension < 0
          ? std::string("its element")
          : fmt::format("its index {}", std::min(report.dimension, kernel::kMostIndices) + 1);
  const std::string shape = text_in(board.shape);
  if (report.late != 0) {
    return fmt::format("does not end within {:g} s, last at line {}{}", 1e-9 * kernel::kLongest,
                       report.fault_line, shape.empty() ? "" : ", on " + shape);
  }
  return fmt::format("leaves the operand '{}' at line {}: {} is {} there, and may be 0 to {}{}", name,
                     report.fault_line, which, report.index, std::max<kernel::Index>(report.extent, 1) - 1,
                     shape.empty() ? "" : ", on " + shape);
}

/// What a trial came to, behind the kernel's name; "" where all was right.
std::string outcome(const Source& source, const End& end, const Board& board, double call_seconds) {
  const auto stage = static_cast<Stage>(board.stage);
  if (board.report.faults > 0) return outside_text(source, board);
  if (end.killed && stage == Stage::unloading)
    return fmt::format("does not end within {:g} s when it is unloaded", call_seconds);
  if (end.killed)
    return fmt::format("does not end within {:g} s{}{}", call_seconds,
                       stage == Stage::loading ? ", and was not even called" : "",
                       place_of(board, ", last at "));
  if (end.signal != 0) return signal_text(end.signal) + place_of(board, ", after ");
  if (stage == Stage::failed) return text_in(board.sentence);
  if (stage == Stage::proved && end.code == 0) return "";
  return fmt::format("ends its process, with exit code {}{}", end.code, place_of(board, ", after "));
}

/// A trial of one build, by what it is to do: "checked", "fast", or kTimesWord with other code. Returns what was wrong,
/// and what the board said at its end.
std::pair<std::string, Board> run_build(const Source& source, const std::filesystem::path& code,
                                        const std::vector<std::string>& words, const TrialOptions& options) {
  SharedBoard board;
  board.show(options.shapes);
  std::vector<std::string> arguments{kTrialCommand,        code.string(),
                                     source.file.string(), to_string(source.task()),
                                     options.device,       fmt::format("{}", options.seed)};
  arguments.insert(arguments.end(), words.begin(), words.end());
  Process process(options.program, arguments, -1, board.file());
  Patience patience(board, options.call_seconds,
                    source.language == Language::cuda ? kClockOverCpuOfGpu : kClockOverCpu);
  bool cancelled = false;
  const End end = process.wait([&] {
    cancelled = options.go_on && !options.go_on();
    return !cancelled && patience.asks(process.id());
  });
  if (cancelled) throw core::Error("the trial of the kernel was ended before it was done");
  const Board told = board.copy();
  return {outcome(source, end, told, options.call_seconds), told};
}

/// One build.
void try_build(const Source& source, const std::filesystem::path& code, bool checked,
               const TrialOptions& options, Verdict& verdict) {
  const auto [what, told] = run_build(source, code, {checked ? "checked" : "fast"}, options);
  verdict.proved = what.empty();
  if (!verdict.proved) {
    verdict.sentence = fmt::format("{} {} {}{}", ops::to_string(source.op), source.variant, what,
                                   checked ? "" : " (the fast build; the checked one was right)");
    return;
  }
  verdict.calls += static_cast<int>(std::min(told.calls, 1'000'000u));
  verdict.worst_error = told.worst_error;
  verdict.tolerance = told.tolerance;
}

}  // namespace

Verdict prove(const Source& source, const Compilation& compiled, const TrialOptions& options) {
  const auto begin = Clock::now();
  Verdict verdict;
  try_build(source, compiled.checked, true, options, verdict);
  if (verdict.proved) try_build(source, compiled.fast, false, options, verdict);
  if (verdict.proved) {
    verdict.sentence = fmt::format(
        "{} {} is right in {} calls; the worst relative error is {:.2g}, and may be {:.2g}",
        ops::to_string(source.op), source.variant, verdict.calls, verdict.worst_error, verdict.tolerance);
  }
  verdict.milliseconds = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
  return verdict;
}

Times time_kernel(const Source& source, const Compilation& compiled, const std::vector<OtherKernel>& others,
                  const TrialOptions& options) {
  std::vector<std::string> words{kTimesWord};
  for (const OtherKernel& each : others) {
    words.push_back(each.source.file.string());
    words.push_back(each.code.string());
    words.push_back(to_string(each.source.task()));
  }
  TrialOptions patient = options;  // these shapes are larger, and a slow kernel is no wrong one
  patient.call_seconds *= 5;
  const auto [what, told] = run_build(source, compiled.fast, words, patient);
  Times times;
  if (!what.empty()) {
    times.sentence = fmt::format("{} {} {} (it was right on smaller shapes)", ops::to_string(source.op),
                                 source.variant, what);
    return times;
  }
  const std::size_t shapes = std::min(options.shapes.size(), kMostShapes);
  for (std::size_t i = 0; i < std::min<std::size_t>(told.time_count, kMostTimes); ++i) {
    const BoardTime& row = told.times[i];
    const auto other = static_cast<std::size_t>(std::max(row.kernel, 1)) - 1;
    if (row.shape >= shapes || (row.kernel > 0 && other >= others.size())) continue;
    TimedCall call{row.shape,
                   "",
                   0,
                   static_cast<int>(row.samples),
                   row.median,
                   row.middle,
                   row.registers,
                   row.shared_bytes,
                   row.occupancy};
    if (row.kernel < 0) call.variant = text_in(row.variant);
    if (row.kernel > 0) {
      call.variant = others[other].variant;
      call.version = others[other].version;
    }
    times.calls.push_back(std::move(call));
  }
  return times;
}

}  // namespace warpscope::user_kernels
